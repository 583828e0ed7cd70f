//! Tables of checkpoints.

use super::survey::{Evidence, Survey};
use crate::{
    array::ArrayFile,
    checkpoint::{CheckpointTensor, GlobalScale, NOTHING_DECIDES, Packing, Quantised, TensorContent},
    report::three_digits,
    tensor::{ArrayRole, Sharing},
};

crate::rows! {
    /// A tensor of a checkpoint.
    pub struct CheckpointTensorRow in "checkpoint_tensors" {
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// Extents of its values.
        shape: Vec<usize> => shown("shape").essential(),
        /// The layouts by which it is read; none for an array of single elements.
        layout: Option<String> => shown("layout").essential(),
        /// The source of the layout: config, metadata, names (and types), type, or --layout.
        layout_by: Option<&'static str> => shown("by").if_filled().beside().essential(),
        /// The format of its elements.
        format: String => shown("format").essential(),
        /// The format of its scales.
        scale_format: Option<String> => shown("scales").if_filled().essential(),
        /// The values that share a scale: of a tensor, a row, or a block of rows x columns.
        per: Option<String> => shown("per").if_filled().beside().essential(),
        /// The global scale, if there is one; the largest of several.
        global_scale: Option<f64> => shown("global scale").if_filled(),
        /// Bits of all its arrays over its values.
        bits_per_value: Option<f64> => shown("bits a value").essential(),
        /// The largest finite magnitude.
        largest: Option<f64> => shown("largest").essential(),
        /// The conventions by which codes and scales are read, each with what it is known by.
        convention: Option<String> => shown("convention").if_filled().essential(),
        /// Doubts: other readings that fit, and values that contradict the layout.
        doubt: Option<String> => shown("doubt").if_filled().essential(),
        /// The order of nibbles.
        nibble_order: Option<String> => hidden(),
        /// The evidence for the order of nibbles.
        nibble_order_by: Option<String> => hidden(),
        /// The direction of the global scale: it multiplies or divides.
        global_scale_use: Option<&'static str> => hidden(),
        /// The evidence for the direction of the global scale.
        global_scale_by: Option<String> => hidden(),
        /// The order of scales: in rows, or in tiles of 128 rows and 4 columns.
        scale_order: Option<String> => hidden(),
        /// The evidence for the order of scales.
        scale_order_by: Option<String> => hidden(),
        /// Values that are NaN, if there are any.
        nan: Option<u64> => shown("NaN").if_filled(),
        /// Values that are infinite, if there are any.
        infinite: Option<u64> => shown("infinite").if_filled(),
        /// The arrays that make it up.
        arrays: Vec<String> => hidden(),
        /// True for a weight: what `quantise` and `convert` take without patterns.
        weight: bool => hidden(),
    }

    /// A tensor of two checkpoints, compared after decoding.
    pub struct ComparedTensorRow in "compared_tensors" {
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// Extents of its values.
        shape: Vec<usize> => shown("shape").essential(),
        /// Its layout and format in the first checkpoint.
        first: Option<String> => shown("first").essential(),
        /// Its layout and format in the second checkpoint.
        second: Option<String> => shown("second").essential(),
        /// The tensor that it is fused into in one of them.
        fused: Option<String> => shown("fused into").if_filled().essential(),
        /// Rows of that tensor that it is compared with, or the number of their groups.
        fused_rows: Option<String> => shown("rows").if_filled().beside().essential(),
        /// The result of the comparison: the same values or bytes, or what differs.
        finding: String => shown("finding").essential(),
        /// Number of values.
        values: Option<u64> => shown("values"),
        /// Values that differ.
        differ: Option<u64> => shown("differ").essential(),
        /// The largest difference.
        max_difference: Option<f64> => shown("max difference").essential(),
        /// Root mean square of the differences over root mean square of the first's values.
        relative_rms: Option<f64> => shown("rms difference / rms").essential(),
        /// True if all codes are the same; none where the two have other kinds of codes.
        same_codes: Option<bool> => hidden(),
        /// True if all scales of blocks are the same.
        same_scales: Option<bool> => hidden(),
    }
}

