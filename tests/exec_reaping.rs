//! No program of an `exec:` device outlives it, and none is left as a zombie. (A test of its own process, whose
//! children are all the device's.)
#![cfg(target_os = "linux")]

#[path = "common/machine.rs"]
mod machine;

use std::{
    fs,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tcnum::isa::{self, Tiles};
use tcnum_engine::device::{Device, ExecDevice};

use machine::{amount, has_python};

/// The children of this process are those of one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `Name` and `State` of every child of this process, zombies included.
fn children() -> Vec<String> {
    let parent = format!("PPid:\t{}", std::process::id());
    let is_child = |status: &String| status.lines().any(|line| line == parent);
    // A process may end while the folder is read: it is no child that is left, then.
    let statuses =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|p| fs::read_to_string(p.path().join("status")).ok());
    statuses.filter(is_child).map(|status| status.lines().take(3).collect::<Vec<_>>().join(", ")).collect()
}

/// What `look` finds, as soon as it finds something; fails with `otherwise` after five minutes.
fn awaited<T>(look: impl Fn() -> Option<T>, otherwise: &str) -> T {
    let looks = std::iter::repeat_with(|| {
        std::thread::sleep(Duration::from_millis(10));
        look()
    });
    looks.take(30_000).flatten().next().unwrap_or_else(|| panic!("{otherwise}"))
}

/// Waits until the process of this number is gone, or a zombie that its parent may still fetch.
fn wait_for_the_end_of(pid: &str) {
    let gone = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let runs = status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'));
        (!runs).then_some(())
    };
    awaited(gone, &format!("process {pid} lives on"));
}

/// The number that a program writes to `file`, once it is there.
fn pid_in(file: &std::path::Path) -> String {
    let number = || {
        let text = fs::read_to_string(file).ok()?;
        text.ends_with('\n').then(|| text.trim().to_string())
    };
    awaited(number, "no program was started")
}

/// How long to wait for an answer: little where none comes.
fn timeout(options: &str) -> Duration {
    if matches!(options, "--hang" | "--deaf") { Duration::from_millis(500) } else { Duration::from_secs(300) }
}

#[test]
fn what_a_program_has_started_ends_with_it() {
    if !has_python() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let instruction = isa::find("mma.m8n8k16.s32.s8.s8.s32").unwrap();
    let tiles = Tiles::zeros(&instruction, 2);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
    for options in &["", "--hang", "--surplus"][..amount(1, 3)] {
        // A wrapper that does not pass on that it is ended, and a program beside the one that answers.
        let script = format!("sleep 1000 & echo $! >{}; python3 {program} {options}; true", file.display());
        let mut device = ExecDevice::new(&format!("sh -c '{script}'"), timeout(options)).unwrap();
        assert_eq!(device.execute(&instruction, &tiles).is_ok(), options.is_empty());
        drop(device);
        wait_for_the_end_of(&pid_in(&file));
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_signal_ends_the_program_with_all_that_it_has_started() {
    if !has_python() {
        return;
    }
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
    for (signal, status, hangs) in [("INT", 130, ""), ("TERM", 143, ""), ("TERM", 143, "--hang")] {
        let script = format!("sleep 1000 & echo $! >{}; python3 {program} {hangs}; true", file.display());
        let device = format!("exec:sh -c '{script}'");
        let mut tcnum = std::process::Command::new(env!("CARGO_BIN_EXE_tcnum"))
            .args(["verify", "--instr", "mma.m8n8k16.s32.s8.s8.s32", "--cases", "1e9", "--device", &device])
            .args(["--model", "hopper", "--timeout", "1000", "--output", "json"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = pid_in(&file);
        // The program has been started by what waits for its answer, and watches for signals.
        let sent = std::process::Command::new("kill").args([&format!("-{signal}"), &tcnum.id().to_string()]).status();
        assert!(sent.unwrap().success());
        assert_eq!(tcnum.wait().unwrap().code(), Some(status), "{signal} {hangs}");
        wait_for_the_end_of(&pid);
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_signal_ends_a_list_of_instructions_at_the_next_one() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (file, script) = (folder.path().join("pid"), folder.path().join("script"));
    // It executes every instruction, and does not end with its session.
    let text =
        format!("echo $$ >{}; read offer; echo '{{\"ok\":true,\"protocol\":2}}'; exec sleep 1000", file.display());
    fs::write(&script, text).unwrap();
    let mut tcnum = std::process::Command::new(env!("CARGO_BIN_EXE_tcnum"))
        .args(["instructions", "mma", "--device", &format!("exec:sh {}", script.display())])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let pid = pid_in(&file);
    let sent = std::process::Command::new("kill").args(["-TERM", &tcnum.id().to_string()]).status();
    assert!(sent.unwrap().success());
    assert_eq!(tcnum.wait().unwrap().code(), Some(143));
    wait_for_the_end_of(&pid);
}

#[test]
fn every_program_is_stopped_and_reaped() {
    if !has_python() {
        return;
    }
    let _alone = alone();
    let instruction = isa::find("mma.m8n8k16.s32.s8.s8.s32").unwrap();
    let tiles = Tiles::zeros(&instruction, 3);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exec/hopper.py");
    for options in ["", "--die-after 1", "--hang", "--deaf", "--short", "--garbage", "--refuse", "--surplus"] {
        let command = format!("python3 '{program}' {options}");
        let mut device = ExecDevice::new(&command, timeout(options)).unwrap();
        let result = device.execute(&instruction, &tiles);
        assert_eq!(result.is_ok(), options.is_empty(), "{options}");
        // Only a session that is going on has a program.
        assert_eq!(children().len(), usize::from(options.is_empty()), "{options}: {:?}", children());
        drop(device);
        assert!(children().is_empty(), "{options}: {:?}", children());
    }

    // One program at a time: another instruction ends the session of the first.
    let mut device = ExecDevice::new(&format!("python3 '{program}'"), timeout("")).unwrap();
    for name in ["mma.m8n8k16.s32.s8.s8.s32", "mma.m8n8k4.f64.f64.f64.f64", "mma.m16n8k8.f32.f16.f16.f32"] {
        device.prepare(&isa::find(name).unwrap()).unwrap();
        assert_eq!(children().len(), 1, "{:?}", children());
    }
}
