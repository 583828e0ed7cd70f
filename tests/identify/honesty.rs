//! Devices that are not functions of their operands are found out, and those that no rule describes are not said to be identified.

use std::{cell::Cell, time::Duration};

use tcnum::{
    Error, Result,
    arithmetic::Model,
    isa::{Case, Codes, Instruction, Tiles},
};
use tcnum_engine::comparison::Difference;
use tcnum_study::identify::{Confirmation, HeldOut, Identification, Plan, WORK, confirm, identify};

use crate::{black_box::BlackBox, machine::amount, shipped::listed};

const BF16: &str = "mma.m16n8k16.f32.bf16.bf16.f32";
/// With a part of the usual work: what no rule describes takes all of it.
fn plan() -> Plan {
    let work = WORK / amount(24, 16);
    Plan {
        seed: 1,
        budget: 20_000,
        time: Duration::MAX,
        catalogue: true,
        found_rules: Vec::new(),
        withheld: Vec::new(),
        work,
    }
}

/// What is found of a device, and what a held-out run of so many cases says of it.
fn examined(device: &mut BlackBox, i: &Instruction, cases: u64) -> Result<(Identification, Confirmation)> {
    let identification = identify(device, i, plan())?;
    let held_out = HeldOut { seed: 2, cases, budget: None, time: None };
    let confirmation = confirm(device, &identification, held_out, &mut |_| Ok(()))?;
    Ok((identification, confirmation))
}

/// A Hopper whose outputs `fault` changes: it gets the element and the code.
fn faulty(fault: impl FnMut(&Element, u64) -> u64 + 'static) -> BlackBox {
    with("hopper", fault)
}

/// A device of the arithmetic of a shipped model, with a fault.
fn with(model: &str, mut fault: impl FnMut(&Element, u64) -> u64 + 'static) -> BlackBox {
    let model = Model::load(model).unwrap();
    BlackBox::with_fault(&model, move |i, tiles, executed, answers| {
        change(i, tiles, answers, |element, code| {
            fault(&Element { before: executed + element.tile as u64, ..element }, code)
        });
        Ok(())
    })
}

/// An element of tiles.
struct Element<'a> {
    i: &'a Instruction,
    tiles: &'a Tiles,
    tile: usize,
    row: usize,
    column: usize,
    /// Tiles that were executed before.
    before: u64,
}

impl Element<'_> {
    fn case(&self) -> Case {
        self.tiles.case(self.i, self.tile, self.row, self.column)
    }

    /// The operands of an element of the same tile.
    fn of(&self, row: usize, column: usize) -> Case {
        self.tiles.case(self.i, self.tile, row, column)
    }
}

fn change(i: &Instruction, tiles: &Tiles, answers: &mut Codes, mut fault: impl FnMut(Element, u64) -> u64) {
    for tile in 0..tiles.count {
        for row in 0..i.m {
            for column in 0..i.n {
                let at = (tile * i.m + row) * i.n + column;
                let element = Element { i, tiles, tile, row, column, before: 0 };
                answers.set(at, fault(element, answers.get(at)));
            }
        }
    }
}

