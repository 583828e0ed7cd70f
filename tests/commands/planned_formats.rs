//! Files that loaders of other programs read, on the program itself.
//!
//! They are plans of several formats, folders, shards and GGUF files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    inspect::{array, format},
    program::{Run, tcnum, validate_report},
};
use serde_json::{Value, json};
use tcnum_engine::array::{Array, ArrayFile, Arrays};

/// Layers of a small model: names, rows and columns.
const LAYERS: [(&str, usize, usize); 5] =
    [("q_proj", 64, 256), ("k_proj", 32, 256), ("v_proj", 32, 256), ("o_proj", 256, 128), ("down_proj", 16, 384)];

/// Draws values; heavier tails for other seeds.
fn drawn(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 2f32.powi(24) - 0.5
    };
    let value = |_| {
        let sum = next() + next() + next();
        (0.02 * sum * if seed.is_multiple_of(3) { 1.0 + 40.0 * sum * sum } else { 1.0 }).to_le_bytes()
    };
    (0..count).flat_map(value).collect()
}

fn weights(seed: u32) -> Vec<Array<'static>> {
    let layer = |(at, (name, rows, columns)): (usize, &(&str, usize, usize))| {
        let name = format!("model.layers.0.{name}.weight");
        array(&name, &[*rows, *columns], format("f32"), drawn(rows * columns, seed + at as u32))
    };
    let mut arrays: Vec<Array> = LAYERS.iter().enumerate().map(layer).collect();
    arrays.push(array("model.norm.weight", &[256], format("f32"), drawn(256, seed)));
    arrays.push(array("lm_head.weight", &[8, 256], format("f32"), drawn(8 * 256, seed)));
    arrays
}

/// A folder with a model of drawn weights in `model`.
struct Model(tempfile::TempDir);

