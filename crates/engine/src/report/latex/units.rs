//! Pieces of LaTeX text that no line break divides, and their printed widths.

/// Widths of the characters from space to tilde in `ec-lmr8`, in thousandths of its size of 8 pt.
#[rustfmt::skip]
const WIDTHS: [u32; 95] = [
    354, 295, 403, 885, 531, 885, 826, 295, 413, 413, 531, 826, 295, 354, 295, 531, 531, 531, 531, 531, 531, 531, 531, 531,
    531, 531, 295, 295, 826, 826, 826, 502, 826, 796, 752, 767, 811, 723, 693, 834, 796, 383, 546, 825, 664, 973, 796, 826,
    723, 826, 782, 590, 767, 796, 796, 1091, 796, 796, 649, 295, 531, 295, 556, 796, 295, 531, 590, 472, 590, 472, 325, 531,
    590, 295, 325, 561, 295, 885, 590, 531, 590, 561, 414, 419, 413, 590, 561, 767, 561, 561, 472, 531, 295, 531, 556,
];
/// Width of other characters, in the same unit: the width of a wide letter.
const OTHER: u32 = 1000;
/// Commands that take no room.
const UNSEEN: [&str; 2] = ["\\allowbreak", "\\relax"];
/// Width of a narrow symbol of mathematics, with its spaces.
const SYMBOL: u32 = 1300;

/// The pieces: characters, commands with their braces, and formulas.
pub(super) fn units(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match first {
            '\\' => command(rest),
            '{' => rest.find('}').map_or(1, |at| at + 1),
            '$' => rest[1..].find('$').map_or(1, |at| at + 2),
            letter => letter.len_utf8(),
        };
        let (unit, more) = rest.split_at(end);
        rest = more;
        Some(unit)
    })
}

/// Length of a command, with an empty pair of braces.
fn command(text: &str) -> usize {
    let letters = text[1..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len() - 1);
    match letters {
        0 => 1 + text[1..].chars().next().map_or(0, char::len_utf8),
        _ if text[1 + letters..].starts_with("{}") => letters + 3,
        _ => letters + 1,
    }
}

/// Printed width of text in 8 pt, in points, rounded up.
pub fn points(text: &str) -> usize {
    let width: u32 = units(text).map(width).sum();
    (width as usize * 8).div_ceil(1000)
}

fn width(unit: &str) -> u32 {
    let mut letters = unit.chars();
    match (letters.next(), unit.len()) {
        (Some(letter), _) if letter != '\\' && letter.len_utf8() == unit.len() => character(letter),
        (Some('\\'), 2) => letters.next().map_or(0, character),
        (Some('\\'), _) if UNSEEN.iter().any(|command| unit.starts_with(command)) => 0,
        (Some('{' | '$'), length) if length > 1 => formula(&unit[1..length - 1]),
        (Some('\\'), _) => SYMBOL,
        _ => 0,
    }
}

fn character(letter: char) -> u32 {
    let at = (letter as usize).checked_sub(usize::from(b' '));
    at.and_then(|at| WIDTHS.get(at)).copied().unwrap_or(OTHER)
}

/// The width of a formula, as if its exponents were of full size.
fn formula(text: &str) -> u32 {
    units(text).filter(|unit| *unit != "^").map(width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_a_formula_and_a_letter_are_one_piece_each() {
        let text = "a\\_b\\textless{}{-}$10^{3}$\\allowbreak{}\u{e9}";
        let all: Vec<&str> = units(text).collect();
        assert_eq!(all, ["a", "\\_", "b", "\\textless{}", "{-}", "$10^{3}$", "\\allowbreak{}", "\u{e9}"]);
        assert_eq!(all.concat(), text);
        // Text that ends early is still text.
        for broken in ["\\", "{", "$", "\\abc", "a{", ""] {
            assert_eq!(units(broken).collect::<String>(), broken);
        }
    }

    #[test]
    fn a_width_is_that_of_the_font() {
        // By hand: 10 digits of 4.25 pt.
        assert_eq!(points("0123456789"), 43);
        assert_eq!((points(""), points("\\allowbreak{}"), points("\\_"), points("_")), (0, 0, 7, 7));
        assert!(points("$1.29 \\times 10^{-3}$") > points("1.29"));
    }
}
