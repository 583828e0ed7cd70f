//! Trace files: read without trust, written whole or not at all.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Component, Path, PathBuf},
};

use safetensors::Dtype;

use super::{
    CONTENTS, DESCRIPTION, INPUTS, INPUTS_DIGEST, QUESTIONS, RESERVED, Trace, TraceKind,
    header::{Declared, Header},
    part, printed,
};
use crate::{
    Error, Result,
    array::{LONGEST_HEADER, check_codes},
    base::{
        atomic::{self, DerivedKind},
        text,
    },
    format::{self, Format},
    isa::{self, Codes, Instruction, Tiles, operands},
};

impl Trace {
    /// Reads a trace file, written by any program: safetensors with the tensors and metadata of [`Trace`].
    ///
    /// The answers that a kit of one instruction has printed are read as well.
    ///
    /// Metadata `tcnum.inputs` may name another trace file that has the operands. Memory is bounded by the sizes of the
    /// files, whatever they declare.
    ///
    /// # Errors
    /// A request error that names the file and the missing, malformed or contradictory field.
    pub fn read(path: &Path) -> Result<Trace> {
        read(path, true).map_err(|message| Error::request(format!("trace {}: {message}", path.display())))
    }

    /// Reads the operands of a trace file, which may have no outputs.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn read_inputs(path: &Path) -> Result<Trace> {
        read(path, false).map_err(|message| Error::request(format!("trace {}: {message}", path.display())))
    }

    /// Writes the trace as a safetensors file, whole or not at all; the same trace gives the same bytes.
    ///
    /// # Errors
    /// A request error that names the path and the cause; metadata too long to be read again.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| error.within(path.display()))?;
        atomic::write(path, &bytes)
    }

    /// Writes the trace to a path that the user did not name; it replaces only traces of its kind.
    ///
    /// # Errors
    /// As [`Trace::write`]; another file at the path.
    pub fn write_derived(&self, path: &Path, kind: TraceKind) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| error.within(path.display()))?;
        atomic::write_derived(path, &kind, &bytes)
    }

    /// Encodes the trace as the bytes of its file.
    ///
    /// # Errors
    /// Metadata too long to be read again.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let i = &self.instruction;
        let derived = [
            "1".to_string(),
            i.name.clone(),
            i.a.name.into(),
            i.b.name.into(),
            i.c.name.into(),
            i.d.name.into(),
            self.m.to_string(),
            self.n.to_string(),
            self.k.to_string(),
        ];
        let mut header = Header { metadata: self.metadata.clone(), ..Header::default() };
        header.metadata.extend(RESERVED.map(String::from).into_iter().zip(derived));

        header.metadata.extend(isa::description(i).map(|text| (DESCRIPTION.to_string(), text)));

        // Widest codes come first, so that every array is aligned to its codes.
        let mut arrays = tensors(&self.part());
        arrays.retain(|(name, ..)| *name != "d" || !self.d.is_empty());
        arrays.sort_by_key(|(_, format, _)| std::cmp::Reverse(format.bytes()));
        let codes = |name: &str| {
            let mut stored = self.inputs.arrays().chain([("d", &self.d)]);
            stored.find(|(array, _)| *array == name).expect("a trace has the arrays of its instruction").1.as_bytes()
        };
        let mut offset = 0;
        for (name, format, [rows, columns]) in &arrays {
            let end = offset + codes(name).len();
            let shape = [self.count(), *rows, *columns];
            header
                .tensors
                .insert(name.to_string(), Declared { dtype: dtype(format), shape, data_offsets: (offset, end) });
            offset = end;
        }
        let mut bytes = header.to_bytes().map_err(Error::request)?;
        arrays.iter().for_each(|(name, ..)| bytes.extend_from_slice(codes(name)));
        Ok(bytes)
    }
}

