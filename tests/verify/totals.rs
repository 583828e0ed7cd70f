//! The totals of a run do not depend on how it is cut: how many engines, how long their ranges, how many parts, how often
//! it is resumed.

use std::{
    collections::HashMap,
    ops::Range,
    sync::{Arc, Mutex},
    thread::ThreadId,
};

use proptest::prelude::*;
use tcnum::{
    Result,
    arithmetic::{Evaluator, Model},
    inputs::Sequence,
    isa::{self, Codes, Instruction, Tiles},
};
use tcnum_engine::campaign::{Part, Run, State, drive, drive_all, engine};
use tcnum_engine::{
    comparison::Difference,
    device::{
        CampaignWork, Campaigns, Count, Device, DeviceName, Engine, Execution, ExecutionKind, Identity, LocalExecution,
        LocalThreads, Mismatch, Spot, Verified,
    },
};
use tcnum_study::verify::merge::{PartFile, merge};

const NAME: &str = "mma.m16n8k16.f32.f16.f16.f32";
/// Tiles of a unit of this instruction.
const UNIT: u64 = 512;

/// A device that differs from every model in given places and nowhere else, and lists so many of them.
struct Imaginary {
    identity: Identity,
    spots: Arc<Vec<Spot>>,
    room: usize,
}

impl Imaginary {
    fn new(spots: &Arc<Vec<Spot>>, room: usize) -> Imaginary {
        let identity = Identity::new("imaginary", "an idea");
        Imaginary { identity, spots: spots.clone(), room }
    }
}

impl Device for Imaginary {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::External, opcodes: Vec::new() })
    }

    fn execute(&mut self, _: &Instruction, _: &Tiles) -> Result<Codes> {
        unreachable!("it has an engine")
    }

    fn campaigns(&mut self) -> Option<&mut dyn Campaigns> {
        Some(self)
    }
}

impl Campaigns for Imaginary {
    fn engine(&mut self, work: &CampaignWork) -> Result<Option<Box<dyn Engine>>> {
        let regimes = work.sequence.regimes().len() as u64;
        Ok(Some(Box::new(Places { spots: self.spots.clone(), room: self.room, regimes })))
    }
}

struct Places {
    spots: Arc<Vec<Spot>>,
    room: usize,
    regimes: u64,
}

impl Engine for Places {
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified> {
        let mut verified = Verified::nothing(self.regimes as usize);
        for (regime, count) in (0..self.regimes).zip(&mut verified.regimes) {
            // Tile t has regime t mod regimes.
            let below = |end: u64| (end + self.regimes - 1 - regime) / self.regimes;
            *count = Count { compared: 128 * (below(tiles.end) - below(tiles.start)), differing: 0 };
        }
        for spot in self.spots.iter().filter(|spot| tiles.contains(&spot.tile)) {
            verified.regimes[(spot.tile % self.regimes) as usize].differing += 1;
            verified.mismatches.push(mismatch(*spot));
        }
        verified.mismatches.reverse();
        // An engine lists at least all of one tile.
        if tiles.end - tiles.start > 1 {
            verified.mismatches.truncate(self.room);
        }
        Ok(verified)
    }
}

/// A mismatch whose kind depends on the row.
fn mismatch(spot: Spot) -> Mismatch {
    let model = 0x3f80_0000;
    Mismatch { spot, device: model ^ [1, 2, 1 << 31][spot.row as usize % 3], model }
}

fn hopper() -> Model {
    Model::load("hopper").unwrap()
}

/// A device of this program's own threads, which notes how deep in the stack it is called.
struct Deep {
    identity: Identity,
    evaluator: Arc<Evaluator>,
    depths: Arc<Mutex<HashMap<ThreadId, (usize, usize)>>>,
}

impl Device for Deep {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, _: &Instruction) -> Result<Execution> {
        Ok(Execution { kind: ExecutionKind::Simulated, opcodes: Vec::new() })
    }

    fn execute(&mut self, _: &Instruction, _: &Tiles) -> Result<Codes> {
        unreachable!("it executes on every thread")
    }

    fn local(&mut self) -> Option<&mut dyn LocalThreads> {
        Some(self)
    }
}

impl LocalThreads for Deep {
    fn execution(&mut self, _: &Instruction) -> Result<LocalExecution> {
        let (evaluator, depths) = (self.evaluator.clone(), self.depths.clone());
        Ok(Box::new(move |tiles| {
            let here = &raw const tiles as usize;
            let mut depths = depths.lock().unwrap();
            let (low, high) = depths.entry(std::thread::current().id()).or_insert((here, here));
            (*low, *high) = (here.min(*low), here.max(*high));
            drop(depths);
            evaluator.execute_here(tiles)
        }))
    }
}

