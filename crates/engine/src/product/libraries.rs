//! Attributes of algorithms and the schedules that they imply, from the files of `schedules/`.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{
    Error, Result,
    arithmetic::Model,
    device::{Attributes, Problem},
    format::{self, Format, Overflow, Rounding},
    product::{OperandRounding, PartJoin, Residue, Schedule, SplitK, file::value, instruction, shipped::shipped},
};

/// Numbers of parts that mean no split-k.
const NO_PARTS: [u32; 2] = [0, u32::MAX];
/// A name of stages, where any will do.
const ANY_STAGES: &str = "64x3";

/// The schedules of a library, by the attributes of its algorithms.
#[derive(Debug, Clone)]
pub struct LibrarySchedules {
    /// Its name in lists.
    pub title: String,
    names: BTreeMap<(String, u32), String>,
    joins: BTreeMap<String, PartJoin>,
    rules: Vec<ScheduleRule>,
}

/// The predicted schedule of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The schedule.
    pub schedule: Schedule,
    /// The evidence for the rule.
    pub evidence: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(rename = "name")]
    _name: String,
    title: String,
    join: BTreeMap<String, String>,
    rule: Vec<ScheduleRule>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScheduleRule {
    products: Vec<String>,
    algorithms: Option<Vec<u32>>,
    stages: Option<Vec<String>>,
    instruction: String,
    /// Rounding of f32 to the instruction's operands.
    operands: Option<String>,
    slab: Option<Slab>,
    residue: Option<String>,
    promote: Option<usize>,
    granule: Option<usize>,
    /// Joining of parts, where it differs from the other rules.
    join: Option<BTreeMap<String, String>>,
    evidence: String,
}

/// k of a slab: a number, or the stages'.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Slab {
    Fixed(usize),
    Of(String),
}

impl LibrarySchedules {
    /// The schedules of a library that the program knows.
    ///
    /// # Errors
    /// A request error: an unknown library, a wrong file.
    pub fn shipped(library: &str) -> Result<LibrarySchedules> {
        match (shipped(library), shipped(&format!("{library}.csv"))) {
            (Some(rules), Some(names)) => LibrarySchedules::parse(rules, names, library),
            _ => Err(Error::request(format!("no schedules are known for the library '{library}'; cublaslt has some"))),
        }
    }

    /// The schedules of a TOML file of rules and a CSV file of attribute names, `origin` in messages.
    ///
    /// # Errors
    /// A request error: what is wrong, and in which rule.
    pub fn parse(rules: &str, names: &str, origin: &str) -> Result<LibrarySchedules> {
        let wrong = |what: String| Error::request(format!("{origin}: {what}"));
        let file: RulesFile = toml::from_str(rules).map_err(|error| wrong(error.to_string().trim_end().to_string()))?;
        let mut named = BTreeMap::new();
        for row in csv::Reader::from_reader(names.as_bytes()).into_records() {
            let row = row.map_err(|error| wrong(error.to_string()))?;
            let (Some(attribute), Some(number), Some(name)) =
                (row.get(0), row.get(1).and_then(|n| n.parse().ok()), row.get(2))
            else {
                return Err(wrong(format!("'{}' is no attribute, number and name", row.as_slice())));
            };
            named.insert((attribute.to_string(), number), name.to_string());
        }
        let mut joins = BTreeMap::new();
        for (scheme, join) in file.join {
            joins.insert(scheme, value("join", &join).map_err(&wrong)?);
        }
        for (number, rule) in file.rule.iter().enumerate() {
            rule.check().map_err(|what| wrong(format!("rule {}: {what}", number + 1)))?;
        }
        Ok(LibrarySchedules { title: file.title, names: named, joins, rules: file.rule })
    }

    /// The name of an attribute's value, where it has one.
    pub fn name(&self, attribute: &str, number: u32) -> Option<&str> {
        self.names.get(&(attribute.to_string(), number)).map(String::as_str)
    }

