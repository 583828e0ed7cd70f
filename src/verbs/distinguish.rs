//! `tcnum distinguish`: the smallest inputs on which two differ.

use std::{collections::BTreeMap, time::Duration};

use clap::Args;

use super::{
    OutputDestination, Progress, Verb,
    drawings::{Drawings, Figures},
    options::{MAX_TIMEOUT, cases, integer},
    select::{self, Selection, left_out},
};
use crate::{
    Error, Result, Stage,
    arithmetic::{Model, shipped},
    base::pace::UNASKED,
    catalogue,
    device::{self, DEFAULT_MODEL, Device, DeviceName},
    distinguish::{
        self, Agreement, Distinction, Search, Side, Verdict,
        tables::{self, KitRow, Named},
    },
    isa::Instruction,
    report::{self, Report, Table},
    verify::MOST_CASES,
};

/// Cases of the stream where no number is given.
const DEFAULT_CASES: u64 = 1 << 17;

/// How far two are searched, where `--cases` and `--seed` say this.
pub(super) fn search(cases: Option<u64>, seed: Option<u64>) -> Search {
    let time = if cases.is_some() { None } else { Some(UNASKED) };
    Search { cases: cases.unwrap_or(DEFAULT_CASES), seed: seed.unwrap_or(0), time }
}

/// Finds the smallest inputs on which two models, devices or instructions differ, one for each separate reason, or proves that there is none.
///
/// Example: tcnum distinguish model:hopper model:ampere --instr mma.m16n8k16.f32.bf16.bf16.f32
///
/// Example: tcnum distinguish model:hopper/wgmma.m64n16k32.f32.e4m3.e4m3 model:blackwell/tcgen05.m128n16k32.f32.e4m3.e4m3.f32
///
/// Example: tcnum distinguish --instr mma.m16n8k16.f32.f16.f16.f32
///
/// Of two models the reasons are the keys in which their rules differ. Of other devices differences are told apart by their kind.
/// Two instructions need the same operand formats; where k differs, the first k of both are used, and the rest is zero. Without devices:
/// which of the shipped models compute each instruction alike, and its test kit, few inputs that tell all known arithmetics of its
/// operands apart. Exit status 1 if two differ.
#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// Two devices (cuda:N, cpu, model:NAME or model:FILE, exec:'PROGRAM ARGS'), each with or without /INSTRUCTION; none for all
    /// shipped models.
    #[arg(value_name = "DEVICE[/INSTRUCTION]", num_args = 2)]
    sides: Vec<String>,
    #[command(flatten)]
    selection: Selection,
    /// Cases of the verification stream to try, beside the corners. [default: 131072, or as many as devices answer in a minute]
    #[arg(long, value_name = "N", value_parser = cases(MOST_CASES), requires = "sides")]
    cases: Option<u64>,
    /// Seconds that an exec: device may take for one answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer(1..=MAX_TIMEOUT))]
    timeout: u64,
    /// Seed of the stream. [default: 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=u64::MAX), requires = "sides")]
    seed: Option<u64>,
    /// Where figures go.
    #[command(flatten)]
    drawings: Drawings,
    /// Output flags.
    #[command(flatten)]
    destination: OutputDestination,
}

impl Verb for Arguments {
    fn destination(&self) -> Option<&OutputDestination> {
        Some(&self.destination)
    }

    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(Some(self.drawings.of("which models compute alike, without devices", self.sides.is_empty())))
    }
}

/// Runs the command.
///
/// # Errors
/// Unknown names; instructions with other operands, or that a device lacks; a device that fails.
pub(super) fn run(arguments: &Arguments, report: &mut Report) -> Result<()> {
    let progress = Progress::new(&arguments.destination);
    match &arguments.sides[..] {
        [x, y] => {
            let search = search(arguments.cases, arguments.seed);
            report.seed = Some(search.seed);
            let timeout = Duration::from_secs(arguments.timeout);
            let mut two = Two::open([x, y], &arguments.selection, timeout, &mut report.notes)?;
            two.distinguish(&search, &progress, report, &mut Vec::new())
        }
        [] => generations(arguments, &progress, report),
        sides => Err(Error::request(format!("distinguish compares two devices, and {} are named", sides.len()))),
    }
}

/// Two devices, and the instructions on which they are told apart.
pub(super) struct Two {
    names: [DeviceName; 2],
    /// The devices.
    pub devices: [Box<dyn Device>; 2],
    instructions: Vec<[Instruction; 2]>,
}

