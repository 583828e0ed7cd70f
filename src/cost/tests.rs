use super::*;

fn way(independent: u32, machine: &[(&str, u32)]) -> Way {
    let role = |opcode: &str| match opcode {
        "IADD3" => Role::Other,
        "CALL.REL.NOINC" => Role::Call,
        _ if opcode.ends_with("STEP1") => Role::Step,
        _ => Role::Timed,
    };
    let count = |&(opcode, count): &(&str, u32)| MachineCount { opcode: opcode.into(), count, role: role(opcode) };
    let machine = machine.iter().map(count).collect();
    Way { independent, chained: true, runs: 16, most_warps: 32, machine: Some(machine) }
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
    let unknown = Way { machine: None, ..way(1, &[]) };
    assert_eq!(counted(&[unknown.clone(), Way { independent: 2, ..unknown }]), [1, 2]);
}

#[test]
fn a_rate_converges_with_the_fewest_runs_that_come_near_to_the_best() {
    let point = |warps, independent, rate| Point { warps, independent, clocks: 1.0, rate };
    let points = [point(4, 1, 300.0), point(4, 2, 588.0), point(4, 3, 600.0), point(8, 1, 1000.0), point(8, 2, 1000.5)];
    assert_eq!(converged(&points, 4).unwrap().independent, 2);
    assert_eq!(best(&points).unwrap().independent, 1);
    assert_eq!(converged(&points, 6), None);
}
