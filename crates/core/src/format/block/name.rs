//! Finding block formats and scale rules by name.

use std::{fs, path::Path, sync::Mutex};

use super::{BlockFormat, SCALE_RULES, ScaleRule, formats};
use crate::{Error, Result, base::nearest::nearest};

fn bare(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '-'], "")
}

/// Block format with this name or alias, in any letter case, with or without `_` and `-`.
/// `mxfp8` is `mxfp8-e4m3` and `mxfp6` is `mxfp6-e2m3`: the formats with more precision.
pub fn find(name: &str) -> Option<&'static BlockFormat> {
    let wanted = bare(name);
    formats().iter().find(|f| bare(f.name) == wanted || f.aliases.iter().any(|alias| bare(alias) == wanted))
}

/// Block format with this name, or of a TOML file that describes one; `None` for anything else.
///
/// # Errors
/// A file with the key `block` that is no block format: see [`BlockFormat::from_toml`].
pub fn resolve(name: &str) -> Result<Option<&'static BlockFormat>> {
    let is_file = Path::new(name).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let text = if is_file { fs::read_to_string(name).ok() } else { None };
    let has_blocks = |text: &String| text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("block"));
    let Some(text) = text.filter(has_blocks) else { return Ok(find(name)) };
    let format = BlockFormat::from_toml(&text, name)?;
    match find(format.name) {
        Some(known) => {
            Err(Error::request(format!("{name}: the name '{known}' belongs to a block format; rename yours")))
        }
        // Leaked: a command names few formats and uses them to its end.
        None => Ok(Some(Box::leak(Box::new(format)))),
    }
}

/// Rules with a parameter that were asked for.
static WITH_PARAMETERS: Mutex<Vec<&'static ScaleRule>> = Mutex::new(Vec::new());

/// Scale rule with this name or alias.
///
/// A parameter follows a colon: `percentile:99`, `four-over-six:448`.
///
/// # Errors
/// A name that no rule has; the message suggests similar ones. A parameter that the rule does not take.
pub fn find_rule(name: &str) -> Result<&'static ScaleRule> {
    let (of, parameter) = name.split_once(':').map_or((name, None), |(of, parameter)| (of, Some(parameter)));
    let wanted = bare(of);
    let is_it = |rule: &&ScaleRule| bare(rule.name) == wanted || rule.aliases.iter().any(|alias| bare(alias) == wanted);
    let base = SCALE_RULES.iter().find(is_it).ok_or_else(|| {
        let near = nearest(of, SCALE_RULES.iter().map(|rule| rule.name), 2).join(", ");
        Error::request(format!("unknown scale rule '{name}'; the nearest are {near}; there are {}", known_rules()))
    })?;
    let Some(parameter) = parameter else { return Ok(base) };
    let choice = base.with(parameter).ok_or_else(|| {
        Error::request(format!(
            "scale rule '{name}': '{parameter}' is no parameter of it; `percentile` takes a number above 0 up to 100, \
             `four-over-six` the largest scale of a block, 448, 384 or 256"
        ))
    })?;
    if choice == base.choice {
        return Ok(base);
    }
    let mut known = WITH_PARAMETERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(rule) = known.iter().find(|rule| rule.choice == choice) {
        return Ok(rule);
    }
    let full = format!("{}:{parameter}", base.name);
    // Leaked and kept, like the rules of the table.
    let rule = ScaleRule { name: Box::leak(full.into_boxed_str()), aliases: &[], choice, source: base.source };
    let rule: &'static ScaleRule = Box::leak(Box::new(rule));
    known.push(rule);
    Ok(rule)
}

fn known_rules() -> String {
    let with_alias = |rule: &ScaleRule| match rule.name {
        "nearest" => "nearest (absmax)".to_string(),
        name => name.to_string(),
    };
    SCALE_RULES.iter().map(with_alias).collect::<Vec<_>>().join(", ")
}
