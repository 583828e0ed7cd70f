//! Formats by table against the packages that define them, and against a search of all values.
//! `tests/tables/make.py` made the tables of en_dtypes (HiF8) and SoftPosit (posits of 8 bits).

use crate::tables::Tables;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rug::{Assign, Float};
use tcnum_core::{
    exact::{Dot, mpfr::MpfrDot},
    format::{
        Class, Encoding, FORMATS, Finite, Format, Nearest, Overflow, Real, Rounding, Ties, ValueTable, find,
        mpfr::{self, Rounder},
        slices::{Decoder, Encoder},
    },
};

fn shipped() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.table().is_some())
}

#[test]
fn packages_decode_every_code_alike() {
    let tables = Tables::read("tabled");
    let mut formats = 0;
    for (parts, data) in tables.matching("decode") {
        let format = find(parts[1]).unwrap();
        assert_eq!(data.len(), 1 << format.bits, "{format}");
        for (code, bits) in data.iter().enumerate() {
            let (ours, theirs) = (format.to_f64(code as u64), f64::from(f32::from_bits(*bits as u32)));
            let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
            assert!(same, "{format} {code:#x}: {theirs} there, {ours} here");
        }
        formats += 1;
    }
    assert_eq!(formats, 2);
}

#[test]
fn packages_convert_every_f16_and_bf16_alike() {
    let tables = Tables::read("tabled");
    let mut conversions = 0;
    for (parts, results) in tables.matching("convert") {
        let (from, to) = (find(parts[1]).unwrap(), find(parts[2]).unwrap());
        for (code, theirs) in results.iter().enumerate() {
            let ours = to.encode(&from.value(code as u64), Rounding::Rne, Overflow::Standard);
            assert_eq!(ours, Some(*theirs), "{} {code:#x}", parts.join("/"));
            conversions += 1;
        }
    }
    assert_eq!(conversions, 4 << 16);
}

/// Code by the tree of comparisons of bitsandbytes (`dQuantizeNF4`), which takes binary32 numbers.
#[expect(clippy::excessive_precision, reason = "the digits of the source")]
fn bitsandbytes(x: f32) -> u64 {
    let thresholds = [
        -0.8480964004993439f32,
        -0.6106329262256622,
        -0.4599952697753906,
        -0.33967943489551544,
        -0.23460740596055984,
        -0.13791173323988914,
        -0.045525018125772476,
        0.03979014977812767,
        0.1202552504837513,
        0.2035212516784668,
        0.2920137718319893,
        0.3893125355243683,
        0.5016634166240692,
        0.6427869200706482,
        0.8614784181118011,
    ];
    thresholds.iter().filter(|threshold| x > **threshold).count() as u64
}

#[test]
fn nf4_is_bitsandbytes_on_all_sides_of_each_threshold() {
    let nf4 = find("nf4").unwrap();
    let thresholds = nf4.table().unwrap().nearest().thresholds;
    for threshold in thresholds {
        for near in -4..=4 {
            let x = f32::from_bits((*threshold as f32).to_bits().wrapping_add_signed(near));
            let ours = nf4.encode_f64(f64::from(x), Rounding::Rne, Overflow::Standard);
            assert_eq!(ours, Some(bitsandbytes(x)), "{x:e}");
        }
    }
    // Values and thresholds are numbers of binary32.
    let all = thresholds.iter().chain(nf4.table().unwrap().values());
    assert!(all.clone().count() == 31 && all.into_iter().all(|value| f64::from(*value as f32) == *value));
    // They lie within one unit of the exact half-way points, which are not all numbers of binary32.
    let values = nf4.table().unwrap().values();
    for (at, threshold) in thresholds.iter().enumerate() {
        let middle = (values[at] + values[at + 1]) / 2.0;
        assert!((middle - threshold).abs() < 2f64.powi(-23), "{middle} {threshold}");
    }
    assert_eq!(nf4.encode_f64(f64::INFINITY, Rounding::Rne, Overflow::Standard), Some(15));
}

