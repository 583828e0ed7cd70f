//! Text from files of other people, as a terminal may show it.

use std::borrow::Cow;

/// `text` with its control characters, and the invisible mark that begins some files (U+FEFF), as escapes (`\\u{1b}`): they
/// would not be seen, or be obeyed. Ends of lines stay.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && (c.is_control() || c == '\u{feff}');
    if !text.contains(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

/// The beginning of a word from elsewhere, for a message.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_or_hide_is_escaped_and_the_rest_stays() {
        assert_eq!(visible("\u{feff}3C00 \0 \u{1b}[31m \u{9b} \r"), "\\u{feff}3C00 \\u{0} \\u{1b}[31m \\u{9b} \\r");
        assert!(matches!(visible("line 1\n\u{e9} 'x'"), Cow::Borrowed("line 1\n\u{e9} 'x'")));
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(shortened(&"é".repeat(61)), "é".repeat(60) + "...");
    }
}
