//! The cause of errors: the simplest one that explains every element that is tried, within its bound.

mod along_k;
mod arranged;
mod common;
mod elements;
mod formats;
mod given;
mod scaled;

use std::{collections::BTreeSet, ops::Range};

use self::elements::Elements;
use super::{CheckRequest, Outside, ProductCheck};
use crate::{
    Result,
    base::named::named,
    product::{bound::has_order_free, places},
    report::grouped,
};

named! {
    /// A cause of errors, the simplest first.
    pub enum Cause {
        Zero = "zero": "every element is 0";
        AlphaForgotten = "alpha-forgotten": "alpha is taken as 1";
        AlphaTwice = "alpha-twice": "alpha multiplies twice";
        ScalesForgotten = "scales-forgotten": "the scales of A and B are taken as 1";
        ScaleOfAForgotten = "scale-of-a-forgotten": "the scales of A are taken as 1";
        ScaleOfBForgotten = "scale-of-b-forgotten": "the scales of B are taken as 1";
        ScalesTwice = "scales-twice": "the scales of A and B multiply twice";
        Sign = "sign": "D has the opposite sign";
        Factor = "factor": "one factor multiplies every element";
        ProductSign = "product-sign": "A times B has the opposite sign before C or the bias is added";
        ProductDoubled = "product-doubled": "A times B is doubled before C or the bias is added";
        ProductHalved = "product-halved": "A times B is halved before C or the bias is added";
        TransposedD = "transposed-d": "D is transposed";
        TransposedA = "transposed-a": "A is read column by column";
        TransposedB = "transposed-b": "B is read column by column";
        Rows = "rows": "rows of the product stand in other rows of D";
        Columns = "columns": "columns of the product stand in other columns of D";
        RowsOfA = "rows-of-a": "other rows of A are read";
        ColumnsOfB = "columns-of-b": "other columns of B are read";
        Relu = "relu": "negative elements are replaced by 0 (ReLU)";
        Clamp = "clamp": "elements are limited to a range";
        Magnitude = "magnitude": "each element is replaced by its magnitude";
        CMissing = "c-missing": "C is not added";
        CTwice = "c-twice": "C is added twice";
        CNegated = "c-negated": "C is subtracted";
        BetaForgotten = "beta-forgotten": "beta is taken as 1";
        BiasMissing = "bias-missing": "the bias is not added";
        BiasTwice = "bias-twice": "the bias is added twice";
        BiasAlongRows = "bias-along-rows": "the bias is added along rows: its element i to row i of D";
        NumberAdded = "number-added": "one number is added to every element";
        ScalesOfPowers = "scales-of-powers": "scales are rounded to powers of two";
        ReadAs = "read-as": "the codes of operands are read in another format";
        OperandsRounded = "operands-rounded": "operands are rounded to a narrower format";
        OutputRounded = "output-rounded": "D was rounded to a narrower format first";
        OtherSums = "other-sums": "D has the bits of sums in another format";
        LeftOut = "left-out": "the products of these k are missing";
        CountedTwice = "counted-twice": "the products of these k are there twice";
        ElementOfA = "element-of-a": "another number stands in A at this k of the row";
        ElementOfB = "element-of-b": "another number stands in B at this k of the column";
        BiasNotGiven = "bias-not-given": "one number is added to each column, as by a bias that was not given";
        RowNumbers = "row-numbers": "one number is added to each row";
        RowFactors = "row-factors": "one factor multiplies each row";
        ColumnFactors = "column-factors": "one factor multiplies each column";
        BlockFactorsOfA = "block-factors-of-a": "one factor multiplies the scale of each block of A";
        BlockFactorsOfB = "block-factors-of-b": "one factor multiplies the scale of each block of B";
    }
}

impl Cause {
    /// The cause in words, without numbers.
    fn words(self) -> String {
        crate::base::named::Named::meaning(self).into()
    }
}

/// The diagnosis of a product with errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The cause; `None` if none of those tried explains every element.
    pub cause: Option<Cause>,
    /// The cause in words; without a cause, what the errors have in common.
    pub words: String,
    /// The k that are at fault, of a cause along k.
    pub k: Option<Range<usize>>,
    /// Rows and columns in which the errors lie, in words, where the cause holds in these alone.
    pub region: Option<String>,
    /// Elements that were tried.
    pub elements: usize,
    /// Elements of these outside the bound of the claimed product.
    pub errors: usize,
    /// True if every element of D, or of the region, was tried.
    pub is_all: bool,
    /// Largest distance of D from what the cause makes, over its bound.
    pub rest: Option<f64>,
}

/// A cause that explains every element that is tried.
struct Explanation {
    cause: Cause,
    words: String,
    k: Option<Range<usize>>,
    rest: f64,
}

type Search = fn(&Elements) -> Result<Option<Explanation>>;

/// The searches for a cause, the simplest first; those with numbers for each line come last.
const SEARCHES: [&[Search]; 2] = [OF_ALL_ELEMENTS, OF_LINES];
const OF_LINES: &[Search] = &[scaled::numbers_of_lines, scaled::factors_of_lines, given::factors_of_blocks];
const OF_ALL_ELEMENTS: &[Search] = &[
    scaled::zero,
    given::factors,
    scaled::factor,
    given::product,
    arranged::transposed,
    arranged::moved,
    scaled::limited,
    given::added,
    scaled::number_of_all,
    given::scales,
    formats::operands,
    formats::output,
    formats::sums,
    along_k::range,
    along_k::element,
];

