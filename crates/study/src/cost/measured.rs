//! Costs measured for this project: `measured.csv`, which `tools/costs` writes from `reports/`.

use std::sync::LazyLock;

/// The cost of an instruction on a device, as measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasuredCost {
    /// The instruction.
    pub instruction: String,
    /// The device.
    pub device: String,
    /// Its target: `sm_90a`.
    pub target: String,
    /// Day of the measurement.
    pub date: String,
    /// The kept result.
    pub source: String,
    /// The kind of execution.
    pub execution: String,
    /// The machine code of one run.
    pub machine: String,
    /// Clocks from one run to the next that adds to it.
    pub latency: Option<f64>,
    /// Highest rate: fused multiply-adds a clock of a multiprocessor.
    pub best_rate: Option<f64>,
    /// Its share of the vendor's peak (0 to 1).
    pub share: Option<f64>,
    /// 10^12 operations a second of the whole device.
    pub tera: Option<f64>,
}

static MEASURED: LazyLock<Vec<MeasuredCost>> = LazyLock::new(|| {
    let mut reader = csv::Reader::from_reader(include_bytes!("measured.csv").as_slice());
    let row = |record: csv::StringRecord| {
        let text = |at: usize| record.get(at).unwrap_or_default().to_string();
        let number = |at: usize| record.get(at).and_then(|text| text.parse().ok());
        MeasuredCost {
            instruction: text(0),
            device: text(1),
            target: text(2),
            date: text(3),
            source: text(4),
            execution: text(5),
            machine: text(6),
            latency: number(7),
            best_rate: number(8),
            share: number(9),
            tera: number(10),
        }
    };
    reader.records().map(|record| row(record.expect("measured.csv is well-formed CSV"))).collect()
});

/// The kept costs of the instruction with this canonical name.
pub fn kept(instruction: &str) -> impl Iterator<Item = &'static MeasuredCost> {
    MEASURED.iter().filter(move |cost| cost.instruction == instruction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa;

    #[test]
    fn every_measured_cost_is_of_an_instruction_and_a_target() {
        assert!(MEASURED.len() > 300, "{}", MEASURED.len());
        for cost in MEASURED.iter() {
            assert!(isa::known(&cost.instruction).is_some(), "{}", cost.instruction);
            assert!(isa::targets::find(&cost.target).is_some(), "{}", cost.target);
            assert!(cost.tera.is_some_and(|tera| tera > 0.0), "{}", cost.instruction);
        }
    }
}