impl Two {
    /// Opens two devices, each with or without /INSTRUCTION; what is left out of `selection` is noted.
    ///
    /// # Errors
    /// Unknown names; a device that cannot be opened; nothing to tell apart.
    pub(super) fn open(
        sides: [&str; 2],
        selection: &Selection,
        timeout: Duration,
        notes: &mut Vec<String>,
    ) -> Result<Two> {
        let [x, y] = [side(sides[0])?, side(sides[1])?];
        let mut devices = [device::open(Some(&x.0), timeout)?, device::open(Some(&y.0), timeout)?];
        let instructions = instructions(selection, [&x, &y], &mut devices, notes)?;
        Ok(Two { names: [x.0, y.0], devices, instructions })
    }

    /// Tells them apart on each instruction, and puts what was found into the report, and the instructions that were done into `done`,
    /// whatever ends it.
    ///
    /// # Errors
    /// A device that fails; an interruption.
    pub(super) fn distinguish(
        &mut self,
        search: &Search,
        progress: &Progress,
        report: &mut Report,
        done: &mut Vec<[Instruction; 2]>,
    ) -> Result<()> {
        let (mut rows, mut reasons) = (Vec::new(), Vec::new());
        let outcome = self.each(search, progress, &mut |[one, other], named, told| {
            rows.push(tables::pair(named, told));
            reasons.extend(tables::reasons(named, told, reasons.len() + 1));
            done.push([one.clone(), other.clone()]);
        });
        report.holds = rows.iter().all(|row| row.verdict != Verdict::Differ.name());
        report.verdict = report::Verdict::Differ;
        report.answer = tables::answer(&rows);
        let reasons = Table::of("Why they differ", reasons).filled();
        report.tables.extend(std::iter::once(Table::of("Two told apart", rows)).chain(reasons));
        let models = self.devices.each_ref().map(|device| device.model());
        let uses = done.iter().flat_map(|[x, y]| [(models[0], x), (models[1], y)]);
        let uses = uses.filter_map(|(model, instruction)| Some((model?, instruction)));
        report.tables.extend(catalogue::evidence_for(uses).filled());
        outcome
    }

    /// Tells them apart on each instruction, and hands on what was found of each.
    fn each(&mut self, search: &Search, progress: &Progress, told: &mut Told) -> Result<()> {
        let [x, y] = &self.names;
        let total = self.instructions.len() as u64;
        for (number, [one, other]) in self.instructions.iter().enumerate() {
            let [first, second] = &self.devices;
            let named = [Named::new(x, first.as_ref(), one), Named::new(y, second.as_ref(), other)];
            let what = format!("telling {one} on {x} from {other} on {y}");
            progress.at(Stage { what: &what, done: number as u64, total });
            let [first, second] = &mut self.devices;
            let distinction = distinguish::distinguish(
                Side { device: first.as_mut(), instruction: one },
                Side { device: second.as_mut(), instruction: other },
                search,
            )?;
            told([one, other], named.each_ref(), &distinction);
            distinction.stopped.map_or(Ok(()), Err)?;
        }
        Ok(())
    }
}

/// Takes what tells two apart on their instructions.
type Told<'a> = dyn FnMut([&Instruction; 2], [&Named; 2], &Distinction) + 'a;

/// A device, and its instruction if one stands behind it.
fn side(text: &str) -> Result<(DeviceName, Option<Instruction>)> {
    if DeviceName::from(text).trace().is_some() {
        return Err(Error::request(format!(
            "{text}: a recording answers for its own operands alone; compare it with a model or a device by `tcnum verify {text} \
             --model MODEL`"
        )));
    }
    select::with_instruction(text)
}