    /// Attributes in words: `algorithm 66, tile 128x256, stages 64xAUTO, split-k 4 (compute)`.
    pub fn words(&self, attributes: &Attributes) -> String {
        let Attributes { id, tile, stages, split_k, reduction, swizzle, custom, inner, cluster } = attributes;
        let named = |attribute: &str, number: u32| {
            self.name(attribute, number).map_or_else(|| format!("number {number}"), str::to_string)
        };
        let mut words = vec![format!("algorithm {id}")];
        let shapes = [("tile", *tile), ("stages", *stages), ("inner", *inner), ("cluster", *cluster)];
        words.extend(
            shapes.iter().filter(|(_, n)| *n != 0).map(|(key, number)| format!("{key} {}", named(key, *number))),
        );
        if parts(*split_k) > 1 || *reduction != 0 {
            words.push(format!("split-k {split_k} ({})", named("reduction", *reduction)));
        }
        let numbers = [("swizzle", *swizzle), ("custom", *custom)];
        words.extend(numbers.iter().filter(|(_, n)| *n != 0).map(|(key, number)| format!("{key} {number}")));
        words.join(", ")
    }

    /// Differences of another algorithm, in words: `tile 128x128 to 64x64`.
    pub fn changes(&self, from: &Attributes, to: &Attributes) -> Vec<String> {
        let Attributes { id, tile, stages, split_k, reduction, swizzle, custom, inner, cluster } = from;
        let all = [
            ("algorithm", *id, to.id),
            ("tile", *tile, to.tile),
            ("stages", *stages, to.stages),
            ("split-k", parts(*split_k) as u32, parts(to.split_k) as u32),
            ("reduction", *reduction, to.reduction),
            ("swizzle", *swizzle, to.swizzle),
            ("custom", *custom, to.custom),
            ("inner", *inner, to.inner),
            ("cluster", *cluster, to.cluster),
        ];
        let named = |key: &str, number: u32| self.name(key, number).map_or_else(|| number.to_string(), str::to_string);
        let change = |(key, from, to): &(&str, u32, u32)| format!("{key} {} to {}", named(key, *from), named(key, *to));
        all.iter().filter(|(_, from, to)| from != to).map(change).collect()
    }

    /// The predicted schedule of a product by an algorithm, or why there is none.
    pub fn predict(&self, problem: &Problem, attributes: &Attributes) -> std::result::Result<Prediction, String> {
        let stages = self.name("stages", attributes.stages);
        let product = problem.kind();
        let holds = |rule: &&ScheduleRule| {
            rule.products.iter().any(|pattern| Model::matches(pattern, &product))
                && rule.algorithms.as_ref().is_none_or(|ids| ids.contains(&attributes.id))
                && rule.stages.as_ref().is_none_or(|patterns| {
                    patterns.iter().any(|pattern| Model::matches(pattern, stages.unwrap_or_default()))
                })
        };
        let rule = self
            .rules
            .iter()
            .find(holds)
            .ok_or_else(|| format!("no rule covers {product} by {}", self.words(attributes)))?;
        let mut schedule = rule.schedule(stages)?;
        let parts = parts(attributes.split_k);
        if parts > 1 {
            schedule.split.count = parts;
            let scheme = self.name("reduction", attributes.reduction);
            let join = scheme.and_then(|scheme| rule.join.as_ref()?.get(scheme));
            schedule.split.join = match join {
                Some(join) => value("join", join)?,
                None => scheme
                    .and_then(|scheme| self.joins.get(scheme))
                    .copied()
                    .ok_or_else(|| format!("reduction scheme {} of split-k is not known", attributes.reduction))?,
            };
        }
        if schedule.instruction.d.is_integer() {
            schedule.split.join = PartJoin::Register;
        }
        (schedule.alpha, schedule.beta) = (problem.alpha, problem.beta);
        schedule.output.format = problem.d;
        schedule.output.overflow = overflow(problem.d);
        schedule.check()?;
        Ok(Prediction { schedule, evidence: rule.evidence.clone() })
    }
}

