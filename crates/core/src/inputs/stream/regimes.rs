//! Parameters of a tile, by regime.

use super::{
    Regime,
    bits::ParameterBits,
    fields::Ranges,
    parameters::{AddendKind, ExponentSplit, MINUS, NO_TERM, PAIR, Parameters, SPREAD, kind},
};

/// Widths of alignments and results of known matrix units; and those of double precision.
const WIDTHS: [i32; 8] = [13, 14, 23, 24, 25, 26, 35, 36];
const WIDTHS_F64: [i32; 8] = [52, 53, 54, 55, 104, 105, 106, 107];

pub(super) fn fill(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    match plan.regime {
        Regime::AllExponents => all_exponents(plan, shape, draw),
        Regime::Cancellation => cancellation(plan, shape, draw),
        Regime::AlignmentGap => alignment_gap(plan, shape, draw),
        Regime::Tie => tie(plan, shape, draw),
        Regime::Floor => floor(plan, shape, draw),
        Regime::Subnormal => subnormal(plan, shape, draw),
        Regime::Overflow => overflow(plan, shape, draw),
        Regime::Sparse => sparse(plan, shape, draw),
        Regime::Zeros => zeros(plan, shape, draw),
        Regime::NonFinite => non_finite(plan, shape, draw),
    }
}

/// Exponent of a leading term: moderate or anywhere; where the range is narrow, at its upper end.
fn anchor(shape: &Ranges, draw: &mut ParameterBits) -> i32 {
    let moderate = draw.below(2) != 0;
    let count = shape.top - shape.bottom + 1;
    if shape.narrow {
        shape.top - draw.below(count.min(8))
    } else if moderate {
        draw.from(-8, 16).clamp(shape.bottom, shape.top)
    } else {
        draw.from(shape.bottom, count)
    }
}

/// Distance about the width of an alignment.
fn window(shape: &Ranges, draw: &mut ParameterBits) -> i32 {
    if draw.one_in(4) {
        return draw.from(8, 32);
    }
    let widths = if shape.precision > 30 { WIDTHS_F64 } else { WIDTHS };
    let width = widths[draw.below(8) as usize];
    draw.from(width - 2, 4)
}

fn all_exponents(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.any = draw.below(2) != 0;
    plan.base = shape.top;
    let flags = draw.kinds();
    plan.others(flags, 0, shape.top - shape.bottom + 9);
    plan.c = if plan.any { AddendKind::Any } else { AddendKind::Number };
    plan.c_kind = kind::RANDOM;
    plan.c_gap = draw.below(shape.top - shape.bottom + 1);
    plan.dropout = draw.below(4) as u32;
}

fn cancellation(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.base = anchor(shape, draw);
    plan.flips = draw.below(2) as u32;
    let kinds = draw.kinds();
    let gap = draw.below(26);
    let span = 1 << draw.below(5);
    match draw.below(4) {
        // Nothing but pairs that cancel.
        0 => {
            plan.others(kinds | PAIR, 0, span);
            plan.dropout = draw.below(3) as u32;
            if draw.below(2) != 0 {
                plan.c_number(gap, kind::RANDOM);
            }
        }
        // c against one product.
        1 => {
            plan.slot(0, 0, kinds);
            plan.c_cancels(0);
        }
        // The same among smaller products.
        2 => {
            plan.slot(0, 0, kinds);
            plan.others(kind::RANDOM | kind::RANDOM << 3, gap, span);
            plan.c_cancels(0);
        }
        // A pair, and c against a third product.
        _ => {
            plan.slot(0, 0, kinds | PAIR);
            plan.slot(1, 0, kinds | PAIR);
            plan.slot(2, gap, kinds);
            plan.c_cancels(2);
        }
    }
}

fn alignment_gap(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.base = anchor(shape, draw);
    let large = draw.kinds();
    let small = draw.kinds() | SPREAD;
    plan.spread(draw);
    let width = window(shape, draw);
    let gap = (width - draw.below((plan.spread_rows + plan.spread_columns + 1) as i32)).max(1);
    let span = draw.below(4);
    plan.flips = u32::from(draw.one_in(8));
    let form = draw.below(6);
    if matches!(form, 0 | 1 | 5) {
        // A pair that cancels.
        plan.slot(0, 0, large | PAIR);
        plan.slot(1, 0, large | PAIR);
    }
    match form {
        // Two smaller terms.
        0 => {
            plan.slot(2, gap, small);
            let second = if draw.below(2) != 0 { NO_TERM } else { gap + draw.below(4) };
            plan.slot(3, second, small);
        }
        // Many.
        1 => {
            plan.others(small, gap, span + 1);
            plan.dropout = draw.below(4) as u32;
        }
        // One large term.
        2 => {
            plan.slot(0, 0, large);
            plan.others(small, gap, span + 1);
            plan.dropout = draw.below(4) as u32;
            if draw.below(2) != 0 {
                plan.c_number(gap + span, kind::RANDOM);
            }
        }
        // c cancels the large term.
        3 => {
            plan.slot(0, 0, large);
            plan.slot(1, gap, small);
            plan.slot(2, if span != 0 { NO_TERM } else { gap }, small);
            plan.c_cancels(0);
        }
        // c is the large term.
        4 => {
            plan.c_number(0, kind::RANDOM);
            plan.base = plan.base.max(shape.bottom + 12);
            if shape.narrow {
                plan.base = (plan.base + gap).min(shape.d.high);
            }
            plan.slot(0, gap, small);
            plan.others(small, gap, span);
        }
        // c is the small term.
        _ => {
            plan.c_number(gap, large & 7);
            plan.c_spread = true;
        }
    }
}