/// Magnitudes among which the largest of a tensor of weights usually lies.
pub(super) const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-6..=1e3;
/// Values of two blocks of 16, whose nibbles some programs keep 16 apart.
const APART: usize = 32;

/// The order of scales in words.
pub(super) fn order_words(swizzled: bool) -> &'static str {
    if swizzled { "scales in tiles of 128x4" } else { "scales in rows" }
}

/// A convention of a tensor, and what is known of it.
#[derive(Debug, Clone, Default)]
struct Convention {
    /// Its words.
    words: String,
    /// Its evidence.
    known_by: String,
    /// A reading that fits too, or that values favour.
    doubt: Option<String>,
}

impl Convention {
    fn new(words: impl Into<String>, known_by: impl Into<String>) -> Convention {
        Convention { words: words.into(), known_by: known_by.into(), doubt: None }
    }

    fn doubted(self, doubt: impl Into<String>) -> Convention {
        Convention { doubt: Some(doubt.into()), ..self }
    }
}

/// The order of the nibbles of a tensor.
fn nibbles(tensor: &CheckpointTensor, packing: Packing, evidence: Evidence) -> Convention {
    let is_apart = packing == Packing::Halves(APART);
    let named = Convention::new(packing.words(), tensor.named_by);
    let named = match evidence {
        Evidence::Values => {
            let other = if is_apart { "neighbours" } else { "16 apart" };
            Convention { known_by: format!("{}; values exclude nibbles {other}", tensor.named_by), ..named }
        }
        Evidence::Against => {
            let other = match is_apart {
                true => "the nibbles of a byte lie in one block of 16".to_string(),
                false => format!("{} fit", Packing::Halves(APART).words()),
            };
            return named.doubted(format!("values contradict the order of nibbles: {other}"));
        }
        _ => named,
    };
    // A description, a type of GGUF or the user names the order.
    if tensor.named_by != "names" {
        return named;
    }
    let width = match tensor.quantised().map(|quantised| quantised.sharing) {
        Some(Sharing::Block(1, width)) if width.is_multiple_of(2) && width <= APART => Some(width),
        _ => None,
    };
    // The largest codes of blocks do not tell orders that put the same codes into each block.
    let all = [Some(Packing::LowFirst), Some(Packing::HighFirst), width.map(Packing::Halves)];
    let others: Vec<String> = all.into_iter().flatten().filter(|other| *other != packing).map(Packing::words).collect();
    named.doubted(format!(
        "only names decide the order of nibbles: {} would put the same codes into each block",
        others.join(" or ")
    ))
}

/// The direction of the global scale of a tensor.
fn global(tensor: &CheckpointTensor, global: GlobalScale, evidence: Evidence, survey: &Survey) -> Convention {
    let words = format!("global scale {}", global.name());
    let number = |value: Option<f64>| value.map_or("-".into(), three_digits);
    let (largest, other) = (number(survey.counts.largest), number(survey.reversed));
    let named = Convention::new(words.clone(), tensor.named_by);
    let all = tensor.quantised().map_or(&[][..], |quantised| &quantised.global);
    if let Some(wrong) = all.iter().find(|scale| !(scale.is_finite() && **scale > 0.0)) {
        return named.doubted(format!("the global scale is {wrong}, and scales are positive numbers"));
    }
    match evidence {
        Evidence::Values => Convention::new(words, "values"),
        // The scales of blocks have a doubt of their own.
        _ if tensor.quantised().is_some_and(|quantised| survey.counts.marks.has_small_scales(quantised)) => named,
        Evidence::Against => named.doubted(format!(
            "values contradict the global scale: if it {}, the largest value is {other} and not {largest}",
            global.reversed().name()
        )),
        Evidence::Same => named.doubted("the global scale is 1: both directions give the same values"),
        _ if survey.counts.largest.is_none_or(|largest| largest == 0.0) => named,
        _ => named.doubted(format!(
            "values do not decide the global scale: the largest is {largest} if it {}, {other} if it {}",
            global.name(),
            global.reversed().name()
        )),
    }
}

