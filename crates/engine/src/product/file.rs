//! Schedules as TOML files.

use std::path::Path;

use serde::Deserialize;
use toml::{Table, Value};

use super::{
    Accumulators, OperandRounding, OutputRounding, PartTerms, Schedule, SplitK,
    schedule::{ScaleBlocks, ScaleUse},
};
use crate::{
    Error, Result,
    base::{named::Named, text},
    format::{self, Format, Overflow, Rounding},
    isa::{self, Instruction},
};

/// Default format of elements that are rounded to the instruction's.
const GIVEN: &str = "f32";

/// Keys of a schedule; missing ones are as in [`Schedule::new`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScheduleKeys {
    instruction: String,
    operands: Option<OperandKeys>,
    order: Option<String>,
    slab: Option<usize>,
    residue: Option<String>,
    promote: Option<usize>,
    promote_halves: Option<usize>,
    c: Option<String>,
    alpha: Option<f64>,
    beta: Option<f64>,
    bias: Option<String>,
    split: Option<SplitKeys>,
    accumulators: Option<AccumulatorKeys>,
    scales: Option<ScalesKeys>,
    output: Option<OutputKeys>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OperandKeys {
    format: Option<String>,
    rounding: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AccumulatorKeys {
    count: usize,
    granule: Option<usize>,
    join: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SplitKeys {
    count: usize,
    granule: Option<usize>,
    terms: Option<String>,
    join: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScalesKeys {
    a: [usize; 2],
    b: [usize; 2],
    multiply: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct OutputKeys {
    format: Option<String>,
    rounding: Option<String>,
    overflow: Option<String>,
    nan: Option<String>,
}

/// The instruction of this name: one of the table, of a file, or a whole matrix product of a device.
///
/// # Errors
/// As [`isa::resolve`].
pub fn instruction(name: &str) -> Result<Instruction> {
    isa::gemm(name).unwrap_or_else(|| isa::resolve(name))
}

impl Schedule {
    /// The schedule in this file.
    ///
    /// # Errors
    /// A file that cannot be read, or that describes no schedule: with the key, its value and what it may be.
    pub fn read(path: &Path) -> Result<Schedule> {
        Schedule::parse(&text::read(path, "the schedule")?, &path.display().to_string())
    }

    /// The schedule that `text` describes; `origin` names it in messages.
    ///
    /// # Errors
    /// As [`Schedule::read`].
    pub fn parse(text: &str, origin: &str) -> Result<Schedule> {
        let keys: ScheduleKeys = toml::from_str(text)
            .map_err(|error| Error::request(format!("{origin}: {}", error.to_string().trim_end())))?;
        let within = |error: Error| error.within(origin);
        let schedule = Schedule::of_keys(keys).map_err(within)?;
        schedule.check().map_err(|what| within(Error::request(what)))?;
        Ok(schedule)
    }

    fn of_keys(keys: ScheduleKeys) -> Result<Schedule> {
        let mut schedule = Schedule::new(instruction(&keys.instruction).map_err(|error| error.within("instruction"))?)?;
        if let Some(OperandKeys { format, rounding }) = keys.operands {
            let format = format::find(format.as_deref().unwrap_or(GIVEN)).map_err(|e| e.within("operands.format"))?;
            let rounding = deterministic("operands.rounding", rounding, Rounding::Rne)?;
            schedule.operands = Some(OperandRounding { format, rounding });
        }
        schedule.order = or("order", keys.order, schedule.order)?;
        schedule.slab = keys.slab.unwrap_or(schedule.slab);
        schedule.residue = or("residue", keys.residue, schedule.residue)?;
        (schedule.promote, schedule.promote_halves) = (keys.promote, keys.promote_halves);
        schedule.c = or("c", keys.c, schedule.c)?;
        schedule.alpha = keys.alpha.unwrap_or(schedule.alpha);
        schedule.beta = keys.beta.unwrap_or(schedule.beta);
        schedule.bias = or("bias", keys.bias, schedule.bias)?;
        if let Some(AccumulatorKeys { count, granule, join }) = keys.accumulators {
            let standard = schedule.accumulators;
            let join = or("accumulators.join", join, standard.join)?;
            schedule.accumulators = Accumulators { count, granule: granule.unwrap_or(standard.granule), join };
        }
        if let Some(SplitKeys { count, granule, terms, join }) = keys.split {
            let standard = schedule.split;
            let join = or("split.join", join, standard.join)?;
            let terms = or("split.terms", terms, standard.terms)?;
            schedule.split = SplitK { count, granule: granule.unwrap_or(standard.granule), terms, join };
        }
        if let Some(ScalesKeys { a, b, multiply }) = keys.scales {
            schedule.scales = Some(ScaleBlocks { a, b, multiply: or("scales.multiply", multiply, ScaleUse::Fused)? });
        }
        if let Some(keys) = keys.output {
            schedule.output = output(keys, schedule.output)?;
        }
        Ok(schedule)
    }

    /// The schedule as a file: the keys that differ from [`Schedule::new`].
    pub fn to_toml(&self) -> String {
        let plain = Schedule::new(self.instruction.clone()).ok();
        let mut keys = Table::new();
        let mut set = |key: &str, value: Value, usual: Option<Value>| {
            if usual.as_ref() != Some(&value) {
                keys.insert(key.into(), value);
            }
        };
        let name = |name: &str| Value::from(name);
        let integer = |number: usize| Value::from(number as i64);
        let usual = |of: &dyn Fn(&Schedule) -> Value| plain.as_ref().map(of);
        set("instruction", name(&self.instruction.name), None);
        if let Some(OperandRounding { format, rounding }) = self.operands {
            let mut table = Table::new();
            table.insert("format".into(), name(format.name));
            table.insert("rounding".into(), name(rounding.name()));
            set("operands", Value::Table(table), None);
        }
        set("order", name(self.order.name()), usual(&|s| name(s.order.name())));
        set("slab", integer(self.slab), usual(&|s| integer(s.slab)));
        set("residue", name(self.residue.name()), usual(&|s| name(s.residue.name())));
        for (key, k) in [("promote", self.promote), ("promote-halves", self.promote_halves)] {
            if let Some(k) = k {
                set(key, integer(k), None);
            }
        }
        set("c", name(self.c.name()), usual(&|s| name(s.c.name())));
        set("alpha", Value::from(self.alpha), usual(&|s| Value::from(s.alpha)));
        set("beta", Value::from(self.beta), usual(&|s| Value::from(s.beta)));
        set("bias", name(self.bias.name()), usual(&|s| name(s.bias.name())));
        let Accumulators { count, granule, join } = self.accumulators;
        if count > 1 {
            let mut table = Table::new();
            table.insert("count".into(), integer(count));
            if granule != self.instruction.k {
                table.insert("granule".into(), integer(granule));
            }
            table.insert("join".into(), name(join.name()));
            set("accumulators", Value::Table(table), None);
        }
        let mut split = Table::new();
        split.insert("count".into(), integer(self.split.count));
        split.insert("granule".into(), integer(self.split.granule));
        if self.split.terms == PartTerms::Interleaved {
            split.insert("terms".into(), name(self.split.terms.name()));
        }
        split.insert("join".into(), name(self.split.join.name()));
        if plain.as_ref().is_none_or(|plain| plain.split != self.split) {
            set("split", Value::Table(split), None);
        }
        if let Some(scales) = &self.scales {
            let pair = |pair: [usize; 2]| Value::Array(pair.map(integer).to_vec());
            let mut table = Table::new();
            table.insert("a".into(), pair(scales.a));
            table.insert("b".into(), pair(scales.b));
            table.insert("multiply".into(), name(scales.multiply.name()));
            set("scales", Value::Table(table), None);
        }
        let OutputRounding { format, rounding, overflow, nan } = &self.output;
        let mut output = Table::new();
        if *format != self.instruction.d {
            output.insert("format".into(), name(format.name));
        }
        if *rounding != Rounding::Rne {
            output.insert("rounding".into(), name(rounding.name()));
        }
        if *overflow != Overflow::Standard {
            output.insert("overflow".into(), name(overflow.name()));
        }
        if let Some(nan) = nan {
            output.insert("nan".into(), Value::from(format.hex(*nan)));
        }
        if !output.is_empty() {
            set("output", Value::Table(output), None);
        }
        toml::to_string(&keys).expect("a table of plain values")
    }
}

/// The value of this name, or the default one.
fn or<T: Named>(key: &str, given: Option<String>, usual: T) -> Result<T> {
    given.map_or(Ok(usual), |given| value(key, &given).map_err(Error::request))
}

/// The value of this name, or what is wrong with the key.
pub(super) fn value<T: Named>(key: &str, name: &str) -> std::result::Result<T, String> {
    T::all().iter().copied().find(|value| value.name() == name).ok_or_else(|| {
        let known: Vec<String> = T::all().iter().map(|value| format!("\"{}\"", value.name())).collect();
        format!("{key} = \"{name}\": expected one of {}", known.join(", "))
    })
}

/// The rounding of this name, or the default one.
fn deterministic(key: &str, given: Option<String>, usual: Rounding) -> Result<Rounding> {
    let Some(given) = given else { return Ok(usual) };
    Rounding::parse(&given).ok_or_else(|| {
        let known = Rounding::DETERMINISTIC.map(|rounding| rounding.name());
        Error::request(format!("{key} = \"{given}\": expected one of {}", known.join(", ")))
    })
}

fn output(keys: OutputKeys, usual: OutputRounding) -> Result<OutputRounding> {
    let format: &'static Format = match keys.format {
        Some(name) => format::find(&name).map_err(|error| error.within("output.format"))?,
        None => usual.format,
    };
    let rounding = deterministic("output.rounding", keys.rounding, usual.rounding)?;
    let overflow = match keys.overflow {
        Some(name) => Overflow::ALL.into_iter().find(|overflow| overflow.name() == name).ok_or_else(|| {
            let known = Overflow::ALL.map(|overflow| overflow.name());
            Error::request(format!("output.overflow = \"{name}\": expected one of {}", known.join(", ")))
        })?,
        None => usual.overflow,
    };
    let nan = match keys.nan {
        Some(text) => {
            let code = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            Some(code.ok_or_else(|| {
                Error::request(format!("output.nan = \"{text}\": expected a code such as \"0x7fff\""))
            })?)
        }
        None => None,
    };
    Ok(OutputRounding { format, rounding, overflow, nan })
}
