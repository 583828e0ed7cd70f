//! Operands of a product: read from files, or drawn.

use super::{
    ArrayFile, Conversion, Extents, Factors, Matrix, NumberMatrix, OperandRounding, ProductOperands, ProductShape,
    Schedule, Values, draw,
};
use crate::{
    Error, Result,
    device::{OperandLayout, Problem},
    format::{self, Format, Rounding},
    inputs::random,
    isa::Instruction,
};

/// Where the operands of a product come from.
#[derive(Debug, Clone)]
pub struct OperandSource {
    /// A: m x k.
    pub a: Option<ArrayFile>,
    /// B: k x n.
    pub b: Option<ArrayFile>,
    /// C: m x n.
    pub c: Option<ArrayFile>,
    /// The bias: n numbers.
    pub bias: Option<ArrayFile>,
    /// Block scales of A.
    pub scale_a: Option<ArrayFile>,
    /// Block scales of B.
    pub scale_b: Option<ArrayFile>,
    /// True if the files of A and B hold their transposes.
    pub transposed: [bool; 2],
    /// Treatment of values that a format does not have.
    pub conversion: Conversion,
    /// A and B that are drawn, in place of files.
    pub drawn: Option<DrawnOperands>,
    /// Factor of the product; `None`: the schedule's.
    pub alpha: Option<f64>,
    /// Factor of C; `None`: the schedule's.
    pub beta: Option<f64>,
}

/// How A and B are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnOperands {
    /// The shape of the product.
    pub shape: ProductShape,
    /// The distribution.
    pub values: Values,
    /// The seed.
    pub seed: u64,
}

impl OperandSource {
    /// Alpha and beta, 1 unless given.
    pub fn scale_factors(&self) -> (f64, f64) {
        (self.alpha.unwrap_or(1.0), self.beta.unwrap_or(1.0))
    }

    /// The number of products of a batch; `None` for one product.
    ///
    /// D of a batch has three dimensions, and so have some operands.
    ///
    /// # Errors
    /// Files that cannot be read; batches of other sizes than D's, or of none.
    pub fn batch(&self, d: &ArrayFile) -> Result<Option<usize>> {
        let named = [("A", &self.a), ("B", &self.b), ("C", &self.c), ("the bias", &self.bias)];
        let scales = [("the scales of A", &self.scale_a), ("the scales of B", &self.scale_b)];
        let expected = d.batch()?;
        for (name, file) in named.into_iter().chain(scales).filter_map(|(name, file)| Some((name, file.as_ref()?))) {
            let words = |batch: Option<usize>| batch.map_or("one matrix".into(), |batch| format!("{batch} matrices"));
            match (file.batch()?, expected) {
                (given @ Some(_), expected) if given != expected => {
                    let (given, expected) = (words(given), words(expected));
                    return Err(Error::request(format!("D holds {expected} and {name} {given}; both need as many")));
                }
                _ => (),
            }
        }
        match expected {
            Some(0) => Err(Error::request("D holds 0 matrices; there is nothing to check")),
            expected => Ok(expected),
        }
    }

    /// The source of one product of a batch.
    pub fn of_product(&self, product: usize) -> OperandSource {
        let one = |file: &Option<ArrayFile>| file.clone().map(|file| ArrayFile { product: Some(product), ..file });
        OperandSource {
            a: one(&self.a),
            b: one(&self.b),
            c: one(&self.c),
            bias: one(&self.bias),
            scale_a: one(&self.scale_a),
            scale_b: one(&self.scale_b),
            ..self.clone()
        }
    }

    /// Refuses matrices that do not fit together, before any data are read; `d` is a given D.
    ///
    /// # Errors
    /// A request error: which matrix has what shape, and which one is expected.
    pub fn fit(&self, d: Option<&ArrayFile>) -> Result<()> {
        let extent = |file: &ArrayFile| file.extent();
        let optional = |file: Option<&ArrayFile>| file.map(extent).transpose();
        let turned = |(rows, columns), turn: bool| if turn { (columns, rows) } else { (rows, columns) };
        let (a, b) = match (self.drawn, &self.a, &self.b) {
            (Some(DrawnOperands { shape: ProductShape { m, n, k }, .. }), ..) => ((m, k), (k, n)),
            (None, Some(a), Some(b)) => {
                (turned(extent(a)?, self.transposed[0]), turned(extent(b)?, self.transposed[1]))
            }
            _ => return Err(missing()),
        };
        let (c, bias) = (optional(self.c.as_ref())?, optional(self.bias.as_ref())?);
        Extents { a, b, c, bias, d: optional(d)? }.fit()
    }

    /// The operands of a product by `schedule`, in the formats that it takes; `notes` tell roundings.
    ///
    /// # Errors
    /// Files that cannot be read, or hold other values than the formats have.
    pub fn for_schedule(&self, schedule: &Schedule, notes: &mut Vec<String>) -> Result<Factors> {
        Factors::of_schedule(schedule, self.conversion, &mut |name, format, conversion| {
            self.matrix(schedule.output.format, name, format, conversion, notes)
        })
    }

