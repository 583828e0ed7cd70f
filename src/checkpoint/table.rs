//! Tables of checkpoints.

use super::{
    packing::Packing,
    survey::{Evidence, Survey},
    tensor::{CheckpointTensor, Quantised, Reading, TensorContent},
};
use crate::{array::ArrayFile, report::three_digits};

crate::rows! {
    /// A tensor of a checkpoint.
    pub struct CheckpointTensorRow in "checkpoint_tensors" {
        /// The tensor.
        tensor: String => shown("tensor").essential(),
        /// Extents of its values.
        shape: Vec<usize> => shown("shape").essential(),
        /// The layouts by which it is read; none for an array of single elements.
        layout: Option<String> => shown("layout").essential(),
        /// The format of its elements.
        format: String => shown("format").essential(),
        /// The format of its scales.
        scale_format: Option<String> => shown("scales").if_filled().essential(),
        /// The values that share a scale: of a tensor, a row, or a block of rows x columns.
        per: Option<String> => shown("per").if_filled().beside().essential(),
        /// The second scale, if there is one; the largest of several.
        second_scale: Option<f64> => shown("second scale").if_filled(),
        /// Bits of all its arrays over its values.
        bits_per_value: Option<f64> => shown("bits a value").essential(),
        /// The largest finite magnitude.
        largest: Option<f64> => shown("largest").essential(),
        /// The conventions by which codes and scales are read.
        convention: Option<String> => shown("convention").if_filled().essential(),
        /// What each convention is known by: config, metadata, names, type, shape, values, or --layout.
        known_by: Option<String> => shown("known by").if_filled().beside().essential(),
        /// What is uncertain, or contradicts the layout.
        doubt: Option<String> => shown("doubt").if_filled().essential(),
        /// The order of nibbles.
        nibble_order: Option<String> => hidden(),
        /// What the second scale does: it multiplies or divides.
        second_scale_use: Option<&'static str> => hidden(),
        /// The order of scales: in rows, or in tiles of 128 rows and 4 columns.
        scale_order: Option<&'static str> => hidden(),
        /// Values that are NaN, if there are any.
        nan: Option<u64> => shown("NaN").if_filled(),
        /// Values that are infinite, if there are any.
        infinite: Option<u64> => shown("infinite").if_filled(),
        /// The arrays that make it up.
        arrays: Vec<String> => hidden(),
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
        /// What the comparison found.
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

/// The order of scales in words.
pub(super) fn order_words(swizzled: bool) -> &'static str {
    if swizzled { "scales in tiles of 128x4" } else { "scales in rows" }
}

/// The conventions of a reading, each with what is known of it.
struct Conventions {
    words: Vec<String>,
    known_by: Vec<&'static str>,
    doubts: Vec<String>,
}

impl Conventions {
    fn of(tensor: &CheckpointTensor, own: &Quantised, survey: &Survey) -> Conventions {
        let mut all = Conventions { words: Vec::new(), known_by: Vec::new(), doubts: Vec::new() };
        let Reading { packing, swizzled, second } = own.reading;
        let named_by = tensor.named_by;
        let source = |evidence: Evidence| match evidence {
            Evidence::Named | Evidence::Against | Evidence::Same => named_by,
            Evidence::Shape => "shape",
            Evidence::Values => "values",
        };
        if let Some(evidence) = survey.nibbles {
            all.words.push(packing.words());
            all.known_by.push(source(evidence));
            if evidence == Evidence::Against {
                let other = match packing {
                    Packing::Halves(_) => "next to one another",
                    _ => "16 apart",
                };
                all.doubts.push(format!("values contradict the order of nibbles: those of a byte are {other}"));
            }
        }
        if let (Some(evidence), Some(second)) = (survey.second, second) {
            all.words.push(format!("second scale {}", second.name()));
            all.known_by.push(source(evidence));
            let number = |value: Option<f64>| value.map_or("-".into(), three_digits);
            match evidence {
                Evidence::Against => all.doubts.push(format!(
                    "values contradict the second scale: it {}, since the largest value is then {} and not {}",
                    second.reversed().name(),
                    number(survey.reversed),
                    number(survey.largest)
                )),
                Evidence::Same => all.doubts.push("the second scale is 1, so that both directions give the same values".into()),
                Evidence::Named if survey.largest != Some(0.0) => all.doubts.push(format!(
                    "values do not decide if the second scale multiplies or divides: the largest is {} if it {}, {} if it {}",
                    number(survey.largest),
                    second.name(),
                    number(survey.reversed),
                    second.reversed().name()
                )),
                _ => {}
            }
        }
        if let Some(evidence) = survey.order {
            all.words.push(order_words(swizzled).into());
            all.known_by.push(source(evidence));
            match evidence {
                Evidence::Against => all.doubts.push(format!(
                    "values contradict the order of scales: blocks of zeros fit {}",
                    order_words(!swizzled)
                )),
                // A checkpoint that names its layout has scales in rows; others may have tiles.
                Evidence::Named if named_by == "names" => all.doubts.push(format!(
                    "nothing but names decides the order of scales: {} fit the shape too",
                    order_words(!swizzled)
                )),
                _ => {}
            }
        }
        all
    }
}

impl CheckpointTensorRow {
    /// The row of a tensor; without a survey, of one that is not decoded.
    pub fn new(tensor: &CheckpointTensor, survey: Option<&Survey>, format: String) -> CheckpointTensorRow {
        let own = tensor.quantised();
        let found = own.zip(survey).map(|(own, survey)| Conventions::of(tensor, own, survey));
        let mut doubts = tensor.doubts.clone();
        if let TensorContent::Opaque { why, .. } = &tensor.content {
            doubts.push(why.clone());
        }
        doubts.extend(found.iter().flat_map(|found| found.doubts.clone()));
        let joined = |words: &[String]| (!words.is_empty()).then(|| words.join("; "));
        let known: Vec<String> =
            found.iter().flat_map(|found| found.known_by.iter().map(ToString::to_string)).collect();
        let reading = own.map(|own| own.reading);
        let count = |of: fn(&Survey) -> u64| survey.map(of).filter(|count| *count > 0);
        CheckpointTensorRow {
            tensor: tensor.name.clone(),
            shape: tensor.shape.clone(),
            layout: joined(&tensor.layouts).map(|names| names.replace("; ", " or ")),
            format,
            scale_format: own.map(|own| own.scale_format.name.to_string()),
            per: own.map(|own| own.sharing.to_string()),
            second_scale: own.and_then(|own| own.second.iter().copied().reduce(f64::max)),
            bits_per_value: (!tensor.is_empty()).then(|| 8.0 * tensor.bytes as f64 / tensor.len() as f64),
            largest: survey.and_then(|survey| survey.largest),
            convention: found.as_ref().and_then(|found| joined(&found.words)),
            known_by: joined(&known),
            doubt: joined(&doubts),
            nibble_order: survey.and_then(|survey| survey.nibbles).and(reading).map(|reading| reading.packing.words()),
            second_scale_use: reading.and_then(|reading| reading.second).map(|second| second.name()),
            scale_order: survey
                .and_then(|survey| survey.order)
                .and(reading)
                .map(|reading| order_words(reading.swizzled)),
            nan: count(|survey| survey.nan),
            infinite: count(|survey| survey.infinite),
            arrays: tensor.arrays.clone(),
        }
    }
}

/// The name of the format of a tensor's elements.
pub(super) fn format_name(file: &ArrayFile, tensor: &CheckpointTensor) -> String {
    match &tensor.content {
        TensorContent::Quantised(own) if own.offset != 0.0 => {
            format!("{} {} {}", own.format, if own.offset < 0.0 { '-' } else { '+' }, own.offset.abs())
        }
        TensorContent::Quantised(own) => own.format.name.to_string(),
        TensorContent::Plain(array) => match file.arrays[*array].kind {
            crate::array::Content::Format(format) => format.name.to_string(),
            kind => kind.type_name(),
        },
        TensorContent::Opaque { stored, .. } => stored.clone(),
    }
}
