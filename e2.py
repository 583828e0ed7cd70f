def sub(p, *pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b)
    open(p,'w').write(s)
sub('src/gemm/accuracy.rs',
('''/// products, and are compared with nothing.)
pub fn accuracy(schedule: &Schedule, factors: &Factors, d: &Matrix) -> Vec<Accuracy> {
    if schedule.instruction.xor {
        return Vec::new();
    }''','''/// products, and are compared with nothing.)
///
/// # Errors
/// [`Error::Interrupted`](crate::Error::Interrupted).
pub fn accuracy(schedule: &Schedule, factors: &Factors, d: &Matrix) -> Result<Vec<Accuracy>> {
    if schedule.instruction.xor {
        return Ok(Vec::new());
    }'''),
('''parallel::map(&elements, |at| {
        let''','''parallel::try_map(&elements, |at| {
        interrupt::check()?;
        let'''),
('''        yardsticks.iter().map(|yardstick| sums.measure(*yardstick, row, column, own, d.format)).collect()
    });
    yardsticks
        .iter()
        .enumerate()
        .map(|(which, yardstick)| {
            let rows = elements.iter().zip(&measured).map(|(at, measured)| (d.codes.get(*at), &measured[which]));
            summarised(*yardstick, d.format, rows)
        })
        .collect()
}''','''        Ok(yardsticks.iter().map(|yardstick| sums.measure(*yardstick, row, column, own, d.format)).collect())
    })?;
    let summary = |(which, yardstick): (usize, &Yardstick)| {
        let rows = elements.iter().zip(&measured).map(|(at, measured)| (d.codes.get(*at), &measured[which]));
        summarised(*yardstick, d.format, rows)
    };
    Ok(yardsticks.iter().enumerate().map(summary).collect())
}'''),
('''use crate::{
    base::parallel,
''','''use crate::{
    Result,
    base::{interrupt, parallel},
'''))
sub('src/experiment/cost.rs',("use super::{Experiment, Printed, Verdict, file","use super::{Experiment, Printed, Score, Verdict, file"))
sub('src/experiment/operands.rs',("let found = accuracy(&schedule, &factors, &d);","let found = accuracy(&schedule, &factors, &d).unwrap();"))
