//! Typed values of keys: read from a rule, changed, put back, and written as TOML.

use std::{collections::BTreeMap, fmt};

use toml::{Table, Value};

use super::{
    evidence::Evidence,
    keys::{KEYS, Key, NODE_KEYS, Node, Rule},
    node::{Indices, NodeKind, NodeResult, Term},
    rule::{
        Alignment, CPosition, Conversion, Join, Lanes, Late, NanOperand, OppositeInfinities, OverflowTest, Parts,
        ResultTininess, Rounded, SpecialOperands, Specials, Split, Start, Step, Subnormals, Wrap, ZeroSign, ZeroTerms,
        ZeroTimesInfinity,
    },
};
use crate::format::{Format, Overflow, Rounding};

/// Value of a key of a rule or of a node.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum KeyValue {
    /// True or false.
    Flag(bool),
    /// A number of bits, an exponent, a count.
    Number(i64),
    /// One of the key's words: `RNE`, `signed-zero`.
    Word(&'static str),
    /// A format.
    Format(&'static Format),
    /// A code of D.
    Code(u64),
    /// Name of a node.
    Name(String),
    /// Patterns of instructions.
    Patterns(Vec<String>),
    /// Sources.
    Evidence(Vec<Evidence>),
    /// Operands whose NaN becomes the result, in order.
    NanOperands(Vec<NanOperand>),
    /// Target of a rounding.
    Rounded(Rounded),
    /// Conversion to D.
    Conversion(Conversion),
    /// Alignment of terms.
    Alignment(Alignment),
    /// Lanes.
    Lanes(Lanes),
    /// Late c.
    Late(Late),
    /// Cut of significands.
    Split(Split),
    /// Split of k.
    Parts(Parts),
    /// A list of k.
    Products(Indices),
    /// Pairs of pieces.
    Pieces(Vec<(usize, usize)>),
    /// Terms of a node.
    Terms(Vec<Term>),
    /// A node.
    Node(Box<Node>),
    /// Nodes by their names.
    Nodes(BTreeMap<String, Node>),
}

/// Type of a value that a key can have.
trait Typed: Sized {
    fn write(&self) -> KeyValue;

    /// `None` if the value is of another type, or out of its range.
    fn read(value: &KeyValue) -> Option<Self>;
}

/// Field of a key: a value, and the meaning of the key's absence.
pub(super) trait Field {
    /// True if the key is given, with another value than the one meant by its absence.
    fn is_given(&self) -> bool;

    /// Value; `None` if the key is not given.
    fn value(&self) -> Option<KeyValue>;

    /// Sets the value, or removes it; false if the field cannot have it.
    fn set(&mut self, value: Option<&KeyValue>) -> bool;
}

impl<T: Typed> Field for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn value(&self) -> Option<KeyValue> {
        self.as_ref().map(T::write)
    }

    fn set(&mut self, value: Option<&KeyValue>) -> bool {
        *self = value.and_then(T::read);
        self.is_some() == value.is_some()
    }
}

/// Types whose value is the content of a variant.
macro_rules! contents {
    ($($type:ty: $variant:ident),+ $(,)?) => {
        $(impl Typed for $type {
            fn write(&self) -> KeyValue {
                KeyValue::$variant(self.clone())
            }

            fn read(value: &KeyValue) -> Option<$type> {
                match value {
                    KeyValue::$variant(content) => Some(content.clone()),
                    _ => None,
                }
            }
        })+
    };
}

contents!(
    bool: Flag,
    &'static Format: Format,
    u64: Code,
    Vec<String>: Patterns,
    Vec<Evidence>: Evidence,
    Vec<NanOperand>: NanOperands,
    Rounded: Rounded,
    Conversion: Conversion,
    Alignment: Alignment,
    Lanes: Lanes,
    Late: Late,
    Split: Split,
    Parts: Parts,
    Indices: Products,
    Vec<(usize, usize)>: Pieces,
    Vec<Term>: Terms,
    BTreeMap<String, Node>: Nodes,
);

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Typed for $type {
            fn write(&self) -> KeyValue {
                KeyValue::Number(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn read(value: &KeyValue) -> Option<$type> {
                value.number().and_then(|number| number.try_into().ok())
            }
        })+
    };
}

