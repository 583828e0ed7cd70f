//! The kernel that computes whole products by an instruction of the GPU: NVRTC takes it for every target, and on a GPU its products are
//! those of the instruction, step by step.

use crate::machine::{NO_NVRTC, Need, amount, skip};
use tcnum_engine::{
    device::cuda::{self, CudaDevice, compile, products::kernel},
    product::{Executor, Factors, Schedule, Values, compute, draw},
};

/// Schedules, and shapes that fill neither tiles nor steps.
const SCHEDULES: [(&str, &str, (usize, usize, usize)); 9] = [
    ("mma.m16n8k16.f32.f16.f16.f32", "", (33, 65, 100)),
    (
        "mma.m16n8k8.f32.bf16.bf16.f32",
        "split = { count = 3, granule = 8 }\noutput = { format = 'bf16' }",
        (129, 5, 333),
    ),
    ("mma.m16n8k16.f16.f16.f16.f16", "order = 'descending'\nslab = 64\nresidue = 'first'", (8, 130, 77)),
    ("mma.m16n8k4.f32.tf32.tf32.f32", "split = { count = 2, granule = 8, join = 'output' }", (3, 40, 77)),
    ("mma.m16n8k32.f32.e4m3.e4m3.f32", "promote = 128\noutput = { format = 'f16' }", (130, 34, 500)),
    ("mma.m16n8k32.f32.e5m2.e4m3.f32", "output = { format = 'e4m3', overflow = 'saturate' }", (10, 34, 200)),
    ("mma.m8n8k4.f64.f64.f64.f64", "", (65, 66, 67)),
    ("mma.m16n8k32.s32.s8.u8.s32", "split = { count = 2 }", (10, 34, 300)),
    ("mma.m16n8k64.s32.s4.s4.s32", "", (40, 34, 300)),
];

fn schedule(name: &str, keys: &str) -> Schedule {
    Schedule::parse(&format!("instruction = '{name}'\n{keys}"), name).unwrap()
}

#[test]
fn products_at_once_are_those_of_the_instruction_step_by_step() {
    if cuda::count() == 0 {
        return skip(Need::Gpu, "there is no GPU");
    }
    let mut device = CudaDevice::open(0).unwrap();
    let mut compared = 0;
    for (name, keys, (m, n, k)) in SCHEDULES {
        let schedule = schedule(name, keys);
        let (i, output) = (&schedule.instruction, schedule.output.format);
        for values in Values::ALL {
            let factors = Factors::new(draw(m, k, i.a, output, values, 1), draw(k, n, i.b, output, values, 2));
            let Ok(Some(mut at_once)) = Executor::at_once(&mut device, &schedule, &factors) else { continue };
            let computed = compute(&schedule, &mut at_once, &factors, &|_| ()).unwrap();
            let mut by_steps = Executor::of(&mut device, &schedule, m, n).unwrap();
            let expected = compute(&schedule, &mut by_steps, &factors, &|_| ()).unwrap();
            assert!(computed == expected, "{name} {keys}, {}", values.name());
            compared += 1;
        }
    }
    assert!(compared > 0, "this GPU has none of the instructions");
}

#[test]
fn the_kernel_compiles_for_gpus() {
    let targets = match compile::targets() {
        Ok(targets) => targets,
        Err(_) => return skip(Need::Nvrtc, NO_NVRTC),
    };
    let wanted = [("sm_90", "sm_90a"), ("sm_80", "sm_80")];
    for (_, target) in wanted.into_iter().filter(|(known, _)| targets.iter().any(|target| target == known)) {
        for (name, keys, _) in SCHEDULES.into_iter().take(amount(4, SCHEDULES.len())) {
            let schedule = schedule(name, keys);
            if target == "sm_80" && name.contains("e4m3") {
                continue;
            }
            let source = kernel(&schedule.instruction, schedule.promote.is_some()).expect("a dense form of mma.sync");
            let cubin = compile::compile(&source, target).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(cubin.starts_with(b"\x7fELF"), "{name}");
        }
    }
}
