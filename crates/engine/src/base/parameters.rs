//! Parameters in messages, which the command line and Python spell in their own ways.

/// `text` with its parameters as `spell` writes a name and a value.
///
/// A message names a parameter in quotation marks, with or without a value: `‹scale_a›`, `‹cases=N›`.
pub fn spelled(text: &str, spell: impl Fn(&str, Option<&str>) -> String) -> String {
    let mut parts = text.split('‹');
    let mut output = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let marked = part.split_once('›').and_then(|(parameter, rest)| {
            let (name, value) =
                parameter.split_once('=').map_or((parameter, None), |(name, value)| (name, Some(value)));
            is_name(name).then(|| spell(name, value) + rest)
        });
        output += &marked.unwrap_or_else(|| format!("‹{part}"));
    }
    output
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_spelled_with_its_value_and_other_marks_stay() {
        let spell = |name: &str, value: Option<&str>| format!("[{name} {}]", value.unwrap_or_default());
        for (text, expected) in [
            ("give ‹scale_a›, or ‹cases=N›", "give [scale_a ], or [cases N]"),
            ("‹note=date=...›: twice", "[note date=...]: twice"),
            ("‹Scale›, ‹› and ‹open", "‹Scale›, ‹› and ‹open"),
            ("no parameter", "no parameter"),
        ] {
            assert_eq!(spelled(text, spell), expected);
        }
    }
}