numbers!(i32, u32, usize);

macro_rules! enumerations {
    ($($type:ident: $named:ident),+ $(,)?) => {
        $(impl Typed for $type {
            fn write(&self) -> KeyValue {
                KeyValue::Word(self.name())
            }

            fn read(value: &KeyValue) -> Option<$type> {
                value.word().and_then($type::$named)
            }
        })+
    };
}

enumerations!(
    Step: named,
    NodeKind: named,
    Subnormals: named,
    ResultTininess: named,
    ZeroSign: named,
    ZeroTerms: named,
    Specials: named,
    OverflowTest: named,
    SpecialOperands: named,
    ZeroTimesInfinity: named,
    OppositeInfinities: named,
    Start: named,
    Join: named,
    CPosition: named,
    Wrap: named,
    Overflow: named,
    Rounding: parse,
);

impl Typed for String {
    fn write(&self) -> KeyValue {
        match ["c", "+0", "product"].into_iter().find(|word| word == self) {
            Some(word) => KeyValue::Word(word),
            None => KeyValue::Name(self.clone()),
        }
    }

    fn read(value: &KeyValue) -> Option<String> {
        match value {
            KeyValue::Word(word) => Some((*word).to_string()),
            KeyValue::Name(name) => Some(name.clone()),
            _ => None,
        }
    }
}

impl Typed for NodeResult {
    fn write(&self) -> KeyValue {
        match self {
            NodeResult::Rounded(to) => KeyValue::Rounded(*to),
            NodeResult::Aligned => KeyValue::Word("aligned"),
            NodeResult::Normalised => KeyValue::Word("normalised"),
        }
    }

    fn read(value: &KeyValue) -> Option<NodeResult> {
        match value {
            KeyValue::Rounded(to) => Some(NodeResult::Rounded(*to)),
            KeyValue::Word("aligned") => Some(NodeResult::Aligned),
            KeyValue::Word("normalised") => Some(NodeResult::Normalised),
            _ => None,
        }
    }
}

/// Fields that mean `absent` if their key is not given.
macro_rules! absent {
    ($($type:ty: $absent:expr),+ $(,)?) => {
        $(impl Field for $type {
            fn is_given(&self) -> bool {
                *self != $absent
            }

            fn value(&self) -> Option<KeyValue> {
                self.is_given().then(|| self.write())
            }

            fn set(&mut self, value: Option<&KeyValue>) -> bool {
                let read = value.map_or(Some($absent), <$type>::read);
                let is_read = read.is_some();
                read.into_iter().for_each(|read| *self = read);
                is_read
            }
        })+
    };
}

absent!(
    bool: false,
    Subnormals: Subnormals::Keep,
    ResultTininess: ResultTininess::After,
    ZeroTerms: ZeroTerms::Ignored,
    Specials: Specials::Steps,
    OverflowTest: OverflowTest::Rounded,
    SpecialOperands: SpecialOperands::Keep,
    ZeroTimesInfinity: ZeroTimesInfinity::Nan,
    OppositeInfinities: OppositeInfinities::Nan,
    Start: Start::C,
    Join: Join::Chain,
    CPosition: CPosition::First,
    Overflow: Overflow::Standard,
    Vec<NanOperand>: Vec::new(),
    Vec<Term>: Vec::new(),
    Vec<Evidence>: Vec::new(),
    BTreeMap<String, Node>: BTreeMap::new(),
);

/// Fields that always have a value.
macro_rules! given {
    ($($type:ty),+ $(,)?) => {
        $(impl Field for $type {
            fn is_given(&self) -> bool {
                true
            }

            fn value(&self) -> Option<KeyValue> {
                Some(self.write())
            }

            fn set(&mut self, value: Option<&KeyValue>) -> bool {
                let read = value.and_then(<$type>::read);
                let is_read = read.is_some();
                read.into_iter().for_each(|read| *self = read);
                is_read
            }
        })+
    };
}

