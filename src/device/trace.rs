//! The device `trace:FILE`: answers recorded tiles with their recorded outputs.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash, Hasher},
    path::Path,
};

use super::{Device, Execution, ExecutionKind, Identity};
use crate::{
    Error, Result,
    isa::{Codes, Instruction, Tiles},
    trace::{OPCODES, Trace},
};

/// A recording that replays only its recorded tiles.
pub struct TraceDevice {
    identity: Identity,
    trace: Trace,
    /// Digest and number of each recorded tile, sorted; empty until the first execution.
    index: Vec<(u64, usize)>,
}

impl TraceDevice {
    /// The recording in `file`.
    ///
    /// # Errors
    /// As [`Trace::read`].
    pub fn open(file: &str) -> Result<TraceDevice> {
        Ok(TraceDevice::new(Trace::read(Path::new(file))?, file))
    }

    /// A device that replays `trace`, known as `trace:{file}`.
    pub fn new(trace: Trace, file: &str) -> TraceDevice {
        let device = trace.metadata.get("device").map_or("an unnamed device", String::as_str);
        let description = format!(
            "recording of {} {} of {} on {device}",
            trace.count,
            if trace.count == 1 { "tile" } else { "tiles" },
            trace.instruction
        );
        let details = trace.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let identity = Identity { name: format!("trace:{file}"), description, details };
        TraceDevice { identity, trace, index: Vec::new() }
    }

    /// The recording.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The number of the recorded tile that equals tile `at` of `request`, both at the recorded shape.
    fn recorded(&self, request: &Tiles, at: usize) -> Result<usize> {
        let wanted = digest(operands(request), request.count, at);
        let first = self.index.partition_point(|(digest, _)| *digest < wanted);
        let mut found = None;
        for &(_, number) in self.index[first..].iter().take_while(|(digest, _)| *digest == wanted) {
            let mut pairs = inputs(&self.trace).into_iter().zip(operands(request));
            if !pairs.all(|(x, y)| chunk(x, self.trace.count, number) == chunk(y, request.count, at)) {
                continue;
            }
            let answer = |number| chunk(&self.trace.d, self.trace.count, number);
            match found {
                None => found = Some(number),
                Some(earlier) if answer(earlier) == answer(number) => {}
                Some(earlier) => {
                    return Err(Error::request(format!(
                        "{}: tiles {earlier} and {number} have the same inputs and different recorded outputs, \
                         so there is no one answer to tile {at} of the request",
                        self.identity.name
                    )));
                }
            }
        }
        found.ok_or_else(|| self.not_recorded(at))
    }

    fn not_recorded(&self, at: usize) -> Error {
        Error::request(format!(
            "{}: tile {at} of the request was not recorded; a trace replays only its recorded tiles ({} of them). \
             `tcnum verify --device {0}` compares those with a model; for other inputs choose a device that computes",
            self.identity.name, self.trace.count
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
            return Err(Error::request(format!(
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
            self.index = (0..t.count).map(|number| (digest(inputs(t), t.count, number), number)).collect();
            self.index.sort_unstable();
        }
        let (m, n, k) = (self.trace.m, self.trace.n, self.trace.k);
        let a = tiles.a.resized((m, instruction.k), (m, k));
        let b = tiles.b.resized((instruction.k, n), (k, n));
        let arrays = [("a", a), ("b", b), ("c", tiles.c.clone())];
        let request = Tiles::from_arrays(tiles.count, arrays).expect("A, B and C");
        let whole_a = request.a.resized((m, k), (m, instruction.k));
        let whole_b = request.b.resized((k, n), (instruction.k, n));
        let mut d = Codes::zeros(instruction.d, 0);
        for at in 0..tiles.count {
            let same = |x: &Codes, y: &Codes| chunk(x, tiles.count, at) == chunk(y, tiles.count, at);
            // Beyond the recorded k a request must be zero, as the recording was.
            if !same(&whole_a, &tiles.a) || !same(&whole_b, &tiles.b) {
                return Err(self.not_recorded(at));
            }
            let number = self.recorded(&request, at)?;
            d.extend(&self.trace.d.slice(number * m * n, (number + 1) * m * n));
        }
        Ok(d)
    }
}

fn inputs(trace: &Trace) -> [&Codes; 3] {
    [&trace.a, &trace.b, &trace.c]
}

fn operands(tiles: &Tiles) -> [&Codes; 3] {
    [&tiles.a, &tiles.b, &tiles.c]
}

/// The bytes of one of `count` equal parts.
fn chunk(codes: &Codes, count: usize, at: usize) -> &[u8] {
    let each = codes.as_bytes().len() / count;
    &codes.as_bytes()[at * each..(at + 1) * each]
}

/// A digest of one of `count` tiles.
fn digest(inputs: [&Codes; 3], count: usize, at: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    inputs.into_iter().for_each(|codes| chunk(codes, count, at).hash(&mut hasher));
    hasher.finish()
}