impl LibrarySchedules {
    /// Every schedule of the library for products of these formats.
    ///
    /// Each is there whole, and in up to `parts` parts of k, joined in each way that the library's reductions have.
    ///
    /// `formats` are those of A, B and D. A rule that rounds f32 to its operands takes both. `product` (D.A.B.COMPUTE) leaves only its
    /// own rules. The k of a slab is that of no algorithm: what is made of the schedules must not depend on it.
    ///
    /// # Errors
    /// What is wrong with a schedule.
    pub fn family(
        &self,
        formats: [&'static Format; 3],
        product: Option<&str>,
        parts: usize,
    ) -> std::result::Result<Vec<Schedule>, String> {
        let [_, _, d] = formats;
        let mut schedules: Vec<Schedule> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.makes(formats, product)) {
            let mut unsplit = rule.schedule(Some(ANY_STAGES))?;
            unsplit.output.format = d;
            unsplit.output.overflow = overflow(d);
            let rule_joins = rule.join.iter().flatten().map(|(scheme, join)| Ok((scheme, value("join", join)?)));
            let rule_joins = rule_joins.collect::<std::result::Result<BTreeMap<&String, PartJoin>, String>>()?;
            let joins = self.joins.iter().map(|(scheme, join)| rule_joins.get(scheme).copied().unwrap_or(*join));
            let mut all = vec![unsplit.clone()];
            all.extend(joins.filter(|_| !d.is_integer()).map(|join| {
                let split = SplitK { count: parts, join, ..unsplit.split };
                Schedule { split, ..unsplit.clone() }
            }));
            for schedule in all {
                schedule.check()?;
                if !schedules.contains(&schedule) {
                    schedules.push(schedule);
                }
            }
        }
        Ok(schedules)
    }
}

impl ScheduleRule {
    /// True if the rule is for products of these formats of A, B and D, and for `product`.
    fn makes(&self, [a, b, d]: [&Format; 3], product: Option<&str>) -> bool {
        let takes = |pattern: &str, format: &Format| {
            Model::matches(pattern, format.name) || self.operands.is_some() && format.name == "f32"
        };
        self.products.iter().any(|pattern| {
            let mut parts = pattern.splitn(4, '.');
            let mut next = || parts.next().unwrap_or_default();
            Model::matches(next(), d.name)
                && takes(next(), a)
                && takes(next(), b)
                && product.is_none_or(|product| Model::matches(pattern, product))
        })
    }

    fn schedule(&self, stages: Option<&str>) -> std::result::Result<Schedule, String> {
        let named = instruction(&self.instruction).and_then(Schedule::new);
        let mut schedule = named.map_err(|error| error.to_string())?;
        if let Some(name) = &self.operands {
            let rounding = Rounding::parse(name).ok_or_else(|| format!("operands = \"{name}\" is no rounding"))?;
            let format = format::find("f32").map_err(|error| error.to_string())?;
            schedule.operands = Some(OperandRounding { format, rounding });
        }
        schedule.slab = match &self.slab {
            None => schedule.slab,
            Some(Slab::Fixed(k)) => *k,
            Some(Slab::Of(_)) => {
                let k = stages.and_then(|name| name.split('x').next()?.parse::<usize>().ok());
                // Stages of less than an instruction's k hold no slab of it.
                k.ok_or("the stages have no known k")?.next_multiple_of(schedule.instruction.k)
            }
        };
        if let Some(residue) = &self.residue {
            schedule.residue = value::<Residue>("residue", residue)?;
        }
        schedule.promote = self.promote;
        schedule.split.granule = self.granule.unwrap_or(schedule.split.granule);
        Ok(schedule)
    }

    fn check(&self) -> std::result::Result<(), String> {
        if let Some(Slab::Of(word)) =
            self.slab.as_ref().filter(|slab| matches!(slab, Slab::Of(word) if word != "stages"))
        {
            return Err(format!("slab = \"{word}\": it is a number or \"stages\""));
        }
        if self.products.is_empty() || self.evidence.is_empty() {
            return Err("products and evidence are empty".into());
        }
        for join in self.join.iter().flat_map(BTreeMap::values) {
            value::<PartJoin>("join", join)?;
        }
        self.schedule(Some(ANY_STAGES))?.check()
    }
}

/// Number of parts of k.
fn parts(split_k: u32) -> usize {
    if NO_PARTS.contains(&split_k) { 1 } else { split_k as usize }
}

/// Treatment of results that are too large: FP8 saturates, other formats give infinities.
fn overflow(d: &Format) -> Overflow {
    if matches!(d.name, "e4m3" | "e5m2") { Overflow::Saturate } else { Overflow::Standard }
}
