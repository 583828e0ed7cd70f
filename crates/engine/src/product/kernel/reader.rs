//! Reading of names with the table.

use super::{
    KernelName, KernelNames, KernelSpelling, KernelTable, KernelWord, Says,
    pattern::{Captures, Hole, Spellings, Taken, ends_word},
    table::{Place, Spelling, Word},
};

impl KernelTable {
    /// Reads the names of the kernels of one call.
    pub fn read(&self, names: &[String]) -> KernelNames {
        KernelNames { kernels: names.iter().map(|name| self.kernel(name)).collect() }
    }

    fn kernel(&self, name: &str) -> KernelName {
        let beginning =
            self.spellings.iter().find_map(|spelling| self.beginning(spelling, name).map(|at| (spelling, at)));
        let Some((spelling, at)) = beginning else {
            return KernelName { name: name.into(), spelling: None, words: Vec::new(), unread: Vec::new() };
        };
        let rest = &name[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or(rest.len());
        let (body, behind) = rest.split_at(mangled_length(&name[..at]).filter(|length| *length <= end).unwrap_or(end));
        let spellings = Spellings { formats: &spelling.formats, shapes: &self.shapes };
        let mut read = vec![None; spelling.words.len()];
        let unread = read_body(spelling, body, spellings, &mut read);
        let mut placed: Vec<(usize, KernelWord)> = spelling
            .words
            .iter()
            .zip(&read)
            .filter_map(|(row, reading)| reading.as_ref().map(|(at, word, captures)| (*at, meant(row, word, captures))))
            .collect();
        placed.sort_by_key(|(at, _)| *at);
        let mut words: Vec<KernelWord> = placed.into_iter().map(|(_, word)| word).collect();
        words.extend(read_arguments(spelling, behind, spellings));
        words.extend(spelling.words.iter().filter_map(|row| match &row.place {
            Place::Absent { with, without, text }
                if with.iter().all(|row| read[*row].is_some()) && read[*without].is_none() =>
            {
                Some(KernelWord { absent: true, ..meant(row, text, &Vec::new()) })
            }
            _ => None,
        }));
        let Spelling { title, library, role, .. } = spelling;
        let spelling = KernelSpelling { title: title.clone(), library: library.clone(), role: *role };
        KernelName { name: name.into(), spelling: Some(spelling), words, unread }
    }

    /// Where a name of this spelling begins, if the text has one.
    fn beginning(&self, spelling: &Spelling, name: &str) -> Option<usize> {
        if spelling.contains.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
            return None;
        }
        let spellings = Spellings { formats: &spelling.formats, shapes: &self.shapes };
        let mut before = None;
        name.char_indices()
            .filter(|(_, c)| {
                let inside =
                    |before: char| before.is_alphabetic() || before == '_' || before.is_numeric() && !c.is_alphabetic();
                let starts = c.is_alphanumeric() && !before.is_some_and(inside);
                before = Some(*c);
                starts
            })
            .map(|(at, _)| at)
            .find(|at| spelling.begins.iter().any(|begin| begin.read(&name[*at..], spellings, |_| true).is_some()))
    }
}

/// Length of an identifier in a mangled name, which stands before it: 19 of `19splitKreduce_kernel`.
fn mangled_length(before: &str) -> Option<usize> {
    let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    before[before.len() - digits..].parse().ok()
}

/// A row's word in a name: its place, its text, and the parts in its holes.
type Found = Option<(usize, String, Captures)>;

/// Reads the words of a name from left to right; gives the words that no row reads.
fn read_body(spelling: &Spelling, body: &str, spellings: Spellings, read: &mut [Found]) -> Vec<String> {
    let mut unread = Vec::new();
    let (mut at, mut next) = (0, 0);
    while at < body.len() {
        let rest = &body[at..];
        if ends_word(rest) {
            at += 1;
            continue;
        }
        let fits = |row: &usize| {
            let (ordered, pattern) = match &spelling.words[*row].place {
                Place::Next(pattern) => (true, pattern),
                Place::Anywhere(pattern) => (false, pattern),
                Place::Argument(..) | Place::Absent { .. } => return None,
            };
            if ordered && *row < next || read[*row].is_some() {
                return None;
            }
            pattern.read(rest, spellings, ends_word).map(|matched| (*row, ordered, matched))
        };
        let mut fitting: Vec<_> = (0..spelling.words.len()).filter_map(|row| fits(&row)).collect();
        // Words in the order of the table come first.
        fitting.sort_by_key(|(_, ordered, _)| !ordered);
        let length = match fitting.into_iter().next() {
            Some((row, ordered, (length, captures))) => {
                read[row] = Some((at, rest[..length].to_string(), captures));
                if ordered {
                    next = row + 1;
                }
                length
            }
            None => {
                let length = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
                unread.push(rest[..length].to_string());
                length
            }
        };
        at += length;
    }
    unread
}

