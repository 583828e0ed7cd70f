use std::collections::HashSet;

use super::*;
use crate::{
    inputs::{record_batch, record_tiles},
    isa,
    machine::amount,
};

/// Every instruction that a device executes, or every seventh.
fn executed() -> impl Iterator<Item = &'static Instruction> {
    isa::all().iter().filter(|i| i.missing().is_none()).step_by(amount(7, 1))
}

#[test]
fn the_element_of_a_corner_has_the_operands_of_its_case() {
    for i in executed() {
        let (cases, corners) = (cases(i), Corners::of(i));
        assert_eq!(cases.len(), corners.list.len(), "{i}");
        assert!(cases.len() > 200, "{i}: {}", cases.len());
        for (named, corner) in cases.iter().zip(&corners.list) {
            let Position { tile, row, column } = corner.position;
            assert_eq!(named.name, corner.name, "{i}");
            assert_eq!(corners.tiles.case(i, tile, row, column), named.case, "{i} {}", named.name);
        }
    }
}

#[test]
fn corners_have_names_and_elements_of_their_own() {
    for i in executed() {
        let corners = Corners::of(i);
        assert_eq!(corners.names().collect::<HashSet<_>>().len(), corners.list.len(), "{i}");
        let place = |c: &Corner| (c.position.tile, c.position.row, c.position.column);
        assert_eq!(corners.list.iter().map(place).collect::<HashSet<_>>().len(), corners.list.len(), "{i}");
    }
}

#[test]
fn codes_of_corners_have_no_bits_beyond_their_formats() {
    for i in executed() {
        for named in cases(i) {
            let within = |codes: &[u64], mask: u64| codes.iter().all(|code| code & !mask == 0);
            let case = &named.case;
            assert!(within(&case.a, i.a.code_mask()) && within(&case.b, i.b.code_mask()), "{i} {}", named.name);
            assert!(within(&[case.c], i.c.code_mask()), "{i} {}", named.name);
        }
    }
}

#[test]
fn a_recording_begins_with_the_corners_and_keeps_to_its_size() {
    for i in executed() {
        let (corners, count) = (Corners::of(i).tiles, record_tiles(i));
        let tiles = record_batch(i, 1, count);
        assert_eq!(tiles.count, count, "{i}");
        assert_eq!(tiles.slice(0, corners.count), corners, "{i}");
        assert_ne!(tiles, record_batch(i, 2, count), "{i}");
        assert_eq!(record_batch(i, 1, 3), corners.slice(0, 3), "{i}");
        let bytes = tiles.a.as_bytes().len() + tiles.b.as_bytes().len() + 2 * tiles.c.as_bytes().len();
        let most = if i.m == 64 || i.m * i.n > 128 || i.d.bits == 64 || i.k > 128 { 288 << 10 } else { 160 << 10 };
        assert!(bytes < if i.is_sparse() { 2 * most } else { most }, "{i}: {bytes} bytes");
    }
}
