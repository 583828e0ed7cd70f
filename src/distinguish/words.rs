//! What the keys of rules are, in a few words: so that one sentence says why two arithmetics differ.

use toml::Value;

use crate::power::{ChangedKey, KEYS, values::shown};

/// For each key that two rules can differ in, what its value is.
#[rustfmt::skip]
const WORDS: &[(&str, &str)] = &[
    ("unpack", "what A and B are first converted to"),
    ("unpack-c", "what C is first converted to"),
    ("operand-subnormals", "what becomes of subnormal operands"),
    ("result-subnormals", "what becomes of subnormal results"),
    ("result-tininess", "when a result counts as subnormal"),
    ("split", "how significands are cut into pieces"),
    ("parts", "how k is split before it is grouped"),
    ("group", "how many products one step sums"),
    ("step", "how a group is summed"),
    ("node", "the steps of the sum"),
    ("product", "what each product is rounded to"),
    ("product.format", "the format that each product is rounded to"),
    ("product.rounding", "how each product is rounded"),
    ("product.overflow", "what a product beyond the largest number becomes"),
    ("product-limit", "the exponent from which products are infinite"),
    ("normalised", "whether the exponent of a product is that of its leading bit"),
    ("alignment", "how terms are aligned"),
    ("alignment.bits", "bits that alignment keeps after the binary point"),
    ("alignment.rounding", "how alignment cuts off the rest"),
    ("alignment.sticky", "whether a sum of which something was cut off counts as a little more"),
    ("alignment.floor", "the lowest exponent that terms are aligned to"),
    ("lanes", "positions that are summed apart"),
    ("lanes.period", "how many positions are summed apart"),
    ("lanes.bits", "bits kept where the sums of positions are joined"),
    ("lanes.rounding", "how the sums of positions are cut where they are joined"),
    ("late", "whether c is aligned with the sum of the products"),
    ("late.sum-bits", "bits kept of the sum of the products beside c"),
    ("late.c-bits", "bits kept of c beside the sum of the products"),
    ("late.rounding", "how c and the sum of the products are cut"),
    ("late.drop", "how far below the sum of the products c is left out"),
    ("late.floor", "the lowest exponent that c and the sum of the products are aligned to"),
    ("scale-sums", "how many products are added before they are scaled"),
    ("zero", "the sign of a sum that is zero"),
    ("start", "what a sum starts from"),
    ("join", "how the sums of groups are joined"),
    ("c", "where c enters"),
    ("result", "what a step rounds its sum to"),
    ("result.format", "the format that a step rounds its sum to"),
    ("result.rounding", "how a step rounds its sum"),
    ("result.overflow", "what a sum beyond the largest number becomes"),
    ("result.subnormals", "what becomes of a subnormal sum"),
    ("result.tininess", "when a sum counts as subnormal"),
    ("between", "what a sum is rounded to where another step continues"),
    ("between.format", "the format of a sum where another step continues"),
    ("between.rounding", "how a sum is rounded where another step continues"),
    ("between.overflow", "what a sum beyond the largest number becomes where another step continues"),
    ("addition", "what ordinary additions round to"),
    ("addition.format", "the format that ordinary additions round to"),
    ("addition.rounding", "how ordinary additions are rounded"),
    ("addition.overflow", "what an ordinary addition beyond the largest number becomes"),
    ("output", "how the last value becomes D"),
    ("output.rounding", "how the last value is rounded to D"),
    ("output.overflow", "what a last value beyond the largest number of D becomes"),
    ("accumulator", "the bits of the accumulator of an integer sum"),
    ("wrap", "what an integer sum beyond the range of D becomes"),
    ("nan-operands", "whose NaN becomes the result"),
    ("nan", "the code of NaN"),
    ("kind", "how the step sums"),
    ("products", "the k that the step sums"),
    ("pieces", "which pieces the step multiplies"),
    ("terms", "what else the step sums"),
];

/// What the absence of a key means, where that is not "none", and the language's table of changes does not say it.
const ABSENT: &[(&str, &str)] =
    &[("group", "all"), ("normalised", "false"), ("step", "tree"), ("unpack", "nothing"), ("unpack-c", "nothing")];

/// Both values of a key, as readers see them.
pub(super) fn values(key: &str, values: &[Option<Value>; 2]) -> [String; 2] {
    let own = key.strip_prefix("node.").and_then(|rest| Some(rest.split_once('.')?.1)).unwrap_or(key);
    let default = || KEYS.iter().find(|known| known.name == own).and_then(ChangedKey::default);
    let absent = || default().or_else(|| ABSENT.iter().find(|(name, _)| *name == own).map(|(_, words)| *words));
    values.each_ref().map(|value| match value {
        None => absent().unwrap_or("none").into(),
        Some(Value::Array(list)) => list.iter().map(|one| shown(Some(one))).collect::<Vec<_>>().join(", "),
        some => shown(some.as_ref()),
    })
}

/// What a key says, with the node that it belongs to.
pub(super) fn words(key: &str) -> String {
    let known = |key: &str| WORDS.iter().find(|(name, _)| *name == key).map(|(_, words)| words.to_string());
    let own = || {
        let (node, key) = key.strip_prefix("node.")?.split_once('.')?;
        Some(format!("{} (node {node})", known(key)?))
    };
    known(key).or_else(own).unwrap_or_else(|| format!("'{key}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{arithmetic, power};

    #[test]
    fn every_key_of_the_language_has_words() {
        let changed = power::KEYS.iter().map(|key| key.name);
        let rule = arithmetic::KEYS.iter().map(|key| key.name);
        let node = arithmetic::NODE_KEYS.iter().map(|key| key.name);
        for key in changed.chain(rule).chain(node).filter(|key| !["instructions", "evidence"].contains(key)) {
            assert!(!words(key).starts_with('\''), "{key}");
        }
        assert_eq!(words("node.even.result.rounding"), "how a step rounds its sum (node even)");
    }
}
