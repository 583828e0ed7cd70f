//! An operation by its name, in a format and an environment.

use crate::{
    Error, Result,
    base::nearest::nearest,
    format::Format,
    softfloat::{Converter, Environment, Flags, Operation, Outcome, ResultKind, Unit},
};

/// The name of the operation that is none of one format: conversion.
const CONVERT: &str = "convert";

/// Names of operations in Berkeley TestFloat that differ from ours, in lower case.
const TESTFLOAT: [(&str, Operation); 2] = [("muladd", Operation::Fma), ("roundtoint", Operation::Rint)];

/// A request for an operation.
#[derive(Debug, Clone)]
pub struct CalcRequest<'a> {
    /// Name of an operation in [`Operation::TABLE`], `convert`, or TestFloat's `mulAdd` and `roundToInt`.
    ///
    /// The letter case does not matter, nor do `_` and `-`.
    pub operation: &'a str,
    /// The format of the operands, and of the result unless it is another.
    pub format: &'static Format,
    /// The format that `convert` converts to.
    pub to: Option<&'static Format>,
    /// Rounding to an integral value, and conversion to an integer format, raise inexact.
    pub exact: bool,
    /// Rounding and all the rest.
    pub environment: Environment,
}

/// One operation, ready to be applied.
#[derive(Debug, Clone)]
pub struct Operator {
    format: &'static Format,
    environment: Environment,
    work: Task,
}

#[derive(Debug, Clone)]
enum Task {
    Unit(Unit<'static>, Operation),
    /// The flags that stay, and the format of the result.
    Conversion(Converter<'static>, Flags, &'static Format),
}

/// Meaning of the code of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeMeaning {
    /// A datum of this format.
    Code(&'static Format),
    /// 0 or 1.
    Truth,
    /// A place in [`CLASSES`](crate::softfloat::CLASSES).
    Class,
}

impl Operator {
    /// The operator of a request.
    ///
    /// # Errors
    /// An unknown operation (with the nearest names); one that the format cannot carry; conversion without a format to convert
    /// to, such a format for another operation; `exact` where nothing is rounded to an integer.
    pub fn new(request: &CalcRequest<'_>) -> Result<Operator> {
        let &CalcRequest { format, environment, to, exact, .. } = request;
        let work = match (named(request.operation)?, to) {
            (None, Some(to)) => conversion(request, to)?,
            (None, None) => return Err(Error::request("‹op=convert› needs ‹to=FORMAT›")),
            (Some(operation), Some(_)) => {
                return Err(Error::request(format!("‹to› is for ‹op=convert›; the operation is {}", operation.name())));
            }
            (Some(operation), None) => {
                let operation = match (operation, exact) {
                    (Operation::Rint, true) => Operation::RintExact,
                    (Operation::RintExact, _) | (_, false) => operation,
                    (other, true) => return Err(exact_without_effect(other.name())),
                };
                let unit = Unit::new(format, environment)?;
                unit.carries(operation)?;
                Task::Unit(unit, operation)
            }
        };
        Ok(Operator { format, environment, work })
    }

    /// The name of the operation in reports.
    pub fn name(&self) -> &'static str {
        match self.work {
            Task::Unit(_, operation) => operation.name(),
            Task::Conversion(..) => CONVERT,
        }
    }

    /// Number of operands.
    pub fn operands(&self) -> usize {
        match self.work {
            Task::Unit(_, operation) => operation.operands(),
            Task::Conversion(..) => 1,
        }
    }

    /// The format of the operands.
    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The meaning of the result.
    pub fn answer(&self) -> CodeMeaning {
        match self.work {
            Task::Conversion(_, _, to) => CodeMeaning::Code(to),
            Task::Unit(_, operation) => match operation.result() {
                ResultKind::Number => CodeMeaning::Code(self.format),
                ResultKind::Truth => CodeMeaning::Truth,
                ResultKind::Class => CodeMeaning::Class,
            },
        }
    }

    /// The result for the first operands; further ones are ignored.
    #[inline]
    pub fn apply(&self, operands: [u64; 3]) -> Outcome {
        match &self.work {
            Task::Unit(unit, operation) => unit.apply(*operation, operands),
            Task::Conversion(converter, flags, _) => {
                let outcome = converter.convert(operands[0]);
                Outcome { flags: Flags::from_bits(outcome.flags.bits() & flags.bits()), ..outcome }
            }
        }
    }

    /// Operation, formats and rounding in words: `add in f16, RNE`.
    pub(super) fn briefly(&self) -> String {
        let to = match self.work {
            Task::Conversion(_, _, to) => format!(" to {to}"),
            Task::Unit(..) => String::new(),
        };
        format!("{} in {}{to}, {}", self.name(), self.format, self.environment.rounding.name())
    }

    /// Operation, formats and environment in words: `f16 add, RNE, overflow: standard, ...`.
    pub fn describe(&self) -> String {
        let environment = &self.environment;
        let to = match self.work {
            Task::Conversion(_, _, to) => format!(" to {to}"),
            Task::Unit(..) => String::new(),
        };
        let mut text = format!(
            "{} {}{to}, {}, overflow: {}, tininess {} rounding, NaN: {}",
            self.format,
            self.name(),
            environment.rounding.name(),
            environment.overflow.name(),
            environment.tininess.name(),
            environment.nan.name(),
        );
        for (flag, words) in [
            (environment.flush_inputs, ", subnormal operands are zeros"),
            (environment.flush_results, ", tiny results are zeros"),
        ] {
            text += if flag { words } else { "" };
        }
        text
    }
}

fn conversion(request: &CalcRequest<'_>, to: &'static Format) -> Result<Task> {
    let kept = match (to.is_integer() && !request.format.is_integer(), request.exact) {
        (false, true) => return Err(exact_without_effect(&format!("{CONVERT} from {} to {to}", request.format))),
        (true, false) => Flags::from_bits(!Flags::INEXACT.bits()),
        _ => Flags::from_bits(u8::MAX),
    };
    Ok(Task::Conversion(Converter::new(request.format, to, request.environment), kept, to))
}

fn exact_without_effect(operation: &str) -> Error {
    Error::request(format!(
        "‹exact› is for rint and for conversion of floating-point numbers to integers; the operation is {operation}"
    ))
}

/// The operation with this name; `None`: conversion.
fn named(name: &str) -> Result<Option<Operation>> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['-', '_'], "");
    let wanted = plain(name);
    let ours = Operation::TABLE.iter().map(|row| (row.1, row.0));
    if wanted == CONVERT {
        return Ok(None);
    }
    if let Some((_, operation)) = ours.chain(TESTFLOAT).find(|(known, _)| plain(known) == wanted) {
        return Ok(Some(operation));
    }
    let known: Vec<&str> = Operation::TABLE.iter().map(|row| row.1).chain([CONVERT]).collect();
    Err(Error::request(format!(
        "unknown operation '{name}'; the nearest are {}. There are {}",
        nearest(&name.to_ascii_lowercase(), known.iter().copied(), 2).join(", "),
        known.join(", ")
    )))
}
