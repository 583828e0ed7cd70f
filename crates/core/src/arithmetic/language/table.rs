//! Rules from tables with changeable values, read by the reader of files: one reader of the language.

use serde::Deserialize;
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue, Deserializer, Error},
};

use super::keys::Rule;

impl Rule {
    /// Rule written in `table`, unchecked.
    ///
    /// # Errors
    /// Unknown and missing keys; values of the wrong type.
    pub fn read(table: &Table) -> Result<Rule, Error> {
        let mut numbers = Vec::new();
        table.values().for_each(|value| write_numbers(value, &mut numbers));
        let file = entries(table, &mut numbers.iter().map(String::as_str))?;
        Rule::deserialize(Deserializer::from(placed(file)))
    }
}

/// Appends the numbers (and times) in `value` as text, which the reader of files takes.
fn write_numbers(value: &Value, written: &mut Vec<String>) {
    match value {
        Value::String(_) | Value::Boolean(_) => {}
        Value::Array(values) => values.iter().for_each(|value| write_numbers(value, written)),
        Value::Table(table) => table.values().for_each(|value| write_numbers(value, written)),
        Value::Integer(_) | Value::Float(_) | Value::Datetime(_) => written.push(value.to_string()),
    }
}

/// Keys and values of a table as in a file; numbers as text.
fn entries<'t>(table: &'t Table, numbers: &mut dyn Iterator<Item = &'t str>) -> Result<DeTable<'t>, Error> {
    table.iter().map(|(key, value)| Ok((placed(key.as_str().into()), written(value, numbers)?))).collect()
}

fn written<'t>(value: &'t Value, numbers: &mut dyn Iterator<Item = &'t str>) -> Result<Spanned<DeValue<'t>>, Error> {
    Ok(placed(match value {
        Value::String(text) => DeValue::String(text.as_str().into()),
        Value::Boolean(truth) => DeValue::Boolean(*truth),
        Value::Array(values) => {
            DeValue::Array(values.iter().map(|value| written(value, numbers)).collect::<Result<_, _>>()?)
        }
        Value::Table(table) => DeValue::Table(entries(table, numbers)?),
        Value::Integer(_) | Value::Float(_) | Value::Datetime(_) => {
            return DeValue::parse(numbers.next().unwrap_or_default());
        }
    }))
}

/// Value without a place in a file.
fn placed<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::arithmetic::Model;

    #[test]
    fn a_table_is_read_as_its_text_is() {
        let folder = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")).unwrap();
        let files =
            folder.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "toml"));
        for path in files {
            let text = fs::read_to_string(path).unwrap();
            let rules = Model::read(&text, "a model").unwrap().rules;
            let file: Table = text.parse().unwrap();
            let tables: Vec<&Table> = file["rule"].as_array().unwrap().iter().filter_map(Value::as_table).collect();
            assert_eq!(tables.len(), rules.len());
            for (table, rule) in tables.into_iter().zip(&rules) {
                assert_eq!(format!("{:?}", Rule::read(table).unwrap()), format!("{rule:?}"));
            }
        }
    }

    #[test]
    fn sources_that_are_written_are_read_again() {
        let written = "[{ measured = 'a', date = 2026-11-21, cases = 7, files = 'b', note = 'c', keys = ['zero', 'nan'] }, \
                       { recorded = 'a', device = 'b', files = 'c', leaves = { 'result.format' = 'any', zero = 'any' } }, \
                       { specification = 'a', section = 'b', instructions = ['mma.*'] }, { literature = 'a' }, { assumed = 'a' }]";
        let table: Table = format!("instructions = ['*']\nevidence = {written}").parse().unwrap();
        let rule = Rule::read(&table).unwrap();
        let again: Vec<Value> = rule.evidence.iter().map(|own| Value::Table(own.table())).collect();
        assert_eq!(table["evidence"].as_array().unwrap(), &again);
    }

    #[test]
    fn a_table_with_what_no_rule_has_is_refused() {
        let table: Table =
            "instructions = []\nevidence = [{ assumed = \"a test\" }]\nnothing = [1, -2, 0.5]".parse().unwrap();
        let error = Rule::read(&table).unwrap_err().to_string();
        assert!(error.contains("unknown field `nothing`"), "{error}");
    }
}
