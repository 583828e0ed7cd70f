//! Trees as text: on one line, as a drawing, for Graphviz.

use super::{Leaf, Manner, Order, Picture, picture};

/// A tree on one line.
///
/// `(x + y)` adds two parts, `{x, y, z}` aligns and adds at once, `exact{...}` adds at once without loss, and the order in `?{...}` is
/// undecided. `chain(x, y, z)` starts with x, then adds y, then z. The middle of even runs is left out: `0..15` stands for 0 to 15.
pub fn notation(order: &Order) -> String {
    line(&picture(order))
}

fn line(picture: &Picture) -> String {
    let list = |parts: &[Picture]| parts.iter().map(line).collect::<Vec<_>>().join(", ");
    match picture {
        Picture::Terms(words) => words.clone(),
        Picture::Meeting(Manner::Pair, parts) => {
            format!("({})", parts.iter().map(line).collect::<Vec<_>>().join(" + "))
        }
        Picture::Meeting(manner, parts) | Picture::Group(manner, parts) => {
            let before = match manner {
                Manner::Pair | Manner::Aligned => "",
                Manner::Exact => "exact",
                Manner::Undecided => "?",
            };
            format!("{before}{{{}}}", list(parts))
        }
        Picture::Chain(parts) => format!("chain({})", list(parts)),
    }
}

impl Picture {
    /// The node in words: how its parts are added, or the terms.
    pub fn words(&self) -> &str {
        match self {
            Picture::Terms(words) => words,
            Picture::Chain(_) => "one after the other",
            Picture::Meeting(Manner::Pair, _) | Picture::Group(Manner::Pair, _) => "added",
            Picture::Meeting(manner, _) | Picture::Group(manner, _) => manner.name(),
        }
    }

    /// Its parts.
    pub fn parts(&self) -> &[Picture] {
        match self {
            Picture::Terms(_) => &[],
            Picture::Meeting(_, parts) | Picture::Chain(parts) | Picture::Group(_, parts) => parts,
        }
    }
}

/// The place where c enters, in words.
pub fn entry_of_c(order: &Order) -> &'static str {
    let is_c = |part: &Order| *part == Order::Leaf(Leaf::C);
    let is_leaf = |part: &Order| matches!(part, Order::Leaf(_));
    let meetings = order.meetings();
    let Some(meeting) = meetings.iter().find(|meeting| meeting.parts.iter().any(is_c)) else { return "nowhere" };
    let is_last = meetings.first().is_some_and(|root| std::ptr::eq(*root, *meeting));
    let others = || meeting.parts.iter().filter(|part| !is_c(part));
    match (is_last, meeting.manner) {
        (true, Manner::Pair) if others().all(is_leaf) => "with the product",
        (true, _) if others().all(is_leaf) => "with all products",
        (true, Manner::Pair) => "last",
        (true, _) if others().all(|part| is_leaf(part) || part.is_exact()) => "with all products",
        (true, _) => "in the last step",
        (false, Manner::Pair) if others().all(is_leaf) => "with the first product",
        (false, _) if others().all(|part| is_leaf(part) || part.is_exact()) => "with the first products",
        (false, Manner::Pair) => "before the other sums",
        (false, _) => "between",
    }
}

/// A tree as lines of text; each part stands below its step.
pub fn drawing(order: &Order) -> Vec<String> {
    let mut lines = Vec::new();
    draw(&picture(order), "", "", &mut lines);
    lines
}

fn draw(picture: &Picture, first: &str, further: &str, lines: &mut Vec<String>) {
    lines.push(format!("{first}{}", picture.words()));
    let parts = picture.parts();
    for (place, part) in parts.iter().enumerate() {
        let (branch, below) = if place + 1 < parts.len() { ("├─ ", "│  ") } else { ("└─ ", "   ") };
        draw(part, &format!("{further}{branch}"), &format!("{further}{below}"), lines);
    }
}

/// A tree in the language of Graphviz (`dot -Tsvg`), under `title`.
pub fn dot(order: &Order, title: &str) -> String {
    let mut text = format!(
        "digraph tree {{\n  rankdir = RL;\n  labelloc = t;\n  label = {};\n  node [fontname = \"sans-serif\"];\n",
        quoted(title)
    );
    let mut open = vec![(picture(order), None)];
    let mut number = 0;
    while let Some((picture, above)) = open.pop() {
        let shape = if picture.parts().is_empty() { "box" } else { "ellipse" };
        text += &format!("  n{number} [shape = {shape}, label = {}];\n", quoted(picture.words()));
        if let Some(above) = above {
            text += &format!("  n{number} -> n{above};\n");
        }
        open.extend(picture.parts().iter().rev().map(|part| (part.clone(), Some(number))));
        number += 1;
    }
    text + "}\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
