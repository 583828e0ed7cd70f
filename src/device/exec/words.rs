//! Splitting `PROGRAM ARGS` into words as a shell would, without a shell.

/// The words of `line`: separated by blanks; `'...'` is literal, `"..."` keeps blanks and knows `\"` and `\\`,
/// and outside quotes a backslash makes the next character literal.
///
/// # Errors
/// A quote that is not closed, or a backslash at the end.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(characters.next().ok_or("it ends with a backslash")?),
            '\'' | '"' => quoted(c, &mut characters, word.get_or_insert_default())?,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(quote: char, characters: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    let unclosed = || format!("the quote {quote} is not closed");
    loop {
        match characters.next().ok_or_else(unclosed)? {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match characters.next().ok_or_else(unclosed)? {
                c @ ('"' | '\\') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: [(&str, &[&str]); 7] = [
            ("", &[]),
            ("  a\tb  ", &["a", "b"]),
            ("python3 'my model.py' --k=1", &["python3", "my model.py", "--k=1"]),
            (r#"a"b c"'d e'f"#, &["ab cd ef"]),
            (r#"a\ b "q\"\\\n" '\'"#, &["a b", r#"q"\\n"#, r"\"]),
            ("'' \"\"", &["", ""]),
            (r"C\:\\x", &[r"C:\x"]),
        ];
        for (line, words) in cases {
            assert_eq!(split(line).as_deref(), Ok(words.iter().map(|w| w.to_string()).collect::<Vec<_>>().as_slice()));
        }
    }

    #[test]
    fn an_open_quote_is_refused() {
        for line in ["'a", "\"a", "a\\", "\"a\\"] {
            assert!(split(line).is_err(), "{line}");
        }
    }
}
