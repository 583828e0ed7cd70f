//! Timing of an instruction on this processor.
//!
//! A core's own clock counter is reserved to the operating system. Clocks are derived instead: a chain of additions,
//! one clock each, is timed before and after each measurement.

use std::{
    io,
    thread::{self, Builder},
    time::Instant,
};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{
    repeated::{BODY, Repeated, Repetition, additions},
    vector::{BYTES, ROWS, Vector},
};
use crate::{
    Error, Result,
    base::interrupt,
    device::{DeviceState, Load, MachineCount, Meter, Role, TimedLoop, TimedOperands, Timing, meter::codes},
    isa::Instruction,
};

/// Bodies of 24 additions by which the clock is measured: about 25 microseconds.
const CLOCK_BODIES: u64 = 4096;
/// Trials of a measurement; the shortest counts.
const TRIALS: usize = 5;
/// Seed of random operands.
const SEED: u64 = 1;

/// The timing loops of one instruction.
pub(super) struct CpuMeter {
    pub repetitions: &'static [Repetition],
    pub ways: Vec<TimedLoop>,
    pub instruction: Instruction,
    pub cores: u32,
}

/// Describes the loops `repetitions`; one run is `times` machine instructions named `opcode`.
pub(super) fn ways(repetitions: &[Repetition], opcode: &str, times: usize) -> Vec<TimedLoop> {
    let way = |repetition: &Repetition| TimedLoop {
        independent: repetition.independent,
        chained: true,
        runs: BODY,
        most_warps: 1,
        machine: Some(vec![
            MachineCount { opcode: opcode.into(), count: BODY * times as u32, role: Role::Timed },
            MachineCount { opcode: "DEC".into(), count: 1, role: Role::Other },
            MachineCount { opcode: "JNZ".into(), count: 1, role: Role::Other },
        ]),
    };
    repetitions.iter().map(way).collect()
}

impl Meter for CpuMeter {
    fn ways(&self) -> &[TimedLoop] {
        &self.ways
    }

    fn warps_together(&self) -> u32 {
        1
    }

    fn work(&self) -> u64 {
        (self.instruction.m * self.instruction.n * self.instruction.k) as u64
    }

    fn multiprocessors(&self) -> u32 {
        self.cores
    }

    fn time(&mut self, load: &Load) -> Result<Timing> {
        let operands = self.operands(load.values);
        let (run, rounds) = (self.repetitions[load.way].run, load.rounds);
        let timed =
            || (0..TRIALS).map(|_| timed(run, &operands, rounds)).min_by(|x, y| x.seconds.total_cmp(&y.seconds));
        let timed = || timed().expect("there is a trial");
        if load.blocks == 1 {
            return Ok(timed());
        }
        let started = Instant::now();
        let all = thread::scope(|scope| {
            let start = |_| Builder::new().spawn_scoped(scope, || self::timed(run, &operands, rounds));
            let threads: Vec<_> = (0..load.blocks).map(start).collect::<io::Result<_>>()?;
            Ok(threads.into_iter().filter_map(|thread| thread.join().ok()).collect::<Vec<Timing>>())
        });
        let all = all.map_err(|error: io::Error| {
            let count = load.blocks;
            Error::device(format!(
                "{count} threads, one for each core, cannot be started: {error}; raise the limit (ulimit -u)"
            ))
        })?;
        let total_seconds = started.elapsed().as_secs_f64();
        let longest = all.into_iter().max_by(|x, y| x.seconds.total_cmp(&y.seconds));
        Ok(Timing { total_seconds, ..longest.unwrap_or_else(timed) })
    }

    fn sustain(&mut self, load: &Load, seconds: f64) -> Result<(Timing, DeviceState)> {
        let start = Instant::now();
        loop {
            interrupt::check()?;
            let timing = self.time(load)?;
            if start.elapsed().as_secs_f64() >= seconds {
                return Ok((timing, self.state()));
            }
        }
    }

    fn state(&self) -> DeviceState {
        DeviceState::default()
    }
}

impl CpuMeter {
    /// Sixteen registers each of A and B.
    fn operands(&self, values: TimedOperands) -> [[Vector; ROWS]; 2] {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        [self.instruction.a, self.instruction.b].map(|format| {
            let bytes = codes(format, 8 * format.bytes(), ROWS * BYTES, values, &mut rng);
            std::array::from_fn(|row| Vector(std::array::from_fn(|at| bytes[row * BYTES + at])))
        })
    }
}

/// Times `bodies` bodies.
#[allow(unsafe_code)]
fn timed(run: Repeated, [a, b]: &[[Vector; ROWS]; 2], bodies: u64) -> Timing {
    let before = clock();
    let start = Instant::now();
    // SAFETY: the unit was checked before the meter was made; there are sixteen rows and at least one body.
    unsafe { run(a, b, bodies.max(1)) };
    let seconds = start.elapsed().as_secs_f64();
    let hertz = before.max(clock());
    Timing { clocks: (seconds * hertz).round() as u64, seconds, total_seconds: seconds }
}

/// Current clock rate of this core, in Hz.
fn clock() -> f64 {
    let once = || {
        let start = Instant::now();
        additions(CLOCK_BODIES);
        (CLOCK_BODIES * u64::from(BODY)) as f64 / start.elapsed().as_secs_f64()
    };
    (0..3).map(|_| once()).fold(0.0, f64::max)
}
