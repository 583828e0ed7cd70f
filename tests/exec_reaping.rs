//! No program of an `exec:` device outlives it, and none is left as a zombie. (A test of its own process, whose
//! children are all the device's.)
#![cfg(target_os = "linux")]

use std::{fs, time::Duration};

use tcnum::{
    device::{Device, ExecDevice},
    isa::{self, Tiles},
};

/// `Name` and `State` of every child of this process, zombies included.
fn children() -> Vec<String> {
    let own = format!("PPid:\t{}", std::process::id());
    let is_child = |status: &String| status.lines().any(|line| line == own);
    // A process may end while the folder is read: it is no child that is left, then.
    let statuses =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|p| fs::read_to_string(p.path().join("status")).ok());
    statuses.filter(is_child).map(|status| status.lines().take(3).collect::<Vec<_>>().join(", ")).collect()
}

#[test]
fn every_program_is_stopped_and_reaped() {
    let instruction = isa::find("mma.m8n8k16.s32.s8.s8.s32").unwrap();
    let tiles = Tiles::zeros(&instruction, 3);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
    for options in ["", "--die-after 1", "--hang", "--deaf", "--short", "--garbage", "--refuse", "--surplus"] {
        let command = format!("python3 '{program}' {options}");
        let mut device = ExecDevice::new(&command, Duration::from_secs(2)).unwrap();
        let result = device.execute(&instruction, &tiles);
        assert_eq!(result.is_ok(), options.is_empty(), "{options}");
        // Only a session that is going on has a program.
        assert_eq!(children().len(), usize::from(options.is_empty()), "{options}: {:?}", children());
        drop(device);
        assert!(children().is_empty(), "{options}: {:?}", children());
    }

    // One program at a time: another instruction ends the session of the first.
    let mut device = ExecDevice::new(&format!("python3 '{program}'"), Duration::from_secs(30)).unwrap();
    for name in ["mma.m8n8k16.s32.s8.s8.s32", "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k8.f32.f16.f16.f32"] {
        device.prepare(&isa::find(name).unwrap()).unwrap();
        assert_eq!(children().len(), 1, "{:?}", children());
    }
}
