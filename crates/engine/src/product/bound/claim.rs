//! Claims: the arithmetics that a product is said to have.

use crate::{
    Error, Result,
    arithmetic::Model,
    device::{OperandLayout, Problem},
    format::Format,
    isa::{self, Instruction, Scale},
    product::{Factors, LibrarySchedules, Matrix, PartJoin, ProductShape, Schedule},
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

/// The claimed origin of a product.
#[derive(Debug, Clone)]
pub enum Origin {
    /// One schedule.
    Schedule(Box<Schedule>),
    /// Any instruction of the model for these formats.
    Generation,
    /// Any schedule of a library.
    Library(LibraryFamily),
}

/// The schedules of a library: of one kind of product, or of all of some formats.
#[derive(Debug, Clone)]
pub struct LibraryFamily {
    schedules: LibrarySchedules,
    product: Option<Problem>,
}

impl LibraryFamily {
    /// The schedules of a library that the program knows, for products D.A.B.COMPUTE or for all.
    ///
    /// # Errors
    /// A request error: an unknown library, or what is wrong with the kind of product.
    pub fn of(library: &str, product: Option<&str>) -> Result<LibraryFamily> {
        let schedules = LibrarySchedules::shipped(library).map_err(|error| error.within("‹library›"))?;
        let shape = ProductShape { m: 1, n: 1, k: 1 };
        let product = product.map(|kind| Problem::of_kind(kind, shape, OperandLayout::Plain)).transpose();
        Ok(LibraryFamily { schedules, product: product.map_err(|error| error.within("‹product›"))? })
    }

    /// The formats of A, B and D of the kind of product, if there is one.
    pub fn formats(&self) -> Option<[&'static Format; 3]> {
        self.product.as_ref().map(|product| [product.a, product.b, product.d])
    }
}

impl Claim {
    /// The claim of one schedule in a model's arithmetic.
    pub fn of_schedule(model: Model, schedule: Schedule) -> Claim {
        let words = format!("{} of {}", schedule.instruction, model.name);
        Claim { words, model, schedules: vec![schedule], is_exact: true }
    }

    /// The claim of a product, and its operands as the unit gets them.
    ///
    /// # Errors
    /// As [`Claim::of_generation`] and [`Claim::of_library`]; a schedule that cannot make a D of this format, or operands that it cannot
    /// take.
    pub fn of_product(
        model: Model,
        origin: Origin,
        factors: Factors,
        d: &'static Format,
        notes: &mut Vec<String>,
    ) -> Result<(Claim, Factors)> {
        let formats = [factors.a.format, factors.b.format, d];
        let claim = match origin {
            Origin::Schedule(schedule) => {
                schedule.check().map_err(Error::request)?;
                Claim::of_schedule(model, *schedule)
            }
            Origin::Generation => {
                let scale =
                    |scales: &Matrix| Scale { format: scales.format, block: factors.k().div_ceil(scales.columns) };
                Claim::of_generation(model, formats, factors.scale_a.as_ref().map(scale))?
            }
            Origin::Library(family) => Claim::of_library(model, &family, formats)?,
        };
        let (claim, rounded) = claim.taking(&factors)?;
        if let Some(rounded) = rounded {
            notes.push(
                "The schedule rounds A and B before they are multiplied. Errors are those to the product of the rounded matrices."
                    .into(),
            );
            return Ok((claim, rounded));
        }
        Ok((claim, factors))
    }

    /// The claim of a family whose products are multiplied by alpha, with beta C or a bias added.
    pub fn with_addends(mut self, alpha: f64, beta: f64, factors: &Factors) -> Claim {
        if self.is_exact
            || self.schedules[0].alpha == alpha && factors.c.is_none() && factors.bias.is_none() && alpha == 1.0
        {
            return self;
        }
        self.schedules.iter_mut().for_each(|schedule| (schedule.alpha, schedule.beta) = (alpha, beta));
        self.words += ", with alpha, C or a bias entering after the sum";
        self
    }

    /// The claim of schedules that take operands as they are, and the operands as they round them.
    ///
    /// # Errors
    /// Operands that cannot be rounded; schedules that round in different ways.
    pub fn taking(mut self, factors: &Factors) -> Result<(Claim, Option<Factors>)> {
        let first = self.schedules[0].clone();
        if self.schedules.iter().any(|schedule| schedule.operands != first.operands) {
            return Err(Error::request(format!(
                "{} rounds A and B in more than one way; claim one schedule",
                self.words
            )));
        }
        if first.operands.is_none() {
            return Ok((self, None));
        }
        let rounded = factors.rounded(&first)?.into_owned();
        self.schedules.iter_mut().for_each(|schedule| schedule.operands = None);
        Ok((self, Some(rounded)))
    }

    /// The claim of a library: any of its schedules for products of these formats, in any order of k.
    ///
    /// Products are whole, or in parts that are joined in each way that the library has. Schedules that sum in f16 take part only if their
    /// kind of product is named.
    ///
    /// # Errors
    /// A request error: the library has no schedule for them on this model.
    pub fn of_library(model: Model, family: &LibraryFamily, formats: [&'static Format; 3]) -> Result<Claim> {
        let LibraryFamily { schedules: library, product } = family;
        let kind = product.as_ref().map(Problem::kind);
        let [a, b, d] = formats;
        if let Some(product) = product {
            // Operands in f32 may be rounded to those of the product.
            let takes = |given: &Format, wanted: &Format| given == wanted || given.name == "f32";
            if product.d != d || !takes(a, product.a) || !takes(b, product.b) {
                return Err(Error::request(format!(
                    "‹product={}›: it multiplies {} by {} for a D in {}, and the matrices are {a}, {b} and {d}",
                    product.kind(),
                    product.a,
                    product.b,
                    product.d
                )));
            }
        }
        let known = library.family(formats, kind.as_deref(), MOST_PARTS).map_err(Error::request)?;
        let analysed = |schedule: &Schedule| {
            (product.is_some() || is_wide(&schedule.instruction))
                && super::element::checked(&model, &schedule.instruction).is_ok()
        };
        let schedules: Vec<Schedule> = known.into_iter().filter(analysed).collect();
        let of = kind.map_or(String::new(), |kind| format!(" for {kind}"));
        if schedules.is_empty() {
            return Err(Error::request(format!(
                "{} has no schedule{of} that multiplies {a} by {b} for a D in {d} on {}; give ‹instr› or ‹schedule›",
                library.title, model.name
            )));
        }
        let words =
            format!("any order of any schedule of {}{of} on {}, {a} x {b}, D in {d}", library.title, model.name);
        Ok(Claim { words, model, schedules, is_exact: false })
    }

    /// The claim of a generation: any instruction for these formats, in any order of k.
    ///
    /// `scale` tells the scales of blocks, if the operands have any.
    ///
    /// Instructions that sum in f32, f64 or s32 take part. Parts are joined in the register or, for a floating-point D of at least 16 bits,
    /// after rounding to D's format, whichever has the larger bound.
    ///
    /// # Errors
    /// A request error: the model has no such instruction.
    pub fn of_generation(model: Model, [a, b, d]: [&'static Format; 3], scale: Option<Scale>) -> Result<Claim> {
        let mut schedules: Vec<Schedule> = Vec::new();
        for i in isa::all() {
            if !is_wide(i)
                || i.a != a
                || i.b != b
                || i.xor
                || i.scale != scale
                || model.rule(i).is_none()
                || schedules.iter().any(|known| known.instruction == *i)
            {
                continue;
            }
            let Ok(mut schedule) = Schedule::new(i.clone()) else { continue };
            schedule.output.format = d;
            if schedule.check().is_err() || super::element::checked(&model, i).is_err() {
                continue;
            }
            schedules.push(schedule.clone());
            // No library joins parts in formats of 8 bits, which saturate.
            if !d.is_integer() && d.bits >= 16 {
                schedule.split.count = MOST_PARTS;
                schedule.split.granule = i.k;
                schedule.split.join = PartJoin::Output;
                schedules.push(schedule);
            }
        }
        if schedules.is_empty() {
            let product = format!("multiplies {a} by {b} and sums in f32, f64 or s32 for a D in {d}");
            return Err(Error::request(match scale {
                None => format!("{} has no instruction that {product}; give ‹instr› or ‹schedule›", model.name),
                Some(Scale { format, block }) => format!(
                    "{} has no instruction that takes scales in {format} of blocks of {block}, {product}; a schedule multiplies sums by such \
                     scales: give ‹schedule=FILE› with [scales] (docs/schedules.md)",
                    model.name
                ),
            }));
        }
        let mut sums: Vec<&str> = schedules.iter().map(|schedule| schedule.instruction.d.name).collect();
        sums.sort_unstable();
        sums.dedup();
        let sums = sums.join(" or ");
        let words = format!("any order of any {a} x {b} instruction of {} that sums in {sums}, D in {d}", model.name);
        Ok(Claim { words, model, schedules, is_exact: false })
    }

    /// The claim on some rows and columns of the operands, each with its scales.
    pub fn narrowed(&self) -> Claim {
        Claim { schedules: self.schedules.iter().map(Schedule::narrowed).collect(), ..self.clone() }
    }

    /// A note on the instructions that a family leaves out: those that sum in a narrow format.
    pub fn left_out(&self) -> Option<String> {
        let claimed = &self.schedules[0].instruction;
        let is_left_out = |i: &&Instruction| {
            !is_wide(i)
                && (i.a, i.b) == (claimed.a, claimed.b)
                && i.scale == claimed.scale
                && self.model.rule(i).is_some()
        };
        let is_wide_only = !self.is_exact && self.schedules.iter().all(|schedule| is_wide(&schedule.instruction));
        let narrow = isa::all().iter().filter(|_| is_wide_only).find(is_left_out)?;
        Some(format!(
            "The claim leaves out instructions that sum in {}, such as {narrow}: name one with ‹instr›.",
            narrow.d
        ))
    }
}

/// True if an instruction sums in f32, f64 or s32.
fn is_wide(i: &Instruction) -> bool {
    ["f32", "f64", "s32"].contains(&i.d.name)
}
