//! Protection of files: a command line never writes a file that it reads, or one file twice.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use clap::{ArgMatches, Command};

use super::options::is_folder;
use crate::{
    Error, Result,
    base::atomic::{self, DerivedKind},
    device::{self, DeviceName},
    product::ArrayFile,
    report::{self, TableFile},
    tables,
};

/// Arguments that name a file or a folder to write.
const OUTPUTS: [&str; 20] = [
    "out",
    "also",
    "ask",
    "plan_out",
    "plot",
    "checkpoint",
    "counterexamples",
    "digests",
    "dot",
    "model_out",
    "schedule_out",
    "apart",
    "bounds",
    "junit",
    "sarif",
    "plots",
    "folder",
    "lcov",
    "holes",
    "write",
];

/// Refuses arguments that name one file for two uses, at least one of them to write.
///
/// # Errors
/// A request error that names the argument, the file and its other use.
pub(crate) fn distinct(command: &Command, given: &ArgMatches) -> Result<()> {
    let ids = command.get_arguments().map(|argument| argument.get_id().as_str());
    let named: Vec<(&str, &OsStr)> = ids
        .filter_map(|id| Some((id, given.try_get_raw(id).ok()??)))
        .flat_map(|(id, values)| values.map(move |value| (id, value)))
        .collect();
    let values: Vec<&OsStr> = named.iter().map(|(_, value)| *value).collect();
    if let Some((_, folder)) = named.iter().find(|(id, path)| *id == "out" && is_folder(Path::new(path))) {
        for (path, kind) in table_files(Path::new(folder)) {
            apart(&path, &values)?;
            atomic::derivable(&path, &kind as &dyn DerivedKind)?;
        }
    }
    for (at, (output, path)) in named.iter().enumerate().filter(|(_, (id, _))| OUTPUTS.contains(id)) {
        let Some(file) = resolved(Path::new(path)) else { continue };
        let same = |(other, (_, value)): &(usize, &(&str, &OsStr))| *other != at && names(value, &file);
        if let Some((_, (other, _))) = named.iter().enumerate().find(same) {
            let what = if OUTPUTS.contains(other) { "another file to write" } else { "a file to read" };
            return Err(Error::request(format!(
                "--{} {} also names {what}, which would be lost; give another name",
                output.replace('_', "-"),
                Path::new(path).display()
            )));
        }
    }
    Ok(())
}

/// Files that `--output csv` may write in a folder.
fn table_files(folder: &Path) -> impl Iterator<Item = (PathBuf, TableFile)> {
    tables::declared()
        .into_iter()
        .map(|table| (folder.join(report::csv_name(table.key)), TableFile::new(&table.columns)))
}

