//! Tables of coverage.

use super::Coverage;
use crate::{
    classes::{ClassFamily, ClassStep},
    comparison::{Subject, operands},
    format::Format,
    report::Table,
};

crate::rows! {
    /// A family of classes at a step, with the classes that cases exercise.
    pub struct CoverageRow in "coverage" {
        /// Step of the program: `operands`, the number of a value, or `d`.
        step: String => shown("step").essential(),
        /// Operation of the step.
        operation: String => shown("operation"),
        /// Family of classes.
        family: &'static str => shown("family").essential(),
        /// Classes.
        classes: usize => shown("classes").essential(),
        /// Classes with a case.
        exercised: usize => shown("exercised").essential(),
        /// Exercised part of the classes, in percent.
        percent: f64 => shown("percent").unit("%").essential(),
        /// Holes with a named input.
        filled: usize => shown("inputs named"),
    }

    /// A class of cases.
    pub struct ClassRow in "coverage_classes" {
        /// Step of the program.
        step: String => shown("step").essential(),
        /// Family of the class.
        family: &'static str => shown("family").essential(),
        /// Class in words.
        class: String => shown("class").essential(),
        /// Cases.
        cases: u64 => shown("cases").essential(),
        /// Number of the first case, from 0.
        first: Option<u64> => shown("first case").if_filled(),
    }

    /// A class without a case, and an input that fills it.
    pub struct HoleRow in "holes" {
        /// Step of the program.
        step: String => shown("step").essential(),
        /// Family of the class.
        family: &'static str => shown("family").essential(),
        /// Class in words.
        class: String => shown("class").essential(),
        /// Verdict: an input is named, or a search did not reach the class.
        verdict: String => shown("verdict").essential(),
        /// Operands of the input, those not zero.
        operands: Option<String> => shown("operands").if_filled().essential(),
        /// Codes of the row of A, of the input.
        a: Vec<String> => hidden(),
        /// Codes of the column of B.
        b: Vec<String> => hidden(),
        /// Code of C.
        c: Option<String> => hidden(),
        /// Positions of stored elements, of sparse instructions.
        positions: Vec<u64> => hidden(),
        /// Codes of the scales of A.
        scale_a: Vec<String> => hidden(),
        /// Codes of the scales of B.
        scale_b: Vec<String> => hidden(),
    }
}

/// Makes the table of families, step by step.
pub fn summary(coverage: &Coverage) -> Table {
    let list = coverage.classes.list();
    let mut rows: Vec<CoverageRow> = Vec::new();
    let mut keys: Vec<(ClassStep, ClassFamily)> = Vec::new();
    for (step, kind) in list {
        let key = (*step, kind.family());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    for (step, family) in keys {
        let places: Vec<usize> =
            (0..list.len()).filter(|at| list[*at].0 == step && list[*at].1.family() == family).collect();
        let exercised = places.iter().filter(|at| coverage.counts.classes[**at].cases > 0).count();
        let (name, operation) = coverage.classes.step(step);
        rows.push(CoverageRow {
            step: name,
            operation,
            family: family.name(),
            classes: places.len(),
            exercised,
            percent: 100.0 * exercised as f64 / places.len() as f64,
            filled: places.iter().filter(|at| coverage.filled.inputs[**at].is_some()).count(),
        });
    }
    let cases = crate::report::counted(coverage.counts.cases, "case");
    Table::of(format!("Classes that {cases} exercise, by the steps of {}", coverage.model), rows)
}

/// Makes the table of all classes.
pub fn classes(coverage: &Coverage) -> Table {
    let row = |((step, kind), counted): (&(ClassStep, _), &crate::classes::Exercised)| {
        let kind: &crate::classes::ClassKind = kind;
        ClassRow {
            step: coverage.classes.step(*step).0,
            family: kind.family().name(),
            class: kind.text(),
            cases: counted.cases,
            first: counted.first.as_ref().map(|(number, _)| *number),
        }
    };
    Table::of("All classes", coverage.classes.list().iter().zip(&coverage.counts.classes).map(row))
}

/// Makes the table of classes without a case.
pub fn holes(coverage: &Coverage) -> Table {
    let i = coverage.classes.instruction();
    let codes = |format: &Format, codes: &[u64]| codes.iter().map(|code| format.hex(*code)).collect::<Vec<_>>();
    let holes = (0..coverage.counts.classes.len()).filter(|at| coverage.counts.classes[*at].cases == 0);
    let row = |at: usize| {
        let (step, kind) = coverage.classes.list()[at];
        let input = coverage.filled.inputs[at].as_ref();
        let scale = i.scale.map_or(i.a, |scale| scale.format);
        HoleRow {
            step: coverage.classes.step(step).0,
            family: kind.family().name(),
            class: kind.text(),
            verdict: match (input, coverage.filled.tried) {
                (Some(_), _) => "filled by the input".into(),
                (None, 0) => "not searched".into(),
                (None, tried) => format!("not reached by {}", crate::report::counted(tried, "input")),
            },
            operands: input.map(|case| operands(&Subject::Matrix(i), case)),
            a: input.map_or_else(Vec::new, |case| codes(i.a, &case.a)),
            b: input.map_or_else(Vec::new, |case| codes(i.b, &case.b)),
            c: input.map(|case| i.c.hex(case.c)),
            positions: input.map_or_else(Vec::new, |case| case.positions.clone()),
            scale_a: input.map_or_else(Vec::new, |case| codes(scale, &case.scale_a)),
            scale_b: input.map_or_else(Vec::new, |case| codes(scale, &case.scale_b)),
        }
    };
    Table::of("Classes without a case", holes.map(row))
}
