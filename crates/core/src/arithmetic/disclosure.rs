//! Disclosures of RISC-V's Integrated Matrix Extension, as rules and back.
//!
//! The extension (branch `ime-chapter` of the RISC-V manual, 0bd7e54b) leaves to an implementation how many
//! sub-dot-products form a group (G), how their sum is formed (psm) and rounded before it is added to C (rnd), and asks
//! it to publish a table from (SEW, W, lambda) to (G, psm, rnd). Such a table, as CSV, takes the place of a model file.

use std::fmt::Write;

use super::{Model, Program};
use crate::{Error, Result, base::words::words, isa::Instruction};

/// Columns of a table, in order.
const COLUMNS: [&str; 7] = ["sew", "w", "lambda", "g", "psm", "rnd", "algorithm"];
/// The one reduction that the language and this form know, where psm is 1.
const BULK: &str = "RVBNA";
/// Instruction family of each packing factor W.
const FAMILIES: [(usize, &str); 4] = [(1, "vfmmacc"), (2, "vfwmmacc"), (4, "vfqmmacc"), (8, "vf8wmmacc")];
/// Formats of C of each SEW, with the bits of their significands and their canonical NaNs.
const RESULTS: [(usize, &str, usize, &str); 4] = [
    (16, "f16", 11, "0x7e00"),
    (16, "bf16", 8, "0x7fc0"),
    (32, "f32", 24, "0x7fc00000"),
    (64, "f64", 53, "0x7ff8000000000000"),
];
/// Characters of a field that a message repeats.
const LONGEST_SHOWN: usize = 20;
/// Largest lambda of a table; vtype encodes 1 to 64.
const LARGEST_LAMBDA: usize = 64;

/// Treatment of a group's sum before it is added to C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupRounding {
    /// Rounded in the dynamic rounding mode, here to nearest, ties to even.
    Dynamic,
    /// Rounded to odd; overflow gives infinity.
    Odd,
    /// Added to C without a rounding of its own.
    Exact,
}

words!(named pub GroupRounding: "frm" = Dynamic, "rto" = Odd, "xct" = Exact);

/// Row of a disclosure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disclosure {
    /// Bits of an element of C.
    pub sew: usize,
    /// Elements of A or B in the space of one of C.
    pub w: usize,
    /// Sub-dot-products of an instruction with LMUL = 1.
    pub lambda: usize,
    /// Sub-dot-products of a group.
    pub g: usize,
    /// True if RVBNA reduces a group (psm = 1); false if its sum is exact (psm = 0).
    pub bulk: bool,
    /// Treatment of the group's sum.
    pub rnd: GroupRounding,
}

impl Disclosure {
    /// Name of the algorithm where psm is 1; empty where it is 0.
    pub fn algorithm(&self) -> &'static str {
        if self.bulk { BULK } else { "" }
    }

    /// Number of products of a group.
    fn length(&self) -> usize {
        self.g * self.w
    }

    /// Reason why no rule can say the row; `None` if one can.
    fn defect(&self) -> Option<String> {
        let Disclosure { sew, w, lambda, g, bulk, .. } = *self;
        let power = |number: usize, most: usize| number.is_power_of_two() && number <= most;
        if RESULTS.iter().all(|(bits, ..)| *bits != sew) {
            Some(format!("SEW is {sew}; it is 16, 32 or 64"))
        } else if FAMILIES.iter().all(|(factor, _)| *factor != w) || w > sew / 8 {
            Some(format!("W is {w}; with SEW {sew} it is a power of two from 1 to {}", sew / 8))
        } else if !power(lambda, LARGEST_LAMBDA) {
            Some(format!("lambda is {lambda}; it is a power of two from 1 to {LARGEST_LAMBDA}"))
        } else if !power(g, lambda) {
            Some(format!("G is {g}; it is a power of two from 1 to lambda, {lambda}"))
        } else if bulk && w == 1 {
            Some(format!("psm is 1 with W = 1, where {BULK} would keep fewer bits than a product has"))
        } else {
            None
        }
    }

    /// Nodes of the rule for results of this format with significands of `precision` bits.
    fn nodes(&self, format: &str, precision: usize) -> String {
        let groups = self.lambda / self.g;
        let nearest = format!("{{ format = \"{format}\", rounding = \"RNE\" }}");
        let odd = format!("{{ format = \"{format}\", rounding = \"RO\", overflow = \"infinity\" }}");
        let guard = self.length().trailing_zeros() as usize;
        let aligned = format!("alignment = {{ bits = {}, rounding = \"RO\" }}", precision - 1 + guard);
        // RVBNA's sum of zero is +0. Rounded to odd, nothing underflows to zero.
        let how = match (self.bulk, self.rnd) {
            (true, GroupRounding::Dynamic) => format!("{aligned}, zero = \"exact-positive\""),
            (true, _) => aligned,
            (false, _) => "zero = \"ieee\"".into(),
        };
        let mut text = String::new();
        let mut sums = vec!["c".to_string()];
        for at in 0..groups {
            let products = format!("products = \"{}:{}\"", at * self.length(), (at + 1) * self.length());
            let before = if at == 0 { "c".into() } else { format!("d{}", at - 1) };
            let _ = match (self.rnd, self.bulk) {
                (GroupRounding::Exact, false) => writeln!(
                    text,
                    "node.d{at} = {{ kind = \"sum\", {products}, terms = [\"{before}\"], {how}, result = {nearest} }}"
                ),
                (GroupRounding::Exact, true) => writeln!(
                    text,
                    "node.s{at} = {{ kind = \"sum\", {products}, {how}, result = \"aligned\" }}\n\
                     node.d{at} = {{ kind = \"sum\", terms = [\"{before}\", \"s{at}\"], \
                     zero = \"exact-positive\", result = {nearest} }}"
                ),
                (rounding, _) => {
                    let result = if rounding == GroupRounding::Odd { &odd } else { &nearest };
                    writeln!(text, "node.s{at} = {{ kind = \"sum\", {products}, {how}, result = {result} }}")
                }
            };
            sums.push(format!("s{at}"));
        }
        if self.rnd != GroupRounding::Exact {
            let _ = writeln!(text, "node.d = {{ kind = \"add\", terms = {sums:?}, result = {nearest} }}");
        }
        text
    }

    /// Rules of the row, as text of a model file.
    fn rules(&self) -> String {
        let family = FAMILIES.iter().find(|(w, _)| *w == self.w).map_or("", |(_, family)| family);
        let mut text = String::new();
        for (_, format, precision, nan) in RESULTS.iter().filter(|(bits, ..)| *bits == self.sew) {
            let _ = write!(
                text,
                "\n[[rule]]\ninstructions = [\"{family}.m*k{}.{format}.*\"]\nevidence = [\n\
                 {{ assumed = \"zero products keep their signs; overflow to odd is infinity\", keys = [\"node\"] }},\n\
                 {{ specification = \"the implementer's disclosure\", section = \"SEW {}, W {}, lambda {}\" }},\n\
                 ]\nnan = \"{nan}\"\n{}",
                self.lambda * self.w,
                self.sew,
                self.w,
                self.lambda,
                self.nodes(format, *precision)
            );
        }
        text
    }
}

