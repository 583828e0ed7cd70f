//! Conditions on the operands of a case: a small language, read once and then evaluated for every case.
//!
//! ```text
//! condition  = both { "or" both }
//! both       = not { "and" not }
//! not        = "not" not | "(" condition ")" | "isnan" "(" operand ")" | value test
//! test       = ("<" | "<=" | ">" | ">=" | "==" | "!=") value | "is" [ "not" ] class
//! value      = number | operand | ("exponent" | "sign" | "abs") "(" operand ")"
//! operand    = "a" "[" place "]" | "b" "[" place "]" | "c" | "d"
//! ```

use crate::{
    Error, Result,
    format::{Class, Format, Real},
    isa::{Case, Instruction},
};

/// Most characters of a condition, which bounds the depth of its parentheses.
const LONGEST: usize = 1000;

/// Condition on a case.
#[derive(Debug, Clone)]
pub struct Condition(Node);

#[derive(Debug, Clone)]
enum Node {
    Any(Vec<Node>),
    All(Vec<Node>),
    Not(Box<Node>),
    Compare(Value, &'static str, Value),
    Is(Operand, ClassName),
}

/// Class of an operand that a condition names.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ClassName {
    Of(Class),
    Negative,
}

#[derive(Debug, Clone, Copy)]
enum Operand {
    A(usize),
    B(usize),
    C,
    D,
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Number(f64),
    Of(Function, Operand),
}

#[derive(Debug, Clone, Copy)]
enum Function {
    Itself,
    Exponent,
    Sign,
    Abs,
}

/// Words of classes.
const CLASSES: [(&str, ClassName); 6] = [
    ("nan", ClassName::Of(Class::Nan)),
    ("infinite", ClassName::Of(Class::Infinite)),
    ("zero", ClassName::Of(Class::Zero)),
    ("subnormal", ClassName::Of(Class::Subnormal)),
    ("normal", ClassName::Of(Class::Normal)),
    ("negative", ClassName::Negative),
];
/// Words of functions.
const FUNCTIONS: [(&str, Function); 3] =
    [("exponent", Function::Exponent), ("sign", Function::Sign), ("abs", Function::Abs)];
/// Comparisons, longer ones first.
const COMPARISONS: [&str; 6] = ["<=", ">=", "==", "!=", "<", ">"];

impl Condition {
    /// Reads a condition on the operands of `i`.
    ///
    /// # Errors
    /// The first word that does not fit, with its place and what is expected there.
    pub fn read(text: &str, i: &Instruction) -> Result<Condition> {
        if text.chars().count() > LONGEST {
            return Err(Error::request(format!("‹where›: the condition is longer than {LONGEST} characters")));
        }
        let mut parser = Parser { text, words: words(text), next: 0, instruction: i };
        let node = parser.condition()?;
        match parser.peek() {
            "" => Ok(Condition(node)),
            _ => Err(parser.expected("'and', 'or' or the end")),
        }
    }

    /// True if the condition holds; `d` gives the code of D.
    pub fn holds(&self, i: &Instruction, case: &Case, d: &dyn Fn() -> u64) -> bool {
        self.0.holds(&Evaluated { instruction: i, case, d })
    }
}

/// A case with its formats.
struct Evaluated<'a> {
    instruction: &'a Instruction,
    case: &'a Case,
    d: &'a dyn Fn() -> u64,
}

impl Evaluated<'_> {
    fn code(&self, operand: Operand) -> (&'static Format, u64) {
        let i = self.instruction;
        match operand {
            Operand::A(at) => (i.a, self.case.a[at]),
            Operand::B(at) => (i.b, self.case.b[at]),
            Operand::C => (i.c, self.case.c),
            Operand::D => (i.d, (self.d)()),
        }
    }

    /// The value; NaN where there is none, which no comparison but `!=` holds for.
    fn value(&self, value: Value) -> f64 {
        let (function, operand) = match value {
            Value::Number(number) => return number,
            Value::Of(function, operand) => (function, operand),
        };
        let (format, code) = self.code(operand);
        let datum = format.decode(code);
        match function {
            Function::Itself => format.to_f64(code),
            Function::Abs => format.to_f64(code).abs(),
            Function::Sign => {
                if datum.negative {
                    -1.0
                } else {
                    1.0
                }
            }
            Function::Exponent => match format.value(code) {
                Real::Finite(value) => value.leading_exponent().map_or(f64::NAN, f64::from),
                _ => f64::NAN,
            },
        }
    }
}

impl Node {
    fn holds(&self, case: &Evaluated) -> bool {
        match self {
            Node::Any(nodes) => nodes.iter().any(|node| node.holds(case)),
            Node::All(nodes) => nodes.iter().all(|node| node.holds(case)),
            Node::Not(node) => !node.holds(case),
            Node::Compare(x, comparison, y) => {
                let (x, y) = (case.value(*x), case.value(*y));
                match *comparison {
                    "<" => x < y,
                    "<=" => x <= y,
                    ">" => x > y,
                    ">=" => x >= y,
                    "==" => x == y,
                    _ => x != y,
                }
            }
            Node::Is(operand, name) => {
                let (format, code) = case.code(*operand);
                let datum = format.decode(code);
                match name {
                    ClassName::Of(class) => datum.class == *class,
                    ClassName::Negative => datum.negative,
                }
            }
        }
    }
}

