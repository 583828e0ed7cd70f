//! Trees as text: on one line, as a drawing, for Graphviz.

use super::{Manner, Order, Picture, picture};

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
