//! Tables of all comparisons: compared outputs (`verification`), and differing results (`mismatches`).

use serde::Deserialize;

use super::{Answer, Complexity, Difference, ResultPlace, Signature, Subject, operands};
use crate::{exact, format::Format, isa::Case, report::Table};

crate::rows! {
    /// Outputs of one instruction, compared with a model in every bit.
    /// They are a part of a campaign, or a recording.
    #[derive(Default, Deserialize)]
    pub struct VerificationRow in "verification" {
        /// File of a recording.
        #[serde(default)]
        file: Option<String> => hidden(),
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// Device, as requested.
        device: String => shown("device").essential(),
        /// Description of the device.
        device_description: String => hidden(),
        /// Device that a recording was made on.
        #[serde(default)]
        recorded_on: Option<String> => shown("recorded on").if_filled(),
        /// Kind of execution on the device.
        execution: String => shown("execution"),
        /// Machine instructions that ran.
        opcodes: Vec<String> => shown("machine code").if_filled(),
        /// Model, as requested.
        model: String => shown("model").essential(),
        /// Name in the model.
        model_name: Option<String> => hidden(),
        /// Digest of the model's rule for the instruction.
        model_digest: Option<String> => hidden(),
        /// Seed of random operands.
        seed: Option<String> => hidden(),
        /// Position along k of exhaustive multiplications.
        position: Option<usize> => hidden(),
        /// Requested cases.
        cases: Option<u64> => shown("cases asked").if_filled(),
        /// Causes of differences that the run lists, at most.
        max_mismatches: Option<u64> => hidden(),
        /// Number of this part of the run, from 1.
        shard: Option<u64> => hidden(),
        /// Parts of the run.
        shards: Option<u64> => hidden(),
        /// Version of the program that drew the operands.
        tcnum: Option<String> => hidden(),
        /// True if no work remains.
        finished: bool => hidden(),
        /// First tile that is not yet compared.
        next_tile: Option<u64> => hidden(),
        /// True if any two NaN codes counted as equal (--any-nan).
        #[serde(default)]
        any_nan: bool => hidden(),
        /// Tiles of a recording.
        #[serde(default)]
        tiles: Option<u64> => shown("tiles").if_filled(),
        /// Outputs compared.
        compared: u64 => shown("compared").essential(),
        /// Outputs equal to the model's in every bit.
        agreeing: u64 => shown("agree").essential(),
        /// Outputs that differ from the model's.
        differing: u64 => shown("differ").essential(),
        /// Seconds of work, also before a resumption.
        seconds: Option<f64> => shown("time").unit("s").if_filled(),
        /// Outputs compared per second.
        rate: Option<f64> => shown("per second").if_filled(),
    }

    /// A cause of differences between device and model, in the simplest known case.
    /// Codes are hexadecimal; `found_` columns hold the case before its reduction.
    #[derive(Deserialize)]
    pub struct MismatchRow in "mismatches" {
        /// Number in the report.
        number: usize => shown("#").essential(),
        /// File of a recording.
        #[serde(default)]
        file: Option<String> => shown("trace").if_filled(),
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// Regime of the campaign that drew the operands.
        #[serde(default)]
        regime: Option<String> => shown("regime").if_filled(),
        /// Operation that a probe isolates.
        #[serde(default)]
        op: Option<String> => shown("op").if_filled(),
        /// Distribution of a probe's operands.
        #[serde(default)]
        distribution: Option<String> => shown("values").if_filled(),
        /// Tile.
        tile: Option<u64> => hidden(),
        /// Row of D.
        row: Option<u32> => hidden(),
        /// Column of D.
        column: Option<u32> => hidden(),
        /// Number of the input of a scalar instruction.
        #[serde(default)]
        input: Option<u64> => shown("input").if_filled(),
        /// Lane of the result of a scalar instruction.
        #[serde(default)]
        lane: Option<usize> => shown("lane").if_filled(),
        /// True if the case was reduced: everything not shown is zero, and the results still differ.
        reduced: bool => shown("reduced").if_varied(),
        /// Number of results that it represents.
        #[serde(default)]
        count: u64 => shown("count").essential(),
        /// Nonzero terms, c included.
        terms: usize => shown("terms"),
        /// Nonzero operands.
        operands: String => shown("operands").essential(),
        /// Device's result.
        device_d: String => shown("device's D").essential(),
        /// Value of the device's result.
        device_value: String => shown("its value").beside(),
        /// Model's result; for a scalar instruction, its rule's.
        model_d: String => shown("model's D").essential(),
        /// Value of the model's result.
        model_value: String => shown("its value").beside(),
        /// Exact result, rounded to nearest with ties to even.
        #[serde(default)]
        exact_d: Option<String> => shown("exact, rounded").if_filled(),
        /// Value of the exact result.
        #[serde(default)]
        exact_value: Option<String> => hidden(),
        /// Steps between representable numbers from one result to the other; none for infinities and NaN.
        ulps: Option<u64> => shown("ulps apart"),
        /// Kind of difference and of operands.
        #[serde(default)]
        signature: String => shown("signature").essential(),
        /// Row of A, from k = 0; for sparse forms, the stored elements.
        a: Vec<String> => hidden(),
        /// Column of B.
        b: Vec<String> => hidden(),
        /// Element of C.
        c: Option<String> => hidden(),
        /// Positions of stored elements of A in their chunks, for sparse forms.
        positions: Vec<u64> => hidden(),
        /// Scales of the row of A.
        scale_a: Vec<String> => hidden(),
        /// Scales of the column of B.
        scale_b: Vec<String> => hidden(),
        /// Row of A as found.
        #[serde(default)]
        found_a: Vec<String> => hidden(),
        /// Column of B as found.
        #[serde(default)]
        found_b: Vec<String> => hidden(),
        /// Element of C as found.
        found_c: Option<String> => hidden(),
        /// Positions as found.
        #[serde(default)]
        found_positions: Vec<u64> => hidden(),
        /// Scales of A as found.
        #[serde(default)]
        found_scale_a: Vec<String> => hidden(),
        /// Scales of B as found.
        #[serde(default)]
        found_scale_b: Vec<String> => hidden(),
        /// Device's result as found.
        found_device_d: String => hidden(),
        /// Model's result as found.
        found_model_d: String => hidden(),
    }
}