/// Name, format, rows and columns of each tensor of a trace whose recorded shape is the instruction's.
fn tensors(part: &Instruction) -> Vec<(&'static str, &'static Format, [usize; 2])> {
    let d = ("d", part.d, [part.m, part.n]);
    operands(part).into_iter().map(|o| (o.name, o.format, [o.rows, o.columns])).chain([d]).collect()
}

/// The safetensors element type of a format's codes.
fn dtype(format: &Format) -> Dtype {
    match format.bytes() {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    }
}

impl DerivedKind for TraceKind {
    fn description(&self) -> String {
        match self {
            TraceKind::Recording => "a recording",
            TraceKind::Counterexamples => "a file of counterexamples",
        }
        .into()
    }

    fn is_of_kind(&self, path: &Path) -> bool {
        let contents = TraceFile::open(path).map(|file| match file.header.metadata.get(CONTENTS) {
            None => Some(TraceKind::Recording),
            Some(contents) => (contents != QUESTIONS).then_some(TraceKind::Counterexamples),
        });
        contents.is_ok_and(|kind| kind == Some(*self))
    }
}

/// An open trace file with a checked header.
struct TraceFile {
    file: File,
    header: Header,
    /// First byte of the data.
    data_start: u64,
}

impl TraceFile {
    fn open(path: &Path) -> std::result::Result<TraceFile, String> {
        let (mut file, length) = text::open(path)?;
        let header_bytes = header_length(&mut file, length)?;
        let json = read_bytes(&mut file, 8, header_bytes)?;
        let data_start = 8 + header_bytes;
        let header = Header::parse(&json, length - data_start)?;
        entry(&header.metadata, RESERVED[0])?;
        Ok(TraceFile { file, header, data_start })
    }

    /// Opens the file with the operands of the recording at `path`, if another file has them.
    fn shared_inputs(&self, path: &Path) -> std::result::Result<Option<TraceFile>, String> {
        let Some(name) = self.header.metadata.get(INPUTS) else { return Ok(None) };
        if let Some(tensor) = self.header.tensors.keys().find(|tensor| *tensor != "d") {
            return Err(format!(
                "tensor '{tensor}': the recording has operands, but its metadata '{INPUTS}' also names '{name}'"
            ));
        }
        let inputs = inputs_path(path, name)
            .and_then(|path| TraceFile::open(&path))
            .map_err(|message| format!("metadata '{INPUTS}': '{name}': {message}"))?;
        match inputs.header.metadata.contains_key(INPUTS) {
            true => Err(format!("metadata '{INPUTS}': '{name}' has no operands; name the file that has them")),
            false => Ok(Some(inputs)),
        }
    }

    /// Number of tiles, from the tensor `a`.
    fn count(&self) -> std::result::Result<usize, String> {
        match self.header.tensors.get("a").ok_or("tensor 'a' is missing")?.shape[0] {
            0 => Err("tensor 'a': there are no tiles (its first dimension is 0)".into()),
            count => Ok(count),
        }
    }

    /// Reads the codes of one tensor, which must have this format and shape.
    fn codes(&mut self, name: &str, format: &Format, shape: [usize; 3]) -> std::result::Result<Codes, String> {
        let declared = self.header.tensors.get(name).ok_or(format!("tensor '{name}' is missing"))?;
        check_declaration(name, declared, format, shape)?;
        let (start, end) = declared.data_offsets;
        let bytes = read_bytes(&mut self.file, self.data_start + start as u64, (end - start) as u64)?;
        let codes = Codes::from_bytes(format, bytes).ok_or(format!("tensor '{name}': a fraction of a code"))?;
        check_codes(&format!("tensor '{name}'"), format, &codes, 0).map_err(|error| error.to_string())?;
        Ok(codes)
    }
}