given!(Vec<String>, Step, NodeKind, Rounding, &'static Format, i32, usize);

/// Values that are tables of parts.
macro_rules! tables {
    ($($variant:ident: $($name:literal = $field:ident),+;)+) => {
        impl KeyValue {
            /// Value of a part of a table: `bits` of an alignment.
            pub fn part(&self, name: &str) -> Option<KeyValue> {
                match self {
                    $(KeyValue::$variant(table) => match name {
                        $($name => Field::value(&table.$field),)+
                        _ => None,
                    },)+
                    _ => None,
                }
            }

            /// Sets or removes a part; false if the table cannot have it. A value that is no table stays as it is.
            fn set_part(&mut self, name: &str, value: Option<&KeyValue>) -> bool {
                match self {
                    $(KeyValue::$variant(table) => match name {
                        $($name => Field::set(&mut table.$field, value),)+
                        _ => false,
                    },)+
                    _ => true,
                }
            }

            /// Names of the parts of a table.
            fn part_names(&self) -> &'static [&'static str] {
                match self {
                    $(KeyValue::$variant(_) => &[$($name),+],)+
                    _ => &[],
                }
            }
        }
    };
}

tables! {
    Rounded: "format" = format, "rounding" = rounding, "overflow" = overflow, "subnormals" = subnormals, "tininess" = tininess, "overflow-test" = overflow_test;
    Conversion: "rounding" = rounding, "overflow" = overflow, "random-bits" = random_bits;
    Alignment: "bits" = bits, "rounding" = rounding, "floor" = floor, "sticky" = sticky, "reach" = reach, "sticky-place" = sticky_place, "carry" = carry, "saturates" = saturates, "complement" = complement, "complement-zeros" = complement_zeros, "c-bits" = c_bits;
    Lanes: "period" = period, "bits" = bits, "rounding" = rounding;
    Late: "sum-bits" = sum_bits, "c-bits" = c_bits, "rounding" = rounding, "drop" = drop, "floor" = floor;
}

impl KeyValue {
    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            KeyValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The word, if it is one.
    pub fn word(&self) -> Option<&'static str> {
        match self {
            KeyValue::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Keys and values of a table, of a node, or of nodes; `None` if it is none of them.
    pub fn entries(&self) -> Option<Vec<(String, KeyValue)>> {
        match self {
            KeyValue::Node(node) => Some(node.entries()),
            KeyValue::Nodes(nodes) => {
                let entry = |(name, node): (&String, &Node)| (name.clone(), KeyValue::Node(Box::new(node.clone())));
                Some(nodes.iter().map(entry).collect())
            }
            _ => {
                let names = self.part_names().iter();
                let parts = names.filter_map(|name| Some(((*name).to_string(), self.part(name)?)));
                Some(parts.collect::<Vec<_>>()).filter(|parts| !parts.is_empty())
            }
        }
    }

    /// Value as in a model file.
    pub fn toml(&self) -> Value {
        fn list<T>(of: &[T], value: impl Fn(&T) -> Value) -> Value {
            Value::Array(of.iter().map(value).collect())
        }
        let count = |count: &usize| KeyValue::Number(*count as i64).toml();
        let table = |entries: Vec<(String, KeyValue)>| Value::Table(table(entries));
        match self {
            KeyValue::Flag(flag) => (*flag).into(),
            KeyValue::Number(number) => (*number).into(),
            KeyValue::Word(word) => (*word).into(),
            KeyValue::Format(format) => format.name.into(),
            KeyValue::Code(code) => format!("{code:#x}").into(),
            KeyValue::Name(name) => name.as_str().into(),
            KeyValue::Patterns(patterns) => list(patterns, |pattern| pattern.as_str().into()),
            KeyValue::Evidence(sources) => list(sources, |source| Value::Table(source.table())),
            KeyValue::NanOperands(operands) => list(operands, |operand| operand.name().into()),
            KeyValue::Split(Split { a, b }) => {
                let pieces = [("a", a), ("b", b)].into_iter().filter(|(_, widths)| !widths.is_empty());
                let widths = |widths: &Vec<u32>| list(widths, |width| i64::from(*width).into());
                Value::Table(pieces.map(|(name, of)| (name.to_string(), widths(of))).collect())
            }
            KeyValue::Parts(Parts { period, residues }) => {
                let residues = list(residues, |part| list(part, count));
                let parts = [("period", count(period)), ("residues", residues)];
                Value::Table(parts.map(|(name, value)| (name.to_string(), value)).into_iter().collect())
            }
            KeyValue::Products(products) => {
                products.indices().map_or_else(|| products.to_string().into(), |all| list(&all, count))
            }
            KeyValue::Pieces(pieces) => list(pieces, |(a, b)| list(&[*a, *b], count)),
            KeyValue::Terms(terms) => list(terms, |Term { name, bits, drop }| {
                if (bits, drop) == (&None, &None) {
                    return name.as_str().into();
                }
                let numbers = [("bits", bits), ("drop", drop)].map(|(key, number)| Some((key, (*number)?.into())));
                let all = std::iter::once(("term", name.as_str().into())).chain(numbers.into_iter().flatten());
                Value::Table(all.map(|(key, value): (&str, Value)| (key.to_string(), value)).collect())
            }),
            _ => table(self.entries().unwrap_or_default()),
        }
    }
}

/// Keys and values as in a model file.
fn table(entries: Vec<(String, KeyValue)>) -> Table {
    entries.into_iter().map(|(key, value)| (key, value.toml())).collect()
}

impl fmt::Display for KeyValue {
    /// The value as in a model file, in one line; a word without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.toml() {
            Value::String(text) => f.write_str(&text),
            other => f.write_str(&other.to_string().replace('\n', " ")),
        }
    }
}

