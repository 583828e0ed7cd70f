//! Patterns of instruction names.

use std::collections::BTreeSet;

/// True if `name` matches `pattern`: `*` is any characters, `{x,y,z}` one of the alternatives.
///
/// An alternative may be empty, and contains no braces. The time is at most proportional to the product of the lengths,
/// squared: no pattern takes long.
pub fn matches(pattern: &str, name: &str) -> bool {
    // Places in `name` where the part of the pattern read so far can end.
    let mut ends = BTreeSet::from([0]);
    let mut rest = pattern;
    while !rest.is_empty() && !ends.is_empty() {
        let plain = rest.find(['*', '{']).unwrap_or(rest.len());
        let choices: Vec<&str>;
        if plain > 0 {
            (choices, rest) = (vec![&rest[..plain]], &rest[plain..]);
        } else if let Some(after) = rest.strip_prefix('*') {
            let first = ends.first().copied().unwrap_or(name.len());
            ends = (first..=name.len()).filter(|end| name.is_char_boundary(*end)).collect();
            rest = after;
            continue;
        } else {
            let Some((inside, after)) = rest[1..].split_once('}') else { return false };
            (choices, rest) = (inside.split(',').collect(), after);
        }
        let advance = |end: usize| {
            choices.iter().filter(move |choice| name[end..].starts_with(**choice)).map(move |choice| end + choice.len())
        };
        ends = ends.iter().flat_map(|end| advance(*end)).collect();
    }
    ends.contains(&name.len())
}

/// Defect of `pattern`: no characters, or braces that do not pair up; `None` without any.
pub fn defect(pattern: &str) -> Option<&'static str> {
    if pattern.is_empty() {
        return Some("empty");
    }
    let mut open = false;
    for c in pattern.chars() {
        match c {
            '{' if open => return Some("braces inside braces"),
            '{' => open = true,
            '}' if !open => return Some("'}' without '{'"),
            '}' => open = false,
            _ => {}
        }
    }
    open.then_some("'{' without '}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_spans_anything_and_braces_choose_one() {
        assert!(matches("mma.*.f32.{f16,bf16}.*", "mma.m16n8k16.f32.bf16.bf16.f32"));
        assert!(!matches("mma.*.f32.{f16,bf16}.*", "mma.m16n8k8.f32.tf32.tf32.f32"));
        assert!(matches("mma.m8n8k4.f64{,.rn}", "mma.m8n8k4.f64"));
        assert!(matches("mma.m8n8k4.f64{,.rn}", "mma.m8n8k4.f64.rn"));
        assert!(!matches("mma.m8n8k4.f64{,.rn}", "mma.m8n8k4.f64.rz"));
        assert!(!matches("mma", "mma.sp"));
        assert!(matches("*f32*f32", "mma.f32.f32") && !matches("*f32*f32*f32", "mma.f32.f32"));
        assert!(matches("**", "") && matches("", "") && !matches("", "a") && !matches("a*a", "a"));
    }

    #[test]
    fn no_pattern_takes_long() {
        assert!(!matches(&("*{a,aa,}".repeat(200) + "c"), &"a".repeat(200)));
    }

    #[test]
    fn unpaired_braces_are_a_defect() {
        assert_eq!(defect("a{b,c}"), None);
        for bad in ["", "a{b", "a}b", "a{b{c}}"] {
            assert!(defect(bad).is_some(), "{bad}");
        }
    }
}
