//! `tcnum gemm --between`: where the products of two differ, and why.

use std::collections::BTreeMap;

use super::{
    Arguments, Progress, computing, factors, invocation, library, models, multiplied, safetensors, scale_factors,
    schedule,
};
use crate::{
    Error, Result,
    arithmetic::Model,
    device::{ChosenAlgorithm, DeviceName, OperandLayout, Problem, cuda::cublaslt::CublasLt},
    distinguish::tables as told,
    format::{self, Rounding},
    gemm::{
        self, Conversion, Factors, OperandRounding, Schedule,
        between::{self, Between, Knowledge, Maker, Side},
        library::LibrarySchedules,
        tables,
    },
    report::{Report, Table, Verdict},
};

/// The library of which attributes of algorithms are known.
const LIBRARY: &str = "cublaslt";

/// One of two, as it is named.
struct Named {
    text: String,
    device: DeviceName,
    schedule: Option<Schedule>,
    rows: Option<usize>,
    algorithm: Option<ChosenAlgorithm>,
}

impl Named {
    /// What `DEVICE[@WHAT]...` names.
    fn parse(text: &str) -> Result<Named> {
        let mut rest = text;
        let mut named = Named {
            text: text.into(),
            device: DeviceName::Other(String::new()),
            schedule: None,
            rows: None,
            algorithm: None,
        };
        while let Some((device, what)) = rest.rsplit_once('@') {
            let within = |error: String| Error::request(format!("--between {text}: {error}"));
            match what.split_once('=') {
                Some(("rows", rows)) => {
                    let rows = rows.parse().ok().filter(|rows| *rows > 0);
                    named.rows = Some(rows.ok_or_else(|| within(format!("'{what}': expected rows=N, from 1")))?);
                }
                Some(("algorithm", own)) => named.algorithm = Some(ChosenAlgorithm::parse(own).map_err(within)?),
                _ if what.ends_with(".toml") => named.schedule = Some(Schedule::read(what.as_ref())?),
                _ => match gemm::instruction(what) {
                    Ok(instruction) => named.schedule = Some(Schedule::new(instruction)?),
                    Err(_) => break,
                },
            }
            rest = device;
        }
        named.device = DeviceName::asked(rest);
        match named.is_library() {
            true if named.schedule.is_some() => Err(Error::request(format!(
                "--between {text}: a library follows a schedule of its own; algorithm=ID,... names one of its algorithms"
            ))),
            false if named.algorithm.is_some() => {
                Err(Error::request(format!("--between {text}: algorithms are of libraries, such as {LIBRARY}")))
            }
            _ => Ok(named),
        }
    }

    fn is_library(&self) -> bool {
        matches!(self.device, DeviceName::CublasLt(_))
    }
}

/// Compares the products of two.
///
/// # Errors
/// As [`super::run`].
pub(super) fn run(arguments: &Arguments, sides: [&String; 2], report: &mut Report) -> Result<()> {
    report.seed = arguments.shape.map(|_| arguments.seed);
    if let Some(path) = &arguments.apart {
        safetensors(path)?;
    }
    let named = [Named::parse(sides[0])?, Named::parse(sides[1])?];
    let described = arguments.instruction.is_some() || arguments.schedule.is_some();
    let common = described.then(|| schedule(arguments)).transpose()?;
    let schedules =
        named.each_ref().map(|own| own.schedule.clone().or_else(|| common.clone()).filter(|_| !own.is_library()));
    let problem = named.iter().any(Named::is_library).then(|| problem(arguments)).transpose()?;
    let factors = operands(arguments, &schedules, problem.as_ref(), &mut report.notes)?;
    let attributes = LibrarySchedules::shipped(LIBRARY)?;
    let progress = Progress::new(&arguments.destination);
    let [x, y] = &named;
    let [first, second] = schedules;
    let mut sides = match (side(arguments, x, first, problem.as_ref())?, side(arguments, y, second, problem.as_ref())?)
    {
        (Some(x), Some(y)) => [x, y],
        (Some(mut library), None) => {
            let other = predicted(arguments, y, &mut library, &factors, &attributes)?;
            [library, other]
        }
        (None, Some(mut library)) => {
            let other = predicted(arguments, x, &mut library, &factors, &attributes)?;
            [other, library]
        }
        (None, None) => return Err(nothing(&x.text)),
    };
    let knowledge =
        Knowledge { models: models(arguments), library: Some(&attributes), factors: scale_factors(arguments) };
    let mut found = None;
    let outcome = between::between(&mut sides, &factors, &knowledge, &mut found, &|what| progress.step(what));
    let Some(found) = found else { return outcome };
    report.holds = found.differences.differing == 0;
    report.verdict = Verdict::Differ;
    show(report, [&x.text, &y.text], &found, &factors, &sides);
    outcome?;
    match (&arguments.apart, &found.smallest) {
        (Some(path), Some(own)) => {
            let metadata = BTreeMap::from([("tcnum.source".to_string(), invocation())]);
            gemm::write_named(path, &own.factors.named(), metadata).map_err(|error| error.within("--apart"))
        }
        _ => Ok(()),
    }
}