fn tie(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.base = anchor(shape, draw);
    let precision = match draw.below(4) {
        2 if shape.precision == 24 => 14,
        3 if shape.precision < 24 => 24,
        _ => shape.precision,
    };
    let above = if draw.below(3) != 0 { 0 } else { draw.from(1, 12) };
    plan.base = (plan.base + above).min(shape.high);
    if above != 0 {
        // A larger pair that cancels.
        plan.slot(4, 0, kind::RANDOM | PAIR);
        plan.slot(5, 0, kind::RANDOM | PAIR);
    }
    plan.spread(draw);
    let fraction = if draw.below(2) != 0 { kind::RANDOM } else { kind::POWER };
    let half_sign = if draw.below(4) != 0 { 0 } else { MINUS };
    let last_sign = if draw.below(2) != 0 { MINUS } else { 0 };
    let half = above + precision;
    let last = half + draw.from(1, 24);
    let decided = draw.below(4) != 0;
    let odd = draw.below(2) != 0;
    // c takes the place of one of the first three terms, or none.
    let c_takes = draw.below(6);
    plan.slot(0, if c_takes == 0 { NO_TERM } else { above }, fraction);
    plan.slot(1, if c_takes == 1 { NO_TERM } else { half }, half_sign);
    plan.slot(2, if c_takes == 2 || !decided { NO_TERM } else { last }, SPREAD | last_sign);
    plan.slot(3, if odd { half - 1 } else { NO_TERM }, 0);
    plan.signs = u32::from(draw.one_in(4));
    match c_takes {
        0 => plan.c_number(above, fraction),
        1 => plan.c_number(half, kind::POWER),
        2 if decided => plan.c_number(last, kind::POWER),
        _ => return,
    }
    plan.c_sign = [0, half_sign, last_sign][c_takes as usize] / MINUS;
    plan.c_spread = c_takes == 2;
}

fn floor(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    let low = if shape.reaches { shape.d.low } else { shape.low };
    plan.base = low + 32;
    plan.shift = 0;
    let kinds = match draw.below(4) {
        0 | 1 => kind::POWER,
        2 => kind::HALF,
        _ => draw.kinds(),
    };
    let first = if draw.below(3) != 0 { draw.from(-3, 9) } else { -1 };
    let anywhere = draw.from(-24, 45);
    let pair = draw.below(31);
    let second = if draw.below(2) != 0 {
        // The last bits kept by units with a floor 7 below D's smallest exponent.
        (plan.spread_rows, plan.spread_columns) = (3, 3);
        shape.d.trailing - 32 + draw.from(-2, 9)
    } else {
        plan.spread(draw);
        anywhere
    };
    let sign = if draw.below(2) != 0 { MINUS } else { 0 };
    let c = draw.below(8);
    let alone = c == 0 || !shape.reaches && c < 4;
    let c_first = c == 1;
    if !alone {
        let pair = if draw.one_in(4) { 32 - pair } else { NO_TERM };
        plan.slot(0, if c_first { NO_TERM } else { 32 - first }, kinds);
        plan.slot(1, 32 - second, SPREAD | sign);
        plan.slot(4, pair, PAIR);
        plan.slot(5, pair, PAIR);
    }
    if alone || c_first {
        let above = draw.below(if alone { 40 } else { 4 });
        let kind = if draw.below(2) != 0 { kind::RANDOM } else { kind::POWER };
        plan.c_number(plan.base - shape.c.low - above, kind);
    }
    if shape.scalable && draw.below(4) != 0 {
        // Scales take the products to the floor, from above it to below.
        plan.scales(shape.d.low - shape.low + draw.from(-16, 40), draw);
    }
}

fn subnormal(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    let (a, b) = (&shape.a, &shape.b);
    let kinds = draw.kinds();
    let kinds = kinds | if draw.below(4) != 0 { 0 } else { PAIR };
    let span = 1 + draw.below(24);
    plan.flips = draw.below(2) as u32;
    match draw.below(4) {
        0 => {
            plan.base = a.low + draw.from(b.low, b.high - b.low + 1);
            plan.split = ExponentSplit::ALow;
        }
        1 => {
            plan.base = b.low + draw.from(a.low, a.high - a.low + 1);
            plan.split = ExponentSplit::BLow;
        }
        2 => {
            plan.base = shape.d.low + draw.from(0, 30);
            plan.split = ExponentSplit::ALL[draw.below(4) as usize];
        }
        _ => plan.base = shape.low + draw.from(0, a.trailing + b.trailing + 2),
    }
    plan.others(kinds, 0, span);
    plan.dropout = draw.below(4) as u32;
    if draw.below(3) != 0 {
        let gap = plan.base - shape.c.low - draw.below(shape.c.trailing + 6);
        plan.c_number(gap, kind::RANDOM);
    }
}

