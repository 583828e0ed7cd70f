//! Tables that fit their pages: columns of fixed widths, upright or turned, with broken cells.

use super::{
    broken, escaped,
    units::{points, units},
};
use crate::report::{human::ShownTable, parts::Room};

/// Room for tables, in points.
#[derive(Debug, Clone, Copy)]
pub struct Pages {
    /// Width of the text of an upright page.
    pub upright: usize,
    /// Width of the text of a turned page.
    pub turned: usize,
}

/// A table as LaTeX.
#[derive(Debug, Clone, PartialEq)]
pub struct Typeset {
    /// The environment with the table.
    pub text: String,
    /// True if it needs a turned page.
    pub turned: bool,
    /// Estimated height, in points.
    pub height: f64,
}

/// Points between two columns: twice `\tabcolsep`.
const GAP: usize = 8;
/// Lines of a table that an upright page holds, and a turned one.
const LINES: [f64; 2] = [62.0, 38.0];
/// Pages that turned pages must save, because they begin and end with an empty rest of a page.
const SAVED: f64 = 0.5;
/// Points by which columns grow.
const STEP: usize = 6;
/// Widest column, in points, that wraps only if there is no other way.
const SHORT: usize = 80;
/// Most rows that are measured to share out a page.
const MEASURED: usize = 300;
/// Longest cell, in points, that a table of several parts does not wrap.
const LONGEST: usize = 150;
/// Longest text, in points, of a column of equal cells that the caption can have instead.
const HOISTED: usize = 300;
/// Most lines of a row on an upright page, and on a turned one; a longer row continues in the next.
const TALL: [usize; 2] = [40, 24];
/// Share of a line that words fill, in percent: a line ends before a long word.
const FILLED: usize = 85;
/// Height of a line of a table, of the caption, and of the rules and spaces around a table, in points.
const LINE: f64 = 9.5;
const CAPTION: f64 = 12.0;
const AROUND: f64 = 46.0;
/// Room between rows with wrapped cells, in points.
const BETWEEN: f64 = 2.0;

/// Sets a table under its caption; cells are already LaTeX.
///
/// A table without cells that must wrap has its natural widths. Else long cells wrap, on upright or on turned pages, whichever are fewer.
/// A table that no page holds is split into parts under one number, each with the columns that name its rows.
/// `floating` tables of few rows are floats.
pub fn typeset(title: &str, mut shown: ShownTable, pages: Pages, floating: Option<usize>) -> Vec<Typeset> {
    shown.labels = shown.labels.iter().map(|label| escaped(label)).collect();
    let room = |width| Room { width, gap: GAP, longest: HOISTED, measure: points };
    let (common, shown) = room(pages.upright).hoisted(shown);
    let common: String = common.iter().map(|same| format!("; {}", broken(same))).collect();
    let caption = format!("{}{common}", broken(&escaped(title)));
    let measured = Measured::of(&shown);
    let all: Vec<usize> = (0..shown.labels.len()).collect();
    if let Some((widths, turned)) = measured.fitted(pages) {
        let grid = Grid::new(&shown, &widths, &all, turned);
        let height = grid.height + caption_height(&caption, pages);
        return vec![Typeset { text: grid.table(&caption, false, floating), turned, height }];
    }
    let capped: Vec<usize> = measured
        .natural
        .iter()
        .zip(&measured.least)
        .map(|(natural, least)| (*natural).min(LONGEST.max(*least)))
        .collect();
    let parts = room(pages.turned).parts(&capped, &shown.numeric, &shown.beside, &shown.rows);
    let part = |(at, part): (usize, &Vec<usize>)| {
        let widths: Vec<usize> = part.iter().map(|&i| capped[i].min(pages.turned)).collect();
        let grid = Grid::new(&shown, &widths, part, true);
        let height = grid.height + caption_height(&caption, pages);
        Typeset { text: grid.table(&caption, at > 0, None), turned: true, height }
    };
    parts.iter().enumerate().map(part).collect()
}

/// Height of a caption and of what surrounds a table.
fn caption_height(caption: &str, pages: Pages) -> f64 {
    (points(caption) as f64 * 1.25 / pages.upright as f64).ceil() * CAPTION + AROUND
}

