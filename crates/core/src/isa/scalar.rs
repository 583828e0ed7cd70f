//! Scalar instructions as data: conversions, and arithmetic on f16 and bf16, alone or packed.
//!
//! One row of `scalar.csv` is one spelling of PTX; one of `scalar-x86.csv` is a machine instruction of x86 processors
//! and its rounding. `targets/` lists the targets of each, by disassembly: one arithmetic machine instruction, or a
//! sequence. `opcode` is the machine code on sm_90a. `evidence` names the GPU that gave the rule's result for every
//! swept input; if it is empty, the rule is that of similar instructions and of the vendor's documentation. `note` is
//! something a reader would not expect.
//!
//! `docs/devices-and-results.md` lists the instructions that are missing, with reasons.

use std::sync::OnceLock;

use serde::Deserialize;

use super::{Support, targets};
use crate::{
    Error, Result,
    base::{named::named, nearest::nearest},
    format::{self, Format, Overflow, Rounding},
    softfloat::Tininess,
};

/// Scalar instruction: the operation of each lane, and the targets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Form {
    /// Spelling of PTX, which is its name: `cvt.rn.satfinite.e4m3x2.f32`.
    pub ptx: String,
    /// Operation of each lane.
    pub operation: ScalarOperation,
    /// Format of the operands.
    pub source: &'static Format,
    /// True if an operand's lanes share a register; else each lane has a register.
    pub packed: bool,
    /// Format of the results.
    pub result: &'static Format,
    /// Results in the destination register: 1, 2 or 4.
    pub lanes: usize,
    /// Rounding direction; `None` where random bits decide (`.rs`).
    pub rounding: Option<Rounding>,
    /// Treatment of results beyond the largest finite number.
    pub overflow: Overflow,
    /// Range to which results are confined.
    pub clamp: Clamp,
    /// Flush of subnormal operands to zeros of their sign.
    pub flush_inputs: bool,
    /// Flush of subnormal results to zeros of their sign, by this tininess.
    pub flush_results: Option<Tininess>,
    /// Result for NaN operands and invalid operations.
    pub nan: NanResult,
    /// Rule of minimum and maximum for a NaN operand: true gives NaN, false the other operand.
    pub nan_operands: bool,
    /// Minimum and maximum of magnitudes, with the exclusive or of the signs.
    pub xor_sign: bool,
    /// Code of a factor, with either sign, that makes the result zero (`.oob`).
    pub out_of_bounds: Option<u64>,
    /// Targets that assemble it, in the order of [`targets::all`].
    pub support: &'static [Support],
    /// Arithmetic opcodes on sm_90a, joined by `;`, or the processor's; empty without any.
    pub opcode: String,
    /// GPU or processor on which the rule was measured; empty if it is assumed.
    pub evidence: String,
    /// Peculiarity; often empty.
    pub note: String,
}

named! {
    /// Operation of a scalar instruction.
    pub enum ScalarOperation {
        Convert = "convert": "conversion to another format";
        Round = "round": "rounding to an integral value of the same format";
        Add = "add": "a + b";
        Sub = "sub": "a - b";
        Mul = "mul": "a * b";
        Fma = "fma": "a * b + c, rounded once";
        Min = "min": "the smaller of two numbers; -0 is below +0";
        Max = "max": "the larger of two numbers";
        Neg = "neg": "-a";
        Abs = "abs": "the magnitude of a number";
        Div = "div": "a / b, on processors";
        Sqrt = "sqrt": "the square root, on processors";
    }
}

/// Range to which results are confined after rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Clamp {
    /// Nothing.
    None,
    /// Negative results, -0 too, become +0; NaN stays (`.relu`).
    Relu,
    /// [0, 1]: NaN and negative results become +0, those above 1 become 1 (`.sat`).
    Unit,
}