/// Reads the arguments of a template, `<...>` behind a name.
fn read_arguments(spelling: &Spelling, behind: &str, spellings: Spellings) -> Vec<KernelWord> {
    let arguments = arguments(behind);
    if spelling.arguments != Some(arguments.len()) {
        return Vec::new();
    }
    let read = |row: &Word| match &row.place {
        Place::Argument(place, pattern) => {
            let argument = &arguments[*place];
            let (_, captures) = pattern.read(argument, spellings, str::is_empty)?;
            Some(meant(row, argument, &captures))
        }
        _ => None,
    };
    spelling.words.iter().filter_map(read).collect()
}

/// The arguments of a template; casts of profilers, `(bool)1`, are taken away.
fn arguments(behind: &str) -> Vec<String> {
    let Some(inside) = behind.strip_prefix('<') else { return Vec::new() };
    let (mut depth, mut arguments, mut current) = (0, Vec::new(), String::new());
    for c in inside.chars() {
        match c {
            '>' | ')' if depth == 0 => break,
            ',' if depth == 0 => arguments.push(std::mem::take(&mut current)),
            _ => {
                depth += usize::from(matches!(c, '<' | '('));
                depth -= usize::from(matches!(c, '>' | ')'));
                current.push(c);
            }
        }
    }
    arguments.push(current);
    arguments.iter().map(|argument| plain(argument.trim())).collect()
}

/// An argument without the cast before it.
fn plain(argument: &str) -> String {
    match argument {
        "(bool)1" => "true".into(),
        "(bool)0" => "false".into(),
        _ => argument.split_once(')').filter(|_| argument.starts_with('(')).map_or(argument, |(_, value)| value).into(),
    }
}

/// A row's word with its meaning in this name.
fn meant(row: &Word, word: &str, captures: &Captures) -> KernelWord {
    let mut meaning = row.meaning.clone();
    for (hole, capture) in captures {
        let text = match capture {
            Taken::Number(number) => number.to_string(),
            Taken::Format(format) => format.to_string(),
            Taken::Shape([m, n, k]) => format!("{m} x {n} x {k}"),
            Taken::Layout(letters) => letters.clone(),
        };
        meaning = meaning.replace(&format!("{{{}}}", hole.name()), &text);
    }
    let mut says = captured(captures);
    says.extend(row.says.iter().cloned());
    KernelWord { word: word.into(), absent: false, says, meaning, source: row.source.clone() }
}

/// The facts of what holes took.
fn captured(captures: &Captures) -> Vec<Says> {
    let number = |name: &str| {
        captures.iter().find_map(|(hole, capture)| match capture {
            Taken::Number(number) if *hole != Hole::AnyNumber && hole.name() == name => Some(*number),
            _ => None,
        })
    };
    let format = |name: &str| {
        captures.iter().find_map(|(hole, capture)| match capture {
            Taken::Format(format) if *hole != Hole::AnyFormat && hole.name() == name => Some(*format),
            _ => None,
        })
    };
    let mut says = Vec::new();
    says.extend(number("target").map(|sm| Says::Target { sm, later: false }));
    says.extend(number("least").map(|sm| Says::Target { sm, later: true }));
    if let (Some(m), Some(n), Some(k)) = (number("i.m"), number("i.n"), number("i.k")) {
        says.push(Says::Shape([m, n, k]));
    }
    says.extend(captures.iter().find_map(|(_, capture)| match capture {
        Taken::Shape(shape) => Some(Says::Shape(*shape)),
        _ => None,
    }));
    let operands = format("ab").map(|both| [both; 2]).or_else(|| Some([format("a")?, format("b")?]));
    says.extend(operands.map(Says::Operands));
    says.extend(format("acc").map(Says::Accumulator));
    says.extend(format("d").map(Says::Output));
    says.extend(number("m").zip(number("n")).map(|(m, n)| Says::Tile([m, n])));
    says.extend(number("k").map(Says::TileK));
    says.extend(number("stages").map(Says::Stages));
    says.extend(number("slices").map(Says::Slices));
    says.extend(format("partials").map(Says::Partials));
    says.extend(format("joined").map(Says::Joined));
    says.extend(captures.iter().find_map(|(_, capture)| match capture {
        Taken::Layout(letters) => Some(Says::Layout(letters.clone())),
        _ => None,
    }));
    says
}
