//! Beginning and end of a program: settings of the whole instruction, and conflicts with it.

use super::{
    super::{Conversion, Rounded, SpecialOperands, Specials, Step, ZeroSign, ZeroTerms, language::draft::Draft},
    Destination, InvalidOperations, OperationStep, Output, Program, Scaling, Source, Unpack,
};
use crate::{
    format::{Class, Float, Format, Overflow, Rounding},
    isa::Instruction,
    softfloat::ResultTarget,
};

/// Settings of a rule for every step of an instruction.
pub(super) struct Frame<'a> {
    pub(super) draft: &'a Draft,
    pub(super) instruction: &'a Instruction,
    /// Code of every NaN of D.
    pub(super) nan: u64,
    /// Bits of the significands of each pair of pieces, by the numbers of the pieces.
    pub(super) pieces: Vec<((usize, usize), (u64, u64))>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(draft: &'a Draft, i: &'a Instruction) -> Result<Frame<'a>, String> {
        let nan = nan(draft, i)?;
        if let Some(unpack) = draft.unpack
            && let Some(lossy) = [i.a, i.b].into_iter().find(|format| !unpack.holds(format))
        {
            return Err(format!("'unpack' is {unpack}, which does not hold every number of {lossy}"));
        }
        if let Some(unpack) = draft.unpack_c.filter(|unpack| !unpack.holds(i.c)) {
            return Err(format!("'unpack-c' is {unpack}, which does not hold every number of {}", i.c));
        }
        let masks = |which: &str, widths: Option<&[u32]>, format: &Format| match widths {
            None | Some([]) => Ok(vec![u64::MAX]),
            Some(widths) => pieces(which, widths, draft.unpack.unwrap_or(format)),
        };
        let a = masks("a", draft.split.as_ref().map(|split| &split.a[..]), i.a)?;
        let b = masks("b", draft.split.as_ref().map(|split| &split.b[..]), i.b)?;
        let pieces = draft.pieces().into_iter().map(|(x, y)| ((x, y), (a[x], b[y]))).collect();
        let special_c = draft.special_c.unwrap_or(draft.special_operands);
        let numbers = [(draft.special_operands, draft.unpack, i.a), (draft.special_operands, draft.unpack, i.b)];
        for (specials, unpack, format) in numbers.into_iter().chain([(special_c, draft.unpack_c, i.c)]) {
            let emax = |format: &Format| format.float().map_or(i32::MAX, Float::emax);
            let lacks = |unpack: &&Format| format.has_infinity() && emax(unpack) <= emax(format);
            if let Some(unpack) = unpack.filter(|_| specials == SpecialOperands::Finite).filter(lacks) {
                return Err(format!(
                    "'special-operands' or 'special-c' is 'finite', but {unpack}, to which {format} is converted, lacks the largest of these numbers"
                ));
            }
        }
        if let Some(code) = draft.nan_factors
            && (code > i.d.code_mask() || i.d.decode(code).class != Class::Nan)
        {
            return Err(format!("'nan-factors' is {code:#x}, which is not a NaN of {}", i.d));
        }
        Ok(Frame { draft, instruction: i, nan, pieces })
    }

    /// Part of block scales: one by one, or as sums of products with these factors.
    pub(super) fn scaling(&self, scale_sums: Option<usize>, indices: &[usize]) -> Result<Scaling, String> {
        let i = self.instruction;
        let Some(scale) = i.scale else {
            return match scale_sums {
                Some(sums) => Err(format!("'scale-sums' is {sums}, but the instruction has no block scales")),
                None => Ok(Scaling::None),
            };
        };
        let Some(sums) = scale_sums else { return Ok(Scaling::Each) };
        let products = scale.block * i.stored_k() / i.k;
        if !products.is_multiple_of(sums) {
            return Err(format!("'scale-sums' is {sums}, which does not divide a block's {products} products"));
        }
        if self.draft.split.is_some() {
            return Err("'scale-sums' has no effect with 'split'".into());
        }
        let span = |format: &'static Format| {
            let format = self.draft.unpack.unwrap_or(format);
            let of_table = || format.table().map(|table| table.exponents()).map_or(0, |(low, high)| high - low);
            format.float().map_or_else(of_table, |f| f.emax() - f.emin() + f.precision() as i32)
        };
        if span(i.a) + span(i.b) > 100 {
            return Err(format!("'scale-sums': exact sums of products of {} and {} are too wide", i.a, i.b));
        }
        let full_runs = indices.len().is_multiple_of(sums);
        let runs = indices.chunks(sums).all(|run| run[0] % sums == 0 && run.windows(2).all(|w| w[1] == w[0] + 1));
        match full_runs && runs {
            true => Ok(Scaling::Sums(sums)),
            false => Err(format!("'scale-sums' is {sums}, but the groups do not consist of such runs of products")),
        }
    }

    /// Error of block scales outside a single sum.
    pub(super) fn unscaled(&self) -> String {
        match self.draft.step {
            Step::Tree => "block scales need a node of kind 'sum'".into(),
            step => format!("'step' is '{}', but block scales need 'fused' or 'exact'", step.name()),
        }
    }

    /// Destination that a key names; `zero` is the sign of zero results.
    pub(super) fn destination(&self, to: &Rounded, zero: ZeroSign) -> Destination {
        let nan = if to.format == self.instruction.d { self.nan } else { self.nan_in(to.format) };
        Destination {
            target: ResultTarget { format: to.format, rounding: to.rounding, overflow: to.overflow, nan },
            subnormals: to.subnormals.unwrap_or(self.draft.result_subnormals),
            tininess: to.tininess.unwrap_or(self.draft.result_tininess),
            overflow_test: to.overflow_test.unwrap_or(self.draft.overflow_test),
            zero,
        }
    }

    /// NaN of another format with the sign and the leading bits of the payload of D's NaN; 0 without NaN.
    fn nan_in(&self, format: &Format) -> u64 {
        let d = self.instruction.d;
        let nan = d.decode(self.nan);
        let (from, to) = (d.fraction_bits(), format.fraction_bits());
        let trailing = if to >= from { nan.significand << (to - from) } else { nan.significand >> (from - to) };
        format.quiet_nan(nan.negative, trailing).unwrap_or(0)
    }

    /// Program with these steps, whose last value is `value`.
    pub(super) fn program(&self, steps: Vec<OperationStep>, value: Source, passes_nan: bool) -> Program {
        let (i, draft) = (self.instruction, self.draft);
        let of_factor = Unpack {
            subnormals: draft.operand_subnormals,
            wider: draft.unpack,
            zeros: draft.zero_terms != ZeroTerms::Ignored,
            specials: draft.special_operands,
        };
        let of_c = Unpack {
            subnormals: draft.c_subnormals.unwrap_or(draft.operand_subnormals),
            wider: draft.unpack_c,
            zeros: draft.zero_terms == ZeroTerms::All,
            specials: draft.special_c.unwrap_or(draft.special_operands),
        };
        let nan_operands = || draft.root().map_or_else(Vec::new, |root| root.nan_operands.clone());
        let target = ResultTarget {
            format: i.d,
            rounding: match draft.output {
                Some(Conversion { random_bits: Some(bits), .. }) => Rounding::Sr { random: 0, bits },
                output => output.map_or(Rounding::Rne, |to| to.rounding),
            },
            overflow: draft.output.map_or(Overflow::Standard, |to| to.overflow),
            nan: self.nan,
        };
        Program {
            instruction: i.clone(),
            unpack: [of_factor, of_factor, of_c],
            specials: (draft.specials == Specials::Operands).then(nan_operands),
            factor_nan: draft.nan_factors,
            invalid: InvalidOperations {
                zero_times_infinity: draft.zero_times_infinity,
                opposite_infinities: draft.opposite_infinities,
            },
            steps,
            output: Output { value, target, passes_nan },
        }
    }
}