    /// The operands of a product of unknown schedule, but perhaps known instruction, whose D is `d`.
    ///
    /// # Errors
    /// As [`OperandSource::for_schedule`].
    pub fn for_match(
        &self,
        instruction: Option<&Instruction>,
        d: &ArrayFile,
        notes: &mut Vec<String>,
    ) -> Result<(Factors, Matrix)> {
        self.fit(Some(d))?;
        let (d, note) = d.read(None, self.conversion)?;
        let factors = Factors::of_instruction(instruction, self.conversion, &mut |name, format, conversion| {
            self.matrix(d.format, name, format, conversion, notes)
        })?;
        notes.extend(note);
        Ok((factors, d))
    }

    /// A product of a library, D.A.B.COMPUTE, with these factors, of any shape.
    ///
    /// # Errors
    /// A request error: the wrong part of the words.
    pub fn problem(&self, kind: &str, layout: OperandLayout) -> Result<Problem> {
        let (alpha, beta) = self.scale_factors();
        let problem = Problem::of_kind(kind, ProductShape { m: 1, n: 1, k: 1 }, layout)?;
        Ok(Problem { alpha, beta: if self.c.is_some() { beta } else { 0.0 }, ..problem })
    }

    /// The operands of a library's product.
    ///
    /// # Errors
    /// As [`OperandSource::for_schedule`].
    pub fn for_problem(&self, problem: &Problem, notes: &mut Vec<String>) -> Result<Factors> {
        let mut read = |name, format| self.matrix(problem.d, name, Some(format), self.conversion, notes);
        let (a, b) = (read("a", library_format(problem.a))?, read("b", library_format(problem.b))?);
        let c = read("c", problem.c_format())?;
        Ok(Factors { c, ..Factors::new(a.ok_or_else(missing)?, b.ok_or_else(missing)?) })
    }

    /// The operands as numbers, whatever their formats, and the number of products in a batch.
    ///
    /// `None` without A and B; no number for matrices that are no batch.
    ///
    /// # Errors
    /// Files that cannot be read; matrices or batches that do not fit together.
    pub fn numbers(&self) -> Result<Option<(ProductOperands, Option<usize>)>> {
        let (Some(a), Some(b)) = (&self.a, &self.b) else { return Ok(None) };
        let mut batches = Vec::new();
        let mut read = |name: &'static str, file: &ArrayFile, transposed: bool| {
            let (matrix, batch) = file.read_batch()?;
            batches.push((name, batch));
            let numbers = NumberMatrix::of_matrix(&matrix);
            Ok::<_, Error>(if transposed { numbers.transposed(batch.unwrap_or(1)) } else { numbers })
        };
        let (a, b) = (read("A", a, self.transposed[0])?, read("B", b, self.transposed[1])?);
        let c = self.c.as_ref().map(|file| read("C", file, false)).transpose()?;
        let words = |batch: Option<usize>| batch.map_or("one matrix".into(), |batch| format!("{batch} matrices"));
        let batch = batches[0].1;
        if let Some((name, other)) = batches.iter().find(|(_, other)| *other != batch) {
            let (first, other) = (words(batch), words(*other));
            return Err(Error::request(format!("A holds {first} and {name} {other}; both need as many")));
        }
        if batch == Some(0) {
            return Err(Error::request("A holds 0 matrices; there is nothing to multiply"));
        }
        let (alpha, beta) = self.scale_factors();
        let beta = if c.is_some() { beta } else { 0.0 };
        let operands = ProductOperands { a, b, c, alpha, beta, batch: batch.unwrap_or(1) };
        operands.fit()?;
        Ok(Some((operands, batch)))
    }

    /// The matrix of a name, read or drawn for a D of format `d`, if there is one.
    fn matrix(
        &self,
        d: &Format,
        name: &str,
        format: Option<&'static Format>,
        conversion: Conversion,
        notes: &mut Vec<String>,
    ) -> Result<Option<Matrix>> {
        if let (Some(DrawnOperands { shape, values, seed }), Some(format)) = (self.drawn, format) {
            let ProductShape { m, n, k } = shape;
            let drawn = |rows, columns, which| Some(draw(rows, columns, format, d, values, random(seed, which)));
            match name {
                "a" => return Ok(drawn(m, k, 0)),
                "b" => return Ok(drawn(k, n, 1)),
                _ => {}
            }
        }
        let (file, turned) = match name {
            "a" => (&self.a, self.transposed[0]),
            "b" => (&self.b, self.transposed[1]),
            "c" => (&self.c, false),
            "bias" => (&self.bias, false),
            "scale_a" => (&self.scale_a, false),
            _ => (&self.scale_b, false),
        };
        let Some(file) = file else { return Ok(None) };
        let (matrix, note) = file.read(format, conversion)?;
        notes.extend(note);
        Ok(Some(if turned { matrix.transposed() } else { matrix }))
    }
}

fn missing() -> Error {
    Error::request("A or B is missing: give ‹a› and ‹b›, or ‹shape=M,N,K›")
}

/// The format of the elements that a library takes: f32 for tf32, which it rounds itself.
fn library_format(format: &'static Format) -> &'static Format {
    format::find("f32").ok().filter(|_| format.name == "tf32").unwrap_or(format)
}

/// A schedule that takes the operands of a library: f32 is rounded to tf32 as the library does.
pub fn with_library(schedule: &Schedule, problem: &Problem) -> Result<Schedule> {
    let rounding = OperandRounding { format: format::find("f32")?, rounding: Rounding::Rne };
    let rounds = library_format(problem.a) != problem.a;
    Ok(Schedule { operands: schedule.operands.or(rounds.then_some(rounding)), ..schedule.clone() })
}
