//! Trace files that are truncated, mislabelled or hostile: one message that names the file and the field, status 2.

use std::{fs, path::Path};

use proptest::prelude::*;
use tcnum::Error;
use tcnum_engine::trace::Trace;

/// A well-formed header: one tile of m = n = 1 and k = 2, with A in bytes 0..4, B in 4..8, C in 8..12, D in 12..16.
const HEADER: &str = r#"{"__metadata__":{"tcnum.trace":"1","instruction":"mma.m16n8k16.f32.f16.f16.f32","a":"f16","b":"f16","c":"f32","d":"f32","m":"1","n":"1","k":"2"},"a":{"dtype":"U16","shape":[1,1,2],"data_offsets":[0,4]},"b":{"dtype":"U16","shape":[1,2,1],"data_offsets":[4,8]},"c":{"dtype":"U32","shape":[1,1,1],"data_offsets":[8,12]},"d":{"dtype":"U32","shape":[1,1,1],"data_offsets":[12,16]}}"#;

fn file(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn read(bytes: &[u8]) -> Result<Trace, Error> {
    let file = tempfile::NamedTempFile::with_suffix(".safetensors").unwrap();
    fs::write(file.path(), bytes).unwrap();
    Trace::read(file.path())
}

/// The message for a file that must be refused, checked to be about the request and to name the file.
fn refusal(bytes: &[u8]) -> String {
    let error = read(bytes).expect_err("the file is refused");
    assert_eq!(error.exit_status(), 2);
    assert!(error.to_string().starts_with("trace "), "{error}");
    assert!(error.to_string().contains(".safetensors: "), "{error}");
    error.to_string()
}

#[test]
fn the_file_that_the_others_vary_is_accepted() {
    let trace = read(&file(HEADER, &[0; 16])).unwrap();
    assert_eq!((trace.m, trace.n, trace.k, trace.count()), (1, 1, 2, 1));
}

#[test]
fn a_header_that_contradicts_itself_is_refused_by_field() {
    // What is replaced in the header, by what, and what the message must say.
    let cases = [
        (r#""tcnum.trace":"1","#, "", "metadata 'tcnum.trace' is missing"),
        (r#""tcnum.trace":"1""#, r#""tcnum.trace":"2""#, "metadata 'tcnum.trace': version '2' is unknown"),
        (r#""tcnum.trace":"1""#, r#""tcnum.trace":1"#, "__metadata__ 'tcnum.trace'"),
        (r#""instruction":"mma.m16n8k16.f32.f16.f16.f32","#, "", "metadata 'instruction' is missing"),
        ("mma.m16n8k16.f32.f16", "mma.m16n8k99.f32.f16", "metadata 'instruction': unknown instruction"),
        ("mma.m16n8k16.f32.f16", "mma.sp.m16n8k16.f32.f16", "metadata 'k': 2 is not a multiple of 4"),
        (
            r#""d":{"dtype""#,
            r#""positions":{"dtype""#,
            "tensor 'positions': mma.m16n8k16.f32.f16.f16.f32 has no such operand",
        ),
        (r#""a":"f16","#, "", "metadata 'a' is missing"),
        (r#""a":"f16""#, r#""a":"f17""#, "metadata 'a': unknown format 'f17'"),
        (r#""b":"f16""#, r#""b":"bf16""#, "metadata 'b': bf16, but mma.m16n8k16.f32.f16.f16.f32 has f16"),
        (r#""d":"f32","m""#, r#""d":"f16","m""#, "metadata 'd': f16"),
        (r#""m":"1""#, r#""m":"17""#, "metadata 'm': '17' is not a whole number from 1 to 16"),
        (r#""m":"1""#, r#""m":"0""#, "metadata 'm'"),
        (r#""m":"1""#, r#""m":"-1""#, "metadata 'm'"),
        (r#""m":"1""#, r#""m":"99999999999999999999999""#, "metadata 'm'"),
        (r#""n":"1","#, "", "metadata 'n' is missing"),
        (r#""k":"2""#, r#""k":"1""#, "tensor 'a': shape [1, 1, 2]"),
        (r#""k":"2""#, r#""k":"2","k":"2""#, "__metadata__ 'k' appears twice"),
        (r#""c":{"dtype":"U32","shape":[1,1,1]"#, r#""c":{"dtype":"F32","shape":[1,1,1]"#, "tensor 'c': dtype F32"),
        (r#""c":{"dtype":"U32","shape":[1,1,1]"#, r#""c":{"dtype":"I32","shape":[1,1,1]"#, "tensor 'c': dtype I32"),
        (r#""c":{"dtype":"U32""#, r#""c":{"dtype":"U33""#, "tensor 'c': unknown variant `U33`"),
        (r#"[1,1,2]"#, r#"[1,2,1]"#, "tensor 'a': shape [1, 2, 1]"),
        (r#"[1,2,1]"#, r#"[1,1,2]"#, "tensor 'b': shape [1, 1, 2]"),
        (r#"[1,2,1]"#, r#"[2,1,1]"#, "tensor 'b': shape [2, 1, 1]"),
        (r#"[1,1,2]"#, r#"[1,2]"#, "tensor 'a': invalid length 2"),
        (r#"[1,1,2]"#, r#"[1,1,1,2]"#, "tensor 'a'"),
        (r#"[1,1,2]"#, r#"[1,1,-2]"#, "tensor 'a'"),
        (r#"[1,1,2]"#, r#"[4294967296,4294967296,2]"#, "data_offsets"),
        (r#"[1,1,2],"data_offsets":[0,4]"#, r#"[1,1,3],"data_offsets":[0,4]"#, "data_offsets"),
        (r#"[0,4]"#, r#"[0,5]"#, "data_offsets"),
        (r#"[4,8]"#, r#"[2,6]"#, "data_offsets: invalid offset for tensor `b`"),
        (r#"[4,8]"#, r#"[0,4]"#, "data_offsets: invalid offset for tensor"),
        (r#"[4,8]"#, r#"[8,4]"#, "data_offsets"),
        (r#"[12,16]"#, r#"[16,20]"#, "data_offsets: invalid offset for tensor `d`"),
        (r#"[12,16]"#, r#"[12,18446744073709551615]"#, "data_offsets"),
        (r#""d":{"dtype""#, r#""e":{"dtype""#, "tensor 'e' is not one of a, b, c, d"),
        (r#""d":{"dtype""#, r#""c":{"dtype""#, "tensor 'c' appears twice"),
        (r#","d":{"dtype":"U32","shape":[1,1,1],"data_offsets":[12,16]}"#, "", "data_offsets: the header declares 12"),
        (r#"{"__metadata__""#, r#"{"__metadata__":{},"__metadata__""#, "__metadata__ appears twice"),
        (r#"{"__metadata__":{"#, r#"{"__metadata__":[{"#, "header"),
    ];
    for (from, to, expected) in cases {
        assert!(HEADER.contains(from), "{from}");
        let message = refusal(&file(&HEADER.replacen(from, to, 1), &[0; 16]));
        assert!(message.contains(expected), "{from} -> {to}: {message}");
    }
}

#[test]
fn an_array_that_is_missing_is_named() {
    let header = HEADER.replace(r#","d":{"dtype":"U32","shape":[1,1,1],"data_offsets":[12,16]}"#, "");
    assert!(refusal(&file(&header, &[0; 12])).contains("tensor 'd' is missing"));
    let only_metadata = format!("{}}}", &HEADER[..HEADER.find(r#","a":{"dtype""#).unwrap()]);
    assert!(refusal(&file(&only_metadata, &[])).contains("tensor 'a' is missing"));
}

#[test]
fn no_tiles_are_refused() {
    let shapes = HEADER.replace("[1,1,2]", "[0,1,2]").replace("[1,2,1]", "[0,2,1]").replace("[1,1,1]", "[0,1,1]");
    let header = ["[0,4]", "[4,8]", "[8,12]", "[12,16]"].iter().fold(shapes, |h, offsets| h.replace(offsets, "[0,0]"));
    assert!(refusal(&file(&header, &[])).contains("there are no tiles"));
}

/// The bytes of a recording like that of `HEADER`, with D in bytes 12 to 16 of `data`, whose operands are in the file `name`.
fn sharing(name: &str, digest: &str, data: &[u8; 16]) -> Vec<u8> {
    let metadata = HEADER[..HEADER.find(r#"},"a":{"dtype""#).unwrap()].to_string();
    let d = r#""d":{"dtype":"U32","shape":[1,1,1],"data_offsets":[0,4]}"#;
    let header = format!(r#"{metadata},"tcnum.inputs":"{name}","tcnum.inputs.digest":"{digest}"}},{d}}}"#);
    file(&header, &data[12..])
}

/// A folder with `rest.safetensors`, a recording with operands of its own, and a folder below with a copy of it; and these operands'
/// digest.
fn folder_with_operands(data: &[u8; 16]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    for name in ["rest.safetensors", "below/rest.safetensors"] {
        fs::write(folder.path().join(name), file(HEADER, data)).unwrap();
    }
    let trace = Trace::read(&folder.path().join("rest.safetensors")).unwrap();
    (folder, format!("{:016x}", trace.inputs.digest()))
}

/// Sixteen different bytes.
const DATA: [u8; 16] = *b"0123456789abcdef";

#[test]
fn a_recording_with_the_operands_of_another_reads_as_one_with_its_own() {
    let (folder, digest) = folder_with_operands(&DATA);
    let at = |name: &str| folder.path().join(name);
    let changed = *b"0123456789abwxyz";
    fs::write(at("whole.safetensors"), file(HEADER, &changed)).unwrap();
    let unshared = Trace::read(&at("whole.safetensors")).unwrap();
    for name in ["rest.safetensors", "below/rest.safetensors"] {
        fs::write(at("shared.safetensors"), sharing(name, &digest, &changed)).unwrap();
        let shared = Trace::read(&at("shared.safetensors")).unwrap();
        assert_eq!(shared, unshared, "{name}");
        // What is written of it stands for itself.
        assert_eq!(shared.to_bytes().unwrap(), unshared.to_bytes().unwrap());
    }
}

#[test]
fn operands_that_are_missing_elsewhere_or_others_are_refused() {
    let (folder, digest) = folder_with_operands(&DATA);
    let at = |name: &str| folder.path().join("below").join(name);
    let outside = folder.path().join("rest.safetensors").display().to_string();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, at("link.safetensors")).unwrap();
    fs::write(at("shared.safetensors"), sharing("rest.safetensors", &digest, &DATA)).unwrap();
    let wider = HEADER.replace(r#""k":"2""#, r#""k":"4""#).replace("[1,1,2]", "[1,1,4]").replace("[1,2,1]", "[1,4,1]");
    let wider = wider.replace("[4,8]", "[8,16]").replace("[0,4]", "[0,8]").replace("[12,16]", "[20,24]");
    fs::write(at("wider.safetensors"), file(&wider.replace("[8,12]", "[16,20]"), &[0; 24])).unwrap();
    Trace::read(&at("wider.safetensors")).unwrap();
    fs::write(at("text.safetensors"), "operands").unwrap();
    let elsewhere = "is not in the folder of the recording or below it";
    // What the recording names, and what the message must say.
    let cases = [
        ("absent.safetensors", "'absent.safetensors': cannot be read"),
        (".", elsewhere),
        ("", "'': is not a regular file"),
        ("../rest.safetensors", elsewhere),
        ("../below/rest.safetensors", elsewhere),
        (&outside, elsewhere),
        #[cfg(unix)]
        ("link.safetensors", elsewhere),
        ("text.safetensors", "'text.safetensors': header: "),
        ("shared.safetensors", "'shared.safetensors' has no operands"),
        ("wider.safetensors", "tensor 'a': shape [1, 1, 4]"),
    ];
    let refused = |bytes: &[u8], expected: &str| {
        fs::write(at("t.safetensors"), bytes).unwrap();
        let error = Trace::read(&at("t.safetensors")).expect_err(expected);
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains("t.safetensors: "), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    for (name, expected) in cases {
        refused(&sharing(name, &digest, &DATA), expected);
    }
    refused(&sharing("t.safetensors", &digest, &DATA), "'t.safetensors' has no operands");
    refused(
        &sharing("rest.safetensors", "0123", &DATA),
        &format!("metadata 'tcnum.inputs.digest': 0123, but the operands of 'rest.safetensors' have {digest}"),
    );
    let both = HEADER.replace(r#""k":"2""#, r#""k":"2","tcnum.inputs":"rest.safetensors""#);
    refused(
        &file(&both, &DATA),
        "tensor 'a': the recording has operands, but its metadata 'tcnum.inputs' also names 'rest.safetensors'",
    );
}

#[test]
fn a_declared_length_is_not_believed() {
    for length in [u64::MAX, 1 << 62, (HEADER.len() + 17) as u64] {
        let mut bytes = file(HEADER, &[0; 16]);
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        assert!(refusal(&bytes).contains("header: its declared length"));
    }
    // A header of which nobody reads as much, in a file that has it (and takes no room on disk).
    let long = tempfile::NamedTempFile::with_suffix(".safetensors").unwrap();
    fs::write(long.path(), 100_000_008u64.to_le_bytes()).unwrap();
    long.as_file().set_len(200_000_000).unwrap();
    let message = Trace::read(long.path()).unwrap_err().to_string();
    assert!(message.contains("the most that is read"), "{message}");
    let nested = "[".repeat(100_000);
    assert!(refusal(&file(&format!(r#"{{"a":{nested}"#), &[])).contains("header"));
    // 2^60 tiles in a file of a few hundred bytes.
    let header = HEADER.replace("[1,1,2]", "[1152921504606846976,1,2]");
    assert!(refusal(&file(&header, &[0; 16])).contains("data_offsets"));
}

#[test]
fn codes_wider_than_their_format_are_refused() {
    let header = HEADER
        .replace("mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k32.f32.e3m2.e2m1.f32.f8f6f4")
        .replace(r#""a":"f16","b":"f16""#, r#""a":"e3m2","b":"e2m1""#)
        .replace(r#""U16","shape":[1,1,2],"data_offsets":[0,4]"#, r#""U8","shape":[1,1,2],"data_offsets":[0,2]"#)
        .replace(r#""U16","shape":[1,2,1],"data_offsets":[4,8]"#, r#""U8","shape":[1,2,1],"data_offsets":[2,4]"#)
        .replace("[8,12]", "[4,8]")
        .replace("[12,16]", "[8,12]");
    let file = |operands: [u8; 4]| file(&header, &[&operands[..], &[0xff; 8]].concat());
    assert!(read(&file([0x3f, 0x3f, 0xf, 0xf])).is_ok());
    let message = refusal(&file([0, 0x40, 0, 0]));
    assert!(message.contains("tensor 'a': code 0x40 at position 1 has more than the 6 bits of e3m2"), "{message}");
    let message = refusal(&file([0, 0, 0x10, 0]));
    assert!(message.contains("tensor 'b': code 0x10 at position 0 has more than the 4 bits of e2m1"), "{message}");
}

#[test]
fn every_truncation_and_every_extension_is_refused() {
    let recording = file(HEADER, &[0; 16]);
    for length in 0..recording.len() {
        refusal(&recording[..length]);
    }
    refusal(&[&recording[..], &[0]].concat());
}

#[test]
fn what_is_no_file_is_refused() {
    for path in ["/nowhere/trace.safetensors", "/dev/zero", env!("CARGO_MANIFEST_DIR")] {
        let error = Trace::read(Path::new(path)).unwrap_err();
        assert_eq!(error.exit_status(), 2);
        assert!(error.to_string().contains(path), "{error}");
    }
}

proptest! {
    /// Whatever bytes change, reading gives a trace of the declared size or a refusal, and never a panic.
    #[test]
    fn damaged_files_never_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = file(HEADER, &[0x3c; 16]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        match read(&bytes) {
            Ok(trace) => prop_assert_eq!(trace.d.len(), trace.count() * trace.m * trace.n),
            Err(error) => prop_assert_eq!(error.exit_status(), 2),
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (answer, answered) = std::sync::mpsc::channel();
    std::thread::spawn(move || answer.send(Trace::read(&pipe).map(|_| ()).unwrap_err().to_string()));
    let message = answered.recv_timeout(std::time::Duration::from_secs(300)).expect("an answer");
    assert!(message.contains("is not a regular file"), "{message}");
}
