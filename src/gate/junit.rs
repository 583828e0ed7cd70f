//! JUnit XML, which systems of continuous integration show as tests.

use std::fmt::Write;

use super::{Check, CheckOutcome, checks};
use crate::{Error, report::Report};

/// Renders the checks of a report as JUnit XML, one test case each.
/// A check that was not finished is an error.
pub fn junit(report: &Report, failure: Option<&Error>) -> String {
    let checks = checks(report, failure);
    let count = |wanted: fn(&CheckOutcome) -> bool| checks.iter().filter(|check| wanted(&check.outcome)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\" time=\"{:.3}\"",
        checks.len(),
        count(|outcome| matches!(outcome, CheckOutcome::Failed { .. })),
        count(|outcome| matches!(outcome, CheckOutcome::Undone { .. })),
        checks.iter().filter_map(|check| check.seconds).fold(0.0, |sum, seconds| sum + seconds),
    );
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let name = escaped(&format!("tcnum {}", report.command));
    let _ = writeln!(text, "<testsuites name=\"tcnum\" {counts}>\n  <testsuite name=\"{name}\" {counts}>");
    text.push_str("    <properties>\n");
    let device = report.device.as_ref().map(|device| ("device", device.description.clone()));
    let seed = report.seed.map(|seed| ("seed", seed.to_string()));
    let program =
        [("version", crate::VERSION.into()), ("commit", crate::COMMIT.into()), ("command", report.invocation.clone())];
    for (key, value) in program.into_iter().chain(device).chain(seed) {
        let _ = writeln!(text, "      <property name=\"{key}\" value=\"{}\"/>", escaped(&value));
    }
    text.push_str("    </properties>\n");
    for check in &checks {
        case(&mut text, &report.command, check);
    }
    text + "  </testsuite>\n</testsuites>\n"
}

fn case(text: &mut String, command: &str, check: &Check) {
    let class = escaped(&format!("tcnum.{command}.{}", check.group));
    let time = check.seconds.map_or(String::new(), |seconds| format!(" time=\"{seconds:.3}\""));
    let _ = write!(text, "    <testcase classname=\"{class}\" name=\"{}\"{time}", escaped(&check.name));
    let (element, message, detail) = match &check.outcome {
        CheckOutcome::Held => return text.push_str("/>\n"),
        CheckOutcome::Undone { message, detail } => ("error", message, detail),
        CheckOutcome::Failed { message, detail } => ("failure", message, detail),
    };
    let _ = writeln!(
        text,
        ">\n      <{element} message=\"{}\" type=\"{}\">{}</{element}>\n    </testcase>",
        escaped(message),
        check.group,
        escaped(detail).replace("&#10;", "\n"),
    );
}

/// Escapes text for an attribute. Control characters that XML lacks become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markup_would_take_for_its_own_is_escaped() {
        assert_eq!(escaped("<a href=\"x\">&\n\t"), "&lt;a href=&quot;x&quot;&gt;&amp;&#10;&#9;");
        assert_eq!(escaped("\u{1b}[31m\u{0}é\u{85}\u{ffff}"), "\u{fffd}[31m\u{fffd}é\u{fffd}\u{fffd}");
        assert_eq!(escaped("]]>"), "]]&gt;");
    }
}
