//! Random arithmetics, and all shipped ones, behind a device that says nothing of them: campaigns.

use std::{
    collections::HashSet,
    env,
    time::{Duration, Instant},
};

use proptest::strategy::{Strategy, ValueTree};
use tcnum::{
    arithmetic::{Model, shipped},
    isa::Instruction,
};
use tcnum_engine::comparison::Nans;
use tcnum_study::identify::{Identification, Limits, Plan, Request, Session, Study, WORK, identify};

use crate::{
    arithmetics::arithmetics,
    black_box::{BlackBox, held_out, runner},
    designs::design,
    machine::amount,
    shipped::distinct,
};

/// Held-out cases of the verification stream; a fifth as many of other random operands besides.
const HELD_OUT: usize = 1_000_000;
/// The columns of what a campaign prints, a line for each arithmetic.
const COLUMNS: &str = "campaign,seed,number,kind,instruction,outcome,tiles,asked,missed,seconds,held_out,differing";

/// What `tcnum identify` finds of what a model hides, from nothing.
fn searched(model: &Model, i: &'static Instruction) -> Identification {
    let limits = Limits {
        search: 1 << 20,
        search_time: Duration::MAX,
        tiles: None,
        cases: HELD_OUT as u64,
        held_out_time: None,
    };
    let request = Request {
        seed: 1,
        catalogue: false,
        nans: Nans::ByCode,
        limits,
        date: None,
        skip_lacking: false,
        withheld: Vec::new(),
    };
    let mut all = Study::default();
    let mut device = BlackBox::new(model);
    Session::new(&mut device, &request, &mut |_| ()).identify(std::slice::from_ref(i), &mut all).unwrap();
    all.findings.remove(0).identification
}

/// Identifies what a model hides, and prints a line of how it went; and, on standard error, both rules where they differ. Whether it
/// was recovered: all that was asked and all that was held out agrees.
fn recovered(campaign: &str, seed: u64, number: u64, model: &Model, i: &'static Instruction) -> bool {
    let start = Instant::now();
    let identification = searched(model, i);
    let time = start.elapsed().as_secs_f64();
    let differ = held_out(&identification, model, i, HELD_OUT);
    let Identification { misses, executions, .. } = identification;
    let outcome = match (misses, differ) {
        (0, 0) => "recovered",
        (0, _) => "agrees where asked",
        _ => "approximated",
    };
    let step =
        model.text().lines().find_map(|line| line.strip_prefix("step = ")).unwrap_or("\"tree\"").trim_matches('"');
    println!(
        "{campaign},{seed},{number},{step},{i},{outcome},{executions},{},{},{time:.2},{HELD_OUT},{differ}",
        identification.asked.d.len(),
        misses.min(identification.asked.d.len()),
    );
    if outcome != "recovered" {
        eprintln!("{campaign} {number}\n--- hidden\n{}\n--- found\n{}", model.text(), identification.text());
    }
    outcome == "recovered"
}

/// Designs that are recovered; what a number draws follows from the formats that there are.
const DESIGNS: [u64; 3] = [90, 210, 258];

#[test]
fn steps_with_widths_floors_and_overflow_of_their_own_are_recovered() {
    for number in DESIGNS.into_iter().take(amount(1, DESIGNS.len())) {
        let design = design(20_261_122, number);
        let model = Model::parse(&design.text, "hidden.toml").unwrap();
        let plan = Plan {
            seed: 1,
            budget: 20_000,
            time: Duration::MAX,
            catalogue: false,
            found_rules: Vec::new(),
            withheld: Vec::new(),
            work: WORK,
        };
        let identification = identify(&mut BlackBox::new(&model), design.instruction, plan).unwrap();
        let differ = held_out(&identification, &model, design.instruction, 20_000);
        assert_eq!((identification.misses, differ), (0, 0), "{number}:\n{}\n{}", model.text(), identification.text());
    }
}

/// The number in a variable of the environment.
fn number(name: &str, default: u64) -> u64 {
    env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_FIRST=NUMBER, TCNUM_BLIND_SEED=N"]
fn designs_are_recovered() {
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let first = number("TCNUM_BLIND_FIRST", 0);
    let mut all = 0;
    println!("{COLUMNS}");
    for number in first..first + count {
        let design = design(seed, number);
        let model = Model::parse(&design.text, "hidden.toml").unwrap_or_else(|error| panic!("{error}\n{design:?}"));
        all += u64::from(recovered("designs", seed, number, &model, design.instruction));
    }
    println!("recovered {all} of {count}");
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_FIRST=NUMBER, TCNUM_BLIND_SEED=N"]
fn random_arithmetics_are_recovered() {
    let (count, seed) = (number("TCNUM_BLIND", 20), number("TCNUM_BLIND_SEED", 0));
    let first = number("TCNUM_BLIND_FIRST", 0);
    let mut runner = runner(seed);
    let mut all = 0;
    println!("{COLUMNS}");
    for number in 0..first + count {
        let arithmetic = arithmetics().new_tree(&mut runner).unwrap().current();
        if number < first {
            continue;
        }
        let model = Model::parse(&arithmetic.text, "hidden.toml").unwrap();
        all += u64::from(recovered("language", seed, number, &model, arithmetic.instruction));
    }
    println!("recovered {all} of {count}");
}

/// Every arithmetic of a shipped model once: those of several models, or of several instructions with the same formats, are one.
fn shipped_arithmetics() -> Vec<(&'static str, Model, &'static Instruction)> {
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for i in distinct(&model) {
            let program = model.program(i).unwrap().to_string();
            if seen.insert((program, i.k, i.is_sparse(), i.scale.map(|scale| scale.block))) {
                all.push((name, model.clone(), i));
            }
        }
    }
    all
}

#[test]
#[ignore = "a campaign: TCNUM_BLIND=COUNT, TCNUM_BLIND_FIRST=NUMBER"]
fn shipped_arithmetics_are_recovered_from_nothing() {
    let arithmetics = shipped_arithmetics();
    let (count, first) = (number("TCNUM_BLIND", arithmetics.len() as u64), number("TCNUM_BLIND_FIRST", 0));
    let (mut all, mut ended) = (0, 0);
    println!("{COLUMNS}");
    for (number, (name, model, i)) in arithmetics.iter().enumerate().skip(first as usize).take(count as usize) {
        all += usize::from(recovered(name, 0, number as u64, model, i));
        ended += 1;
    }
    println!("recovered {all} of {ended}; there are {}", arithmetics.len());
}