/// A number that looks random, from a counter.
fn scrambled(counter: &Cell<u64>) -> u64 {
    counter.set(counter.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let x = counter.get();
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The message of the device error that a device ends with, in the search or in the held-out run.
fn refusal(what: &str, device: &mut BlackBox) -> String {
    let error = match examined(device, listed(BF16), 100_000) {
        Err(error) => error,
        Ok((identification, Confirmation { stopped, part, .. })) => stopped.unwrap_or_else(|| {
            panic!(
                "{what}: {} missed, {} of {} differ",
                identification.misses,
                part.state.differing(),
                part.state.compared()
            )
        }),
    };
    assert_eq!(error.exit_status(), 3, "{what}: {error}");
    let message = error.to_string();
    assert!(message.starts_with("hidden is not a function of its operands: "), "{what}: {message}");
    message
}

/// Asserts that a message names the operands of the element, both answers, and what decides.
fn names_both(what: &str, message: &str, why: &str) {
    assert!(message.contains("c 0x"), "{what}, the operands: {message}");
    assert_eq!(message.matches(" in row ").count(), 2, "{what}, both places: {message}");
    let gave: Vec<&str> = message.split(" in row ").take(2).map(|part| part.rsplit(' ').next().unwrap()).collect();
    assert!(gave.iter().all(|code| code.starts_with("0x")) && gave[0] != gave[1], "{what}, both answers: {message}");
    assert!(message.contains(why), "{what}: {message}");
}

#[test]
fn last_bits_at_random_are_found_out() {
    let counter = Cell::new(1);
    let mut device = faulty(move |_, code| code ^ u64::from(scrambled(&counter).is_multiple_of(100)));
    let message = refusal("1 %", &mut device);
    assert!(message.matches(" in row ").count() == 2, "{message}");
}

#[test]
fn a_dependence_on_the_neighbours_is_found_out_with_the_neighbours() {
    let above = |element: &Element, code: u64| match element.row {
        0 => code,
        row => code ^ (element.of(row - 1, element.column).a[0] & 1),
    };
    let beside = |element: &Element, code: u64| match element.column {
        0 => code,
        column => code ^ (element.of(element.row, column - 1).b[3] >> 3 & 1),
    };
    // The largest exponent of the whole tile decides, whatever the order of rows and columns.
    let largest = |element: &Element, code: u64| {
        let exponents = (0..element.i.m).flat_map(|row| element.of(row, 0).a).map(|code| code >> 7 & 0xff);
        code ^ u64::from(exponents.max() > Some(200))
    };
    for (what, mut device) in
        [("the row above", faulty(above)), ("the column before", faulty(beside)), ("the tile", faulty(largest))]
    {
        names_both(what, &refusal(what, &mut device), "neighbours or position decide");
    }
    // One neighbour decides, and it is named.
    let message = refusal("the row above", &mut faulty(above));
    assert!(message.contains("next to row ") || message.contains("next to column "), "{message}");
}

#[test]
fn a_dependence_on_the_place_is_found_out() {
    let message = refusal("rows", &mut faulty(|element, code| code ^ u64::from(element.row == 2)));
    names_both("rows", &message, "neighbours or position decide");
    assert_eq!(message.matches("alone").count(), 2, "{message}");
}

#[test]
fn a_hidden_state_and_time_are_found_out() {
    let mut device = faulty(|element, code| code ^ u64::from(element.before % 7 == 3));
    names_both("a counter", &refusal("a counter", &mut device), "decide");
    // Whatever comes after so many tiles, in the search or in the held-out run.
    for tiles in [200, 20, 700].into_iter().take(amount(1, 3)) {
        let mut device = faulty(move |element, code| code ^ u64::from(element.before >= tiles));
        names_both("time", &refusal(&format!("after {tiles} tiles"), &mut device), "decide");
    }
    // The answer before decides.
    let last = Cell::new(0);
    let mut device = faulty(move |_, code| {
        let before = last.replace(code);
        code ^ (before & 1)
    });
    names_both("the answer before", &refusal("the answer before", &mut device), "decide");
}

#[test]
fn where_few_outputs_depend_on_more_than_their_operands_no_agreement_is_claimed() {
    for one_in in [300, 2_000].into_iter().take(amount(1, 2)) {
        let counter = Cell::new(7);
        let chance = move |_: &Element, code: u64| code ^ u64::from(scrambled(&counter).is_multiple_of(one_in));
        let state =
            move |element: &Element, code: u64| code ^ u64::from(element.before % one_in == 11 && element.row == 1);
        let neighbours = move |element: &Element, code: u64| match element.row {
            0 => code,
            row => {
                let above = element.of(row - 1, element.column).a;
                let sum = above.iter().fold(0u64, |sum, code| sum.wrapping_mul(31).wrapping_add(*code));
                code ^ u64::from((sum.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % one_in == 5)
            }
        };
        for (what, mut device) in
            [("chance", faulty(chance)), ("state", faulty(state)), ("neighbours", faulty(neighbours))]
        {
            if let Ok((identification, confirmation)) = examined(&mut device, listed(BF16), 200_000) {
                let differing = confirmation.part.state.differing();
                let claimed = identification.misses == 0 && differing == 0 && confirmation.stopped.is_none();
                assert!(!claimed, "{what}, one in {one_in}: {} agree", confirmation.part.state.compared());
            }
        }
    }
}

/// What is found of a device that no rule describes: misses or held-out differences, with counterexamples, and no error.
fn approximated(what: &str, device: &mut BlackBox, i: &Instruction, cases: u64) -> Vec<Difference> {
    let (identification, confirmation) = examined(device, i, cases).unwrap_or_else(|error| panic!("{what}: {error}"));
    let Confirmation { part, missed, stopped } = confirmation;
    assert_eq!(stopped, None, "{what}");
    assert!(identification.failure.is_none() && identification.rule.is_some(), "{what}");
    let differing = part.state.differing();
    assert!(identification.misses as u64 + differing > 0, "{what}: {} agree", part.state.compared());
    let listed = part.counterexamples.unwrap_or_default();
    let all: Vec<Difference> = missed.into_iter().chain(listed.iter().cloned()).collect();
    assert!(!all.is_empty(), "{what}: no counterexample");
    for difference in &all {
        let reduced = difference.reduced.as_ref().unwrap_or_else(|| panic!("{what}: not reduced"));
        assert_ne!(reduced.device, reduced.model, "{what}");
    }
    all
}

/// How many operands of a case are not zero.
fn operands(difference: &Difference) -> usize {
    let case = &difference.reduced.as_ref().unwrap().case;
    case.a.iter().chain(&case.b).filter(|code| **code != 0).count() + usize::from(case.c != 0)
}

#[test]
fn a_device_that_no_rule_describes_is_approximated_with_smallest_counterexamples() {
    let parity = |element: &Element, code: u64| code ^ (element.case().a[0].count_ones() & 1) as u64;
    // Von Neumann's rounding: the last bit of what is not zero is 1.
    let jammed = |_: &Element, code: u64| if code << 1 == 0 { code } else { code | 1 };
    let fudge = |element: &Element, code: u64| code + u64::from(element.case().c >> 23 & 0xff == 0x81);
    // The fewer terms, the sooner the search gives up.
    let (model, i) = amount(("arm", listed("bfmlalb.m1n4k1.f32.bf16.bf16.f32")), ("hopper", listed(BF16)));
    let devices = [("jammed", with(model, jammed)), ("parity", with(model, parity)), ("fudge", with(model, fudge))];
    for (what, mut device) in devices.into_iter().take(amount(1, 3)) {
        let all = approximated(what, &mut device, i, 100_000);
        let least = all.iter().map(operands).min().unwrap();
        assert!(least <= 2, "{what}: {least} operands");
    }
}

#[test]
fn what_was_learned_of_a_device_that_fails_is_kept() {
    let model = Model::load("hopper").unwrap();
    // In the first question, in the search for the order of the sum, while candidates are told apart.
    let failures = [(1, true), (5, false), (60, true), (100, true), (150, false), (400, true)];
    for (tiles, catalogue) in failures.into_iter().step_by(amount(3, 1)) {
        let mut device =
            BlackBox::with_fault(&model, move |_, asked, executed, _| match executed + asked.count as u64 > tiles {
                true => Err(Error::device("it broke")),
                false => Ok(()),
            });
        let identification =
            identify(&mut device, listed("mma.m16n8k8.f16.f16.f16.f16"), Plan { catalogue, ..plan() }).unwrap();
        let what = format!("{tiles} tiles, catalogue {catalogue}: {} asked", identification.asked.d.len());
        assert_eq!(identification.failure.as_deref(), Some("it broke"), "{what}");
        assert!(
            identification.rule.is_some()
                && identification.asked.inputs.count > 0
                && identification.executions <= tiles,
            "{what}"
        );
        assert!(identification.executions * 2 >= tiles, "{what}");
    }
}

#[test]
fn a_rare_error_of_a_table_is_seen_in_the_held_out_run_and_reduced() {
    // One pattern of the significands of two factors and the last bits of c.
    let (bits, cases) = amount((1, 1_000_000), (3, 6_000_000));
    let mut device = faulty(move |element, code| {
        let Case { a, b, c, .. } = element.case();
        let wrong = a[5] & 0x7f == 0x5a && b[5] & 0x7f == 0x2d && c & ((1 << bits) - 1) == 1;
        code ^ (u64::from(wrong) << 12)
    });
    let all = approximated("a table", &mut device, listed(BF16), cases);
    let least = all.iter().map(operands).min().unwrap();
    assert!(least <= 3, "{least} operands");
}