#[test]
fn iq4nl_is_llama_cpp_on_every_integer_and_half() {
    let format = find("iq4nl").unwrap();
    let values = format.table().unwrap().values();
    for halves in -300..=300 {
        let x = f64::from(halves) / 2.0;
        // best_index_int8: the ends, else x - val[mu-1] < val[mu] - x ? mu-1 : mu.
        let best = match values.iter().position(|value| *value > x) {
            None => 15,
            Some(0) => 0,
            Some(above) if x - values[above - 1] < values[above] - x => above - 1,
            Some(above) => above,
        };
        assert_eq!(format.encode_f64(x, Rounding::Rne, Overflow::Standard), Some(best as u64), "{x}");
    }
}

/// Tables that no standard has: codes out of order, several codes of one value, no zero, one sign, wide ranges.
fn drawn() -> &'static [Format] {
    let format = |values: &[f64], nearest| {
        let table = &*Box::leak(Box::new(ValueTable::new(values.to_vec().leak(), nearest)));
        let bits = values.len().ilog2();
        let encoding = Encoding::Table(table);
        Format { name: "drawn", aliases: &[], bits, encoding, source: "drawn" }
    };
    let nan = f64::NAN;
    let infinity = f64::INFINITY;
    let even = Nearest::EVEN;
    Vec::leak(vec![
        format(&[1.0, -1.0], even),
        format(&[3.0, -3.0, 0.5, -0.0], Nearest { ties: Ties::Away, ..even }),
        format(&[0.0, -0.0, 1.0, 1.0], even),
        format(&[5.0, 5.0, nan, 2.0], Nearest { overflow: Overflow::Nan, ..even }),
        format(&[4.0, 1.0, 2.0, 8.0, 16.0, nan, infinity, 0.0], Nearest { overflow: Overflow::Infinity, ..even }),
        format(
            &[-4.0, -1.0, -2.0, -8.0, -16.0, nan, -infinity, -0.125],
            Nearest { limit: Some(20.0), overflow: Overflow::Infinity, ..even },
        ),
        format(&[1e-300, 1.0, 1e300, -1e-300, -7.0, 0.0, 3.0, 1e18], Nearest { ties: Ties::Down, ..even }),
        format(
            &[-2.0, 0.0, 1.0, 4.0],
            Nearest {
                thresholds: &[-0.5, 0.25, 3.5],
                ties: Ties::Up,
                limit: Some(infinity),
                overflow: Overflow::Saturate,
            },
        ),
    ])
}

/// Tables of values at random: repeated ones, few binades or many, with or without specials, boundaries and limits.
fn random() -> Vec<Format> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut table = || {
        let count = 1usize << rng.random_range(1..=6);
        let span = [2, 8, 60, 1000][rng.random_range(0..4)];
        let mut values: Vec<f64> = (0..count)
            .map(|_| match rng.random_range(0..20) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                3 => 0.0,
                4 => -0.0,
                _ => f64::from(rng.random_range(-9..=9)) * 2f64.powi(rng.random_range(-span..=span)),
            })
            .collect();
        values[0] = f64::from(rng.random_range(-3..=3));
        if rng.random_range(0..4) == 0 {
            values.iter_mut().for_each(|value| *value = -value.abs());
        }
        let overflow = [Overflow::Infinity, Overflow::Nan, Overflow::Saturate][rng.random_range(0..3)];
        let ties = [Ties::Even, Ties::Away, Ties::Down, Ties::Up][rng.random_range(0..4)];
        let half_way = ValueTable::new(values.clone().leak(), Nearest { ties, overflow, ..Nearest::EVEN });
        let numbers: Vec<f64> = half_way.ascending().iter().map(|&code| values[usize::from(code)]).collect();
        let largest = numbers.iter().fold(0f64, |largest, number| largest.max(number.abs()));
        let limit = [None, Some(f64::INFINITY), Some(largest * 1.25 + 1.0)][rng.random_range(0..3)];
        let between = |pair: &[f64]| pair[0] + (pair[1] - pair[0]) * [0.0, 0.25, 0.75, 1.0][pair[0] as usize % 4];
        let points: Vec<f64> = numbers.windows(2).map(between).collect();
        let thresholds: &[f64] = if rng.random_range(0..2) == 0 { &[] } else { points.leak() };
        let table = ValueTable::new(values.leak(), Nearest { thresholds, ties, limit, overflow });
        let encoding = Encoding::Table(Box::leak(Box::new(table)));
        Format { name: "random", aliases: &[], bits: count.ilog2(), encoding, source: "random" }
    };
    (0..60).map(|_| table()).collect()
}