/// Bits of a significand in pieces of these widths, from the leading one down.
fn pieces(which: &str, widths: &[u32], format: &Format) -> Result<Vec<u64>, String> {
    let precision = if format.is_integer() { 0 } else { format.fraction_bits() + 1 };
    if widths.iter().map(|width| u64::from(*width)).sum::<u64>() != u64::from(precision) {
        return Err(format!("'split.{which}' adds up to another width than the {precision} bits of {format}"));
    }
    let below = |bits: u32| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut left = precision;
    Ok(widths
        .iter()
        .map(|width| {
            let mask = below(left) & !below(left - width);
            left -= width;
            mask
        })
        .collect())
}

/// Code of every NaN of D; 0 for integers.
fn nan(draft: &Draft, instruction: &Instruction) -> Result<u64, String> {
    let Instruction { a, b, c, d, .. } = instruction;
    let integers = draft.step == Step::Integer;
    if [a, b, c, d].iter().any(|format| format.is_integer() != integers) {
        let has = if integers { "floating-point" } else { "integer" };
        return Err(format!("'step' is '{}', but there are {has} operands", draft.step.name()));
    }
    match draft.nan {
        _ if integers => Ok(0),
        Some(code) if code <= d.code_mask() && d.decode(code).class == Class::Nan => Ok(code),
        Some(code) => Err(format!("'nan' is {code:#x}, which is not a NaN of {d}")),
        None => Err("the key 'nan' is missing".into()),
    }
}
