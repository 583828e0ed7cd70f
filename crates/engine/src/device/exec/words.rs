//! Splitting of `PROGRAM ARGS` into words, as by a shell but without one.

/// Splits `line` by the rules of POSIX shells for blanks, quotes, backslashes and comments.
/// Nothing is expanded.
///
/// # Errors
/// An open quote, or a backslash at the end.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    shlex::split(line).ok_or_else(|| "a quote is not closed, or it ends with a backslash".into())
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("  a\tb  ", &["a", "b"]),
            ("python3 'my model.py' --k=1", &["python3", "my model.py", "--k=1"]),
            (r#"a"b c"'d e'f"#, &["ab cd ef"]),
            (r#"a\ b "q\"\\\n" '\'"#, &["a b", r#"q"\\n"#, r"\"]),
            ("'' \"\"", &["", ""]),
            (r"C\:\\x", &[r"C:\x"]),
            (r#""\$x" $y"#, &["$x", "$y"]),
            ("a#b '#c' # d", &["a#b", "#c"]),
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