/// Widths that columns would like, and need.
struct Measured {
    /// The widest cell, or the longest piece of the heading.
    natural: Vec<usize>,
    /// The widest piece without a place for a line break.
    least: Vec<usize>,
    /// The widths of the cells of the first rows.
    cells: Vec<Vec<usize>>,
    /// Number of rows.
    count: usize,
}

impl Measured {
    fn of(shown: &ShownTable) -> Measured {
        let column = |of: fn(&str) -> usize, i: usize| shown.rows.iter().map(|row| of(&row[i])).max().unwrap_or(0);
        let heading = |i: usize| longest_piece(&shown.labels[i]);
        let columns = 0..shown.labels.len();
        let natural: Vec<usize> = columns.clone().map(|i| column(points, i).max(heading(i))).collect();
        let needed = |i: usize| if shown.numeric[i] { natural[i] } else { column(longest_piece, i).max(heading(i)) };
        let least = columns.map(needed).collect();
        let cells = shown.rows.iter().take(MEASURED).map(|row| row.iter().map(|cell| points(cell)).collect()).collect();
        Measured { natural, least, cells, count: shown.rows.len() }
    }

    /// Widths that fit a page, and true if the page is turned.
    fn fitted(&self, pages: Pages) -> Option<(Vec<usize>, bool)> {
        let upright = self.within(pages.upright);
        if let Some(widths) = upright.as_ref().filter(|widths| **widths == self.natural) {
            return Some((widths.clone(), false));
        }
        let turned = self.within(pages.turned);
        match (upright, turned) {
            (Some(upright), Some(turned)) => {
                let [upright_pages, turned_pages] =
                    [(&upright, LINES[0]), (&turned, LINES[1])].map(|(widths, lines)| {
                        self.lines(widths) * (self.count as f64 / self.cells.len().max(1) as f64) / lines
                    });
                Some(if turned_pages + SAVED < upright_pages { (turned, true) } else { (upright, false) })
            }
            (Some(upright), None) => Some((upright, false)),
            (None, turned) => turned.map(|widths| (widths, true)),
        }
    }

    /// Widths for a page of this width.
    fn within(&self, width: usize) -> Option<Vec<usize>> {
        let room = width.checked_sub(GAP * self.natural.len().saturating_sub(1))?;
        if self.natural.iter().sum::<usize>() <= room {
            return Some(self.natural.clone());
        }
        let short = |(natural, least): (&usize, &usize)| if *natural <= SHORT { *natural } else { *least };
        let preferred: Vec<usize> = self.natural.iter().zip(&self.least).map(short).collect();
        let mut widths = if preferred.iter().sum::<usize>() <= room { preferred } else { self.least.clone() };
        let mut left = room.checked_sub(widths.iter().sum())?;
        // The column whose growth saves most lines grows first, else the one with most lines.
        while left > 0 {
            let now = self.lines(&widths);
            let saved = |&i: &usize| {
                let mut wider = widths.clone();
                wider[i] += STEP.min(left);
                now - self.lines(&wider)
            };
            let growing = (0..widths.len()).filter(|&i| widths[i] < self.natural[i]);
            let demand =
                |&i: &usize| self.cells.iter().map(|row| row[i]).sum::<usize>() as f64 / widths[i].max(1) as f64;
            let worth = growing.map(|i| (saved(&i), demand(&i), i));
            let by_worth = |x: &(f64, f64, usize), y: &(f64, f64, usize)| x.0.total_cmp(&y.0).then(x.1.total_cmp(&y.1));
            let Some((.., best)) = worth.max_by(by_worth) else { break };
            let more = STEP.min(left).min(self.natural[best] - widths[best]);
            widths[best] += more;
            left -= more;
        }
        Some(widths)
    }

    /// Lines of the measured rows, with fractions, so that each point counts.
    fn lines(&self, widths: &[usize]) -> f64 {
        let row = |cells: &Vec<usize>| {
            let lines = cells.iter().zip(widths).map(|(cell, width)| *cell as f64 / (*width).max(1) as f64);
            lines.fold(1.0, f64::max)
        };
        self.cells.iter().map(row).sum()
    }
}

/// Width of the longest piece between two places for a line break.
fn longest_piece(cell: &str) -> usize {
    broken(cell).split([' ']).flat_map(|word| word.split("\\allowbreak{}")).map(points).max().unwrap_or(0)
}

