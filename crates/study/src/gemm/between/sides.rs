//! The sides of a comparison by their names, `DEVICE[@WHAT]...`, and their common operands.

use std::time::Duration;

use super::{ProductMaker, ProductSide};
use crate::{
    Error, Result,
    device::{ChosenAlgorithm, DeviceName, Problem, cuda::cublaslt::CublasLt},
    product::{self, Factors, LibrarySchedules, OperandSource, Schedule},
};

/// A side by its name.
#[derive(Debug, Clone)]
pub struct SideRequest {
    text: String,
    device: DeviceName,
    schedule: Option<Schedule>,
    rows: Option<usize>,
    algorithm: Option<ChosenAlgorithm>,
}

impl SideRequest {
    /// Parses `DEVICE[@WHAT]...`, WHAT a schedule's file, an instruction, rows=N or algorithm=ID,tile=N,...
    ///
    /// # Errors
    /// A request error: what is wrong after an @, a schedule for a library, an algorithm for a device.
    pub fn parse(text: &str) -> Result<SideRequest> {
        let mut rest = text;
        let mut named = SideRequest {
            text: text.into(),
            device: DeviceName::Other(String::new()),
            schedule: None,
            rows: None,
            algorithm: None,
        };
        let wrong = |error: String| Error::request(format!("{text}: {error}"));
        while let Some((device, what)) = rest.rsplit_once('@') {
            match what.split_once('=') {
                Some(("rows", rows)) => {
                    let rows = rows.parse().ok().filter(|rows| *rows > 0);
                    named.rows = Some(rows.ok_or_else(|| wrong(format!("'{what}': expected rows=N, from 1")))?);
                }
                Some(("algorithm", id)) => named.algorithm = Some(ChosenAlgorithm::parse(id).map_err(wrong)?),
                _ if what.ends_with(".toml") => named.schedule = Some(Schedule::read(what.as_ref())?),
                _ => match product::instruction(what) {
                    Ok(instruction) => named.schedule = Some(Schedule::new(instruction)?),
                    Err(_) => break,
                },
            }
            rest = device;
        }
        named.device = DeviceName::asked(rest);
        match named.is_library() {
            true if named.schedule.is_some() => {
                Err(wrong("a library follows its own schedule; use algorithm=ID,... to choose an algorithm".into()))
            }
            false if named.algorithm.is_some() => Err(wrong("only libraries have algorithms, such as cublaslt".into())),
            _ => Ok(named),
        }
    }

    /// True if it is a library, which computes whole products.
    pub fn is_library(&self) -> bool {
        matches!(self.device, DeviceName::CublasLt(_))
    }
}

/// Two sides that are to make the same product.
pub struct PairRequest<'a> {
    /// The sides.
    pub sides: [SideRequest; 2],
    /// The schedule of sides without one.
    pub schedule: Option<Schedule>,
    /// The product that libraries are asked for.
    pub problem: Option<Problem>,
    /// The operands.
    pub operands: &'a OperandSource,
    /// Time that a program may take for one answer.
    pub timeout: Duration,
}

impl PairRequest<'_> {
    /// Opens both sides and reads the operands, in formats that both take.
    ///
    /// A device without a schedule follows the one that `library` predicts for the other side.
    ///
    /// # Errors
    /// A side without schedule or product, operands that do not fit, a device that cannot be opened, a library that fails.
    pub fn open(&self, library: &LibrarySchedules, notes: &mut Vec<String>) -> Result<([ProductSide; 2], Factors)> {
        let asked = |side: &SideRequest| {
            self.problem.as_ref().ok_or_else(|| {
                Error::request(format!(
                    "{}: say with ‹product=D.A.B.COMPUTE› what the library computes, such as bf16.bf16.bf16.32f",
                    side.text
                ))
            })
        };
        let problem = self.sides.iter().find(|side| side.is_library()).map(asked).transpose()?;
        self.operands.fit(None)?;
        let schedules = self.sides.each_ref().map(|side| self.schedule_of(side));
        let scheduled = || schedules.iter().flatten();
        let schedule = scheduled().find(|schedule| schedule.operands.is_some()).or(scheduled().next());
        let factors = match (schedule, problem) {
            (Some(schedule), Some(problem)) => {
                self.operands.for_schedule(&product::with_library(schedule, problem)?, notes)?
            }
            (Some(schedule), None) => self.operands.for_schedule(schedule, notes)?,
            (None, Some(problem)) => self.operands.for_problem(problem, notes)?,
            (None, None) => return Err(unscheduled(&self.sides[0])),
        };
        let [x, y] = &self.sides;
        let sides = match [self.side(x, problem)?, self.side(y, problem)?] {
            [Some(x), Some(y)] => [x, y],
            [Some(mut library_side), None] => {
                let other = self.predicted(y, &mut library_side, &factors, library)?;
                [library_side, other]
            }
            [None, Some(mut library_side)] => {
                let other = self.predicted(x, &mut library_side, &factors, library)?;
                [other, library_side]
            }
            [None, None] => return Err(unscheduled(x)),
        };
        Ok((sides, factors))
    }

    fn schedule_of(&self, side: &SideRequest) -> Option<Schedule> {
        side.schedule.clone().or_else(|| self.schedule.clone()).filter(|_| !side.is_library())
    }

    /// A side; `None`: a device without a schedule.
    fn side(&self, named: &SideRequest, problem: Option<&Problem>) -> Result<Option<ProductSide>> {
        let maker = match (&named.device, self.schedule_of(named), problem) {
            (DeviceName::CublasLt(ordinal), _, Some(problem)) => ProductMaker::Library {
                library: Box::new(CublasLt::open(*ordinal)?),
                problem: Box::new(problem.clone()),
                chosen: named.algorithm,
                made: None,
            },
            (_, Some(schedule), _) => self.scheduled(named, schedule)?,
            _ => return Ok(None),
        };
        Ok(Some(ProductSide { name: named.text.clone(), maker, rows: named.rows }))
    }

    fn scheduled(&self, named: &SideRequest, schedule: Schedule) -> Result<ProductMaker> {
        let device = product::computing(&named.device, self.timeout)?;
        Ok(ProductMaker::Scheduled { device, schedule: Box::new(schedule) })
    }

    /// A device that follows the schedule of the library's algorithm.
    fn predicted(
        &self,
        named: &SideRequest,
        library: &mut ProductSide,
        factors: &Factors,
        schedules: &LibrarySchedules,
    ) -> Result<ProductSide> {
        library.product(factors, false).map_err(|error| error.within(&library.name))?;
        let ProductMaker::Library { problem, made: Some(made), .. } = &library.maker else {
            return Err(unscheduled(named));
        };
        let predicted = schedules
            .predict(problem, made)
            .map_err(|why| Error::request(format!("{}: no schedule, and {why}; give ‹schedule›", named.text)))?;
        let maker = self.scheduled(named, predicted.schedule)?;
        Ok(ProductSide { name: named.text.clone(), maker, rows: named.rows })
    }
}

fn unscheduled(side: &SideRequest) -> Error {
    let name = &side.text;
    Error::request(format!("{name}: no schedule; give ‹instr› or ‹schedule›, or {name}@FILE.toml"))
}
