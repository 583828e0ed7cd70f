//! Differences of chips and models: each reason once, with its instructions and its smallest input.

use super::{
    Block, Sheet,
    results::Results,
    rows::{Line, Rows, Seen},
};
use crate::device::DeviceName;

/// A reason why two devices differ.
struct Reason<'a> {
    pair: [&'a str; 2],
    why: &'a str,
    verdict: &'a str,
    instructions: Vec<&'a str>,
    /// The row with the fewest terms.
    smallest: Line<'a>,
}

/// The device and the instruction of `model:hopper/mma.m16n8k8...`.
fn parted(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or((name, ""))
}

/// Makes the table of reasons, each pair and reason once.
pub(super) fn blocks(results: &Results) -> Vec<Block> {
    let Some(table) = results.table("reasons") else { return Vec::new() };
    let (mut seen, mut reasons) = (Seen::new(), Vec::<Reason>::new());
    for line in Rows(&table).iter() {
        let ((x, instruction), (y, _)) = (parted(line.text("x")), parted(line.text("y")));
        let (pair, why, verdict) = ([x, y], line.text("why"), line.text("verdict"));
        match seen.number((pair, why, verdict)) {
            (_, true) => reasons.push(Reason { pair, why, verdict, instructions: vec![instruction], smallest: line }),
            (at, false) => {
                let known = &mut reasons[at];
                known.instructions.push(instruction);
                if line.number("terms") < known.smallest.number("terms") {
                    known.smallest = line;
                }
            }
        }
    }
    let value = |line: &Line, code: &str, value: &str| match line.text(code) {
        "" => "-".to_string(),
        code => format!("{code} = {}", line.text(value)),
    };
    let row = |reason: &Reason| {
        let line = reason.smallest;
        vec![
            reason.pair.map(|name| DeviceName::from(name).short()).join(" and "),
            reason.why.to_string(),
            reason.verdict.to_string(),
            if line.text("rests_on").is_empty() { "-" } else { line.text("rests_on") }.to_string(),
            line.text(if line.text("operands").is_empty() { "proof" } else { "operands" }).to_string(),
            value(&line, "x_d", "x_result"),
            value(&line, "y_d", "y_result"),
            value(&line, "exact_d", "exact_result"),
            reason.instructions.join("\n"),
        ]
    };
    let labels = [
        "between",
        "reason",
        "verdict",
        "evidence",
        "smallest input, or proof",
        "first's D",
        "second's D",
        "exact, rounded",
        "instructions",
    ];
    let rows = reasons.iter().map(row).collect();
    Sheet::new("Reasons for differences, each with its smallest input", &labels, &[], rows)
        .block()
        .into_iter()
        .collect()
}