/// A thread that waited for its share by beginning others filled its stack on a machine with 64 cores.
#[test]
fn a_thread_begins_no_batch_before_it_has_ended_the_last() {
    let (i, model) = (isa::find(NAME).unwrap(), hopper());
    let identity = Identity::new("deep", "this program");
    let depths = Arc::default();
    let evaluator = Arc::new(model.evaluator(&i).unwrap());
    let mut device = Deep { identity, evaluator, depths: Arc::clone(&depths) };
    let run = Run::new(&i, &device, &model, Sequence::Random { seed: 1 }, Some(4_000_000), 10).unwrap();
    let work = CampaignWork { instruction: &i, sequence: run.sequence(), model: &model };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(16).build().unwrap();
    let verified = pool.install(|| engine(&mut device, &work, run.nans()).unwrap().run(run.range(&i)).unwrap());
    assert_eq!(verified.differing(), 0);
    let spread = depths.lock().unwrap().values().map(|(low, high)| high - low).max().unwrap();
    assert!(spread < 100_000, "the stack grew by {spread} bytes");
}

fn unsharded_run(device: &Imaginary, model: &Model, cases: u64, max_mismatches: u64) -> Run {
    let i = isa::find(NAME).unwrap();
    Run::new(&i, device, model, Sequence::Random { seed: 1 }, Some(cases), max_mismatches).unwrap()
}

/// What a run finds by definition: every place of its tiles.
fn expected(run: &Run, spots: &[Spot]) -> (u64, Vec<Count>) {
    let range = run.range(&isa::find(NAME).unwrap());
    let mut engine = Places { spots: Arc::new(spots.to_vec()), room: usize::MAX, regimes: run.regimes.len() as u64 };
    (range.end, engine.run(range).unwrap().regimes)
}

fn totals(state: &State) -> (u64, Vec<Count>) {
    assert!(state.finished);
    (state.next, state.regimes.clone())
}

/// Mismatches that kinds or causes stand for.
fn sum(differences: &[Difference]) -> u64 {
    differences.iter().map(|difference| difference.count).sum()
}

/// Runs a part, stopping with an error after every so many steps, some times, and going on from what was last seen.
fn drive_interrupted(run: &Run, device: &mut Imaginary, model: &Model, steps: usize) -> State {
    let i = isa::find(NAME).unwrap();
    let mut kept = State::new(run).unwrap();
    let mut times = 0;
    while !kept.finished {
        times += 1;
        let mut left = if times > 20 { usize::MAX } else { steps };
        let mut state = kept.clone();
        let work = CampaignWork { instruction: &i, sequence: run.sequence(), model };
        let outcome = drive(run, &mut state, engine(device, &work, run.nans()).unwrap().as_mut(), &mut |state| {
            kept = state.clone();
            left -= 1;
            if left == 0 { Err(tcnum::Error::device("killed")) } else { Ok(()) }
        });
        assert!(outcome.is_err() || kept.finished);
    }
    kept
}

fn places() -> impl Strategy<Value = Vec<Spot>> {
    let spot = (0..40 * UNIT, 0..16u32, 0..8u32).prop_map(|(tile, row, column)| Spot { tile, row, column });
    proptest::collection::btree_set(spot, 0..30).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_gives_the_totals_of_one_run(
        spots in places(),
        cases in 1..40 * UNIT * 128,
        max_mismatches in 0..12u64,
        room in 0..5usize,
        steps in 1..4usize,
        shards in 1..9u64,
        engines in 1..4usize,
    ) {
        let (model, spots) = (hopper(), Arc::new(spots));
        let mut device = Imaginary::new(&spots, room);
        let run = unsharded_run(&device, &model, cases, max_mismatches);
        let expected = expected(&run, &spots);

        let one = drive_interrupted(&run, &mut device, &model, steps);
        prop_assert_eq!(&totals(&one), &expected);

        let mut several = State::new(&run).unwrap();
        let names = vec![DeviceName::from("imaginary"); engines];
        let open = |_| Ok(Box::new(Imaginary::new(&spots, room)) as Box<dyn Device>);
        drive_all(&run, &model, &mut several, &names, &open, &mut |_| Ok(())).unwrap();
        prop_assert_eq!(&totals(&several), &expected);
        prop_assert_eq!(&several.kinds, &one.kinds);
        prop_assert_eq!(sum(&one.kinds), if max_mismatches > 0 { one.differing() } else { 0 });

        let execution = device.prepare(&isa::find(NAME).unwrap()).unwrap();
        let part = |shard| {
            let run = Run { shard, shards, ..run.clone() };
            let mut part = Part::new(run, &device.identity, "hopper").unwrap();
            part.begin(&execution);
            part.state = drive_interrupted(&part.run, &mut Imaginary::new(&spots, room), &model, 3);
            PartFile { file: format!("part {shard}"), part }
        };
        let parts: Vec<PartFile> = (1..=shards).rev().map(part).collect();
        let (merged, notes) = merge(&parts, false).unwrap();
        prop_assert!(notes.is_empty() && merged.len() == 1);
        prop_assert_eq!(&totals(&merged[0].state), &expected);
        prop_assert_eq!(&merged[0].run, &run);
        let mut undivided = Part::new(run, &device.identity, "hopper").unwrap();
        undivided.state = one;
        undivided.list_found();
        prop_assert_eq!(&merged[0].counterexamples, &undivided.counterexamples);
    }
}