/// Table of keys: a rule or a node.
#[derive(Debug, Clone, Copy)]
pub enum KeyTable<'a> {
    /// A rule.
    Rule(&'a Rule),
    /// A node of a rule.
    Node(&'a Node),
}

impl KeyTable<'_> {
    /// Value at a path: `group`, `alignment.bits`; `None` if it is absent.
    pub fn value(self, path: &str) -> Option<KeyValue> {
        match self {
            KeyTable::Rule(rule) => rule.value(path),
            KeyTable::Node(node) => value_of(NODE_KEYS, node, path),
        }
    }

    /// True if the table has a place for the value at a path.
    pub fn has_place(self, path: &str) -> bool {
        match (path.split_once('.'), self) {
            (Some((key, _)), _) => self.value(key).is_some_and(|value| !value.part_names().is_empty()),
            (None, KeyTable::Rule(_)) => KEYS.iter().any(|key| key.name == path),
            (None, KeyTable::Node(_)) => NODE_KEYS.iter().any(|key| key.name == path),
        }
    }
}

fn value_of<T, V>(keys: &[Key<T, V>], table: &T, path: &str) -> Option<KeyValue> {
    let (name, part) = path.split_once('.').map_or((path, None), |(name, part)| (name, Some(part)));
    let value = (keys.iter().find(|key| key.name == name)?.value)(table)?;
    match part {
        Some(part) => value.part(part),
        None => Some(value),
    }
}

fn set_in<T, V>(keys: &[Key<T, V>], table: &mut T, path: &str, value: Option<&KeyValue>) -> bool {
    let (name, part) = path.split_once('.').map_or((path, None), |(name, part)| (name, Some(part)));
    let Some(key) = keys.iter().find(|key| key.name == name) else { return false };
    let Some(part) = part else { return (key.set)(table, value) };
    match (key.value)(table) {
        Some(mut composite) => composite.set_part(part, value) && (key.set)(table, Some(&composite)),
        None => true,
    }
}

fn entries_of<T, V>(keys: &[Key<T, V>], table: &T) -> Vec<(String, KeyValue)> {
    keys.iter().filter_map(|key| Some((key.name.to_string(), (key.value)(table)?))).collect()
}

/// Name of a node and path within it (`node.even.alignment.bits`); `None` for a path of the rule.
fn of_node(path: &str) -> Option<(&str, Option<&str>)> {
    let rest = path.strip_prefix("node.")?;
    Some(rest.split_once('.').map_or((rest, None), |(name, path)| (name, Some(path))))
}

