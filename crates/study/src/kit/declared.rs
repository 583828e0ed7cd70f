//! Declarations of operands in C and C++.

use std::fmt::Write;

use crate::isa::{Codes, Instruction};

/// The codes of all tiles, as an array of bytes.
pub(super) fn array(text: &mut String, name: &str, codes: &Codes) {
    let _ = write!(text, "static const unsigned char {name}[] = {{");
    for (at, byte) in codes.as_bytes().iter().enumerate() {
        text.push_str(if at % 32 == 0 { "\n    " } else { " " });
        let _ = write!(text, "{byte},");
    }
    text.push_str("\n};\n");
}

/// The shapes of the operands in C++: the rows and columns of the kit, and all of them.
pub(super) fn shapes(i: &Instruction, part: &Instruction) -> Vec<String> {
    let shape = |name: &str, [rows, columns]: [usize; 2], all: [usize; 2], bytes: usize| {
        format!("kit::Shape {name}_shape = {{{rows}, {columns}, {}, {}, {bytes}}};", all[0], all[1])
    };
    vec![
        shape("a", [part.m, part.stored_k()], [i.m, i.stored_k()], i.a.bytes()),
        shape("b", [part.k, part.n], [i.k, i.n], i.b.bytes()),
        shape("c", [part.m, part.n], [i.m, i.n], i.c.bytes()),
        shape("d", [part.m, part.n], [i.m, i.n], i.d.bytes()),
    ]
}