/// The tables of what was found.
fn show(report: &mut Report, names: [&str; 2], found: &Between, factors: &Factors, sides: &[Side; 2]) {
    let rows = sides.iter().filter_map(|side| side.rows).fold(factors.a.rows, usize::min);
    let d = found.format;
    report.answer = Some(tables::between_answer(names, found));
    report.tables.push(Table::of("Two products", [tables::between(names, found, rows, factors.k())]));
    let comparison = tables::comparison(names[1].to_string(), d, &found.differences);
    report.tables.push(Table::of(format!("{} compared", names[0]), [comparison]));
    let (smallest, steps) = tables::smallest(found, d);
    report.tables.extend(Table::of("The smallest product on which they differ", smallest).filled());
    report.tables.extend(Table::of("Its steps: what the unit has summed after each", steps).filled());
    if let (Some(Ok(own)), [Some(x), Some(y)]) = (&found.arithmetics, &found.known) {
        let named = [(x, names[0]), (y, names[1])].map(|(known, name)| told::NamedSide {
            device: known.model.clone().map_or_else(|| DeviceName::from(name), DeviceName::Model),
            instruction: known.schedule.instruction.clone(),
            rule: known
                .model
                .as_ref()
                .and_then(|name| Model::load(name).ok()?.rule(&known.schedule.instruction).cloned()),
        });
        report.tables.push(Table::of("Their instructions told apart", [told::pair([&named[0], &named[1]], own)]));
        report
            .tables
            .extend(Table::of("Why the instructions differ", told::reasons([&named[0], &named[1]], own, 1)).filled());
    }
}

fn nothing(side: &str) -> Error {
    Error::request(format!(
        "--between {side}: nothing says how the product is made; give --instr or --schedule, or {side}@FILE.toml with a schedule"
    ))
}

/// The product that a library is asked for.
fn problem(arguments: &Arguments) -> Result<Problem> {
    let kind = arguments.product.as_deref().ok_or_else(|| {
        Error::request(
            "--between: say with --product D.A.B.COMPUTE what the library is to compute (bf16.bf16.bf16.32f, say)",
        )
    })?;
    let layout = arguments.layout.unwrap_or(OperandLayout::Weights);
    let mut problem = Problem::of_kind(kind, (1, 1, 1), layout).map_err(|error| error.within("--product"))?;
    problem.alpha = arguments.alpha.unwrap_or(1.0);
    problem.beta = if arguments.c.is_some() { arguments.beta.unwrap_or(1.0) } else { 0.0 };
    Ok(problem)
}

/// The operands, in formats that both take.
fn operands(
    arguments: &Arguments,
    schedules: &[Option<Schedule>; 2],
    problem: Option<&Problem>,
    notes: &mut Vec<String>,
) -> Result<Factors> {
    let own = schedules.iter().flatten().find(|own| own.operands.is_some()).or(schedules.iter().flatten().next());
    match (own, problem) {
        (Some(own), _) => {
            let mut own = own.clone();
            let rounds = problem.is_some_and(|problem| library::given(problem.a) != problem.a);
            if rounds && own.operands.is_none() {
                own.operands = Some(OperandRounding { format: format::find("f32")?, rounding: Rounding::Rne });
            }
            factors(arguments, &own, notes)
        }
        (None, Some(problem)) => {
            let formats = [library::given(problem.a), library::given(problem.b)];
            let [a, b] = multiplied(arguments, formats, problem.d, notes)?;
            let c = arguments.c.as_ref().map(|c| c.read(Some(problem.c_format()), Conversion::Keep)).transpose()?;
            Ok(Factors { c: c.map(|(c, _)| c), ..Factors::new(a, b) })
        }
        (None, None) => Err(nothing(&arguments.between[0])),
    }
}

/// One of two; `None`: a device, and nothing says how it is to make the product.
fn side(
    arguments: &Arguments,
    named: &Named,
    schedule: Option<Schedule>,
    problem: Option<&Problem>,
) -> Result<Option<Side>> {
    let maker = match (&named.device, schedule, problem) {
        (DeviceName::CublasLt(ordinal), _, Some(problem)) => Maker::Library {
            library: Box::new(CublasLt::open(*ordinal)?),
            problem: Box::new(problem.clone()),
            chosen: named.algorithm,
            made: None,
        },
        (_, Some(schedule), _) => {
            Maker::Scheduled { device: computing(&named.device, arguments.timeout)?, schedule: Box::new(schedule) }
        }
        _ => return Ok(None),
    };
    Ok(Some(Side { name: named.text.clone(), maker, rows: named.rows }))
}

/// A device that follows the schedule that the algorithm of the library means.
fn predicted(
    arguments: &Arguments,
    named: &Named,
    library: &mut Side,
    factors: &Factors,
    schedules: &LibrarySchedules,
) -> Result<Side> {
    library.product(factors, false).map_err(|error| error.within(&library.name))?;
    let Maker::Library { problem, made: Some(made), .. } = &library.maker else { return Err(nothing(&named.text)) };
    let schedule = schedules.predict(problem, made).map_err(|why| {
        Error::request(format!(
            "--between {}: nothing says how the product is made, and {why}; give --schedule",
            named.text
        ))
    })?;
    let device = computing(&named.device, arguments.timeout)?;
    let maker = Maker::Scheduled { device, schedule: Box::new(schedule.schedule) };
    Ok(Side { name: named.text.clone(), maker, rows: named.rows })
}
