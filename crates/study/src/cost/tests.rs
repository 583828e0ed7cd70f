use super::*;
use crate::device::Timing;

fn way(independent: u32, machine: &[(&str, u32)]) -> TimedLoop {
    let role = |opcode: &str| match opcode {
        "IADD3" => Role::Other,
        "CALL.REL.NOINC" => Role::Call,
        _ if opcode.ends_with("STEP1") => Role::Step,
        _ => Role::Timed,
    };
    let count = |&(opcode, count): &(&str, u32)| MachineCount { opcode: opcode.into(), count, role: role(opcode) };
    let machine = machine.iter().map(count).collect();
    TimedLoop { independent, chained: true, runs: 16, most_warps: 32, machine: Some(machine) }
}

#[test]
fn a_loop_with_fewer_or_more_matrix_instructions_than_runs_is_not_what_was_meant() {
    let ways = [
        way(1, &[("HMMA.16816.F32", 16), ("IADD3", 1)]),
        way(2, &[("HMMA.16816.F32", 15)]),
        way(3, &[("HMMA.16816.F32", 32)]),
        way(4, &[("IADD3", 16)]),
    ];
    assert_eq!(unintended(&ways, ExecutionKind::Native), [2, 3, 4]);
    assert_eq!(unintended(&ways, ExecutionKind::Emulated), [2, 4]);
    let steps = [way(1, &[("HMMA.884.F32.F32.STEP0", 16), ("HMMA.884.F32.F32.STEP1", 16)])];
    assert!(unintended(&steps, ExecutionKind::Native).is_empty());
    let calls = [way(1, &[("CALL.REL.NOINC", 16)])];
    assert!(unintended(&calls, ExecutionKind::Emulated).is_empty());
    assert_eq!(unintended(&calls, ExecutionKind::Native), [1]);
}

#[test]
fn loops_that_execute_a_conversion_less_often_than_asked_are_told() {
    let ways = [way(1, &[("F2FP.F16.F32", 16)]), way(2, &[("F2FP.F16.F32", 8)]), way(4, &[("F2FP.F16.F32", 16)])];
    assert_eq!(counted(&ways), [1, 4]);
    assert_eq!(counted(&[way(1, &[("IADD3", 16)]), way(2, &[("IADD3", 16)])]), [0; 0]);
    assert_eq!(counted(&[way(1, &[("HADD2.F32", 16), ("FADD.SAT", 8)])]), [0; 0]);
    let unknown = TimedLoop { machine: None, ..way(1, &[]) };
    assert_eq!(counted(&[unknown.clone(), TimedLoop { independent: 2, ..unknown }]), [1, 2]);
}

#[test]
fn a_rate_converges_with_the_fewest_runs_that_come_near_to_the_best() {
    let point = |warps, independent, rate| RatePoint { warps, independent, clocks: 1.0, rate };
    let points = [point(4, 1, 300.0), point(4, 2, 588.0), point(4, 3, 600.0), point(8, 1, 1000.0), point(8, 2, 1000.5)];
    assert_eq!(converged(&points, 4).unwrap().independent, 2);
    assert_eq!(best(&points).unwrap().independent, 1);
    assert_eq!(converged(&points, 6), None);
}

/// Four multiprocessors at 1 GHz whose runs take 8 clocks and begin every 2 clocks.
struct TimedUnit {
    ways: Vec<TimedLoop>,
}

impl Meter for TimedUnit {
    fn ways(&self) -> &[TimedLoop] {
        &self.ways
    }

    fn warps_together(&self) -> u32 {
        1
    }

    fn work(&self) -> u64 {
        256
    }

    fn multiprocessors(&self) -> u32 {
        4
    }

    fn time(&mut self, load: &Load) -> Result<Timing> {
        let TimedLoop { independent, runs, .. } = self.ways[load.way];
        let together = u64::from(load.warps * independent);
        let turns = load.rounds * u64::from(runs / independent);
        let clocks = turns * (2 * together).max(8);
        let seconds = clocks as f64 * 1e-9;
        Ok(Timing { clocks, seconds, total_seconds: seconds })
    }

    fn sustain(&mut self, load: &Load, _: f64) -> Result<(Timing, DeviceState)> {
        Ok((self.time(load)?, self.state()))
    }

    fn state(&self) -> DeviceState {
        DeviceState::default()
    }
}

#[test]
fn latency_and_rates_are_those_of_the_unit_that_is_timed() {
    let ways = [1, 2, 4, 8].map(|independent| TimedLoop { most_warps: 4, ..way(independent, &[]) });
    let mut unit = TimedUnit { ways: ways.to_vec() };
    let MeterReadings { points, latency, waited } = measured(&mut unit, TimedOperands::Zeros).unwrap();
    assert_eq!((latency, waited, points.len()), (Some(8.0), None, 12));
    let most = best(&points).unwrap();
    assert_eq!(most, RatePoint { warps: 1, independent: 4, clocks: 8.0, rate: 128.0 });
    assert_eq!(converged(&points, 4).unwrap().independent, 1);
    let rate = whole_device_rate(&mut unit, &most, TimedOperands::Zeros, None).unwrap();
    assert!((rate.tera - 2.0 * 4.0 * 128.0 * 1e-3).abs() < 1e-9 && (rate.clock - 1000.0).abs() < 1e-6, "{rate:?}");
}
