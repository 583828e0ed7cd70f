//! The fast evaluator agrees with the reference evaluator in every bit.

use tcnum::{
    arithmetic::{Evaluator, Model, shipped},
    format::Format,
    inputs,
    isa::{self, Instruction, Tiles},
};

/// The first element of D where the two evaluators differ, in words.
fn difference(evaluator: &Evaluator, i: &Instruction, tiles: &Tiles) -> Option<String> {
    let fast = evaluator.execute(tiles);
    (0..tiles.count * i.m * i.n).find_map(|at| {
        let case = tiles.case(i, at / (i.m * i.n), at / i.n % i.m, at % i.n);
        let (reference, fast) = (evaluator.dot(&case), fast.get(at));
        let show = |format: &Format, codes: &[u64]| -> Vec<String> {
            codes.iter().map(|code| format!("{code:#x} = {}", format.to_f64(*code))).collect()
        };
        (fast != reference).then(|| {
            format!(
                "{i} element {at}: fast {:?}, reference {:?}\na {:?}\nb {:?}\nc {:?}\n{case:x?}",
                show(i.d, &[fast]),
                show(i.d, &[reference]),
                show(i.a, &case.a),
                show(i.b, &case.b),
                show(i.c, &[case.c])
            )
        })
    })
}

#[test]
fn every_rule_of_the_shipped_models_agrees_on_corners_and_random_tiles() {
    for name in shipped() {
        let model = Model::load(name).unwrap();
        for i in isa::all() {
            let Ok(evaluator) = model.evaluator(i) else { continue };
            let count = inputs::record_tiles(i).min(120);
            let tiles = inputs::record_batch(i, 1, count);
            if let Some(difference) = difference(&evaluator, i, &tiles) {
                panic!("{name}: {difference}");
            }
        }
    }
}
