//! The tables of all comparisons: what was compared (`verification`), and what differs (`mismatches`).

use serde::Deserialize;

use super::{Answer, Complexity, Difference, ResultPlace, Signature, Subject, operands};
use crate::{exact, format::Format, isa::Case, report::Table};

crate::rows! {
    /// A device's outputs of one instruction that were compared with a model in every bit: a part of a campaign, or a recording.
    #[derive(Deserialize)]
    pub struct VerificationRow in "verification" {
        /// The file of a recording.
        #[serde(default)]
        file: Option<String> => hidden(),
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The device, as it was asked for.
        device: String => shown("device").essential(),
        /// What stands behind its name.
        device_description: String => hidden(),
        /// The device that a recording was made on.
        #[serde(default)]
        recorded_on: Option<String> => shown("recorded on").if_filled(),
        /// How the device executed the instruction.
        execution: String => shown("ran"),
        /// The machine instructions that ran.
        opcodes: Vec<String> => shown("machine code").if_filled(),
        /// The model, as it was asked for.
        model: String => shown("model").essential(),
        /// The name that the model gives itself.
        model_name: Option<String> => hidden(),
        /// Digest of the model's rule for the instruction.
        model_digest: Option<String> => hidden(),
        /// The seed of random operands.
        seed: Option<String> => hidden(),
        /// The position along k of exhaustive multiplications.
        position: Option<usize> => hidden(),
        /// The cases that were asked for.
        cases: Option<u64> => shown("cases asked").if_filled(),
        /// How many differences the run lists at most.
        max_mismatches: Option<u64> => hidden(),
        /// The number of the part of the run, from 1.
        shard: Option<u64> => hidden(),
        /// How many parts the run has.
        shards: Option<u64> => hidden(),
        /// The version of the program that drew the operands.
        tcnum: Option<String> => hidden(),
        /// Whether nothing is left to be done.
        finished: bool => hidden(),
        /// The first tile that is not yet compared.
        next_tile: Option<u64> => hidden(),
        /// Whether any NaN code counted as equal to any other (--any-nan).
        #[serde(default)]
        any_nan: bool => hidden(),
        /// The tiles of a recording.
        #[serde(default)]
        tiles: Option<u64> => shown("tiles").if_filled(),
        /// Outputs that were compared.
        compared: u64 => shown("compared").essential(),
        /// Outputs that are equal to the model's in every bit.
        agreeing: u64 => shown("agree").essential(),
        /// Outputs that are not.
        differing: u64 => shown("differ").essential(),
        /// Seconds of work, those before a resumption included.
        seconds: Option<f64> => shown("time").unit("s").if_filled(),
        /// Outputs compared in a second.
        rate: Option<f64> => shown("per second").if_filled(),
    }

    /// A result on which the device differs from the model, in the simplest case that is known to. Codes are hexadecimal; `found_`
    /// columns are of the case before it was reduced.
    #[derive(Deserialize)]
    pub struct MismatchRow in "mismatches" {
        /// Its number in the report.
        number: usize => shown("#").essential(),
        /// The file of a recording.
        #[serde(default)]
        file: Option<String> => shown("trace").if_filled(),
        /// The instruction.
        instruction: String => shown("instruction").essential(),
        /// The regime of a campaign that drew the operands.
        #[serde(default)]
        regime: Option<String> => shown("regime").if_filled(),
        /// The operation that a probe isolates.
        #[serde(default)]
        op: Option<String> => shown("op").if_filled(),
        /// How a probe drew the operands.
        #[serde(default)]
        distribution: Option<String> => shown("values").if_filled(),
        /// The tile.
        tile: Option<u64> => hidden(),
        /// The row of D.
        row: Option<u32> => hidden(),
        /// The column of D.
        column: Option<u32> => hidden(),
        /// The number of the input of a scalar instruction.
        #[serde(default)]
        input: Option<u64> => shown("input").if_filled(),
        /// The lane of the result of a scalar instruction.
        #[serde(default)]
        lane: Option<usize> => shown("lane").if_filled(),
        /// Whether the case was reduced: all that is not shown of it is zero, and the results still differ.
        reduced: bool => shown("reduced").if_varied(),
        /// How many results of the comparison it stands for.
        #[serde(default)]
        count: u64 => shown("stands for").if_varied(),
        /// Terms that are not zero, c included.
        terms: usize => shown("terms"),
        /// The operands that are not zero.
        operands: String => shown("operands").essential(),
        /// The device's result.
        device_d: String => shown("device's D").essential(),
        /// Its value.
        device_value: String => shown("its value").beside(),
        /// The model's result; of a scalar instruction that of its rule.
        model_d: String => shown("model's D").essential(),
        /// Its value.
        model_value: String => shown("its value").beside(),
        /// The exact result, rounded to nearest with ties to even.
        #[serde(default)]
        exact_d: Option<String> => shown("exact, rounded").if_filled(),
        /// Its value.
        #[serde(default)]
        exact_value: Option<String> => hidden(),
        /// Steps from one representable number to the next between the two results; none where one is infinite or NaN.
        ulps: Option<u64> => shown("ulps apart"),
        /// How the results differ, and what the operands are.
        #[serde(default)]
        signature: String => shown("signature").essential(),
        /// The number of the signature among those of the instruction: differences of one number may have one cause.
        #[serde(default)]
        cause: usize => shown("cause").essential(),
        /// The row of A, from k = 0; of sparse forms the stored elements.
        a: Vec<String> => hidden(),
        /// The column of B.
        b: Vec<String> => hidden(),
        /// The element of C.
        c: Option<String> => hidden(),
        /// Of sparse forms, the position of each stored element of A in its chunk.
        positions: Vec<u64> => hidden(),
        /// The scales of the row of A.
        scale_a: Vec<String> => hidden(),
        /// The scales of the column of B.
        scale_b: Vec<String> => hidden(),
        /// The row of A as found.
        #[serde(default)]
        found_a: Vec<String> => hidden(),
        /// The column of B as found.
        #[serde(default)]
        found_b: Vec<String> => hidden(),
        /// The element of C as found.
        found_c: Option<String> => hidden(),
        /// The positions as found.
        #[serde(default)]
        found_positions: Vec<u64> => hidden(),
        /// The scales of A as found.
        #[serde(default)]
        found_scale_a: Vec<String> => hidden(),
        /// The scales of B as found.
        #[serde(default)]
        found_scale_b: Vec<String> => hidden(),
        /// The device's result as found.
        found_device_d: String => hidden(),
        /// The model's result as found.
        found_model_d: String => hidden(),
        /// Of a campaign, the first tile beyond the unit in which it was found.
        #[serde(default)]
        until_tile: Option<u64> => hidden(),
        /// Of a campaign, what was compared up to there, by regime.
        #[serde(default)]
        until_compared: Vec<u64> => hidden(),
        /// Of a campaign, what differed up to there, by regime.
        #[serde(default)]
        until_differing: Vec<u64> => hidden(),
    }
}