/// The words of a text with their places in it: names, numbers, signs.
fn words(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let is_number = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let length = if first.is_whitespace() {
            0
        } else if let Some(sign) = COMPARISONS.iter().find(|sign| rest.starts_with(**sign)) {
            sign.len()
        } else if is_number(first) || "+-".contains(first) && rest[1..].starts_with(is_number) {
            // A sign belongs to a number behind its beginning and behind the mark of its exponent.
            let mut before = first;
            let inside = |c: char| {
                let fits = is_number(c) || "+-".contains(c) && "eEpP".contains(before);
                before = c;
                fits
            };
            let mut inside = inside;
            1 + rest[1..].find(|c| !inside(c)).unwrap_or(rest.len() - 1)
        } else {
            first.len_utf8()
        };
        if length > 0 {
            words.push((at, &rest[..length]));
        }
        at += length.max(if length == 0 { first.len_utf8() } else { 0 });
    }
    words
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<(usize, &'a str)>,
    next: usize,
    instruction: &'a Instruction,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a str {
        self.words.get(self.next).map_or("", |(_, word)| word)
    }

    fn accept(&mut self, word: &str) -> bool {
        let is_next = self.peek() == word;
        self.next += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, word: &str) -> Result<()> {
        if self.accept(word) { Ok(()) } else { Err(self.expected(&format!("'{word}'"))) }
    }

    fn expected(&self, what: &str) -> Error {
        let place = self.words.get(self.next).map_or(self.text.len(), |(at, _)| *at);
        let number = self.text[..place].chars().count() + 1;
        let there = match self.peek() {
            "" => "the condition ends".to_string(),
            word => format!("there is '{word}'"),
        };
        Error::request(format!("‹where›, character {number}: {there}, where {what} is expected"))
    }

    fn condition(&mut self) -> Result<Node> {
        let mut nodes = vec![self.both()?];
        while self.accept("or") {
            nodes.push(self.both()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Any(nodes) })
    }

    fn both(&mut self) -> Result<Node> {
        let mut nodes = vec![self.not()?];
        while self.accept("and") {
            nodes.push(self.not()?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::All(nodes) })
    }

    fn not(&mut self) -> Result<Node> {
        if self.accept("not") {
            return Ok(Node::Not(Box::new(self.not()?)));
        }
        if self.accept("(") {
            let node = self.condition()?;
            self.expect(")")?;
            return Ok(node);
        }
        if self.accept("isnan") {
            return Ok(Node::Is(self.argument()?, ClassName::Of(Class::Nan)));
        }
        let place = self.next;
        let value = self.value()?;
        if self.accept("is") {
            let is_not = self.accept("not");
            let Some((_, name)) = CLASSES.iter().find(|(word, _)| *word == self.peek()) else {
                let names: Vec<&str> = CLASSES.iter().map(|(word, _)| *word).collect();
                return Err(self.expected(&format!("a class ({})", names.join(", "))));
            };
            let Value::Of(Function::Itself, operand) = value else {
                self.next = place;
                return Err(self.expected("an operand before 'is'"));
            };
            self.next += 1;
            let node = Node::Is(operand, *name);
            return Ok(if is_not { Node::Not(Box::new(node)) } else { node });
        }
        let Some(comparison) = COMPARISONS.into_iter().find(|comparison| *comparison == self.peek()) else {
            return Err(self.expected("a comparison (<, <=, >, >=, ==, !=) or 'is'"));
        };
        self.next += 1;
        Ok(Node::Compare(value, comparison, self.value()?))
    }

    fn value(&mut self) -> Result<Value> {
        let word = self.peek();
        if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) {
            self.next += 1;
            return Ok(Value::Of(*function, self.argument()?));
        }
        if word.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
            let Ok(number) = word.parse::<Real>() else { return Err(self.expected("a number")) };
            self.next += 1;
            return Ok(Value::Number(number.to_f64()));
        }
        match self.operand()? {
            Some(operand) => Ok(Value::Of(Function::Itself, operand)),
            None => {
                Err(self.expected("an operand (a[0], b[0], c, d), a function (exponent, sign, abs, isnan) or a number"))
            }
        }
    }

    /// An operand in parentheses.
    fn argument(&mut self) -> Result<Operand> {
        self.expect("(")?;
        let Some(operand) = self.operand()? else { return Err(self.expected("an operand (a[0], b[0], c, d)")) };
        self.expect(")")?;
        Ok(operand)
    }

    /// The next operand; `None` if the next word is none.
    fn operand(&mut self) -> Result<Option<Operand>> {
        let i = self.instruction;
        let (count, operand): (usize, fn(usize) -> Operand) = match self.peek() {
            "a" => (i.stored_k(), Operand::A),
            "b" => (i.k, Operand::B),
            "c" => (0, |_| Operand::C),
            "d" => (0, |_| Operand::D),
            _ => return Ok(None),
        };
        self.next += 1;
        if count == 0 {
            return Ok(Some(operand(0)));
        }
        self.expect("[")?;
        let Some(at) = self.peek().parse::<usize>().ok().filter(|at| *at < count) else {
            return Err(self.expected(&format!("a place from 0 to {}", count - 1)));
        };
        self.next += 1;
        self.expect("]")?;
        Ok(Some(operand(at)))
    }
}
