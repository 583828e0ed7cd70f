//! Completions of shells, and manual pages.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    machine::{Need, has_tool},
    program::tcnum,
};

/// The commands that help lists.
fn commands() -> BTreeSet<String> {
    let names: BTreeSet<String> = tcnum::verbs::listed().into_iter().collect();
    assert!(names.contains("verify") && names.contains("gemm match"), "{names:?}");
    names
}

fn pages(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_command_has_a_manual_page_and_groff_has_nothing_to_say_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let man1 = folder.path().join("man1");
    let written = || tcnum(&["manual", man1.to_str().unwrap()]);
    let run = written();
    assert_eq!((run.status, &*run.stdout, &*run.stderr), (0, "", ""));
    let expected: BTreeSet<String> =
        commands().iter().map(|name| format!("tcnum-{}.1", name.replace(' ', "-"))).chain(["tcnum.1".into()]).collect();
    assert_eq!(pages(&man1), expected);
    for name in &expected {
        let page = fs::read_to_string(man1.join(name)).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Example"), "{name}:\n{page}");
        if has_tool("groff", Need::Groff) {
            let mut groff = Command::new("groff");
            let said = groff.args(["-man", "-ww", "-z", "-Tutf8"]).arg(man1.join(name)).output().unwrap();
            assert!(said.status.success() && said.stderr.is_empty(), "{name}: {said:?}");
        }
    }
    // Once more, over its own pages; but not over those of someone else.
    assert_eq!(written().status, 0);
    fs::write(man1.join("tcnum-verify.1"), "My notes.\n").unwrap();
    fs::remove_file(man1.join("tcnum.1")).unwrap();
    let refused = written();
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("tcnum-verify.1 is not a manual page that tcnum wrote"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(man1.join("tcnum-verify.1")).unwrap(), "My notes.\n");
    assert!(!man1.join("tcnum.1").exists());
}

#[test]
fn a_folder_for_manual_pages_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("man1");
    for path in [file.path(), &inside] {
        let run = tcnum(&["manual", path.to_str().unwrap()]);
        assert!(run.status == 2 && run.stderr.contains(path.to_str().unwrap()), "{}", run.stderr);
    }
}

/// The words that bash offers for the last of `words`.
fn offered(script: &Path, words: &[&str]) -> Vec<String> {
    // As bash calls it: the command, the word under the cursor, the word before.
    let program = r#"source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _tcnum tcnum "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf '%s\n' "${COMPREPLY[@]}""#;
    let output = Command::new("bash").args(["-c", program]).arg(script).args(words).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    if !has_tool("bash", Need::Bash) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("tcnum.bash");
    fs::write(&script, tcnum(&["completions", "bash"]).stdout).unwrap();
    assert_eq!(offered(&script, &["tcnum", "pro"]), ["probe"]);
    assert_eq!(offered(&script, &["tcnum", "verify", "--che"]), ["--checkpoint"]);
    assert_eq!(offered(&script, &["tcnum", "probe", "--output", "mark"]), ["markdown"]);
    assert_eq!(offered(&script, &["tcnum", "gemm", "bet"]), ["between"]);
    assert_eq!(offered(&script, &["tcnum", "gemm", "library", "--bat"]), ["--batches"]);
    let all: BTreeSet<String> = offered(&script, &["tcnum", ""]).into_iter().collect();
    let missing: Vec<String> =
        commands().into_iter().filter(|name| !name.contains(' ') && !all.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?} of {all:?}");
}

#[test]
fn completions_name_every_command_and_shells_that_are_here_can_read_them() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = tcnum(&["completions", shell]);
        assert_eq!((run.status, &*run.stderr), (0, ""));
        let missing: Vec<String> =
            commands().into_iter().filter(|name| !name.split(' ').all(|word| run.stdout.contains(word))).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
        if ["zsh", "fish"].contains(&shell) && Command::new(shell).arg("--version").output().is_ok() {
            let mut reader = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            std::io::Write::write_all(&mut reader.stdin.take().unwrap(), run.stdout.as_bytes()).unwrap();
            assert!(reader.wait().unwrap().success(), "{shell}");
        }
    }
    let run = tcnum(&["completions", "tcsh"]);
    assert!(run.status == 2 && run.stderr.contains("[possible values: bash,"), "{}", run.stderr);
}
