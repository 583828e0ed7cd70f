//! Joining of equal parts of a tree: equal inputs of a step, and equal steps in a row.

use super::tree::{Input, Leaf, Part, Step};

/// Number of leaves that a part has.
pub(super) fn leaves(part: &Part) -> usize {
    match part {
        Part::Leaf(_) => 1,
        Part::Step(step) => step.inputs.iter().map(|input| leaves(&input.part)).sum(),
    }
}

/// The shape of a part: all but its k.
fn shape(part: &Part) -> String {
    match part {
        Part::Leaf(leaf) => format!("{}:{}", leaf.name, leaf.ks.len()),
        Part::Step(step) => {
            let inputs: Vec<String> = step.inputs.iter().map(shape_of_input).collect();
            format!("{:?}{:?}x{}[{}]", step.kind, step.details, step.times, inputs.join(" "))
        }
    }
}

fn shape_of_input(input: &Input) -> String {
    format!("{:?}{:?}*{}({})", input.rounded, input.treatment, input.count, shape(&input.part))
}

/// Joins two inputs of one shape.
///
/// With `count` they are two inputs of one step, else the inputs of two steps in a row.
pub(super) fn merged(x: Input, y: Input, count: bool) -> Input {
    let part = match (x.part, y.part) {
        (Part::Leaf(x), Part::Leaf(y)) => Part::Leaf(Leaf { name: x.name, ks: [x.ks, y.ks].concat() }),
        (Part::Step(x), Part::Step(y)) => {
            let inputs = x.inputs.into_iter().zip(y.inputs).map(|(x, y)| merged(x, y, false)).collect();
            Part::Step(Step { inputs, ..x })
        }
        (x, _) => x,
    };
    Input { part, count: if count { x.count + y.count } else { x.count }, ..x }
}

/// A part in which equal steps in a row are one.
pub(super) fn chained(part: Part) -> Part {
    let Part::Step(mut step) = part else { return part };
    step.inputs = step.inputs.into_iter().map(|input| Input { part: chained(input.part), ..input }).collect();
    for at in 0..step.inputs.len() {
        let Part::Step(before) = &step.inputs[at].part else { continue };
        let rest = |step: &Step, without: usize| -> Vec<String> {
            let others = step.inputs.iter().enumerate().filter(|(place, _)| *place != without);
            let each = |input: &Input| shape_of_input(&single(input, step.times));
            others.map(|(_, input)| each(input)).collect()
        };
        let remaining = rest(&step, at);
        let follows = |other: &usize| {
            let (mine, its) = (&step.inputs[at], &before.inputs[*other]);
            mine.treatment == its.treatment
                && rest(before, *other) == remaining
                && (before.times == 1 || before.between == mine.rounded)
        };
        let Some(start) = (0..before.inputs.len()).find(follows).filter(|_| before.lines() == step.lines()) else {
            continue;
        };
        let mine = step.inputs.remove(at);
        let Part::Step(mut before) = mine.part else { continue };
        let first = before.inputs.remove(start);
        let inputs = before.inputs.into_iter().zip(step.inputs).map(|(x, y)| merged(x, y, false)).collect::<Vec<_>>();
        let inputs = inputs.into_iter().chain([first]).collect();
        return Part::Step(Step { inputs, times: before.times + 1, between: mine.rounded, ..step });
    }
    Part::Step(step)
}

/// An input of one of `times` equal steps.
fn single(input: &Input, times: usize) -> Input {
    let each = |ks: &[usize]| ks[..ks.len() / times].to_vec();
    let part = match &input.part {
        Part::Leaf(leaf) => Part::Leaf(Leaf { name: leaf.name.clone(), ks: each(&leaf.ks) }),
        Part::Step(step) => {
            let inputs = step.inputs.iter().map(|input| single(input, times)).collect();
            Part::Step(Step { inputs, ..step.clone() })
        }
    };
    Input { part, ..input.clone() }
}

/// An input in which `least` or more equal inputs of a step are one.
pub(super) fn joined(input: Input, least: usize) -> Input {
    let Part::Step(mut step) = input.part else { return input };
    let inputs: Vec<Input> = step.inputs.into_iter().map(|input| joined(input, least)).collect();
    let shapes: Vec<String> = inputs.iter().map(shape_of_input).collect();
    let mut kept: Vec<(String, Input)> = Vec::new();
    for (shape, input) in shapes.iter().zip(inputs) {
        let many =
            shapes.iter().filter(|other| *other == shape).count() >= least && matches!(input.part, Part::Step(_));
        let alone = matches!(&input.part, Part::Leaf(leaf) if !leaf.ks.is_empty());
        match kept.iter_mut().find(|(other, _)| other == shape && (many || alone)) {
            Some((_, first)) => *first = merged(first.clone(), input, many),
            None => kept.push((shape.clone(), input)),
        }
    }
    step.inputs = kept.into_iter().map(|(_, input)| input).collect();
    Input { part: Part::Step(step), ..input }
}
