//! SARIF 2.1.0, which code hosts show next to a change.

use serde_json::{Value, json};

use super::{Check, CheckOutcome, checks};
use crate::{COMMIT, Error, VERSION, report::Report};

/// Rules by table, each with its claim.
const RULES: [(&str, &str); 6] = [
    ("verification", "A device agrees with its arithmetic model in every bit."),
    ("cells", "A published figure is reproduced."),
    ("findings", "A published finding holds."),
    ("compared_tables", "A table of results has not changed."),
    ("distinguished", "Two devices or models give the same results."),
    ("compared_features", "A feature of an instruction has not changed."),
];

/// Renders the checks of a report as SARIF 2.1.0: a result for each that failed or was not done.
/// `source` is the file at which a code host shows them, `failure` the error that ended the command early.
pub fn sarif(report: &Report, failure: Option<&Error>, source: Option<&str>) -> String {
    let checks = checks(report, failure);
    let end = checks.iter().find_map(|check| match &check.outcome {
        CheckOutcome::Undone { message, .. } if check.group == report.command => Some(message),
        _ => None,
    });
    // The claim of a whole report has the rule of its command.
    let command_rule = [(&*report.command, "The claim of the command holds.")];
    let rules: Vec<(&str, &str)> = RULES.into_iter().chain(command_rule).collect();
    let results: Vec<Value> = checks.iter().filter_map(|check| result(check, &rules, source)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tcnum",
                "version": VERSION,
                "semanticVersion": VERSION,
                "properties": { "commit": COMMIT },
                "rules": rules.iter().map(|(id, asks)| json!({
                    "id": id,
                    "shortDescription": { "text": asks },
                    "defaultConfiguration": { "level": "error" },
                })).collect::<Vec<_>>(),
            } },
            "invocations": [{
                "commandLine": report.invocation,
                "executionSuccessful": end.is_none(),
                "toolExecutionNotifications": end.iter().map(|message| json!({
                    "level": "error",
                    "message": { "text": message },
                })).collect::<Vec<_>>(),
            }],
            "properties": {
                "device": report.device.as_ref().map(|device| &device.description),
                "seed": report.seed,
                "checks": checks.len(),
            },
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&document).expect("keys are text");
    text.push('\n');
    text
}

fn result(check: &Check, rules: &[(&str, &str)], source: Option<&str>) -> Option<Value> {
    let (level, kind, text) = match &check.outcome {
        CheckOutcome::Held => return None,
        CheckOutcome::Failed { message, detail } => ("error", "fail", format!("{}: {message}\n{detail}", check.name)),
        CheckOutcome::Undone { message, detail } => ("none", "open", format!("{}: {message}\n{detail}", check.name)),
    };
    let mut location = json!({ "logicalLocations": [{ "name": check.name, "fullyQualifiedName": format!("{}/{}", check.group, check.name) }] });
    if let Some(source) = source {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri(source) } });
    }
    Some(json!({
        "ruleId": check.group,
        "ruleIndex": rules.iter().position(|(id, _)| *id == check.group),
        "level": level,
        "kind": kind,
        "message": { "text": text.trim_end() },
        "locations": [location],
    }))
}

/// Escapes the path of a file as a reference (RFC 3986).
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("experiments/table-12.toml"), "experiments/table-12.toml");
        assert_eq!(uri("a b#c:é"), "a%20b%23c%3A%C3%A9");
    }
}
