//! Parameters as the options of the command line, and options as parameters.

use crate::{Error, spelled};

/// A message with its parameters as options: `--scale-a`, `--cases N`.
pub(crate) fn options(message: &str) -> String {
    spelled(message, |name, value| {
        let option = format!("--{}", name.replace('_', "-"));
        value.map_or(option.clone(), |value| format!("{option} {value}"))
    })
}

/// An error whose message is for the command line.
pub(crate) fn for_command_line(error: Error) -> Error {
    reworded(error, options)
}

/// An error whose message names parameters only: that of a command for a caller that is a program.
pub(crate) fn for_program(error: Error) -> Error {
    reworded(error, parameters)
}

fn reworded(error: Error, reword: impl Fn(&str) -> String) -> Error {
    match error {
        Error::Request { message } => Error::request(reword(&message)),
        Error::Unavailable { message } => Error::unavailable(reword(&message)),
        Error::Device { message } => Error::device(reword(&message)),
        other => other,
    }
}

/// A message with its options as parameters, as verbs and the parser of their arguments write them.
///
/// A whole command in backticks stays.
fn parameters(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for (at, part) in message.split('`').enumerate() {
        text += if at > 0 { "`" } else { "" };
        match at % 2 == 1 && part.starts_with("tcnum ") {
            true => text += part,
            false => add_as_parameters(&mut text, part),
        }
    }
    text
}

fn add_as_parameters(text: &mut String, mut rest: &str) {
    while let Some(at) = rest.find("--") {
        let (before, option) = rest.split_at(at);
        let length = option[2..].find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap_or(option.len() - 2);
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-');
        text.push_str(before);
        match option[2..][..length].trim_end_matches('-') {
            name if begins && name.starts_with(|c: char| c.is_ascii_lowercase()) => {
                *text += &format!("‹{}›", name.replace('-', "_"));
                rest = &option[2 + name.len()..];
            }
            _ => {
                text.push_str("--");
                rest = &option[2..];
            }
        }
    }
    text.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_become_options_and_options_parameters() {
        let named = "‹scale_a› needs ‹scale_b›, see `tcnum gemm --a A`; x--y and 1---2 stay";
        let shown = "--scale-a needs --scale-b, see `tcnum gemm --a A`; x--y and 1---2 stay";
        assert_eq!((options(named).as_str(), parameters(shown).as_str()), (shown, named));
        assert_eq!(options("use ‹cases=N› or ‹include='*'›"), "use --cases N or --include '*'");
    }
}