/// Columns of a table, with headings and rows as LaTeX.
struct Grid {
    columns: String,
    head: String,
    rows: String,
    count: usize,
    /// Estimated height of the rows, in points.
    height: f64,
}

impl Grid {
    /// The columns `part` of a table, in these widths.
    fn new(shown: &ShownTable, widths: &[usize], part: &[usize], turned: bool) -> Grid {
        let wraps = |at: usize, i: usize| shown.rows.iter().any(|row| points(&row[i]) > widths[at]);
        let wrapped: Vec<bool> = part.iter().enumerate().map(|(at, &i)| wraps(at, i)).collect();
        let column = |(at, &i): (usize, &usize)| match wrapped[at] {
            true => format!(">{{\\raggedright\\arraybackslash}}p{{{}pt}}", widths[at]),
            false => format!("w{{{}}}{{{}pt}}", if shown.numeric[i] { 'r' } else { 'l' }, widths[at]),
        };
        let line = |cells: Vec<String>| format!("    {} \\\\\n", cells.join(" & "));
        let labels = part.iter().enumerate();
        let head = line(labels.map(|(at, &i)| heading(&shown.labels[i], widths[at], shown.numeric[i])).collect());
        let between = if wrapped.contains(&true) { "    \\addlinespace[2pt]\n" } else { "" };
        let tall = TALL[usize::from(turned)];
        let row = |row: &Vec<String>| {
            let cells =
                part.iter().enumerate().map(|(at, &i)| if wrapped[at] { broken(&row[i]) } else { row[i].clone() });
            let lines = continued(cells.collect(), widths, tall).into_iter().map(line);
            lines.collect::<String>() + between
        };
        let filled = |(at, &i): (usize, &usize), row: &[String]| match wrapped[at] {
            true => (points(&row[i]) * 100).div_ceil((widths[at] * FILLED).max(1)),
            false => 1,
        };
        let lines = |row: &Vec<String>| part.iter().enumerate().map(|cell| filled(cell, row)).max().unwrap_or(1);
        let space = if between.is_empty() { 0.0 } else { BETWEEN };
        Grid {
            height: shown.rows.iter().map(|row| lines(row) as f64 * LINE + space).sum(),
            columns: part.iter().enumerate().map(column).collect(),
            head,
            // A page must not break after the last row.
            rows: shown.rows.iter().map(row).collect::<String>().trim_end_matches(between).to_string(),
            count: shown.rows.len(),
        }
    }

    /// The table: a float if it has at most `floating` rows, else one over several pages.
    /// `again`: it has the number of the table before.
    fn table(&self, caption: &str, again: bool, floating: Option<usize>) -> String {
        let Grid { columns, head, rows, count, .. } = self;
        let begin = "\\footnotesize\\setlength{\\tabcolsep}{4pt}";
        if floating.is_some_and(|most| *count <= most) {
            return format!(
                "\n\\begin{{table}}\n  \\centering{begin}\n  \\caption{{{caption}}}\n  \\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n    \
                 \\toprule\n{head}    \\midrule\n{rows}    \\bottomrule\n  \\end{{tabular}}\n\\end{{table}}\n"
            );
        }
        let (caption, step) = match again {
            true => (format!("\\caption[]{{{caption} (continued)}}"), "\\addtocounter{table}{-1}"),
            false => (format!("\\caption{{{caption}}}"), ""),
        };
        format!(
            "\n{{{begin}\\setlength{{\\LTcapwidth}}{{\\linewidth}}{step}\n\\begin{{longtable}}{{@{{}}{columns}@{{}}}}\n    {caption} \\\\\n    \
             \\toprule\n{head}    \\midrule\n    \\endfirsthead\n    \\toprule\n{head}    \\midrule\n    \\endhead\n    \
             \\bottomrule\n    \\endlastfoot\n{rows}\\end{{longtable}}}}\n"
        )
    }
}

