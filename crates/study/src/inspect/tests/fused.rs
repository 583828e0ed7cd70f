//! Fused tensors against their parts.

use super::*;
use crate::{
    array::{ArrayWriter, FileHeading, GgufEntries, NewArray},
    report::Cell,
};

const COLUMNS: usize = 64;

/// The answer, true if all is the same, and the findings with the rows that were compared.
fn compared(first: &Path, second: &Path) -> (String, bool, Vec<[String; 3]>) {
    let (x, y) = (open(first), open(second));
    let chosen: Vec<_> = x.tensors.iter().collect();
    let (answer, tables, holds, outcome) = super::super::compared(&x, &y, &chosen, &mut |_, _| {});
    outcome.unwrap();
    let table = &tables[0];
    let at = |key: &str| table.columns.iter().position(|column| column.key == key).unwrap();
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => text.to_string(),
        _ => String::new(),
    };
    let rows =
        table.rows.iter().map(|row| ["tensor", "fused_rows", "finding"].map(|key| text(&row[at(key)]))).collect();
    (answer.unwrap(), holds, rows)
}

fn bytes(weights: &[f32]) -> Vec<u8> {
    weights.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn single_precision(name: &str, weights: &[f32]) -> Array<'static> {
    array(name, &[weights.len() / COLUMNS, COLUMNS], format("f32"), bytes(weights))
}

/// Rows of q, k and v: four heads of q for two of k and v.
fn parts() -> [Vec<f32>; 3] {
    let all = weights(64 * COLUMNS);
    [&all[..32 * COLUMNS], &all[32 * COLUMNS..48 * COLUMNS], &all[48 * COLUMNS..]].map(<[f32]>::to_vec)
}

const NAMES: [&str; 3] = ["q_proj", "k_proj", "v_proj"];

fn name(part: &str) -> String {
    std::format!("model.layers.0.self_attn.{part}.weight")
}

/// Rows of parts in so many groups.
fn grouped(parts: &[Vec<f32>], groups: usize) -> Vec<f32> {
    let group = |at: usize| parts.iter().flat_map(move |part| part.chunks(part.len() / groups).nth(at).unwrap());
    (0..groups).flat_map(group).copied().collect()
}

#[test]
fn fused_rows_are_compared_with_their_parts_in_blocks_and_in_groups() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(std::format!("{name}.safetensors"));
    let parts = parts();
    let split: Vec<_> = NAMES.iter().zip(&parts).map(|(part, rows)| single_precision(&name(part), rows)).collect();
    write(&path("split"), &split);
    let fused = |file: &str, part: &str, weights: &[f32]| write(&path(file), &[single_precision(&name(part), weights)]);
    let same = "The second file fuses 3 tensors into 1. 3 tensors have the same values in both.";
    for (groups, rows) in [(1, ["0 to 31", "32 to 47", "48 to 63"]), (2, ["in 2 groups"; 3])] {
        fused("fused", "qkv_proj", &grouped(&parts, groups));
        let (answer, holds, found) = compared(&path("split"), &path("fused"));
        assert_eq!((answer.as_str(), holds), (same, true));
        for (part, rows) in NAMES.iter().zip(rows) {
            let row = found.iter().find(|row| row[0] == name(part)).unwrap();
            assert_eq!(row[1..], [rows.to_string(), "same values".to_string()]);
        }
        // The other way round too.
        let (answer, holds, found) = compared(&path("fused"), &path("split"));
        assert_eq!((answer, holds, found.len()), (same.replace("second", "first"), true, 3));
    }
    // One part is swapped, or others than the usual order.
    let [q, k, v] = &parts;
    fused("swapped", "qkv_proj", &[&q[..], v, k].concat());
    let (answer, holds, found) = compared(&path("split"), &path("swapped"));
    let order = "the rows of 'model.layers.0.self_attn.qkv_proj.weight' lie in the order q_proj, v_proj, k_proj";
    assert!(answer.ends_with(&std::format!("same values, but {order}.")) && !holds, "{answer}");
    assert_eq!(found.iter().find(|row| row[0] == name("k_proj")).unwrap()[1], "48 to 63");
    let other: Vec<f32> = k.iter().rev().copied().collect();
    fused("other", "Wqkv", &[&q[..], &other, v].concat());
    let (answer, holds, found) = compared(&path("split"), &path("other"));
    assert!(answer.contains("1 of 3 tensors differ, first 'model.layers.0.self_attn.k_proj.weight'") && !holds);
    for [tensor, _, finding] in found {
        assert_eq!(finding, if tensor == name("k_proj") { "values differ" } else { "same values" }, "{tensor}");
    }
    // A tensor with other rows is none of these parts.
    fused("short", "qkv_proj", &[&q[..], k].concat());
    let (_, holds, found) = compared(&path("split"), &path("short"));
    assert!(!holds && found.iter().all(|row| row[2].ends_with("and its parts have other rows")), "{found:?}");
}