/// Result where the exact one is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NanResult {
    /// Always this code.
    Code(u64),
    /// The operand's sign and payload, aligned at the top, unchanged.
    Copy,
    /// The operand's sign and payload, aligned at the top, made quiet.
    Quiet,
    /// The first NaN operand, made quiet; without one, this code.
    First(u64),
    /// The operand's code, cut to the width of the result: an infinity if the payload is lost.
    Cut,
    /// One unit in the code's last place below `Cut` in magnitude; the largest number instead of infinity.
    Below,
}

impl ScalarOperation {
    /// Number of operands.
    pub fn operands(self) -> usize {
        match self {
            ScalarOperation::Convert
            | ScalarOperation::Round
            | ScalarOperation::Neg
            | ScalarOperation::Abs
            | ScalarOperation::Sqrt => 1,
            ScalarOperation::Fma => 3,
            _ => 2,
        }
    }
}

/// Bits of a code in a register with several codes: 4, or those of the smallest integer that holds it.
pub fn container_bits(format: &Format) -> u32 {
    if format.bits == 4 { 4 } else { 8 * format.bytes() as u32 }
}

#[derive(Deserialize)]
struct FormRow<'a> {
    ptx: &'a str,
    operation: &'a str,
    a: &'a str,
    d: &'a str,
    rounding: &'a str,
    overflow: &'a str,
    clamp: &'a str,
    flush: &'a str,
    tininess: &'a str,
    nan: &'a str,
    variant: &'a str,
    opcode: &'a str,
    evidence: &'a str,
    note: &'a str,
}

/// All scalar instructions, in the order of the table.
pub fn all() -> &'static [Form] {
    static FORMS: OnceLock<Vec<Form>> = OnceLock::new();
    FORMS.get_or_init(|| {
        let tables = [include_str!("scalar.csv"), include_str!("scalar-x86.csv")];
        tables.into_iter().flat_map(rows).collect()
    })
}

fn rows(table: &str) -> Vec<Form> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers().expect("a table of scalar instructions has a header line").clone();
    let form = |record: csv::StringRecord| {
        let row: FormRow<'_> = record.deserialize(Some(&headers)).expect("a row has the columns of the header");
        form(&row).unwrap_or_else(|what| panic!("scalar instruction {}: {what}", row.ptx))
    };
    reader.records().map(|record| form(record.expect("the table is well-formed"))).collect()
}

fn form(row: &FormRow<'_>) -> std::result::Result<Form, String> {
    let (source, source_lanes) = packed(row.a)?;
    let (result, lanes) = packed(row.d)?;
    if source_lanes != 1 && source_lanes != lanes {
        return Err(format!("{} lanes become {lanes}", source_lanes));
    }
    let rounding = match row.rounding {
        "SR" => None,
        "" => Some(Rounding::Rne),
        name => Some(Rounding::parse(name).ok_or_else(|| format!("no rounding is called {name}"))?),
    };
    let tininess = match row.tininess {
        "before" | "" => Tininess::Before,
        "after" => Tininess::After,
        other => return Err(format!("no tininess is called {other}")),
    };
    let (flush_inputs, flush_results) = match row.flush {
        "" => (false, None),
        "inputs" => (true, None),
        "results" => (false, Some(tininess)),
        "both" => (true, Some(tininess)),
        other => return Err(format!("nothing called {other} is flushed")),
    };
    let variants: Vec<&str> = row.variant.split_whitespace().collect();
    let out_of_bounds = variants.iter().find_map(|variant| variant.strip_prefix("oob:")).map(code).transpose()?;
    Ok(Form {
        ptx: row.ptx.into(),
        operation: ScalarOperation::ALL
            .into_iter()
            .find(|operation| operation.name() == row.operation)
            .ok_or_else(|| format!("no operation is called {}", row.operation))?,
        source,
        packed: source_lanes > 1,
        result,
        lanes,
        rounding,
        overflow: match row.overflow {
            "" => Overflow::Standard,
            "saturate" => Overflow::Saturate,
            other => return Err(format!("no overflow is called {other}")),
        },
        clamp: match row.clamp {
            "" => Clamp::None,
            "relu" => Clamp::Relu,
            "unit" => Clamp::Unit,
            other => return Err(format!("no clamp is called {other}")),
        },
        flush_inputs,
        flush_results,
        nan: match row.nan {
            "copy" => NanResult::Copy,
            "quiet" => NanResult::Quiet,
            "cut" => NanResult::Cut,
            "below" => NanResult::Below,
            "largest" => NanResult::Code(result.largest(false)),
            text => match text.strip_prefix("first:") {
                Some(text) => NanResult::First(code(text)?),
                None => NanResult::Code(code(text)?),
            },
        },
        nan_operands: variants.contains(&"nan"),
        xor_sign: variants.contains(&"xorsign"),
        out_of_bounds,
        support: targets::scalar(row.ptx),
        opcode: row.opcode.into(),
        evidence: row.evidence.into(),
        note: row.note.into(),
    })
}