impl Model {
    fn new(seed: u32) -> Model {
        let model = Model(tempfile::tempdir().unwrap());
        fs::create_dir(model.path("model")).unwrap();
        Arrays { arrays: weights(seed), ..Arrays::default() }.write(&model.path("model/model.safetensors")).unwrap();
        fs::write(model.path("model/config.json"), r#"{"model_type": "llama", "hidden_size": 256}"#).unwrap();
        model
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_string()
    }

    fn run(&self, verb: &str, arguments: &[&str]) -> Value {
        let Run { status, stdout, stderr } = tcnum(&[&[verb, "--output", "json"], arguments].concat());
        assert_eq!((status, stderr.as_str()), (0, ""), "{verb} {arguments:?}");
        validate_report(&stdout)
    }

    /// Converts the model, and returns the description that is written.
    fn convert(&self, arguments: &[&str], out: &str) -> Value {
        let (model, out) = (self.at("model"), self.at(out));
        self.run("convert", &[arguments, &["--input", &model, "--out", &out]].concat());
        let text = fs::read(Path::new(&out).join("config.json")).unwrap_or_else(|_| b"null".to_vec());
        serde_json::from_slice(&text).unwrap()
    }

    fn refused(&self, arguments: &[&str], part: &str) {
        let Run { status, stderr, .. } = tcnum(arguments);
        assert_eq!(status, 2, "{arguments:?}: {stderr}");
        assert!(stderr.contains(part), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_plan_stays_within_its_budget_and_gives_the_same_bytes_twice() {
    for (seed, budget) in [(1, 4.3), (4, 4.6), (6, 5.5), (9, 7.5)] {
        let model = Model::new(seed);
        let (bits, plan) = (budget.to_string(), model.at("plan.toml"));
        let formats = "mxfp4,nvfp4,e4m3,s4-1x128,s8";
        let input = model.at("model");
        let report = model.run("quantise", &[&input, "--budget", &bits, "--to", formats, "--plan-out", &plan]);
        let rows = report["tables"]["plan"].as_array().unwrap();
        assert_eq!(rows.len(), LAYERS.len());
        let of = |name: &str| rows.iter().find(|row| row["tensor"].as_str().unwrap().contains(name)).unwrap();
        assert_eq!(
            [of("k_proj")["to"].clone(), of("v_proj")["to"].clone()],
            [of("q_proj")["to"].clone(), of("q_proj")["to"].clone()]
        );
        // Bits of the arrays that are written, shapes of packed words left out.
        for out in ["one/", "two/"] {
            model.convert(&["--plan", &plan, "--layout", "compressed-tensors"], out);
        }
        let written = |name: &str| fs::read(model.path(name)).unwrap();
        assert_eq!(written("one/model.safetensors"), written("two/model.safetensors"));
        assert_eq!(written("one/config.json"), written("two/config.json"));
        let file = ArrayFile::open(&model.path("one")).unwrap();
        let is_part = |name: &str| name.contains("_proj") && !name.ends_with("_shape");
        let bytes: u64 = file.arrays.iter().filter(|array| is_part(&array.name)).map(|array| array.data.1).sum();
        let values: usize = LAYERS.iter().map(|(_, rows, columns)| rows * columns).sum();
        assert!(8.0 * bytes as f64 <= budget * values as f64, "{} {budget}", 8.0 * bytes as f64 / values as f64);
        // Partners have one scale of the tensor.
        let scales: Vec<Vec<u8>> = file
            .arrays
            .iter()
            .filter(|array| {
                array.name.ends_with("_global_scale") && !array.name.contains("o_proj") && !array.name.contains("down")
            })
            .map(|array| file.array(array).unwrap().bytes.into_owned())
            .collect();
        assert!(scales.iter().all(|scale| *scale == scales[0]));
        let inspected = model.run("inspect", &[&model.at("one")]);
        let tensors = inspected["tables"]["checkpoint_tensors"].as_array().unwrap();
        assert_eq!(tensors.len(), LAYERS.len() + 2);
        let doubts = tensors.iter().filter(|tensor| tensor["layout_by"] == "names").count();
        assert_eq!(doubts, 0, "{inspected}");
    }
}

#[test]
fn a_plan_by_patterns_takes_the_first_that_matches() {
    let model = Model::new(3);
    let plan = model.at("plan.toml");
    let text = "[[recipe]]\nto = \"e4m3\"\nper = \"row\"\ntensors = [\"*o_proj*\"]\n[[recipe]]\nto = \"mxfp4\"\ntensors = [\"*_proj*\"]\n";
    fs::write(&plan, text).unwrap();
    let config = model.convert(&["--plan", &plan, "--layout", "compressed-tensors"], "out/");
    assert_eq!((&config["model_type"], &config["hidden_size"]), (&json!("llama"), &json!(256)));
    let quantisation = &config["quantization_config"];
    assert_eq!(quantisation["format"], "mixed-precision");
    assert_eq!(quantisation["ignore"], json!(["lm_head"]));
    let groups: Vec<(&Value, &Value)> = quantisation["config_groups"]
        .as_object()
        .unwrap()
        .values()
        .map(|group| (&group["format"], &group["targets"]))
        .collect();
    assert_eq!(groups.len(), 2);
    assert!(groups.contains(&(&json!("float-quantized"), &json!(["model.layers.0.o_proj"]))), "{groups:?}");
    for (text, part) in [
        ("[[recipe]]\nto = \"mxfp4\"\ntensors = []\n", "no tensors"),
        ("[[recipe]]\nto = \"mxfp4\"\ntensor = [\"*\"]\n", "unknown field"),
        ("[[recipe]]\nto = \"mxfp44\"\ntensors = [\"*\"]\n", "mxfp44"),
        ("[[recipe]]\nto = \"mxfp4\"\ntensors = [\"*k_prog*\"]\n", "no tensor has such a name"),
    ] {
        fs::write(&plan, text).unwrap();
        let (input, out) = (model.at("model"), model.at("none.safetensors"));
        model.refused(&["convert", "--plan", &plan, "--input", &input, "--out", &out], part);
        assert!(!Path::new(&out).exists());
    }
    model.refused(&["quantise", &model.at("model"), "--to", "mxfp4,nvfp4", "--budget", "4"], "take 4.25 bits a value");
    // Values that no weight has come first, and are not planned.
    let nan = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/checkpoints/nan.safetensors");
    model
        .refused(&["quantise", nan, "--to", "mxfp4", "--budget", "6"], "every tensor holds NaNs, infinities or values");
    model.refused(&["quantise", nan, "--to", "mxfp4", "--budget", "1e300"], "a number of bits above 0, up to 64");
}

#[test]
fn shards_have_an_index_and_hold_what_one_file_holds() {
    let model = Model::new(8);
    let arguments = ["--to", "s4", "--per", "1x128", "--layout", "compressed-tensors"];
    model.convert(&arguments, "one/");
    model.convert(&[&arguments[..], &["--shard-size", "8kB"]].concat(), "many/");
    let shards = fs::read_dir(model.path("many")).unwrap().flatten();
    let shards = shards.filter(|entry| entry.file_name().to_string_lossy().ends_with(".safetensors")).count();
    let index: Value =
        serde_json::from_slice(&fs::read(model.path("many/model.safetensors.index.json")).unwrap()).unwrap();
    assert!(shards > 2 && index["weight_map"].as_object().unwrap().len() > shards, "{shards}");
    let answer = model.run("inspect", &[&model.at("one"), &model.at("many")])["answer"].clone();
    assert_eq!(answer, "7 tensors have the same values in both.");
    // The folder of one file would keep old shards, and is refused.
    let (input, many) = (model.at("model"), model.at("many"));
    model.refused(
        &[&["convert", "--input", &input, "--out", &many][..], &arguments].concat(),
        "would belong to the result",
    );
    let again = model.convert(&["--to", "f32", "--include", "*"], "plain.safetensors");
    assert_eq!(again, Value::Null);
}

#[test]
fn blocks_of_gguf_hold_the_values_of_the_format_and_the_metadata_of_the_input() {
    let model = Model::new(5);
    let tcnum_file = |to: &str| {
        let (input, out) = (model.at("model"), model.at("own.safetensors"));
        model.run("convert", &["--to", to, "--exclude", "lm_head*", "--input", &input, "--out", &out]);
        out
    };
    for to in ["q8-0", "q4-0", "mxfp4"] {
        let (input, out, again) = (model.at("model"), model.at("out.gguf"), model.at("again.gguf"));
        model.run("convert", &["--to", to, "--exclude", "lm_head*", "--input", &input, "--out", &out]);
        let answer = model.run("inspect", &[&out, &tcnum_file(to)])["answer"].clone();
        assert_eq!(answer, "7 tensors have the same values in both.", "{to}");
        let file = ArrayFile::open(Path::new(&out)).unwrap();
        assert_eq!(file.metadata["general.architecture"], "llama");
        model.run("convert", &["--to", "f16", "--input", &out, "--out", &again]);
        // The type of the file follows what is written; the rest stays.
        let mut metadata = file.metadata.clone();
        let number = match to {
            "q8-0" => "7",
            "q4-0" => "2",
            _ => "38",
        };
        assert_eq!(metadata.insert("general.file_type".into(), "1".into()).as_deref(), Some(number));
        assert_eq!(ArrayFile::open(Path::new(&again)).unwrap().metadata, metadata);
    }
    let (input, out) = (model.at("model"), model.at("none.gguf"));
    model.refused(&["convert", "--to", "nvfp4", "--input", &input, "--out", &out], "GGUF files hold");
    model.refused(&["convert", "--to", "e4m3", "--input", &input, "--out", &out], "which GGUF files lack");
    model.refused(
        &["convert", "--to", "q4-1", "--input", &input, "--out", &model.at("none.safetensors")],
        "an offset for each block",
    );
}

#[test]
fn gguf_of_a_llama_has_its_names_types_and_order_of_rows_and_of_another_model_its_names() {
    let model = Model::new(3);
    let name = |layer: &str| format!("model.layers.0.self_attn.{layer}.weight");
    let (bf16, f32) = (format("bf16"), format("f32"));
    let (q, k) = (drawn(64 * 256, 1), drawn(32 * 256, 2));
    let norm: Vec<u8> = drawn(256, 4).chunks(4).flat_map(|value| value[2..].to_vec()).collect();
    let arrays = vec![
        array(&name("q_proj"), &[64, 256], f32, q.clone()),
        array(&name("k_proj"), &[32, 256], f32, k.clone()),
        array(&name("v_proj"), &[32, 256], f32, drawn(32 * 256, 3)),
        array("model.layers.0.input_layernorm.weight", &[256], bf16, norm.clone()),
        array("rotary.inv_freq", &[16], f32, drawn(16, 5)),
        // Found by a review: the order of biases was not known to the comparison.
        array(&name("q_proj").replace("weight", "bias"), &[64], f32, drawn(64, 6)),
        array(&name("k_proj").replace("weight", "bias"), &[32], f32, drawn(32, 7)),
    ];
    Arrays { arrays, ..Arrays::default() }.write(&model.path("model/model.safetensors")).unwrap();
    let describe = |kind: &str| {
        let heads =
            r#""num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1, "rms_norm_eps": 1e-5"#;
        fs::write(model.path("model/config.json"), format!(r#"{{"model_type": "{kind}", {heads}}}"#)).unwrap();
    };
    // Row 2i + j of a head is row i of its half j.
    let ordered = |rows: &[u8], heads: usize| {
        let rows: Vec<&[u8]> = rows.chunks(4 * 256).collect();
        let half = rows.len() / heads / 2;
        let place = |row: usize| row / (2 * half) * 2 * half + row % 2 * half + row % (2 * half) / 2;
        (0..rows.len()).flat_map(|row| rows[place(row)].to_vec()).collect::<Vec<u8>>()
    };
    let (input, out) = (model.at("model"), model.at("model.gguf"));
    for (kind, architecture) in [("llama", "llama"), ("mistral", "llama"), ("qwen2", "qwen2")] {
        describe(kind);
        model.run("convert", &["--to", "f32", "--input", &input, "--out", &out]);
        let file = ArrayFile::open(Path::new(&out)).unwrap();
        let bytes = |name: &str| {
            let array = file.arrays.iter().find(|array| array.name == name).unwrap_or_else(|| panic!("{kind}: {name}"));
            file.array(array).unwrap().bytes.into_owned()
        };
        let expected = match architecture {
            "llama" => [ordered(&q, 4), ordered(&k, 2)],
            _ => [q.clone(), k.clone()],
        };
        assert!([bytes("blk.0.attn_q.weight"), bytes("blk.0.attn_k.weight")] == expected, "{kind}");
        assert!(bytes("blk.0.attn_v.weight") == drawn(32 * 256, 3) && bytes("rotary.inv_freq") == drawn(16, 5));
        let entry = |key: &str| file.metadata[key].as_str();
        assert_eq!([entry("general.architecture"), entry("general.file_type")], [architecture, "0"]);
        assert_eq!(entry(&format!("{architecture}.attention.head_count_kv")), "2");
        let answer = model.run("inspect", &[&input, &out])["answer"].clone();
        assert_eq!(answer, "7 tensors have the same values in both.", "{kind}");
    }
    // Vectors that are not converted are of f32 too; patterns and plans have the names of the input.
    describe("llama");
    model.run("convert", &["--to", "q8-0", "--include", "*q_proj*", "--input", &input, "--out", &out]);
    let file = ArrayFile::open(Path::new(&out)).unwrap();
    let types: Vec<String> =
        file.arrays.iter().map(|array| format!("{} {}", array.name, array.kind.type_name())).collect();
    assert!(types.contains(&"blk.0.attn_q.weight Q8_0".into()) && types.contains(&"blk.0.attn_norm.weight F32".into()));
    // Without heads, and in codes, rows are not put in order.
    fs::write(model.path("model/config.json"), r#"{"model_type": "llama"}"#).unwrap();
    model.refused(&["convert", "--to", "f16", "--input", &input, "--out", &out], "does not divide into heads");
    describe("llama");
    let codes = model.at("model/codes.safetensors");
    model.run("convert", &["--to", "mxfp4", "--input", &model.at("model/model.safetensors"), "--out", &codes]);
    model.refused(&["convert", "--to", "f32", "--input", &codes, "--out", &out], "convert the file to f32 first");
}

#[test]
fn a_plan_leaves_out_tensors_with_unsound_values_and_says_so() {
    let model = Model::new(7);
    let sound = weights(7);
    let formats = ["--to", "mxfp4,e4m3", "--budget", "6"];
    let plan = |arrays: Vec<Array<'static>>| {
        let path = model.path("mixed.safetensors");
        Arrays { arrays, ..Arrays::default() }.write(&path).unwrap();
        model.run("quantise", &[&[path.to_str().unwrap()][..], &formats].concat())
    };
    let names = |report: &Value| {
        let rows = report["tables"]["plan"].as_array().unwrap().iter();
        rows.map(|row| row["tensor"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let right = plan(sound.clone());
    for value in [f32::NAN, f32::INFINITY, -3e38] {
        let mut bytes = drawn(16 * 256, 1);
        bytes[40..44].copy_from_slice(&value.to_le_bytes());
        let mut arrays = sound.clone();
        arrays.push(array("model.layers.1.q_proj.weight", &[16, 256], format("f32"), bytes));
        let mixed = plan(arrays);
        // The plan of the others is the same, and the first sentence names the tensor.
        assert_eq!(mixed["tables"]["plan"], right["tables"]["plan"], "{value}");
        assert!(!names(&mixed).iter().any(|name| name.contains("layers.1")));
        let answer = mixed["answer"].as_str().unwrap();
        assert!(answer.contains("model.layers.1.q_proj.weight"), "{value}: {answer}");
    }
}

/// Integers of 32 bits of an array.
fn words(file: &ArrayFile, name: &str) -> Vec<u32> {
    let array = file.arrays.iter().find(|array| array.name == name).unwrap();
    let bytes = file.array(array).unwrap().bytes.into_owned();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

#[test]
fn zero_points_are_packed_down_their_columns() {
    let model = Model::new(2);
    fs::write(
        model.path("mine.toml"),
        "name = \"mine\"\nelement = \"u4\"\nblock = 128\nscale = \"f32\"\nzero = \"u4\"\nrule = \"mse\"\n",
    )
    .unwrap();
    let config = model.convert(&["--to", &model.at("mine.toml"), "--layout", "compressed-tensors"], "out/");
    let weights = &config["quantization_config"]["config_groups"]["group_0"]["weights"];
    assert_eq!((&weights["symmetric"], &weights["group_size"]), (&json!(false), &json!(128)));
    let file = ArrayFile::open(&model.path("out")).unwrap();
    let source = ArrayFile::open(&model.path("model")).unwrap();
    for (name, rows, columns) in LAYERS {
        let name = format!("model.layers.0.{name}.weight");
        let (codes, zeros) = (words(&file, &format!("{name}_packed")), words(&file, &format!("{name}_zero_point")));
        let scales: Vec<f32> = words(&file, &format!("{name}_scale")).into_iter().map(f32::from_bits).collect();
        let values: Vec<f32> = words(&source, &name).into_iter().map(f32::from_bits).collect();
        let (groups, across) = (columns / 128, columns / 8);
        assert_eq!(zeros.len(), rows.div_ceil(8) * groups);
        let (mut signal, mut noise) = (0.0, 0.0);
        for (at, value) in values.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let code = codes[row * across + column / 8] >> (4 * (column % 8)) & 15;
            let zero = zeros[row / 8 * groups + column / 128] >> (4 * (row % 8)) & 15;
            let result = (code as f32 - zero as f32) * scales[row * groups + column / 128];
            signal += f64::from(*value).powi(2);
            noise += f64::from(result - value).powi(2);
        }
        assert!(noise < signal / 50.0, "{name}: {noise} {signal}");
    }
}
