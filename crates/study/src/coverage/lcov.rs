//! Coverage as an LCOV tracefile, which tools for continuous integration read.
//!
//! A step of the program is a source file, and a class a line of it. The function of a line has the words of the class.

use std::fmt::Write;

use super::Coverage;
use crate::classes::ClassKind;

/// The tracefile.
pub fn lcov(coverage: &Coverage) -> String {
    let list = coverage.classes.list();
    let mut text = String::new();
    let mut at = 0;
    while at < list.len() {
        let step = list[at].0;
        let count = list[at..].iter().take_while(|class| class.0 == step).count();
        let name = coverage.classes.step(step).0.replace('%', "step");
        let lines =
            || (1..).zip(at..at + count).map(|(line, at)| (line, coverage.counts.classes[at].cases, list[at].1));
        let hit = lines().filter(|(_, cases, _)| *cases > 0).count();
        // A comma separates fields.
        let words = |kind: ClassKind| kind.text().replace(", ", " - ");
        let _ = writeln!(text, "TN:\nSF:{}/{}/{name}", coverage.model, coverage.classes.instruction());
        for (line, _, kind) in lines() {
            let _ = writeln!(text, "FN:{line},{}", words(kind));
        }
        for (_, cases, kind) in lines() {
            let _ = writeln!(text, "FNDA:{cases},{}", words(kind));
        }
        let _ = writeln!(text, "FNF:{count}\nFNH:{hit}");
        for (line, cases, _) in lines() {
            let _ = writeln!(text, "DA:{line},{cases}");
        }
        let _ = writeln!(text, "LF:{count}\nLH:{hit}\nend_of_record");
        at += count;
    }
    text
}
