//! The device `trace:FILE`, which answers recorded tiles with their recorded outputs.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    path::Path,
};

use super::{Device, DeviceName, Execution, ExecutionKind, Generation, Identity};
use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
    trace::{OPCODES, Trace},
};

/// A recording that replays its recorded tiles.
pub struct TraceDevice {
    identity: Identity,
    trace: Trace,
    /// Digest and number of each recorded tile, sorted; empty before the first execution.
    index: Vec<(u64, usize)>,
}

impl TraceDevice {
    /// Opens the recording in `file`.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn open(file: &str) -> Result<TraceDevice> {
        Ok(TraceDevice::new(Trace::read(Path::new(file))?, file))
    }

    /// Makes the device that replays `trace`, named `trace:{file}`.
    pub fn new(trace: Trace, file: &str) -> TraceDevice {
        let device = trace.metadata.get("device").map_or("an unnamed device", String::as_str);
        let description = format!(
            "recording of {} {} of {} on {device}",
            trace.count(),
            if trace.count() == 1 { "tile" } else { "tiles" },
            trace.instruction
        );
        let details = trace.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let generation = Generation::of_recording(&trace.metadata);
        let identity = Identity { name: DeviceName::Trace(file.into()), description, details, generation };
        TraceDevice { identity, trace, index: Vec::new() }
    }

    /// The recording.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Finds the recorded tile that equals tile `at` of `request`, both at the recorded shape.
    fn recorded(&self, request: &Tiles, at: usize) -> Result<usize> {
        let wanted = digest(request, at);
        let first = self.index.partition_point(|(digest, _)| *digest < wanted);
        let mut tile = None;
        for &(_, number) in self.index[first..].iter().take_while(|(digest, _)| *digest == wanted) {
            if !same(&self.trace.inputs, number, request, at) {
                continue;
            }
            let answer = |number| chunk(&self.trace.d, self.trace.count(), number);
            match tile {
                None => tile = Some(number),
                Some(earlier) if answer(earlier) == answer(number) => {}
                Some(earlier) => {
                    return Err(Error::request(format!(
                        "{}: tiles {earlier} and {number} have the same inputs and different recorded outputs, \
                         so tile {at} of the request has no unique answer",
                        self.identity.name
                    )));
                }
            }
        }
        tile.ok_or_else(|| self.not_recorded(at))
    }

    fn not_recorded(&self, at: usize) -> Error {
        Error::request(format!(
            "{}: tile {at} of the request was not recorded; a trace answers only its {} recorded tiles. \
             Use `tcnum verify --device {0}` to compare them with a model, or a device that computes for other inputs",
            self.identity.name,
            self.trace.count()
        ))
    }
}

impl Device for TraceDevice {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn prepare(&mut self, instruction: &Instruction) -> Result<Execution> {
        let t = &self.trace;
        if instruction.name != t.instruction.name {
            return Err(Error::unavailable(format!(
                "{} has recorded {}, not {instruction}",
                self.identity.name, t.instruction
            )));
        }
        if !t.is_whole() {
            return Err(Error::request(format!(
                "{} has recorded {} by {} outputs of the {} by {} of {instruction}, so it cannot answer whole \
                 tiles; `tcnum verify --device {0}` compares those with a model",
                self.identity.name, t.m, t.n, instruction.m, instruction.n
            )));
        }
        let opcodes = t.metadata.get(OPCODES).map_or("", String::as_str).split("; ");
        let opcodes = opcodes.filter(|opcode| !opcode.is_empty()).map(Into::into).collect();
        Ok(Execution { kind: ExecutionKind::Recorded, opcodes })
    }

    fn execute(&mut self, instruction: &Instruction, tiles: &Tiles) -> Result<Codes> {
        self.prepare(instruction)?;
        if self.index.is_empty() {
            let t = &self.trace;
            self.index = (0..t.count()).map(|number| (digest(&t.inputs, number), number)).collect();
            self.index.sort_unstable();
        }
        let part = self.trace.part();
        let request = tiles.resized(instruction, &part);
        let padded_request = request.resized(&part, instruction);
        let each = part.m * part.n;
        let mut d = Codes::zeros(instruction.d, 0);
        for at in 0..tiles.count {
            // Beyond the recorded k a request must be zero, as in the recording.
            if !same(&padded_request, at, tiles, at) {
                return Err(self.not_recorded(at));
            }
            let number = self.recorded(&request, at)?;
            d.extend(&self.trace.d.slice(number * each, (number + 1) * each));
        }
        Ok(d)
    }
}

/// Compares the operands of two tiles.
fn same(x: &Tiles, in_x: usize, y: &Tiles, in_y: usize) -> bool {
    let mut pairs = x.arrays().zip(y.arrays());
    pairs.all(|((_, a), (_, b))| chunk(a, x.count, in_x) == chunk(b, y.count, in_y))
}

/// The bytes of one of `count` equal parts.
fn chunk(codes: &Codes, count: usize, at: usize) -> &[u8] {
    let each = codes.as_bytes().len() / count;
    &codes.as_bytes()[at * each..(at + 1) * each]
}

/// Digest of one tile.
fn digest(tiles: &Tiles, at: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    tiles.arrays().for_each(|(_, codes)| chunk(codes, tiles.count, at).hash(&mut hasher));
    hasher.finish()
}
