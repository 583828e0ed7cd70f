//! Text from foreign files, made safe for a terminal.

use std::borrow::Cow;

/// True if a terminal or an editor obeys or hides the character.
/// These are control characters, marks of text direction and the byte order mark (U+FEFF).
pub fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with hidden characters escaped (`\\u{1b}`); line ends stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| c != '\n' && is_hidden(c);
    if !text.contains(hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown.into()
}

/// Longest foreign text shown in full, in characters.
const MOST: usize = 2000;

/// Foreign text, such as metadata or another program's message, without the middle if it is very long.
pub fn without_middle(text: &str) -> Cow<'_, str> {
    let count = if text.len() <= MOST { 0 } else { text.chars().count() };
    if count <= MOST {
        return text.into();
    }
    // Messages begin with the problem and end with the remedy.
    let place = |characters: usize| text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let (first, last) = (place(MOST * 3 / 4), place(count - MOST / 4));
    format!("{} [... {} characters ...] {}", &text[..first], count - MOST, &text[last..]).into()
}

/// A name in a sentence: hidden characters and line ends are escaped.
pub fn one_line(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    name.chars().for_each(|c| if is_hidden(c) { shown.extend(c.escape_default()) } else { shown.push(c) });
    shown
}

/// Beginning of a foreign word, for a message.
pub fn shortened(text: &str) -> Cow<'_, str> {
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
        assert_eq!(visible("abc\u{202e}fed\u{2069}"), "abc\\u{202e}fed\\u{2069}");
        assert!(matches!(visible("line 1\n\u{e9} 'x'"), Cow::Borrowed("line 1\n\u{e9} 'x'")));
    }

    #[test]
    fn very_long_texts_lose_their_middle_and_say_so() {
        assert!(matches!(without_middle(&"\u{e9}".repeat(2000)), Cow::Borrowed(_)));
        let text = format!("first {} last", "\u{e9}".repeat(500_000));
        let shown = without_middle(&text);
        assert!(shown.starts_with("first \u{e9}") && shown.ends_with("\u{e9} last"));
        assert!(shown.contains("[... 498011 characters ...]") && shown.chars().count() < 2100, "{}", &shown[..100]);
    }

    #[test]
    fn long_words_are_cut_between_characters() {
        assert_eq!(shortened(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(shortened(&"é".repeat(61)), "é".repeat(60) + "...");
    }
}