/// In what a difference was found.
#[derive(Debug, Clone, Copy, Default)]
pub struct MismatchOrigin<'a> {
    /// The file of a recording.
    pub file: Option<&'a str>,
    /// The regime of a campaign.
    pub regime: Option<&'a str>,
    /// The operation that a probe isolates.
    pub op: Option<&'a str>,
    /// How a probe drew the operands.
    pub distribution: Option<&'a str>,
}

/// The table `mismatches` while it is filled: numbers the differences, and the signatures of each instruction.
#[derive(Debug, Default)]
pub struct Listing {
    rows: Vec<MismatchRow>,
    signatures: Vec<(String, Vec<Signature>)>,
}

impl Listing {
    /// Adds a difference, and returns its row.
    pub fn add(&mut self, subject: &Subject, origin: &MismatchOrigin, difference: &Difference) -> &mut MismatchRow {
        let signature = Signature::of(subject, difference.simplest());
        let cause = self.cause(subject.name(), signature);
        let row = row(self.rows.len() + 1, subject, origin, difference);
        self.rows.push(MismatchRow { signature: signature.to_string(), cause, ..row });
        self.rows.last_mut().expect("it was just added")
    }

    /// The number of a signature among those of an instruction, from 1.
    fn cause(&mut self, instruction: &str, signature: Signature) -> usize {
        let at = self.signatures.iter().position(|(name, _)| name == instruction).unwrap_or_else(|| {
            self.signatures.push((instruction.into(), Vec::new()));
            self.signatures.len() - 1
        });
        let known = &mut self.signatures[at].1;
        known.iter().position(|other| *other == signature).unwrap_or_else(|| {
            known.push(signature);
            known.len() - 1
        }) + 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// For each instruction with several differences, how many signatures they have.
    pub fn notes(&self) -> Vec<String> {
        let note = |(name, signatures): &(String, Vec<Signature>)| {
            let of = |row: &&MismatchRow| row.instruction == *name;
            let (listed, causes) = (self.rows.iter().filter(of).count(), signatures.len());
            let have = if causes == 1 {
                "one signature, and may have one cause".into()
            } else {
                format!("{causes} signatures")
            };
            (listed > 1).then(|| format!("{name}: the {listed} differences that are listed have {have}."))
        };
        self.signatures.iter().filter_map(note).collect()
    }

    /// The table, if there is a difference.
    pub fn table(self) -> Option<Table> {
        Table::of("Results that differ from the model", self.rows).filled()
    }
}

fn row(number: usize, subject: &Subject, origin: &MismatchOrigin, difference: &Difference) -> MismatchRow {
    let Difference { place, found, reduced, count } = difference;
    let Answer { case, device, model } = difference.simplest();
    let d = subject.formats()[3];
    let (spot, lane) = match *place {
        ResultPlace::Output(spot) => (Some(spot), None),
        ResultPlace::Lane(input, lane) => (None, Some((input, lane))),
    };
    let decimal = |code: u64| d.decode(code).decimal();
    let exact = subject.exact(case);
    let CaseCodes { a, b, c, scale_a, scale_b } = CaseCodes::of(subject, case);
    let as_found = CaseCodes::of(subject, &found.case);
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
        signature: String::new(),
        cause: 0,
        a,
        b,
        c,
        positions: case.positions.clone(),
        scale_a,
        scale_b,
        found_a: as_found.a,
        found_b: as_found.b,
        found_c: as_found.c,
        found_positions: found.case.positions.clone(),
        found_scale_a: as_found.scale_a,
        found_scale_b: as_found.scale_b,
        found_device_d: d.hex(found.device),
        found_model_d: d.hex(found.model),
        until_tile: None,
        until_compared: Vec::new(),
        until_differing: Vec::new(),
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