#[test]
fn fused_tensors_of_other_formats_names_and_dimensions_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let parts = parts();
    // Fused in MXFP4, with biases: vectors.
    let all = parts.concat();
    let blocks = Quantizer::new(block("mxfp4").unwrap()).quantize(&all, COLUMNS);
    let scales = blocks.scales.iter().map(|code| *code as u8).collect();
    let bias = weights(64);
    write(
        &path("fused.safetensors"),
        &[
            array("l.qkv_proj.weight_packed", &[64, COLUMNS / 2], BYTES, pack_pairs(&blocks.elements, COLUMNS)),
            array("l.qkv_proj.weight_scale", &[64, COLUMNS / 32], BYTES, scales),
            array("l.qkv_proj.bias", &[64], format("f32"), bytes(&bias)),
        ],
    );
    let mut split: Vec<_> =
        NAMES.iter().zip(&parts).map(|(part, rows)| single_precision(&std::format!("l.{part}.weight"), rows)).collect();
    for (part, rows) in NAMES.iter().zip([&bias[..32], &bias[32..48], &bias[48..]]) {
        split.push(array(&std::format!("l.{part}.bias"), &[rows.len()], format("f32"), bytes(rows)));
    }
    write(&path("split.safetensors"), &split);
    let (answer, _, found) = compared(&path("split.safetensors"), &path("fused.safetensors"));
    assert!(answer.starts_with("The second file fuses 6 tensors into 2. 3 of 6 tensors differ, and all hold the same"));
    for row in found {
        let expected = if row[0].ends_with("bias") { "same values" } else { "the same weights: each value is within" };
        assert!(row[2].starts_with(expected), "{row:?}");
    }
    // Pairs of rows of q and k in GGUF of Llama against a fused tensor of Hugging Face.
    let pairs = |rows: &[f32], head: usize| {
        let place = |row: usize| row / head * head + row % head % 2 * (head / 2) + row % head / 2;
        (0..rows.len() / COLUMNS).flat_map(|row| rows[place(row) * COLUMNS..][..COLUMNS].to_vec()).collect::<Vec<f32>>()
    };
    let arrays = [
        single_precision("blk.0.attn_q.weight", &pairs(&parts[0], 8)),
        single_precision("blk.0.attn_k.weight", &pairs(&parts[1], 8)),
        single_precision("blk.0.attn_v.weight", &parts[2]),
    ];
    let mut entries = GgufEntries::of_architecture("llama");
    entries.push_word("llama.attention.head_count", 4);
    entries.push_word("llama.attention.head_count_kv", 2);
    let planned: Vec<NewArray> = arrays
        .iter()
        .map(|array| {
            let (name, shape, bytes) = (array.name.clone(), array.shape.clone(), array.bytes.len() as u64);
            NewArray { name, shape, kind: array.kind, bytes }
        })
        .collect();
    let heading = FileHeading { entries: Some(entries), ..FileHeading::default() };
    let writer = ArrayWriter::begin(&path("split.gguf"), &planned, &heading).unwrap();
    arrays.iter().enumerate().for_each(|(at, array)| writer.write(at, 0, &array.bytes).unwrap());
    writer.finish().unwrap();
    write(&path("qkv.safetensors"), &[single_precision(&name("qkv_proj"), &all)]);
    let (answer, holds, _) = compared(&path("split.gguf"), &path("qkv.safetensors"));
    assert!(holds, "{answer}");
    // Experts, whose rows of gate and up alternate.
    let experts = |matrices: [&[f32]; 2]| matrices.concat();
    let halves = |part: usize| parts[0].chunks(8 * COLUMNS).skip(part).step_by(2).collect::<Vec<_>>();
    let (gate, up) = (halves(0), halves(1));
    let alternating = [0, 1].map(|expert| grouped(&[gate[expert].to_vec(), up[expert].to_vec()], 8));
    let stacked =
        |name: &str, rows: usize, weights: Vec<f32>| array(name, &[2, rows, COLUMNS], format("f32"), bytes(&weights));
    write(
        &path("experts.safetensors"),
        &[stacked("model.layers.1.mlp.experts.gate_up_proj", 16, alternating.concat())],
    );
    let arrays = vec![
        stacked("blk.1.ffn_gate_exps.weight", 8, experts([gate[0], gate[1]])),
        stacked("blk.1.ffn_up_exps.weight", 8, experts([up[0], up[1]])),
    ];
    write(&path("experts.gguf"), &arrays);
    let (answer, holds, found) = compared(&path("experts.safetensors"), &path("experts.gguf"));
    assert!(holds && found.iter().all(|row| row[1] == "in 8 groups"), "{answer} {found:?}");
}