/// Numbers, half-way points and thresholds of a table with their neighbours, and numbers far beyond.
fn adversarial(table: &ValueTable) -> Vec<f64> {
    let numbers: Vec<f64> = table.ascending().iter().map(|&code| table.values()[usize::from(code)]).collect();
    let middles = numbers.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0);
    let quarters = numbers.windows(2).map(|pair| pair[0] * 0.75 + pair[1] * 0.25);
    let mut places: Vec<f64> = numbers.iter().copied().chain(middles).chain(quarters).collect();
    places.extend(table.nearest().thresholds);
    places
        .extend(table.nearest().limit.into_iter().filter(|limit| limit.is_finite()).flat_map(|limit| [limit, -limit]));
    places.extend([0.0, -0.0, 1e-310, -1e-310, 1e308, -1e308, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
    let ends = [numbers[0], numbers[numbers.len() - 1]];
    places.extend(ends.iter().flat_map(|end| [end * 1.01, end * 1.5, end * 3.0]));
    places.iter().flat_map(|place| [place.next_down(), *place, place.next_up()]).collect()
}

fn roundings() -> Vec<Rounding> {
    let random = [(0, 1), (1, 1), (5, 3), (0x80, 8), (0, 64), (u64::MAX, 64), (1 << 63, 64), (0x1234_5678, 32)];
    let random = random.map(|(random, bits)| Rounding::Sr { random, bits });
    Rounding::DETERMINISTIC.into_iter().chain(random).collect()
}

#[test]
fn encoding_is_a_search_of_all_values() {
    let random = &*Vec::leak(random());
    let formats: Vec<&Format> = shipped().chain(drawn()).chain(random).collect();
    formats.par_iter().for_each(|format| {
        let mut rounder = Rounder::new(64);
        let mut value = Float::new(64);
        for x in adversarial(format.table().unwrap()) {
            value.assign(x);
            for rounding in roundings() {
                for overflow in Overflow::ALL {
                    let ours = format.encode_f64(x, rounding, overflow);
                    let theirs = rounder.round(&value, format, rounding, overflow);
                    assert_eq!(ours, theirs, "{format} {x:e} {rounding:?} {overflow:?}");
                }
            }
        }
    });
}

#[test]
fn every_code_keeps_its_value() {
    for format in shipped().chain(drawn()) {
        let table = format.table().unwrap();
        for (code, value) in table.values().iter().enumerate() {
            let decoded = format.to_f64(code as u64);
            assert!(decoded.to_bits() == value.to_bits() || decoded.is_nan() && value.is_nan(), "{format} {code:#x}");
            assert!(mpfr::decode(format, code as u64) == *value || value.is_nan());
            let datum = format.decode(code as u64);
            if datum.class == Class::Normal {
                assert_eq!(datum.significand >> format.fraction_bits(), 1, "{format} {code:#x}");
            }
            let kept = format.encode(&format.value(code as u64), Rounding::Rne, Overflow::SaturateFinite).unwrap();
            let again = format.to_f64(kept);
            assert!(
                kept <= code as u64 && (again.to_bits() == value.to_bits() || value.is_nan()),
                "{format} {code:#x}"
            );
        }
    }
}

#[test]
fn a_part_below_the_last_bit_decides_ties() {
    let format = find("iq4nl").unwrap();
    let half = Finite::exact(false, 7, 0);
    assert_eq!(format.encode(&Real::Finite(half), Rounding::Rd, Overflow::Standard), Some(8));
    let hif8 = find("hif8").unwrap();
    for (negative, sticky) in [(false, false), (false, true), (true, false)] {
        // 1.0625 lies half-way between 1 and 1.125.
        let tie = Finite { sticky, ..Finite::exact(negative, 17 << 60, -64) };
        let code = hif8.encode(&Real::Finite(tie), Rounding::Rne, Overflow::Standard).unwrap();
        assert_eq!(hif8.to_f64(code).abs(), 1.125);
    }
    // The posit half-way between 1 and 1.125 goes to the even code 1; beyond the tie it does not.
    let posit = find("posit8").unwrap();
    let near = |sticky| Real::Finite(Finite { sticky, ..Finite::exact(false, 17 << 60, -64) });
    let code = |sticky| posit.encode(&near(sticky), Rounding::Rne, Overflow::Standard);
    assert_eq!((code(false), code(true)), (Some(0x40), Some(0x41)));
}

#[test]
fn exact_sums_of_products_agree_with_mpfr() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let f32 = find("f32").unwrap();
    for (a, b) in [("nf4", "hif8"), ("posit8", "posit8"), ("iq4nl", "s8"), ("hif8", "f16"), ("ue5m3", "nf4")] {
        let [a, b] = [a, b].map(|name| find(name).unwrap());
        let (mut exact, mut judge) = (Dot::new(a, b, f32, f32, 16), MpfrDot::new(a, b, f32, 16));
        for _ in 0..2000 {
            let pairs: Vec<(u64, u64)> =
                (0..16).map(|_| (rng.next_u64() & a.code_mask(), rng.next_u64() & b.code_mask())).collect();
            let c = rng.next_u64() & f32.code_mask();
            let ours = exact.sum(pairs.iter().copied(), c).round(f32, Rounding::Rne, Overflow::Standard);
            judge.sum(pairs.iter().copied(), c);
            let theirs = judge.round(f32, Rounding::Rne, Overflow::Standard);
            assert_eq!(ours, theirs, "{a} {b} {pairs:x?} {c:#x}");
        }
    }
}