fn overflow(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    let kinds = draw.kinds();
    let little = draw.below(4);
    let span = 1 + draw.below(3);
    plan.c_sign = draw.below(2) as u32;
    plan.signs = u32::from(draw.one_in(4));
    let form = draw.below(4);
    match form {
        // Many terms whose sum is about the end of the range.
        0 => {
            plan.base = shape.top - draw.below(shape.slot_bits() as i32 + 3);
            plan.others(kinds, 0, span);
            plan.dropout = draw.below(4) as u32;
        }
        // Huge products that cancel.
        1 => {
            plan.base = shape.high - little;
            plan.flips = u32::from(draw.one_in(4));
            plan.slot(0, 0, kinds | PAIR);
            plan.slot(1, 0, kinds | PAIR);
            let gap = plan.base - shape.top + draw.below(30);
            plan.slot(2, gap, kinds);
        }
        // c at the largest number, and products about half its unit.
        2 => {
            plan.c = AddendKind::Largest;
            plan.base = shape.d.high;
            let flags = if draw.below(2) != 0 { kinds } else { 0 };
            plan.slot(0, shape.precision + 2 - little, flags);
            let gap = if draw.below(2) != 0 { NO_TERM } else { shape.precision + draw.below(16) };
            plan.slot(1, gap, MINUS);
        }
        // Beyond the range and back.
        _ => {
            plan.base = shape.top;
            plan.slot(0, little >> 1, kinds);
            plan.slot(1, little & 1, kinds);
            plan.slot(2, little >> 1, kinds | MINUS);
            let gap = if draw.below(2) != 0 { NO_TERM } else { little };
            plan.slot(3, gap, kinds | MINUS);
        }
    }
    if form != 2 && draw.below(2) != 0 {
        plan.c_number(plan.base - shape.d.high + little, kind::RANDOM);
    }
    if shape.scalable && draw.below(4) != 0 {
        // Scales take the products to the end of the range.
        plan.scales(shape.d.high - shape.high + draw.from(-3, 8), draw);
    }
}

fn sparse(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.base = anchor(shape, draw);
    let [a, b] = [draw.below(2), draw.below(2)].map(|power| if power != 0 { kind::POWER } else { kind::FEW });
    let span = 1 + draw.below(40);
    plan.others(a | b << 3, 0, span);
    plan.dropout = draw.below(4) as u32;
    if draw.below(2) != 0 {
        let gap = draw.below(40);
        plan.c_number(gap, kind::FEW);
    }
}

fn zeros(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    let kinds = draw.kinds();
    let gap = window(shape, draw);
    plan.base = anchor(shape, draw);
    plan.c_sign = draw.below(2) as u32;
    match draw.below(5) {
        // Nothing but zeros.
        0 => {}
        // c alone.
        1 => {
            let gap = draw.below(40);
            let kind = if draw.below(2) != 0 { kind::RANDOM } else { kind::POWER };
            plan.c_number(gap, kind);
        }
        // Pairs that cancel completely.
        2 => {
            let span = 1 + draw.below(10);
            plan.others(kinds | PAIR, 0, span);
        }
        // Zeros of large factors, with terms that would lose bits if the zeros took part.
        3 => {
            plan.base = draw.from(shape.bottom, (-shape.bottom).max(1));
            plan.slot(0, 0, kinds);
            plan.slot(1, gap, kinds);
        }
        // Underflow to zero.
        _ => {
            let smallest = if shape.reaches { shape.d.low } else { shape.low };
            plan.base = smallest + draw.from(-4, 5);
            plan.slot(0, 0, kinds);
            let gap = if draw.below(2) != 0 { NO_TERM } else { 1 };
            plan.slot(1, gap, kinds);
        }
    }
}

fn non_finite(plan: &mut Parameters, shape: &Ranges, draw: &mut ParameterBits) {
    plan.base = anchor(shape, draw);
    plan.any = draw.below(2) != 0;
    let kinds = draw.kinds();
    let span = draw.below(4);
    plan.others(kinds, 0, span);
    plan.dropout = draw.below(4) as u32;
    if draw.below(2) != 0 {
        plan.c = AddendKind::Any;
    }
    let most = (128 / shape.stored as i32).max(1);
    plan.special_a = if draw.below(4) != 0 { 1 + draw.below(most) as u32 } else { 0 };
    plan.special_b = if draw.below(4) != 0 { 1 + draw.below(most) as u32 } else { 0 };
    plan.special_c = if draw.below(2) != 0 { 1 + draw.below(64) as u32 } else { 0 };
}
