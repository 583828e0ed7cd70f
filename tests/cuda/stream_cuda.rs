//! The adversarial stream in CUDA C++ is the one in Rust, code by code: its source, compiled by a C++ compiler of the host.

use std::{collections::BTreeMap, fmt::Write as _, path::Path, process::Command};

use crate::machine::{amount, cpp_compiler};
use tcnum::{
    inputs::stream,
    isa::{self, Chunk, Instruction},
};
use tcnum_engine::device::cuda::{STREAM, constants::constants};

const SEEDS: [u64; 2] = [1, 0xfedc_ba98_7654_3210];
/// First tiles of the ranges that are compared, each of `COUNT`.
const FIRST: [u64; 3] = [0, 12_345, 1 << 40];
const COUNT: usize = 20;

/// The main program, after one namespace for each form, which defines `digests()`.
const MAIN: &str = r#"
int main() {
    digests();
    return 0;
}
"#;

/// What each form prints: a digest of every tile.
const DIGESTS: &str = r#"
inline void digests(const char* form) {
    const StreamWord seeds[] = {SEEDS}, first[] = {FIRST};
    for (const StreamWord seed : seeds) for (const StreamWord from : first) for (int i = 0; i < COUNT; ++i) {
        const StreamTile t = stream_tile(seed, from + i);
        StreamWord digest = 0xcbf29ce484222325ull;
        const auto add = [&](StreamWord code) { digest = (digest ^ code) * 0x100000001b3ull; };
        add(t.regime);
        for (int row = 0; row < M; ++row) for (int s = 0; s < STORED_K; ++s) add(stream_a(t, row, s));
        for (int k = 0; k < K; ++k) for (int column = 0; column < N; ++column) add(stream_b(t, k, column));
        for (int row = 0; row < M; ++row) for (int column = 0; column < N; ++column) add(stream_c(t, row, column));
        if (STORED_K != K) {
            for (int row = 0; row < M; ++row) for (int s = 0; s < STORED_K; ++s) add(stream_position(t, row, s));
        }
#ifdef SCALE_BLOCK
        for (int row = 0; row < M; ++row) for (int b = 0; b < K / SCALE_BLOCK; ++b) add(stream_scale_a(t, row, b));
        for (int b = 0; b < K / SCALE_BLOCK; ++b) for (int c = 0; c < N; ++c) add(stream_scale_b(t, b, c));
#endif
        std::printf("%s %llu %llu %llx\n", form, seed, from + i, digest);
    }
}
"#;

/// One instruction of the table for each combination of formats and shape along k; of these every twelfth where a sample is enough.
fn forms() -> Vec<&'static Instruction> {
    let key = |i: &Instruction| {
        let formats = [i.a, i.b, i.c, i.d].map(|format| format.name);
        (formats, i.k, i.stored_k(), i.scale.map(|scale| (scale.format.name, scale.block)))
    };
    let mut forms = BTreeMap::new();
    for i in isa::all() {
        forms.entry(key(i)).or_insert(i);
    }
    forms.into_values().step_by(amount(24, 1)).collect()
}

/// The source that prints the digests of `forms`.
fn source(forms: &[&Instruction]) -> String {
    let mut text = String::from("#include <cstdio>\n#define __device__\n#define __forceinline__ inline\n");
    let list = |numbers: &[u64]| numbers.iter().map(|n| format!("{n}ull")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "#define SEEDS {}\n#define FIRST {}\n#define COUNT {COUNT}", list(&SEEDS), list(&FIRST));
    for (number, i) in forms.iter().enumerate() {
        let _ = writeln!(text, "namespace form{number} {{");
        let chunk = i.chunk().unwrap_or(Chunk { length: 1, kept: 1, together: 1, any_order: false });
        let shape = [("M", i.m), ("N", i.n), ("K", i.k), ("STORED_K", i.stored_k())];
        let chunks = [("CHUNK_LENGTH", chunk.length), ("CHUNK_KEPT", chunk.kept), ("CHUNK_TOGETHER", chunk.together)];
        let order = [("CHUNK_ANY_ORDER", chunk.any_order.into())];
        for (name, value) in shape.into_iter().chain(chunks).chain(order) {
            let _ = writeln!(text, "#undef {name}\n#define {name} {value}");
        }
        text += "#undef SCALE_BLOCK\n";
        for (name, format) in [("A", i.a), ("B", i.b), ("C", i.c), ("D", i.d)] {
            text += &constants(&format!("Format{name}"), format);
        }
        if let Some(scale) = i.scale {
            text += &constants("FormatScale", scale.format);
            let _ = writeln!(text, "#define SCALE_BLOCK {}", scale.block);
        }
        text += &STREAM.join("\n");
        text += DIGESTS;
        text += "}\n";
    }
    let calls: String = forms.iter().enumerate().map(|(n, i)| format!("form{n}::digests(\"{i}\");")).collect();
    text + &MAIN.replace("digests();", &calls)
}

/// The digests that the CUDA C++ source prints.
fn compiled(compiler: &str, forms: &[&Instruction], folder: &Path) -> String {
    let (source_file, program) = (folder.join("stream.cpp"), folder.join("stream"));
    std::fs::write(&source_file, source(forms)).unwrap();
    let options = ["-std=c++17", "-O0", "-fwrapv", "-w", "-o"];
    let output = Command::new(compiler).args(options).arg(&program).arg(&source_file).output().unwrap();
    assert!(output.status.success(), "the stream does not compile: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

/// The same digests from Rust.
fn digests(i: &Instruction) -> String {
    let mut text = String::new();
    for (seed, from) in SEEDS.into_iter().flat_map(|seed| FIRST.map(|from| (seed, from))) {
        let tiles = stream::tiles(i, seed, from, COUNT);
        for tile in 0..COUNT {
            let one = tiles.slice(tile, tile + 1);
            let regime = stream::regime(i, seed, from + tile as u64);
            let index = stream::Regime::ALL.iter().position(|other| *other == regime).unwrap() as u64;
            let codes = std::iter::once(index).chain(one.arrays().flat_map(|(_, codes)| codes.iter()));
            let digest =
                codes.fold(0xcbf2_9ce4_8422_2325u64, |digest, code| (digest ^ code).wrapping_mul(0x100_0000_01b3));
            let _ = writeln!(text, "{i} {seed} {} {digest:x}", from + tile as u64);
        }
    }
    text
}

#[test]
fn the_stream_in_cuda_is_the_stream_in_rust() {
    let forms = forms();
    let folder = tempfile::tempdir().unwrap();
    let Some(compiler) = cpp_compiler() else { return };
    let theirs = compiled(compiler, &forms, folder.path());
    let ours: String = forms.iter().map(|i| digests(i)).collect();
    let differing: Vec<_> = theirs.lines().zip(ours.lines()).filter(|(theirs, ours)| theirs != ours).collect();
    assert!(differing.is_empty(), "{} tiles differ: {:?}", differing.len(), &differing[..differing.len().min(5)]);
    assert_eq!(theirs.lines().count(), ours.lines().count());
    println!("{} tiles of each of {} forms agree", SEEDS.len() * FIRST.len() * COUNT, forms.len());
}
