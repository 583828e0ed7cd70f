def sub(p, *pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b)
    open(p,'w').write(s)
sub('src/gemm/accuracy_table.rs',('''use super::accuracy::{Accuracy, bin_name};
''','''use super::{
    Yardstick,
    accuracy::{Accuracy, bin_name},
    tables::ProductRow,
};
use crate::report::{grouped, three_digits};
'''))