#[test]
fn slices_are_converted_as_each_value_is() {
    let random = &*Vec::leak(random());
    let formats: Vec<&Format> = drawn().iter().chain(random).collect();
    formats.par_iter().for_each(|format| {
        let places = adversarial(format.table().unwrap()).into_iter().map(|place| place as f32);
        let values: Vec<f32> = places.flat_map(|place| [place.next_down(), place, place.next_up()]).collect();
        for (rounding, overflow) in roundings().into_iter().flat_map(|r| Overflow::ALL.map(|o| (r, o))) {
            let mut codes = vec![0u8; values.len()];
            let encoder = Encoder::new(format, rounding, overflow).unwrap();
            let missing = encoder.encode(&values, &mut codes);
            let expected = |value: &f32| format.encode_f64(f64::from(*value), rounding, overflow);
            assert_eq!(missing, values.iter().filter(|value| expected(value).is_none()).count());
            for (value, code) in values.iter().zip(&codes) {
                let expected_code = expected(value).unwrap_or(format.largest(false));
                assert_eq!(u64::from(*code), expected_code, "{format:?} {value:e} {rounding:?} {overflow:?}");
            }
        }
        let mut decoded = vec![0.0; 1 << format.bits];
        let codes: Vec<u8> = (0..=format.code_mask() as u8).collect();
        Decoder::new(format).unwrap().decode(&codes, &mut decoded);
        for (code, value) in codes.iter().zip(decoded) {
            let expected_value = format.to_f64((*code).into()) as f32;
            assert!(
                value.to_bits() == expected_value.to_bits() || value.is_nan() && expected_value.is_nan(),
                "{format:?} {code:#x}"
            );
        }
    });
}