/// A heading, in lines of about the width of its column.
fn heading(label: &str, width: usize, numeric: bool) -> String {
    let mut lines = vec![String::new()];
    // A space or a place for a break ends a piece.
    for piece in broken(label).replace("\\allowbreak{}", "\u{0}").split_inclusive(['\u{0}', ' ']) {
        let piece = piece.trim_end_matches('\u{0}');
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() || points(&format!("{line}{}", piece.trim_end())) <= width {
            line.push_str(piece);
        } else {
            lines.push(piece.into());
        }
    }
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    match &lines[..] {
        [one] => one.to_string(),
        several => format!("\\shortstack[{}]{{{}}}", if numeric { 'r' } else { 'l' }, several.join("\\\\")),
    }
}

/// A row as rows of at most `tall` lines, because a page does not break a row.
fn continued(mut cells: Vec<String>, widths: &[usize], tall: usize) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    loop {
        let mut rest: Vec<String> = Vec::with_capacity(cells.len());
        for (cell, width) in cells.iter_mut().zip(widths) {
            let end = prefix(cell, width * tall * FILLED / 100);
            rest.push(cell.split_off(end));
        }
        let more = rest.iter().any(|cell| !cell.is_empty());
        rows.push(std::mem::replace(&mut cells, rest));
        if !more {
            return rows;
        }
    }
}

/// Length of the words of a cell that `room` points hold: all, or at least one.
fn prefix(cell: &str, room: usize) -> usize {
    let (mut width, mut at, mut end) = (0, 0, 0);
    for unit in units(cell) {
        width += points(unit);
        at += unit.len();
        if unit == " " {
            if width > room && end > 0 {
                return end;
            }
            end = at;
        }
    }
    if width > room && end > 0 { end } else { cell.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: Pages = Pages { upright: 345, turned: 550 };

    fn table(rows: Vec<Vec<String>>) -> ShownTable {
        let columns = rows[0].len();
        ShownTable {
            labels: (0..columns).map(|i| format!("c{i}")).collect(),
            numeric: vec![false; columns],
            beside: vec![false; columns],
            rows,
            legend: None,
            longest: None,
        }
    }

    /// The widths of the columns of a set table.
    fn widths(text: &str) -> Vec<usize> {
        let columns = text.split_once("{@{}").unwrap().1.split_once("@{}}").unwrap().0;
        columns.split("pt}").filter_map(|column| column.rsplit_once('{')?.1.parse().ok()).collect()
    }

    #[test]
    fn a_table_is_upright_then_wrapped_then_turned_then_in_parts_and_always_fits() {
        let long = |word: &str, count: usize| vec![word; count].join(" ");
        for (columns, words, expected) in
            [(3, 1, Some(false)), (3, 60, Some(false)), (9, 900, Some(true)), (12, 1, Some(true)), (30, 4, None)]
        {
            let cell = |row: usize, i: usize| format!("{} {row}{i}", long("general", words));
            let rows = (0..4).map(|row| (0..columns).map(|i| cell(row, i)).collect()).collect();
            let set = typeset("A title", table(rows), PAGES, None);
            match expected {
                Some(turned) => assert_eq!((set.len(), set[0].turned), (1, turned), "{columns} {words}"),
                None => assert!(set.len() > 1 && set[1].text.contains("(continued)"), "{columns} {words}"),
            }
            for part in &set {
                let widths = widths(&part.text);
                let sum = widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
                assert!(sum <= if part.turned { PAGES.turned } else { PAGES.upright }, "{sum}: {}", part.text);
            }
        }
    }

    #[test]
    fn a_row_that_no_page_holds_continues_in_the_next_row_without_losing_a_word() {
        let words: Vec<String> = (0..3000).map(|word| format!("w{word}")).collect();
        let rows = continued(vec![words.join(" "), "short".into()], &[100, 40], 40);
        assert!(rows.len() > 2);
        let all: String = rows.iter().map(|row| row[0].clone()).collect();
        assert_eq!(all.split_whitespace().collect::<Vec<_>>(), words);
        assert_eq!(rows.iter().filter(|row| row[1] == "short").count(), 1);
    }

    #[test]
    fn long_names_and_hashes_can_break_and_words_cannot() {
        for word in
            ["mma.sp.m16n8k32.f32.f16.f16.f32", "0123456789abcdef0123456789abcdef01234567", "some/long/path/of/files"]
        {
            assert!(longest_piece(&escaped(word)) < points(word) / 2, "{word}");
        }
        assert_eq!(longest_piece("incomprehensibilities"), points("incomprehensibilities"));
    }
}