/// Resolves the file `name` of the recording at `path`: in the recording's folder or below.
fn inputs_path(path: &Path, name: &str) -> std::result::Result<PathBuf, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let recording = path.canonicalize().map_err(unreadable)?;
    let folder = recording.parent().expect("a file is in a folder");
    let stays = Path::new(name).components().all(|component| matches!(component, Component::Normal(_)));
    if stays {
        let resolved = folder.join(name).canonicalize().map_err(unreadable)?;
        // A link may still lead elsewhere.
        if resolved.starts_with(folder) {
            return Ok(resolved);
        }
    }
    Err("is not in the folder of the recording or below it".into())
}

/// Reads a trace; without `answers`, its operands alone.
fn read(path: &Path, answers: bool) -> std::result::Result<Trace, String> {
    if printed::is_printed(path) {
        return printed::read_one(path);
    }
    let mut recording = TraceFile::open(path)?;
    if answers && recording.header.metadata.get(CONTENTS).is_some_and(|contents| contents == QUESTIONS) {
        return Err("it has inputs without answers; `tcnum record --inputs` answers them".into());
    }
    let instruction = described_instruction(&recording.header.metadata)?;
    let [m, n, k] = described_shape(&recording.header.metadata, &instruction)?;
    let tensors = tensors(&part(&instruction, [m, n, k]));
    let mut shared = recording.shared_inputs(path)?;
    let count = shared.as_ref().unwrap_or(&recording).count()?;
    let mut names = recording.header.tensors.keys().chain(shared.iter().flat_map(|file| file.header.tensors.keys()));
    if let Some(name) = names.find(|name| !tensors.iter().any(|(known, ..)| known == name)) {
        return Err(format!("tensor '{name}': {instruction} has no such operand"));
    }
    let mut arrays = Vec::new();
    for (name, format, [rows, columns]) in tensors.into_iter().filter(|(name, ..)| answers || *name != "d") {
        let shape = [count, rows, columns];
        let codes = match &mut shared {
            Some(inputs) if name != "d" => {
                inputs.codes(name, format, shape).map_err(|message| format!("metadata '{INPUTS}': {message}"))
            }
            _ => recording.codes(name, format, shape),
        };
        arrays.push((name, codes?));
    }
    let d = arrays.pop_if(|(name, _)| *name == "d").map_or_else(|| Codes::zeros(instruction.d, 0), |(_, d)| d);
    let inputs = Tiles::from_arrays(count, arrays).expect("A, B and C are among the arrays");
    if let (Some(chunk), Some(positions)) = (instruction.chunk(), &inputs.positions)
        && !chunk.allows(positions.iter())
    {
        return Err(format!("tensor 'positions': each chunk of {instruction} has {}", chunk.rule()));
    }
    let metadata = recording.header.metadata;
    if shared.is_some() {
        let (recorded, digest) = (entry(&metadata, INPUTS_DIGEST)?, format!("{:016x}", inputs.digest()));
        if *recorded != digest {
            let name = entry(&metadata, INPUTS)?;
            return Err(format!("metadata '{INPUTS_DIGEST}': {recorded}, but the operands of '{name}' have {digest}"));
        }
    }
    let metadata: BTreeMap<_, _> = metadata.into_iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())).collect();
    Ok(Trace { m, n, k, inputs, d, metadata, instruction })
}

/// Reads the header's declared length, and checks it against the file's.
fn header_length(file: &mut File, file_bytes: u64) -> std::result::Result<u64, String> {
    if file_bytes < 8 {
        return Err(format!("header: the file has {file_bytes} bytes, too few for a safetensors file"));
    }
    let word = read_bytes(file, 0, 8)?;
    let declared = u64::from_le_bytes(word.try_into().expect("8 bytes were read"));
    if declared > file_bytes - 8 {
        return Err(format!(
            "header: its declared length {declared} is beyond the end of the file ({file_bytes} bytes); \
             not a safetensors file, or a truncated one"
        ));
    }
    if declared > LONGEST_HEADER as u64 {
        return Err(format!("header: its length {declared} exceeds {LONGEST_HEADER}, the most that is read"));
    }
    Ok(declared)
}