/// The order of the scales of a tensor.
fn order(tensor: &CheckpointTensor, swizzled: bool, evidence: Evidence) -> Convention {
    let (words, other) = (order_words(swizzled), order_words(!swizzled));
    let named = Convention::new(words, tensor.named_by);
    match evidence {
        Evidence::Shape => Convention::new(words, "shape"),
        Evidence::Values => Convention::new(words, "values"),
        Evidence::Against => {
            named.doubted(format!("values contradict the order of scales: blocks of zeros fit {other}"))
        }
        // A description names a layout whose scales are in rows.
        _ if tensor.named_by != "names" => named,
        _ => named.doubted(format!("only names decide the order of scales: {other} fit the shape too")),
    }
}

/// Doubt about codes that are numbers in e4m3fnuz or e5m2fnuz, and NaN or infinite in their format.
///
/// Those formats have no code of -0, which is usual in the others.
fn unsigned_zero(format: &str, survey: &Survey) -> Option<String> {
    let (other, codes) = match format {
        "e4m3" => ("e4m3fnuz", "0x7f and 0xff occur"),
        "e5m2" => ("e5m2fnuz", "0x7c to 0x7f and 0xfc to 0xff occur"),
        _ => return None,
    };
    let count = survey.counts.nan + survey.counts.infinite;
    // Codes times such scales are NaN or infinite, too.
    let by_scales = survey.counts.nan_scales + survey.counts.infinite_scales > 0;
    (count > 0 && survey.counts.negative_zeros == 0 && !by_scales).then(|| {
        let often = if count == 1 { "once".to_string() } else { format!("{count} times") };
        format!("codes may be {other}, whose values are half of these: {codes} {often}, and 0x80 never")
    })
}

/// Doubts about the scales of a tensor: NaN, infinite, negative, or unlike those of weights.
fn unlikely(quantised: &Quantised, survey: &Survey) -> Vec<String> {
    let mut doubts = Vec::new();
    let (nan, infinite, negative) =
        (survey.counts.nan_scales, survey.counts.infinite_scales, survey.counts.negative_scales);
    let negative = if quantised.signed { 0 } else { negative };
    for (count, what) in [(nan, "NaN"), (infinite, "infinite"), (negative, "negative")] {
        match count {
            0 => {}
            1 => doubts.push(format!("1 scale is {what}")),
            count => doubts.push(format!("{count} scales are {what}")),
        }
    }
    // The direction of a global scale has a doubt of its own.
    let is_said = quantised.reading.global.is_some() && survey.global == Some(Evidence::Against)
        || survey.counts.marks.has_small_scales(quantised)
        || survey.counts.marks.has_exponents(quantised, survey.counts.largest);
    if let Some(largest) =
        survey.counts.largest.filter(|largest| *largest > 0.0 && !WEIGHTS.contains(largest) && !is_said)
    {
        doubts.push(format!(
            "the largest value is {}, and weights are rarely {}: scales may be reciprocals",
            three_digits(largest),
            if largest > *WEIGHTS.end() { "above 1e3" } else { "below 1e-6" }
        ));
    }
    doubts
}

