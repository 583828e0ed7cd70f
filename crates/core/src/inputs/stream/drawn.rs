//! Drawing of a tile's parameters: its regime, the parameters of every tile, and those of its regime.

use super::{
    Regime,
    bits::{GOLDEN, ParameterBits, fraction_of},
    fields::Ranges,
    parameters::{AddendKind, ExponentSplit, PAIR, Parameters, kind},
    regimes,
};
use crate::inputs::mix::{GOLDEN_WORD, mix};

/// Regime of a tile: ten consecutive tiles from a multiple of ten have ten different regimes.
pub(super) fn regime(tile: u64) -> Regime {
    let count = Regime::ALL.len() as u64;
    let first = fraction_of(((tile / count) as u32).wrapping_mul(GOLDEN), count as u32);
    Regime::ALL[((u64::from(first) + tile % count) % count) as usize]
}

/// Parameters of a tile.
pub(super) fn draw(shape: &Ranges, seed: u64, tile: u64) -> Parameters {
    let seed = mix(seed.wrapping_add(GOLDEN_WORD));
    let key = mix(seed.wrapping_add(tile.wrapping_mul(GOLDEN_WORD)));
    let mut draw = ParameterBits { state: mix(key.wrapping_add(GOLDEN_WORD)) };
    let mut plan = Parameters {
        key: key as u32,
        rows: (key >> 32) as u32 | 1,
        columns: draw.state as u32 | 1,
        regime: regime(tile),
        rotate: draw.below(shape.slot_bits() as i32) as u32,
        multiply: 2 * draw.below(shape.stored as i32 / 2) as u32 + 1,
        add: draw.below(shape.stored as i32) as u32,
        base: 0,
        gaps: u64::MAX,
        flags: 0,
        leads: 0,
        rest: 0,
        rest_gap: 0,
        rest_span: 0,
        dropout: 0,
        split: ExponentSplit::Anyhow,
        signs: draw.below(2) as u32,
        padding: draw.below(2) != 0,
        patterns: if draw.one_in(4) { 0 } else { 1 + draw.below(2) as u32 },
        shift: if draw.one_in(4) { 3 } else { 0 },
        integers: draw.below(8) as u32,
        spread_rows: 0,
        spread_columns: 0,
        any: false,
        flips: 0,
        special_a: 0,
        special_b: 0,
        special_c: 0,
        c: AddendKind::Zero,
        c_slot: 0,
        c_gap: 0,
        c_kind: kind::POWER,
        c_sign: 0,
        c_spread: false,
        scale_a: 0,
        scale_b: 0,
        scale_spread: 0,
    };
    if shape.a.integer {
        plan.flips = 1;
        plan.rest = if draw.one_in(2) { 0 } else { PAIR };
        plan.c = AddendKind::ALL[draw.below(5) as usize];
        if !shape.c.integer && plan.c == AddendKind::Cancels {
            // A or B has a table: nothing is known of the products.
            plan.c = AddendKind::Any;
        }
    } else {
        regimes::fill(&mut plan, shape, &mut draw);
    }
    plan
}