impl Rule {
    /// Value at a path: `group`, `alignment.bits`, `node.even.alignment.bits`; `None` if it is absent.
    pub fn value(&self, path: &str) -> Option<KeyValue> {
        let Some((name, path)) = of_node(path) else { return value_of(KEYS, self, path) };
        let node = self.nodes.get(name)?;
        match path {
            Some(path) => value_of(NODE_KEYS, node, path),
            None => Some(KeyValue::Node(Box::new(node.clone()))),
        }
    }

    /// Sets the value at a path, or removes it; false if the language has no such key or value.
    /// Nothing changes if the rule lacks the table or the node that the path lies in.
    pub fn set(&mut self, path: &str, value: Option<&KeyValue>) -> bool {
        let Some((name, path)) = of_node(path) else { return set_in(KEYS, self, path, value) };
        match (path, value) {
            (Some(path), _) => self.nodes.get_mut(name).is_none_or(|node| set_in(NODE_KEYS, node, path, value)),
            (None, Some(KeyValue::Node(node))) => {
                self.nodes.insert(name.to_string(), (**node).clone());
                true
            }
            (None, Some(_)) => false,
            (None, None) => {
                self.nodes.remove(name);
                true
            }
        }
    }

    /// Keys that it has, with their values, in the order of the computation.
    pub fn entries(&self) -> Vec<(String, KeyValue)> {
        entries_of(KEYS, self)
    }

    /// The rule as in a model file.
    pub fn table(&self) -> Table {
        table(self.entries())
    }
}

impl Node {
    /// Keys that it has, with their values, in the order of the computation.
    fn entries(&self) -> Vec<(String, KeyValue)> {
        entries_of(NODE_KEYS, self)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{
        super::{file::Model, keys::settings},
        *,
    };

    /// The rules of all shipped models.
    fn rules() -> impl Iterator<Item = Rule> {
        let folder = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")).unwrap();
        let files = folder.map(|file| file.unwrap().path());
        let models = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
        models.flat_map(|path| Model::read(&fs::read_to_string(path).unwrap(), "a model").unwrap().rules)
    }

    #[test]
    fn a_rule_is_read_again_from_what_it_is_written_as() {
        for rule in rules() {
            assert_eq!(toml::from_str::<Rule>(&rule.table().to_string()).unwrap(), rule);
        }
    }

    #[test]
    fn a_value_that_is_put_back_changes_nothing() {
        for rule in rules() {
            for (key, value) in rule.entries() {
                let mut again = rule.clone();
                let parts = value.entries().filter(|_| key != "node").unwrap_or_default();
                let paths = parts.into_iter().map(|(part, value)| (format!("{key}.{part}"), value));
                for (path, value) in paths.chain([(key.clone(), value)]) {
                    assert_eq!(rule.value(&path).as_ref(), Some(&value));
                    assert!(again.set(&path, Some(&value)) && again == rule, "{path}");
                }
            }
        }
    }

    #[test]
    fn every_setting_within_a_table_is_a_part_of_its_value() {
        let rules: Vec<Rule> = rules().collect();
        for (path, _) in settings().filter(|(path, _)| path.contains('.')) {
            let (key, part) = path.split_once('.').unwrap();
            let values = rules.iter().filter_map(|rule| rule.value(key)).chain(sample(key));
            assert!(values.into_iter().any(|value| value.part_names().contains(&part)), "{path}");
        }
    }

    /// A value of keys that no shipped rule has.
    fn sample(key: &str) -> Option<KeyValue> {
        let rounded = || KeyValue::Rounded(Rounded::new(crate::format::find("f32").unwrap(), Rounding::Rne));
        let lanes = Lanes { period: 2, bits: 25, rounding: Rounding::Rz };
        match key {
            "product" | "addition" | "between" => Some(rounded()),
            "lanes" => Some(KeyValue::Lanes(lanes)),
            _ => None,
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let mut rule = rules().next().unwrap();
        assert!(!rule.set("group", Some(&KeyValue::Word("RNE"))));
        assert!(!rule.set("group", Some(&KeyValue::Number(-1))));
        assert!(!rule.set("nothing", Some(&KeyValue::Number(1))));
        assert!(rule.set("node.none.zero", Some(&KeyValue::Word("ieee"))));
    }
}