/// Format and lanes of `e4m3x2`. In PTX unsigned formats start with a `u`.
fn packed(name: &str) -> std::result::Result<(&'static Format, usize), String> {
    let (base, lanes) = match name.split_at_checked(name.len().saturating_sub(2)) {
        Some((base, "x2")) => (base, 2),
        Some((base, "x4")) => (base, 4),
        _ => (name, 1),
    };
    Ok((format::find(base).map_err(|error| error.to_string())?, lanes))
}

fn code(text: &str) -> std::result::Result<u64, String> {
    text.strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .ok_or_else(|| format!("'{text}' is not a code in hexadecimal"))
}

/// Scalar instruction with this spelling, in any letter case.
///
/// # Errors
/// An unknown spelling; the message suggests similar ones.
pub fn find(ptx: &str) -> Result<&'static Form> {
    all().iter().find(|form| form.ptx.eq_ignore_ascii_case(ptx.trim())).ok_or_else(|| {
        let shown: String = ptx.chars().take(100).collect();
        let near = nearest(&shown, all().iter().map(|form| form.ptx.as_str()), 3).join(", ");
        Error::request(format!(
            "unknown scalar instruction '{shown}'; the nearest are {near}. `tcnum instructions` lists all"
        ))
    })
}

/// True if a name begins like a scalar instruction's, up to its first point: `cvt`, `fma`.
///
/// A name with a shape (`fma.m1n1k1`) is no scalar instruction's.
pub fn begins_alike(name: &str) -> bool {
    let shape = name.split('.').nth(1).is_some_and(|word| {
        word.strip_prefix('m').is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()))
    });
    if shape {
        return false;
    }
    let first = |name: &str| name.trim().split('.').next().unwrap_or("").to_ascii_lowercase();
    let wanted = first(name);
    all().iter().any(|form| first(&form.ptx) == wanted)
}

impl Form {
    /// Conversion to nearest, with the first NaN of the result and no targets; the fields can be changed.
    /// It describes an instruction that is not in the tables.
    pub fn conversion(source: &'static Format, result: &'static Format) -> Form {
        Form {
            ptx: String::new(),
            operation: ScalarOperation::Convert,
            source,
            packed: false,
            result,
            lanes: 1,
            rounding: Some(Rounding::Rne),
            overflow: Overflow::Standard,
            clamp: Clamp::None,
            flush_inputs: false,
            flush_results: None,
            nan: NanResult::Code(result.nan().unwrap_or_else(|| result.largest(false))),
            nan_operands: false,
            xor_sign: false,
            out_of_bounds: None,
            support: &[],
            opcode: String::new(),
            evidence: String::new(),
            note: String::new(),
        }
    }