#[test]
fn a_run_that_is_ended_early_is_a_whole_run_of_the_cases_that_were_compared() {
    let (i, model) = (isa::find(NAME).unwrap(), hopper());
    let at = |tile: u64| Spot { tile, row: 3, column: 4 };
    for spots in [vec![], vec![at(0)], vec![at(0), at(5), at(70)], vec![at(600)]] {
        let mut device = Imaginary::new(&Arc::new(spots), 10);
        let run = unsharded_run(&device, &model, 4 * UNIT * 128, 10);
        let mut part = Part::new(run.clone(), &device.identity, "hopper").unwrap();
        part.begin(&device.prepare(&i).unwrap());
        let work = CampaignWork { instruction: &i, sequence: run.sequence(), model: &model };
        let mut left = 3;
        let outcome =
            drive(&run, &mut part.state, engine(&mut device, &work, run.nans()).unwrap().as_mut(), &mut |_| {
                left -= 1;
                if left == 0 { Err(tcnum::Error::device("enough")) } else { Ok(()) }
            });
        assert!(outcome.is_err() && !part.state.finished && part.state.next > 0);
        part.end_here().unwrap();
        part.check_whole().unwrap();
        let asked = Run { cases: part.run.cases, ..run };
        let other = drive_interrupted(&asked, &mut device, &model, usize::MAX);
        assert_eq!(totals(&part.state), totals(&other));
        assert_eq!((&part.run, &part.state.kinds), (&asked, &other.kinds));
    }
}

#[test]
fn parts_cover_the_tiles_of_the_run_once_each_and_by_whole_units() {
    let model = hopper();
    let run = unsharded_run(&Imaginary::new(&Arc::default(), 0), &model, 10 * UNIT * 128 + 1, 1);
    let i = isa::find(NAME).unwrap();
    for shards in 1..15 {
        let mut next = 0;
        for shard in 1..=shards {
            let range = Run { shard, shards, ..run.clone() }.range(&i);
            assert_eq!(range.start, next);
            assert!(range.start.is_multiple_of(UNIT) || range.is_empty());
            next = range.end;
        }
        assert_eq!(next, run.tiles(&i));
    }
}

#[test]
fn a_device_of_another_kind_does_not_join_a_run() {
    let model = hopper();
    let spots = Arc::default();
    let run = Run { device: "another idea".into(), ..unsharded_run(&Imaginary::new(&spots, 0), &model, 1, 1) };
    let open = |_| Ok(Box::new(Imaginary::new(&spots, 0)) as Box<dyn Device>);
    let names = ["x", "y"].map(DeviceName::from);
    let error = drive_all(&run, &model, &mut State::new(&run).unwrap(), &names, &open, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().contains("an idea, but the run is on another idea"), "{error}");
}

/// An engine that finds an output that differs once, and never again.
struct Once(Places, Option<Spot>);

impl Engine for Once {
    fn run(&mut self, tiles: Range<u64>) -> Result<Verified> {
        let mut verified = self.0.run(tiles.clone())?;
        if let Some(spot) = self.1.take_if(|spot| tiles.contains(&spot.tile)) {
            verified.regimes[(spot.tile % self.0.regimes) as usize].differing += 1;
            verified.mismatches.push(mismatch(spot));
        }
        Ok(verified)
    }
}

#[test]
fn what_a_device_does_once_and_not_again_is_counted_or_a_failure() {
    let model = hopper();
    let at = |tile: u64| Spot { tile, row: 3, column: 4 };
    // Alone, before or after others, with room for all in a range and for fewer.
    for others in [vec![], vec![at(5)], vec![at(900)], vec![at(5), at(6), at(900)]] {
        for room in [10, 2, 0] {
            let device = Imaginary::new(&Arc::new(others.clone()), room);
            let run = unsharded_run(&device, &model, 1 << 20, 10);
            let places = Places { spots: device.spots.clone(), room, regimes: run.regimes.len() as u64 };
            let mut state = State::new(&run).unwrap();
            let outcome = drive(&run, &mut state, &mut Once(places, Some(at(700))), &mut |_| Ok(()));
            let all = others.len() as u64 + 1;
            match outcome {
                Err(error) => {
                    assert_eq!(error.exit_status(), 3);
                    assert!(error.to_string().contains("does not repeat its results"), "{error}");
                }
                Ok(()) => assert_eq!((state.differing(), sum(&state.kinds)), (all, all), "{others:?} {room}"),
            }
        }
    }
}