/// Reads `length` bytes from `start`, both within the file.
fn read_bytes(file: &mut File, start: u64, length: u64) -> std::result::Result<Vec<u8>, String> {
    let io = |error: std::io::Error| format!("cannot be read: {error}");
    let length = usize::try_from(length).map_err(|_| "is larger than the address space".to_string())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).map_err(|_| format!("does not fit into memory ({length} bytes)"))?;
    bytes.resize(length, 0);
    file.seek(SeekFrom::Start(start)).map_err(io)?;
    file.read_exact(&mut bytes).map_err(io)?;
    Ok(bytes)
}

fn entry<'a>(metadata: &'a BTreeMap<String, String>, key: &str) -> std::result::Result<&'a str, String> {
    metadata.get(key).map(String::as_str).ok_or_else(|| format!("metadata '{key}' is missing"))
}

/// Finds the instruction that the metadata names, and checks its formats against the named ones.
fn described_instruction(metadata: &BTreeMap<String, String>) -> std::result::Result<Instruction, String> {
    let version = entry(metadata, "tcnum.trace")?;
    if version != "1" {
        return Err(format!("metadata 'tcnum.trace': version '{version}' is unknown; version 1 is read"));
    }
    let named = |key: &str, error: Error| format!("metadata '{key}': {error}");
    let i = match metadata.get(DESCRIPTION) {
        None => isa::find(entry(metadata, "instruction")?).map_err(|e| named("instruction", e))?,
        Some(text) => isa::described(text, &format!("metadata '{DESCRIPTION}'"), false).map_err(|e| e.to_string())?,
    };
    if metadata.get(DESCRIPTION).is_some() && entry(metadata, "instruction")? != i.name {
        return Err(format!("metadata '{DESCRIPTION}' describes {i}, which is not the instruction"));
    }
    for (key, expected) in [("a", i.a), ("b", i.b), ("c", i.c), ("d", i.d)] {
        // A user's own format is not in the table.
        let name = entry(metadata, key)?;
        if name == expected.name {
            continue;
        }
        let format = format::find(name).map_err(|e| named(key, e))?;
        if format != expected {
            return Err(format!("metadata '{key}': {format}, but {i} has {expected}"));
        }
    }
    Ok(i)
}

/// The recorded m, n and k, from 1 to the instruction's.
fn described_shape(
    metadata: &BTreeMap<String, String>,
    instruction: &Instruction,
) -> std::result::Result<[usize; 3], String> {
    let extent = |key: &str, most: usize| {
        let text = entry(metadata, key)?;
        text.parse().ok().filter(|extent: &usize| (1..=most).contains(extent)).ok_or_else(|| {
            format!("metadata '{key}': '{text}' is not a whole number from 1 to {most}, the {key} of {instruction}")
        })
    };
    let [m, n, k] = [extent("m", instruction.m)?, extent("n", instruction.n)?, extent("k", instruction.k)?];
    let unit =
        instruction.chunk().map_or(1, |chunk| chunk.length).max(instruction.scale.map_or(1, |scale| scale.block));
    if !k.is_multiple_of(unit) {
        return Err(format!("metadata 'k': {k} is not a multiple of {unit}, as the operands of {instruction} have it"));
    }
    Ok([m, n, k])
}

fn check_declaration(
    name: &str,
    declared: &Declared,
    format: &Format,
    shape: [usize; 3],
) -> std::result::Result<(), String> {
    if declared.dtype != dtype(format) {
        return Err(format!(
            "tensor '{name}': dtype {:?}, but {format} codes are stored as {:?}",
            declared.dtype,
            dtype(format)
        ));
    }
    if declared.shape != shape {
        return Err(format!(
            "tensor '{name}': shape {:?}, but tensor 'a' and metadata 'm', 'n', 'k' make it {shape:?}",
            declared.shape
        ));
    }
    Ok(())
}