    /// Native or emulated support on a target; `None` without any.
    pub fn support_on(&self, target: &str) -> Option<&'static Support> {
        self.support.iter().find(|support| support.architecture == target)
    }

    /// True for an instruction of processors, which GPUs lack.
    pub fn is_of_processors(&self) -> bool {
        let of = |support: &Support| targets::find(support.architecture);
        self.support.iter().filter_map(of).any(|target| !target.processors.is_empty())
    }

    /// Reason why the program cannot execute it; `None` if it can.
    pub fn missing(&self) -> Option<&'static str> {
        self.rounding
            .is_none()
            .then_some("the assignment of random bits to lanes is unknown, so nothing executes it yet")
    }

    /// True if an operand or the result has this format.
    pub fn concerns(&self, format: &Format) -> bool {
        self.source == format || self.result == format
    }

    /// Targets that have it.
    pub fn architectures(&self) -> String {
        let names: Vec<&str> = self.support.iter().map(|support| support.architecture).collect();
        names.join(", ")
    }
}

impl std::fmt::Display for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.ptx)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn spellings_are_unique_and_say_what_the_columns_say() {
        let mut names = HashSet::new();
        for form in all() {
            assert!(names.insert(&form.ptx), "{form} is there twice");
            let has = |modifier: &str| form.ptx.split('.').any(|part| part == modifier);
            assert_eq!(has("satfinite"), form.overflow == Overflow::Saturate, "{form}");
            assert_eq!(has("relu"), form.clamp == Clamp::Relu, "{form}");
            assert_eq!(has("sat"), form.clamp == Clamp::Unit, "{form}");
            let flushes = form.flush_inputs || form.flush_results.is_some();
            assert_eq!(has("ftz"), flushes || form.note.starts_with(".ftz has no effect"), "{form}");
            assert_eq!(has("oob"), form.out_of_bounds.is_some(), "{form}");
            assert_eq!(has("NaN"), form.nan_operands, "{form}");
            assert_eq!(has("xorsign"), form.xor_sign, "{form}");
            let directions = [
                ("rn", Rounding::Rne),
                ("rni", Rounding::Rne),
                ("rz", Rounding::Rz),
                ("rzi", Rounding::Rz),
                ("rm", Rounding::Rd),
                ("rmi", Rounding::Rd),
                ("rp", Rounding::Ru),
                ("rpi", Rounding::Ru),
                ("rna", Rounding::Rna),
            ];
            for (modifier, rounding) in directions.into_iter().filter(|(modifier, _)| has(modifier)) {
                assert_eq!(form.rounding, Some(rounding), "{form}: {modifier}");
            }
            assert_eq!(has("rs"), form.rounding.is_none(), "{form}");
            assert!(!form.support.is_empty() && form.lanes.is_power_of_two(), "{form}");
            assert_eq!(find(&form.ptx.to_uppercase()).unwrap(), form);
        }
    }

    #[test]
    fn what_the_h200_executes_is_measured_there_and_nothing_else_is() {
        for form in all().iter().filter(|form| !form.is_of_processors()) {
            let executed = form.support_on("sm_90a").is_some() && form.missing().is_none();
            assert_eq!(form.evidence == "H200", executed, "{form}");
            assert!(executed || form.evidence.is_empty(), "{form}: {}", form.evidence);
        }
    }

    #[test]
    fn operations_other_than_conversions_stay_in_their_format() {
        for form in all().iter().filter(|form| form.operation != ScalarOperation::Convert) {
            assert_eq!(form.source, form.result, "{form}");
            assert_eq!(form.packed, form.lanes > 1, "{form}");
        }
    }

    #[test]
    fn an_unknown_spelling_names_the_nearest() {
        let error = find("cvt.rn.satfinite.e4m3x2.f31").unwrap_err();
        assert!(error.exit_status() == 2 && error.to_string().contains("'cvt.rn.satfinite.e4m3x2.f32'"), "{error}");
    }

    #[test]
    fn no_matrix_instruction_begins_as_a_scalar_one_does() {
        assert!(all().iter().all(|form| begins_alike(&form.ptx)) && begins_alike("CVT.nothing"));
        assert!(!crate::isa::all().iter().any(|i| begins_alike(&i.name)));
    }
}
