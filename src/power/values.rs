//! Values of model files as changes need them: read and set by path, and printed.

use toml::{Table, Value};

/// The value at `path` (`group`, `alignment.bits`) of a rule; `None` where it is absent.
pub(super) fn get<'a>(rule: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((table, key)) => rule.get(table)?.as_table()?.get(key),
        None => rule.get(path),
    }
}

/// Whether the rule has the table that `path` lies in.
pub(super) fn has_place(rule: &Table, path: &str) -> bool {
    path.split_once('.').is_none_or(|(table, _)| rule.get(table).is_some_and(Value::is_table))
}

/// Sets the value at `path`, or removes it.
pub(super) fn set(rule: &mut Table, path: &str, value: Option<Value>) {
    let (place, key) = match path.split_once('.') {
        Some((table, key)) => match rule.get_mut(table).and_then(Value::as_table_mut) {
            Some(place) => (place, key),
            None => return,
        },
        None => (rule, path),
    };
    match value {
        Some(value) => place.insert(key.into(), value),
        None => place.remove(key),
    };
}

/// A value as a reader sees it: words without quotes.
pub(super) fn shown(value: Option<&Value>) -> String {
    match value {
        None => "absent".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string().replace('\n', " "),
    }
}
