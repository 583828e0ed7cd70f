//! Patterns of instruction names.

/// Whether `name` matches `pattern`, in which `*` stands for any characters and `{x,y,z}` for one of the
/// alternatives (which may be empty, and contain no braces).
pub fn matches(pattern: &str, name: &str) -> bool {
    if let Some(open) = pattern.find(['*', '{']) {
        let Some(rest) = name.strip_prefix(&pattern[..open]) else { return false };
        let pattern = &pattern[open..];
        if let Some(after) = pattern.strip_prefix('*') {
            return (0..=rest.len()).filter(|i| rest.is_char_boundary(*i)).any(|i| matches(after, &rest[i..]));
        }
        let Some(close) = pattern.find('}') else { return false };
        let after = &pattern[close + 1..];
        return pattern[1..close].split(',').any(|choice| rest.strip_prefix(choice).is_some_and(|r| matches(after, r)));
    }
    pattern == name
}

/// What is wrong with `pattern`, if anything: braces that do not pair up.
pub fn defect(pattern: &str) -> Option<&'static str> {
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
    }

    #[test]
    fn unpaired_braces_are_a_defect() {
        assert_eq!(defect("a{b,c}"), None);
        for bad in ["a{b", "a}b", "a{b{c}}"] {
            assert!(defect(bad).is_some(), "{bad}");
        }
    }
}