/// The instructions of both sides.
fn instructions(
    selection: &Selection,
    [x, y]: [&(DeviceName, Option<Instruction>); 2],
    devices: &mut [Box<dyn Device>; 2],
    notes: &mut Vec<String>,
) -> Result<Vec<[Instruction; 2]>> {
    let Selection { instructions, formats, all } = selection;
    let selected = *all || !instructions.is_empty() || !formats.is_empty();
    match (&x.1, &y.1) {
        (None, None) if !selected => {
            Err(Error::request("no instruction is named; write DEVICE/INSTRUCTION, or give --instr, --fmt or --all"))
        }
        (Some(one), Some(_)) if selected => Err(Error::request(format!(
            "both sides name an instruction ({one}); --instr, --fmt and --all are for those that do not"
        ))),
        (Some(one), Some(other)) => Ok(vec![[one.clone(), other.clone()]]),
        (Some(own), None) if !selected => Ok(vec![[own.clone(), own.clone()]]),
        (None, Some(own)) if !selected => Ok(vec![[own.clone(), own.clone()]]),
        (one, other) => {
            let mut chosen = selection.instructions(&[], Some(if one.is_none() { &x.0 } else { &y.0 }))?;
            if *all {
                for (device, _) in devices.iter_mut().zip([one, other]).filter(|(_, own)| own.is_none()) {
                    let mut failure = None;
                    let left_out = left_out(&mut chosen, |i| match device.has(i) {
                        Ok(()) => true,
                        Err(error) if error.is_unavailable() => false,
                        Err(error) => {
                            failure.get_or_insert(error);
                            false
                        }
                    });
                    if let Some(error) = failure {
                        return Err(error);
                    }
                    let name = &device.identity().name;
                    notes.extend(left_out.map(|count| format!("Left out: {count} that {name} does not have.")));
                }
            }
            if chosen.is_empty() {
                return Err(Error::unavailable(format!(
                    "{} and {} have none of the chosen instructions in common",
                    x.0, y.0
                )));
            }
            let pair = |own: Instruction| [one.clone().unwrap_or_else(|| own.clone()), other.clone().unwrap_or(own)];
            Ok(chosen.into_iter().map(pair).collect())
        }
    }
}

/// Which of the shipped models compute each instruction alike, and the kits.
fn generations(arguments: &Arguments, progress: &Progress, report: &mut Report) -> Result<()> {
    let Selection { instructions, formats, all } = &arguments.selection;
    if !all && instructions.is_empty() && formats.is_empty() {
        return Err(Error::request(
            "nothing to tell apart; name two devices, or an instruction (--instr, --fmt or --all) for all shipped models",
        ));
    }
    let chosen: Vec<Instruction> =
        arguments.selection.instructions(&[], Some(&DeviceName::Model(DEFAULT_MODEL.into())))?;
    let (mut agreements, mut kits) = (Vec::new(), Vec::new());
    let outcome = compare(&chosen, progress, &mut agreements).and_then(|()| kits_of(&chosen, progress, &mut kits));
    report.answer = tables::agreement(&agreements);
    let models: Vec<Model> = shipped().map(Model::load).collect::<Result<_>>()?;
    let uses = agreements.iter().flat_map(|own| models.iter().map(|model| (model, &own.instruction)));
    let tables = [tables::known(&agreements), tables::generations(&agreements), Table::of("Test kits", kits)];
    let tables = tables.into_iter().chain([catalogue::evidence_for(uses)]);
    report.tables = tables.filter_map(Table::filled).collect();
    outcome
}

/// Which models compute each instruction alike.
fn compare(chosen: &[Instruction], progress: &Progress, agreements: &mut Vec<Agreement>) -> Result<()> {
    for (number, instruction) in chosen.iter().enumerate() {
        let what = format!("comparing the models of {instruction}");
        progress.at(Stage { what: &what, done: number as u64, total: chosen.len() as u64 });
        agreements.push(distinguish::generations(instruction)?);
    }
    Ok(())
}

/// The test kits of instructions.
fn kits_of(chosen: &[Instruction], progress: &Progress, kits: &mut Vec<KitRow>) -> Result<()> {
    // Instructions with the same operands have the same kit.
    let mut alike: BTreeMap<String, Vec<&Instruction>> = BTreeMap::new();
    for i in chosen {
        let formats = [i.a, i.b, i.c, i.d].map(|format| format.name);
        let operands = format!("{formats:?} {} {:?} {:?} {}", i.k, i.sparse, i.scale, i.xor);
        alike.entry(operands).or_default().push(i);
    }
    let mut alike: Vec<Vec<&Instruction>> = alike.into_values().collect();
    alike.sort_by_cached_key(|own| chosen.iter().position(|i| std::ptr::eq(i, own[0])));
    let total = alike.len() as u64;
    for (number, own) in alike.into_iter().enumerate() {
        progress.at(Stage { what: &format!("making the kit of {}", own[0]), done: number as u64, total });
        kits.extend(tables::kit(own[0], &own[1..], &distinguish::kit(own[0])?));
    }
    Ok(())
}