/// Refuses to write to a path that the user did not name, if an argument names the same file.
///
/// # Errors
/// A request error that names both.
pub(crate) fn apart(path: &Path, used: &[&OsStr]) -> Result<()> {
    let Some(file) = resolved(path) else { return Ok(()) };
    match used.iter().find(|value| names(value, &file)) {
        Some(other) => Err(Error::request(format!(
            "{} would also be written, and {} would be lost; give that file another name",
            path.display(),
            other.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// True if the value of an argument names `file`.
fn names(value: &OsStr, file: &Path) -> bool {
    files_in(value).iter().any(|path| resolved(path).as_deref() == Some(file))
}

/// Files that the value of an argument may name.
fn files_in(value: &OsStr) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(value)];
    add_files(&value.to_string_lossy(), &mut files);
    files
}

/// Adds the files that a text may name.
///
/// These are the text itself, FILE of FILE:ARRAY, the file or the program's words of a device, the device of DEVICE/INSTRUCTION, and
/// the file after DEVICE/ or DEVICE@.
fn add_files(text: &str, files: &mut Vec<PathBuf>) {
    files.push(ArrayFile::parse(text).path);
    let device = DeviceName::from(text);
    let is_device = matches!(device, DeviceName::Exec(_) | DeviceName::Model(_) | DeviceName::Trace(_));
    if let Some((named, what)) = text.rsplit_once('@') {
        if is_device {
            add_files(named, files);
        }
        if what.ends_with(".toml") {
            files.push(what.into());
        }
    }
    match device {
        DeviceName::Exec(program) => {
            for word in device::program_words(&program).unwrap_or_default() {
                add_files(&word, files);
                files.extend(word.split_once('=').map(|(_, value)| value.into()));
            }
            return;
        }
        DeviceName::Model(path) | DeviceName::Trace(path) => add_files(&path, files),
        _ => {}
    }
    if let Some((device, instruction)) = text.split_once('/')
        && !device.is_empty()
        && !Path::new(device).is_dir()
    {
        files.push(instruction.into());
    }
    files.extend(text.rsplit_once('/').map(|(device, _)| PathBuf::from(device)).filter(|device| device.is_file()));
}

/// The file that a path leads to, existing or not; `None` for devices and pipes.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = &atomic::target(path).ok()?;
    match path.metadata() {
        Ok(about) => about.is_file().then(|| path.canonicalize().ok())?,
        Err(_) => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(folder.canonicalize().ok()?.join(path.file_name()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::command;

    /// Arguments that name a file or a folder to read.
    const INPUTS: [&str; 33] = [
        "a",
        "activations",
        "answers",
        "b",
        "batches",
        "bias",
        "c",
        "compare",
        "d",
        "file",
        "files",
        "input",
        "inputs",
        "instructions",
        "keys",
        "layout",
        "mask",
        "match_all",
        "matched",
        "names",
        "plan",
        "q",
        "recordings",
        "results",
        "scale_a",
        "scale_b",
        "schedule",
        "schemes",
        "shapes",
        "sides",
        "trace",
        "v",
        "with",
    ];

    /// All commands, with those below them.
    fn commands(command: &Command) -> Vec<Command> {
        command
            .get_subcommands()
            .flat_map(|subcommand| std::iter::once(subcommand.clone()).chain(commands(subcommand)))
            .collect()
    }

    #[test]
    fn every_argument_that_names_a_file_is_known_to_be_read_or_written() {
        let commands = commands(&command());
        let mut named = std::collections::BTreeSet::new();
        for argument in commands.iter().flat_map(Command::get_arguments) {
            let words = argument.get_value_names().unwrap_or_default();
            let names_file =
                |name: &clap::builder::Str| ["FILE", "FOLDER", "PATH", "RESULT"].iter().any(|word| name.contains(word));
            if argument.get_action().takes_values() && words.iter().any(names_file) {
                named.insert(argument.get_id().as_str());
            }
        }
        let known: std::collections::BTreeSet<&str> = OUTPUTS.into_iter().chain(INPUTS).collect();
        assert_eq!(named, known, "is the file read or written?");
    }

    #[test]
    fn no_argument_that_writes_a_file_takes_one_that_another_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
        let mut tried = 0;
        for verb in commands(&command()).into_iter().map(|verb| verb.ignore_errors(true)) {
            let arguments: Vec<&clap::Arg> = verb.get_arguments().collect();
            let written = arguments.iter().filter(|argument| OUTPUTS.contains(&argument.get_id().as_str()));
            for output in written.filter(|argument| argument.get_long().is_some()) {
                // The ending that the argument wants.
                let file =
                    ["x.json", "x.svg", "x.html", "x.toml", "x.safetensors", "x"].map(path).into_iter().find(|file| {
                        std::fs::write(file, "").unwrap();
                        let flag = format!("--{}", output.get_long().unwrap_or_default());
                        let given = verb.clone().try_get_matches_from([verb.get_name(), &flag, file]);
                        given.is_ok_and(|given| given.try_get_raw(output.get_id().as_str()).ok().flatten().is_some())
                    });
                let Some(file) = file else { continue };
                let flag = format!("--{}", output.get_long().unwrap_or_default());
                for form in [
                    file.clone(),
                    format!("exec:python3 {file} --seed 1"),
                    format!("exec:./run --model={file}"),
                    format!("exec:{file}/mma.m8n8k4.f16.f16.f16.f16"),
                    format!("model:{file}"),
                    format!("trace:{file}"),
                    format!("{file}/mma.m8n8k4.f16.f16.f16.f16"),
                    format!("model:{file}@rows=4"),
                ] {
                    let takes =
                        |argument: &&&clap::Arg| argument.get_long() == Some("device") || argument.is_positional();
                    for input in arguments.iter().filter(takes) {
                        let mut words = vec![verb.get_name().to_string(), flag.clone(), file.clone()];
                        words.extend(input.get_long().map(|long| format!("--{long}")));
                        words.push(form.clone());
                        let given = verb.clone().try_get_matches_from(&words).unwrap();
                        if given.try_get_raw(input.get_id().as_str()).ok().flatten().is_none() {
                            continue;
                        }
                        assert!(distinct(&verb, &given).is_err(), "{}", words.join(" "));
                        tried += 1;
                    }
                }
            }
        }
        assert!(tried > 500, "{tried}");
    }

    #[test]
    fn a_schedule_and_an_instruction_behind_a_device_are_files_too() {
        let files = |text: &str| files_in(OsStr::new(text));
        for (text, file) in [
            ("model:hopper@own/split.toml", "own/split.toml"),
            ("cpu/own/mine.toml", "own/mine.toml"),
            ("x.safetensors:w", "x.safetensors"),
            ("exec:python3 './my dir/ex.py'", "./my dir/ex.py"),
        ] {
            assert!(files(text).contains(&PathBuf::from(file)), "{text}");
        }
        // The name of a file in an existing folder is not a file in this folder.
        assert!(!files("src/lib.rs").contains(&PathBuf::from("lib.rs")));
    }
}
