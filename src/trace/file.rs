//! Trace files: reading them without trust, writing them whole or not at all.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use safetensors::Dtype;

use super::{
    CONTENTS, DESCRIPTION, RESERVED, Trace, TraceKind,
    header::{Declared, Header},
    part,
};
use crate::{
    Error, Result,
    array::LONGEST_HEADER,
    base::sorting,
    base::{
        atomic::{self, DerivedKind},
        text,
    },
    format::{self, Format},
    isa::{self, Codes, Instruction, Tiles, operands},
};

impl Trace {
    /// Reads a trace file: safetensors, the tensors and metadata of [`Trace`], written by any program.
    ///
    /// No more memory is asked for than the file has bytes, whatever it declares.
    ///
    /// # Errors
    /// A request error that names the file and the field that is missing, malformed or contradicts another.
    pub fn read(path: &Path) -> Result<Trace> {
        read(path).map_err(|message| Error::request(format!("trace {}: {message}", path.display())))
    }

    /// Writes the trace as a safetensors file, whole or not at all: the same trace gives the same bytes.
    ///
    /// # Errors
    /// A request error that names the path and the cause; metadata that are too long to be read again.
    pub fn write(&self, path: &Path) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| error.within(path.display()))?;
        atomic::write(path, &bytes)
    }

    /// Writes the trace as [`Trace::write`] to a path that the user did not name: nothing but a trace of this kind is replaced.
    ///
    /// # Errors
    /// As [`Trace::write`]; something else at the path.
    pub(crate) fn write_derived(&self, path: &Path, kind: TraceKind) -> Result<()> {
        let bytes = self.to_bytes().map_err(|error| error.within(path.display()))?;
        atomic::write_derived(path, &kind, &bytes)
    }

    /// The bytes of the trace's file.
    ///
    /// # Errors
    /// Metadata that are too long to be read again.
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

        // Widest codes first, so that every array is aligned to its codes.
        let mut arrays = tensors(&self.part());
        sorting::by_key(&mut arrays, |(_, format, _)| std::cmp::Reverse(format.bytes()));
        let codes = |name: &str| {
            let mut found = self.inputs.arrays().chain([("d", &self.d)]);
            found.find(|(own, _)| *own == name).expect("a trace has the arrays of its instruction").1.as_bytes()
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

/// Name, format, and rows and columns of a tile, of each tensor of a trace whose recorded shape is the instruction's.
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

    fn is_own(&self, path: &Path) -> bool {
        let contents = read_header(path).map(|(_, header, _)| match header.metadata.get(CONTENTS) {
            None => TraceKind::Recording,
            Some(_) => TraceKind::Counterexamples,
        });
        contents.is_ok_and(|kind| kind == *self)
    }
}

/// The file, its header, and where its data start.
fn read_header(path: &Path) -> std::result::Result<(File, Header, u64), String> {
    let (mut file, length) = text::open(path)?;
    let header_bytes = header_length(&mut file, length)?;
    let json = read_bytes(&mut file, 8, header_bytes)?;
    let data_start = 8 + header_bytes;
    let header = Header::parse(&json, length - data_start)?;
    entry(&header.metadata, RESERVED[0])?;
    Ok((file, header, data_start))
}

fn read(path: &Path) -> std::result::Result<Trace, String> {
    let (mut file, header, data_start) = read_header(path)?;

    let instruction = described_instruction(&header.metadata)?;
    let [m, n, k] = described_shape(&header.metadata, &instruction)?;
    let tensors = tensors(&part(&instruction, [m, n, k]));
    let count = header.tensors.get("a").ok_or("tensor 'a' is missing")?.shape[0];
    if count == 0 {
        return Err("tensor 'a': there are no tiles (its first dimension is 0)".into());
    }
    if let Some(name) = header.tensors.keys().find(|name| !tensors.iter().any(|(known, ..)| known == name)) {
        return Err(format!("tensor '{name}': {instruction} has no such operand"));
    }
    let mut arrays = Vec::new();
    for (name, format, [rows, columns]) in tensors {
        let declared = header.tensors.get(name).ok_or(format!("tensor '{name}' is missing"))?;
        check_declaration(name, declared, format, [count, rows, columns])?;
        let (start, end) = declared.data_offsets;
        let bytes = read_bytes(&mut file, data_start + start as u64, (end - start) as u64)?;
        arrays.push((name, checked_codes(name, format, bytes)?));
    }
    let (_, d) = arrays.pop().expect("D is the last array");
    let inputs = Tiles::from_arrays(count, arrays).expect("A, B and C are among the arrays");
    if let (Some(chunk), Some(positions)) = (instruction.chunk(), &inputs.positions)
        && !chunk.allows(positions.iter())
    {
        return Err(format!("tensor 'positions': each chunk of {instruction} has {}", chunk.rule()));
    }
    let metadata = sorting::map(header.metadata.into_iter().filter(|(key, _)| !RESERVED.contains(&key.as_str())));
    Ok(Trace { m, n, k, inputs, d, metadata, instruction })
}

/// The header's declared length, checked against the file's.
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

/// `length` bytes from `start`, both known to lie within the file.
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

/// The instruction that the metadata names, its formats checked against those that the metadata names too.
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
        // A user's own format is not one of the table.
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

/// The recorded m, n and k: between 1 and the instruction's.
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

/// The codes in `bytes`, refused if one has bits that the format lacks.
fn checked_codes(name: &str, format: &Format, bytes: Vec<u8>) -> std::result::Result<Codes, String> {
    let codes = Codes::from_bytes(format, bytes).ok_or(format!("tensor '{name}': a fraction of a code"))?;
    if format.bits as usize != 8 * codes.width()
        && let Some(at) = codes.iter().position(|code| code > format.code_mask())
    {
        return Err(format!(
            "tensor '{name}': code {:#x} at position {at} has more than the {} bits of {format}",
            codes.get(at),
            format.bits
        ));
    }
    Ok(codes)
}