/// The origin of a difference.
#[derive(Debug, Clone, Copy, Default)]
pub struct MismatchOrigin<'a> {
    /// File of a recording.
    pub file: Option<&'a str>,
    /// Regime of a campaign.
    pub regime: Option<&'a str>,
    /// Operation that a probe isolates.
    pub op: Option<&'a str>,
    /// Distribution of a probe's operands.
    pub distribution: Option<&'a str>,
}

/// The table `mismatches` under construction; it numbers the causes.
#[derive(Debug, Default)]
pub struct Listing {
    rows: Vec<MismatchRow>,
}

impl Listing {
    /// Adds a difference, and returns its number.
    pub fn add(&mut self, subject: &Subject, origin: &MismatchOrigin, difference: &Difference) -> usize {
        self.rows.push(row(self.rows.len() + 1, subject, origin, difference));
        self.rows.len()
    }

    /// Returns true if there is no difference.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Makes the table, if there is a difference.
    pub fn table(self) -> Option<Table> {
        Table::of("Mismatches", self.rows).filled()
    }
}

fn row(number: usize, subject: &Subject, origin: &MismatchOrigin, difference: &Difference) -> MismatchRow {
    let Difference { place, original, reduced, count, .. } = difference;
    let Answer { case, device, model } = difference.simplest();
    let d = subject.formats()[3];
    let (spot, lane) = match *place {
        ResultPlace::Output(spot) => (Some(spot), None),
        ResultPlace::Lane(input, lane) => (None, Some((input, lane))),
    };
    let decimal = |code: u64| d.decode(code).decimal();
    let exact = subject.exact(case);
    let CaseCodes { a, b, c, scale_a, scale_b } = CaseCodes::of(subject, case);
    let as_found = CaseCodes::of(subject, &original.case);
    let owned = |text: Option<&str>| text.map(str::to_string);
    MismatchRow {
        number,
        file: owned(origin.file),
        instruction: subject.name().into(),
        regime: owned(origin.regime),
        op: owned(origin.op),
        distribution: owned(origin.distribution),
        tile: spot.map(|spot| spot.tile),
        row: spot.map(|spot| spot.row),
        column: spot.map(|spot| spot.column),
        input: lane.map(|(input, _)| input),
        lane: lane.map(|(_, lane)| lane),
        reduced: reduced.is_some(),
        count: *count,
        terms: match subject {
            Subject::Matrix(i) => Complexity::of(i, case).terms,
            Subject::Scalar(form) => form.operation.operands(),
        },
        operands: operands(subject, case),
        device_d: d.hex(*device),
        device_value: decimal(*device),
        model_d: d.hex(*model),
        model_value: decimal(*model),
        exact_d: exact.map(|code| d.hex(code)),
        exact_value: exact.map(decimal),
        ulps: exact::distance(d, *device, *model),
        signature: Signature::of(subject, difference.simplest()).to_string(),
        a,
        b,
        c,
        positions: case.positions.clone(),
        scale_a,
        scale_b,
        found_a: as_found.a,
        found_b: as_found.b,
        found_c: as_found.c,
        found_positions: original.case.positions.clone(),
        found_scale_a: as_found.scale_a,
        found_scale_b: as_found.scale_b,
        found_device_d: d.hex(original.device),
        found_model_d: d.hex(original.model),
    }
}

/// The codes of a case, in hexadecimal.
struct CaseCodes {
    a: Vec<String>,
    b: Vec<String>,
    c: Option<String>,
    scale_a: Vec<String>,
    scale_b: Vec<String>,
}

impl CaseCodes {
    fn of(subject: &Subject, case: &Case) -> CaseCodes {
        let hex = |format: &Format, codes: &[u64]| codes.iter().map(|code| format.hex(*code)).collect::<Vec<_>>();
        let [a, b, c, _] = subject.formats();
        let scale = subject.scale().unwrap_or(a);
        CaseCodes {
            a: hex(a, &case.a),
            b: hex(b, &case.b),
            c: subject.has_c().then(|| c.hex(case.c)),
            scale_a: hex(scale, &case.scale_a),
            scale_b: hex(scale, &case.scale_b),
        }
    }
}