/// Finds the simplest cause that explains every element, of D or of rows and columns with errors.
///
/// `None` without an error.
pub(super) fn diagnose(request: &CheckRequest, check: &ProductCheck) -> Result<Option<Diagnosis>> {
    let (listed, is_running) = match check.outside.is_empty() {
        true => (&check.sample.outside, true),
        false => (&check.outside, !has_order_free(request.claim, request.factors)),
    };
    if listed.is_empty() {
        return Ok(None);
    }
    let [rows, columns] = lines_with_errors(listed, check);
    let [all_rows, all_columns] = [request.d.rows, request.d.columns].map(|count| (0..count).collect());
    let words = |name: &str, some: &BTreeSet<usize>, all: &BTreeSet<usize>| match some.len() {
        count if count == all.len() => None,
        1 => Some(format!("{name} {}", places(some))),
        _ => Some(format!("{name}s {}", places(some))),
    };
    // A fault of some rows may leave a column right by chance: whole rows and whole columns come first.
    let regions = [[&all_rows, &all_columns], [&rows, &all_columns], [&all_rows, &columns], [&rows, &columns]];
    let named = regions.into_iter().map(|lines| {
        let region = [words("row", lines[0], &all_rows), words("column", lines[1], &all_columns)];
        (region.into_iter().flatten().collect::<Vec<String>>().join(", "), lines)
    });
    let mut parts: Vec<(String, usize, Elements)> = Vec::new();
    for (region, lines) in named {
        if parts.iter().all(|(other, ..)| *other != region) {
            let elements = Elements::new(request, listed, lines, is_running)?;
            parts.push((region, lines[0].len() * lines[1].len(), elements));
        }
    }
    for (searches, (region, count, elements)) in
        SEARCHES.iter().flat_map(|searches| parts.iter().map(move |part| (searches, part)))
    {
        if let Some(Explanation { cause, words, k, rest }) = first(*searches, |search| search(elements))? {
            let region = (!region.is_empty()).then(|| region.clone());
            let (cause, rest, tried) = (Some(cause), Some(rest), elements.values.len());
            let (errors, is_all) = (elements.errors.len(), tried == *count);
            return Ok(Some(Diagnosis { cause, words, k, region, elements: tried, errors, is_all, rest }));
        }
    }
    let all = &parts[0].2;
    Ok(Some(Diagnosis {
        cause: None,
        words: common::features(all, check),
        k: None,
        region: None,
        elements: all.values.len(),
        errors: all.errors.len(),
        is_all: all.is_all(),
        rest: None,
    }))
}

/// The rows and columns that have errors.
fn lines_with_errors(listed: &[Outside], check: &ProductCheck) -> [BTreeSet<usize>; 2] {
    match check.rows.is_empty() {
        true => [listed.iter().map(|error| error.row).collect(), listed.iter().map(|error| error.column).collect()],
        false => [check.rows.clone(), check.columns.clone()],
    }
}

/// The first of some searches that names a cause.
fn first<T>(
    all: impl IntoIterator<Item = T>,
    search: impl FnMut(T) -> Result<Option<Explanation>>,
) -> Result<Option<Explanation>> {
    all.into_iter().map(search).find_map(Result::transpose).transpose()
}

impl Diagnosis {
    /// The diagnosis in sentences.
    pub fn sentences(&self) -> String {
        let Diagnosis { words, elements, .. } = self;
        if self.cause.is_none() {
            return format!("No cause that was tried explains every error. {words}");
        }
        let words = words[..1].to_uppercase() + &words[1..];
        let cause = match &self.region {
            None => words,
            Some(region) => format!("{words}, in {region}"),
        };
        let elements = grouped(*elements as i64);
        match (self.is_all, &self.region) {
            (true, None) => format!("{cause}: this explains every element of D."),
            (true, Some(_)) => format!("{cause}: this explains all {elements} elements there."),
            (false, _) => format!(
                "{cause}: this explains all {elements} elements that were tried, in the rows and columns of errors and between them."
            ),
        }
    }
}

crate::rows! {
    /// The cause of errors.
    pub struct DiagnosisRow in "diagnosis" {
        /// The cause; `none` if none of those tried explains every element.
        cause: &'static str => shown("cause").essential(),
        /// The cause in words; without a cause, what the errors have in common.
        meaning: String => shown("meaning").essential(),
        /// The rows and columns in which the cause holds, where they are not all of D.
        region: Option<String> => shown("in").if_filled().essential(),
        /// The first k at fault, of a cause along k.
        first_k: Option<usize> => shown("first k").if_filled().essential(),
        /// The last k at fault.
        last_k: Option<usize> => shown("last k").if_filled().essential(),
        /// Elements that were tried: the cause explains each of them.
        elements: usize => shown("elements").essential(),
        /// Elements of these outside the bound of the claimed product.
        errors: usize => shown("errors").essential(),
        /// True if every element of D, or of the region, was tried.
        all: bool => shown("all"),
        /// Largest distance of D from what the cause makes, over its bound.
        rest: Option<f64> => shown("max rest / bound").if_filled(),
    }
}

/// The diagnosis in a table.
pub(super) fn table(diagnosis: &Diagnosis) -> crate::report::Table {
    let row = DiagnosisRow {
        cause: diagnosis.cause.map_or("none", Cause::name),
        meaning: diagnosis.words.clone(),
        region: diagnosis.region.clone(),
        first_k: diagnosis.k.as_ref().map(|k| k.start),
        last_k: diagnosis.k.as_ref().map(|k| k.end - 1),
        elements: diagnosis.elements,
        errors: diagnosis.errors,
        all: diagnosis.is_all,
        rest: diagnosis.rest,
    };
    crate::report::Table::of("Cause of the errors", [row])
}