/// Rows of a table; `origin` names it in messages.
///
/// # Errors
/// A missing or unknown column, a value out of range, a geometry that stands twice: with the line.
pub fn read(text: &str, origin: &str) -> Result<Vec<Disclosure>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| Error::request(format!("{origin}: {error}")))?.clone();
    if !header.iter().map(str::to_ascii_lowercase).eq(COLUMNS) {
        return Err(Error::request(format!(
            "{origin}, line 1: a disclosure has the columns {}; a model file ends in .toml",
            COLUMNS.join(",")
        )));
    }
    let mut rows: Vec<Disclosure> = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Error::request(format!("{origin}: {error}")))?;
        let line = record.position().map_or(0, csv::Position::line);
        let refused = |what: String| Error::request(format!("{origin}, line {line}: {what}"));
        let row = row(&record).and_then(|row| row.defect().map_or(Ok(row), Err)).map_err(refused)?;
        let same = |other: &Disclosure| (other.sew, other.w, other.lambda) == (row.sew, row.w, row.lambda);
        if rows.iter().any(same) {
            return Err(refused(format!("SEW {}, W {}, lambda {} stands twice", row.sew, row.w, row.lambda)));
        }
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err(Error::request(format!("{origin}: the table has no rows; add one for each (SEW, W, lambda)"))),
        false => Ok(rows),
    }
}

fn row(record: &csv::StringRecord) -> std::result::Result<Disclosure, String> {
    let field = |at: usize| record.get(at).unwrap_or("");
    let number = |at: usize| {
        let shown: String = field(at).chars().take(LONGEST_SHOWN).collect();
        let message = || format!("'{}' is not a number: '{}'", COLUMNS[at], shown.escape_debug());
        field(at).parse::<usize>().map_err(|_| message())
    };
    let bulk = match (number(4)?, field(6)) {
        (0, "") => false,
        (0, _) => return Err("psm is 0, which has no algorithm: leave the field empty".into()),
        (1, name) if name.eq_ignore_ascii_case(BULK) => true,
        (1, _) => return Err(format!("psm is 1, and 'algorithm' is not {BULK}; describe others in a model file")),
        (psm, _) => return Err(format!("psm is {psm}; it is 0 or 1")),
    };
    let rnd = GroupRounding::named(field(5)).ok_or("'rnd' is none of frm, rto and xct")?;
    Ok(Disclosure { sew: number(0)?, w: number(1)?, lambda: number(2)?, g: number(3)?, bulk, rnd })
}

/// Text of the model file that says the same as these rows.
pub fn model_text(rows: &[Disclosure]) -> String {
    let rules: String = rows.iter().map(Disclosure::rules).collect();
    format!("name = \"disclosure\"\ntitle = \"RISC-V Zvvfmm, as disclosed\"\nversion = 1\n{rules}")
}

/// Row that gives the program of a tile instruction; `None` if no tuple gives it.
/// Other instructions have none.
pub fn of_program(program: &Program) -> Option<Disclosure> {
    let i: &Instruction = &program.instruction;
    let (w, _) = *FAMILIES.iter().find(|(_, family)| *family == i.family())?;
    let lambda = i.k / w;
    let factors = (0..=lambda.checked_ilog2()?).map(|power| 1 << power);
    let tuples = factors.flat_map(|g| [false, true].map(|bulk| (g, bulk)));
    let rows = tuples.flat_map(|(g, bulk)| {
        let roundings = [GroupRounding::Dynamic, GroupRounding::Odd, GroupRounding::Exact];
        roundings.map(|rnd| Disclosure { sew: i.d.bits as usize, w, lambda, g, bulk, rnd })
    });
    rows.filter(|row| row.defect().is_none()).find(|row| {
        let model = Model::parse(&model_text(&[*row]), "disclosure");
        model.and_then(|model| model.program(i)).is_ok_and(|other| other == *program)
    })
}
