//! Claims: the arithmetics that a product is said to have.

use crate::{
    Error, Result,
    arithmetic::Model,
    format::Format,
    gemm::{Factors, Matrix, PartJoin, Schedule},
    isa,
};

/// Parts of k in the schedules of a family: libraries split k into no more.
const MOST_PARTS: usize = 64;

/// Claimed origin of a product: one schedule, or any of a family.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The claim in words, after "by".
    pub words: String,
    /// The model of the arithmetic.
    pub model: Model,
    /// The schedules, any of which may have made the product.
    pub schedules: Vec<Schedule>,
    /// True for a schedule that is named, whose bits can be compared.
    pub is_exact: bool,
}

impl Claim {
    /// The claim of one schedule in a model's arithmetic.
    pub fn of_schedule(model: Model, schedule: Schedule) -> Claim {
        let words = format!("{} of {}", schedule.instruction, model.name);
        Claim { words, model, schedules: vec![schedule], is_exact: true }
    }

    /// The claim of a product, and its operands as the unit gets them.
    ///
    /// Without a schedule it is that of any instruction for the formats.
    ///
    /// # Errors
    /// As [`Claim::of_generation`]; a schedule that cannot make a D of this format, or operands that it cannot take.
    pub fn of_product(
        model: Model,
        schedule: Option<Schedule>,
        factors: Factors,
        d: &'static Format,
        notes: &mut Vec<String>,
    ) -> Result<(Claim, Factors)> {
        let Some(mut schedule) = schedule else {
            let block = |scales: &Matrix| (scales.format, factors.k().div_ceil(scales.columns));
            let scale = factors.scale_a.as_ref().map(block);
            let claim = Claim::of_generation(model, [factors.a.format, factors.b.format, d], scale)?;
            return Ok((claim, factors));
        };
        schedule.check().map_err(Error::request)?;
        let factors = factors.rounded(&schedule)?.into_owned();
        if schedule.operands.take().is_some() {
            notes.push(
                "The schedule rounds A and B before they are multiplied. Errors are those to the product of the rounded matrices."
                    .into(),
            );
        }
        Ok((Claim::of_schedule(model, schedule), factors))
    }

    /// The claim of a generation: any instruction for these formats, in any order of k.
    ///
    /// `scale` is the format of the scales of blocks and the k of a block, if the operands have any.
    ///
    /// Instructions that sum in f32, f64 or s32 take part. Parts are joined in the register or after rounding to D's format, whichever
    /// has the larger bound.
    ///
    /// # Errors
    /// A request error: the model has no such instruction.
    pub fn of_generation(
        model: Model,
        [a, b, d]: [&'static Format; 3],
        scale: Option<(&'static Format, usize)>,
    ) -> Result<Claim> {
        let mut schedules: Vec<Schedule> = Vec::new();
        for i in isa::all() {
            let wide = ["f32", "f64", "s32"].contains(&i.d.name);
            if !wide
                || i.a != a
                || i.b != b
                || i.xor
                || i.scale.map(|own| (own.format, own.block)) != scale
                || model.rule(i).is_none()
                || schedules.iter().any(|own| own.instruction == *i)
            {
                continue;
            }
            let Ok(mut schedule) = Schedule::new(i.clone()) else { continue };
            schedule.output.format = d;
            if schedule.check().is_err() || super::element::checked(&model, i).is_err() {
                continue;
            }
            schedules.push(schedule.clone());
            if !d.is_integer() {
                schedule.split.count = MOST_PARTS;
                schedule.split.granule = i.k;
                schedule.split.join = PartJoin::Output;
                schedules.push(schedule);
            }
        }
        let words = format!("any order of any {} x {} instruction of {}, D in {}", a.name, b.name, model.name, d.name);
        match schedules.is_empty() {
            true => Err(Error::request(format!(
                "{} has no instruction that multiplies {} by {} and sums in f32, f64 or s32 for a D in {}; give --instr or --schedule",
                model.name, a.name, b.name, d.name
            ))),
            false => Ok(Claim { words, model, schedules, is_exact: false }),
        }
    }
}