impl CheckpointTensorRow {
    /// The row of a tensor; without a survey, of one that is not decoded.
    pub(crate) fn new(
        tensor: &CheckpointTensor,
        role: ArrayRole,
        survey: Option<&Survey>,
        format: String,
    ) -> CheckpointTensorRow {
        let quantised = tensor.quantised();
        let both = quantised.zip(survey);
        let nibbles =
            both.and_then(|(quantised, survey)| Some(nibbles(tensor, quantised.reading.packing, survey.nibbles?)));
        let global = both
            .and_then(|(quantised, survey)| Some(global(tensor, quantised.reading.global?, survey.global?, survey)));
        let order = both.and_then(|(quantised, survey)| Some(order(tensor, quantised.reading.swizzled, survey.order?)));
        let conventions: Vec<&Convention> = [&nibbles, &global, &order].into_iter().flatten().collect();
        let mut doubts = tensor.doubts.clone();
        if let TensorContent::Opaque { why, .. } = &tensor.content {
            doubts.push(why.clone());
        }
        doubts.extend(conventions.iter().filter_map(|convention| convention.doubt.clone()));
        if let Some((quantised, survey)) = both {
            doubts.extend(unlikely(quantised, survey));
            doubts.extend(survey.counts.marks.doubts(quantised, survey.counts.largest));
            // The versions of a layout that values tell from one another.
            if survey.counts.marks.zero_points(quantised) == Some(true) {
                doubts.retain(|doubt| !doubt.starts_with(NOTHING_DECIDES));
            }
        }
        doubts.extend(survey.and_then(|survey| unsigned_zero(&format, survey)));
        // Contradictions come first.
        doubts.sort_by_key(|doubt| !doubt.starts_with("values contradict"));
        let joined = |words: &[String]| (!words.is_empty()).then(|| words.join("; "));
        let words: Vec<String> =
            conventions.iter().map(|convention| format!("{} ({})", convention.words, convention.known_by)).collect();
        let reading = quantised.map(|quantised| quantised.reading);
        let count = |of: fn(&Survey) -> u64| survey.map(of).filter(|count| *count > 0);
        CheckpointTensorRow {
            tensor: tensor.name.clone(),
            shape: tensor.shape.clone(),
            layout_by: (!tensor.layouts.is_empty()).then_some(tensor.named_by),
            layout: joined(&tensor.layouts).map(|names| names.replace("; ", " or ")),
            format,
            scale_format: quantised.map(Quantised::scale_words),
            per: quantised.map(|quantised| quantised.sharing.to_string()),
            global_scale: quantised.and_then(|quantised| quantised.global.iter().copied().reduce(f64::max)),
            // The shape of codes that are not decoded may not be that of the values.
            bits_per_value: (!tensor.is_empty() && (tensor.is_decoded() || tensor.layouts.is_empty()))
                .then(|| 8.0 * tensor.bytes as f64 / tensor.len() as f64),
            largest: survey.and_then(|survey| survey.counts.largest),
            convention: joined(&words),
            doubt: joined(&doubts),
            nibble_order: nibbles.as_ref().map(|convention| convention.words.clone()),
            nibble_order_by: nibbles.map(|convention| convention.known_by),
            global_scale_use: reading.and_then(|reading| reading.global).map(|global| global.name()),
            global_scale_by: global.map(|convention| convention.known_by),
            scale_order: order.as_ref().map(|convention| convention.words.clone()),
            scale_order_by: order.map(|convention| convention.known_by),
            nan: count(|survey| survey.counts.nan),
            infinite: count(|survey| survey.counts.infinite),
            arrays: tensor.arrays.clone(),
            weight: role == ArrayRole::Weight,
        }
    }
}

impl ComparedTensorRow {
    /// The row of a tensor with its descriptions in both checkpoints; the comparison fills in numbers.
    pub(super) fn new(
        tensor: &CheckpointTensor,
        first: Option<String>,
        second: Option<String>,
        finding: String,
    ) -> ComparedTensorRow {
        ComparedTensorRow {
            tensor: tensor.name.clone(),
            shape: tensor.shape.clone(),
            first,
            second,
            fused: None,
            fused_rows: None,
            finding,
            values: None,
            differ: None,
            max_difference: None,
            relative_rms: None,
            same_codes: None,
            same_scales: None,
        }
    }
}

/// The name of the format of a tensor's elements.
pub(super) fn format_name(file: &ArrayFile, tensor: &CheckpointTensor) -> String {
    match &tensor.content {
        TensorContent::Quantised(Quantised { values: Some(_), format, .. }) if format.is_integer() => {
            format!("{format} by a table of the file")
        }
        TensorContent::Quantised(quantised) if quantised.offset != 0.0 => {
            format!(
                "{} {} {}",
                quantised.format,
                if quantised.offset < 0.0 { '-' } else { '+' },
                quantised.offset.abs()
            )
        }
        TensorContent::Quantised(quantised) => quantised.format.name.to_string(),
        TensorContent::Plain(array) => match file.arrays[*array].kind {
            crate::array::Content::Format(format) => format.name.to_string(),
            kind => kind.type_name(),
        },
        TensorContent::Opaque { stored, .. } => stored.clone(),
    }
}
