//! Signals that arrive while a verb waits for standard input: what was read until then is reported, marked.
#![cfg(unix)]

use std::{
    io::Write,
    process::{Child, ChildStdin, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::program::{Run, validate_report};

/// A program that reads from a pipe which nobody closes.
struct Waiting {
    child: Child,
    input: ChildStdin,
}

impl Waiting {
    fn new(arguments: &[&str]) -> Waiting {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tcnum"));
        command.args(arguments).args(["--output", "json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("piped");
        Waiting { child, input }
    }

    /// Writes `text`, and returns when the program has read all of it.
    fn reads(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).expect("the program reads");
        let start = Instant::now();
        while rustix::io::ioctl_fionread(&self.input).expect("a pipe") > 0 {
            assert!(start.elapsed() < Duration::from_secs(600), "the program reads nothing");
            assert!(self.child.try_wait().unwrap().is_none(), "the program has ended");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn ends_by(self, signal: &str) -> Run {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success());
        let output = self.child.wait_with_output().expect("the program ends");
        drop(self.input);
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let status = output.status.code().expect("an exit status, not a signal");
        Run { status, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// The report on two lines after which a third one was begun. When that is read, the first two have been worked on.
fn interrupted(arguments: &[&str], lines: &str, unfinished_line: &str) -> Value {
    let mut waiting = Waiting::new(arguments);
    waiting.reads(lines);
    waiting.reads(unfinished_line);
    let run = waiting.ends_by("TERM");
    assert_eq!(run.status, 143, "{arguments:?}: {}", run.stderr);
    let report = validate_report(&run.stdout);
    assert_eq!(report["interrupted"], "SIGTERM", "{arguments:?}");
    report
}

#[test]
fn the_lines_before_a_signal_are_reported_and_one_that_was_begun_is_not() {
    for (arguments, lines, unfinished_line, table) in [
        (&["calc", "--fmt", "f16", "--op", "add"][..], "1 2\n3 4\n", "5 ", "operations"),
        (&["convert", "--to", "e4m3"], "1\n2 ", "3", "conversions"),
        (&["convert", "--to", "mxfp4"], "1\n2\n", "3", "elements"),
    ] {
        let report = interrupted(arguments, lines, unfinished_line);
        assert_eq!(report["tables"][table].as_array().unwrap().len(), 2, "{arguments:?}: {report}");
    }
    let check = ["calc", "--fmt", "f16", "--op", "add", "--check"];
    let report = interrupted(&check, "3C00 3C00 4000 00\n3C00 3C00 4001 00\n", "3C00");
    let row = &report["tables"]["check"][0];
    assert_eq!((&row["lines"], &row["differing"]), (&2.into(), &1.into()), "{report}");
}

#[test]
fn a_verb_that_has_read_nothing_reports_nothing() {
    for arguments in [&["calc", "--fmt", "f16", "--op", "add"][..], &["convert", "--to", "e4m3"]] {
        let mut waiting = Waiting::new(arguments);
        // It waits from then on.
        waiting.reads("\n");
        let run = waiting.ends_by("INT");
        assert_eq!((run.status, &*run.stdout), (130, ""), "{arguments:?}");
        assert_eq!(run.stderr, "error: interrupted by SIGINT\n", "{arguments:?}");
    }
}
