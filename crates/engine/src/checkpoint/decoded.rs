//! The tensors of a checkpoint as arrays of f32, for commands that quantise or convert them.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use super::{
    find::TRUNCATED,
    open::Checkpoint,
    reader::{ReaderParts, TensorReader},
    tensor::{CheckpointTensor, TensorContent},
};
use crate::{
    Error, Result,
    array::{ArrayFile, ComputedArray, ComputedValues, Content, StreamedArray},
    base::visible::one_line,
    tensor::TensorPiece,
};

/// A checkpoint with its quantised tensors decoded.
#[derive(Debug)]
pub struct DecodedFile {
    /// The arrays: each quantised tensor is one of f32, by its name, in place of its codes and scales.
    pub file: ArrayFile,
    /// A sentence on the tensors that are decoded, and one on those that are not.
    pub notes: Vec<String>,
}

/// Values of a tensor, decoded when they are read.
#[derive(Debug)]
struct DecodedValues {
    checkpoint: Arc<Checkpoint>,
    tensor: usize,
    parts: Arc<ReaderParts>,
}

impl ComputedValues for DecodedValues {
    fn read(&self, first: usize, values: &mut [f32]) -> Result<()> {
        let tensor = &self.checkpoint.tensors[self.tensor];
        let reader = TensorReader::of_parts(&self.checkpoint.file, tensor, self.parts.clone());
        let columns = tensor.read_shape.last().copied().unwrap_or(1).max(1);
        let mut at = 0;
        while at < values.len() {
            let (row, column) = ((first + at) / columns, (first + at) % columns);
            let left = values.len() - at;
            let piece = if column == 0 && left >= columns {
                TensorPiece { rows: row..row + left / columns, columns: 0..columns }
            } else {
                let step = tensor.alignment();
                let end = (column + left).next_multiple_of(step).min(columns);
                TensorPiece { rows: row..row + 1, columns: column / step * step..end }
            };
            let read = reader.values(&piece, None)?;
            let wanted = read.iter().skip(column - piece.columns.start);
            let before = at;
            for (value, decoded) in values[at..].iter_mut().zip(wanted) {
                *value = *decoded as f32;
                at += 1;
            }
            if at == before {
                return Err(Error::request(format!("tensor '{}': its values end", one_line(&tensor.name))));
            }
        }
        Ok(())
    }
}

/// True for a type that no layout reads.
fn is_undecoded(tensor: &CheckpointTensor) -> bool {
    tensor.layouts.is_empty() && matches!(tensor.content, TensorContent::Opaque { .. })
}

/// Parts of a sentence, with `and` before the last.
fn listed(parts: &[String]) -> String {
    match parts {
        [before @ .., last] if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        parts => parts.concat(),
    }
}

impl Checkpoint {
    /// True for a matrix of narrow numbers without scales, which may lie in another file.
    fn is_unscaled(&self, tensor: &CheckpointTensor) -> bool {
        let TensorContent::Plain(array) = tensor.content else { return false };
        let kind = self.file.arrays[array].kind;
        let narrow = matches!(kind, Content::Format(format) if format.bits <= 8 && format.name != "e8m0");
        let narrow = narrow && kind.is_floating() && !self.parts.contains(&tensor.name);
        narrow && tensor.shape.len() > 1 && !self.file.metadata.contains_key("tcnum.format")
    }

    /// Refuses tensors that are quantised, wanted, and not decoded.
    fn refuse(&self, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
        // A truncated array of numbers is read up to its end by the commands; codes without their end are not seen there.
        let is_codes = |array: &StreamedArray| !array.kind.is_floating() && array.width < 8;
        let is_lost = |(name, what): &&(String, String)| {
            let cut = || self.file.arrays.iter().any(|array| array.name == *name && is_codes(array));
            wanted(name) && (what != TRUNCATED || cut())
        };
        let misfits = self.misfits.iter().filter(is_lost).map(|(name, what)| (name, what.clone()));
        let is_wanted =
            |tensor: &CheckpointTensor| wanted(&tensor.name) || tensor.arrays.iter().any(|name| wanted(name));
        let opaque = self.tensors.iter().filter_map(|tensor| match &tensor.content {
            TensorContent::Opaque { why, .. } if !is_undecoded(tensor) && is_wanted(tensor) => {
                Some((&tensor.name, format!("{}: {why}", tensor.layouts.join(" or "))))
            }
            _ => None,
        });
        let all: Vec<(&String, String)> = misfits.chain(opaque).collect();
        let Some((name, what)) = all.first() else { return Ok(()) };
        let others = match all.len() - 1 {
            0 => String::new(),
            1 => "; another tensor is not decoded either".into(),
            more => format!("; {more} other tensors are not decoded either"),
        };
        let (path, name) = (self.path().display(), one_line(name));
        Err(Error::request(format!(
            "{path}: '{name}' is not decoded: {what}{others}; leave such tensors out by ‹exclude›"
        )))
    }

    /// The checkpoint with its quantised tensors decoded; `wanted` says by name what the command is about.
    ///
    /// # Errors
    /// A wanted tensor that is quantised and cannot be decoded: an array that fits no layout, or parts that are not read.
    pub fn decoded(mut self, wanted: &dyn Fn(&str) -> bool) -> Result<DecodedFile> {
        if let Some(what) = &self.unknown {
            return Err(Error::request(format!(
                "{}: {what}; convert the file to f32 first, by `tcnum convert --from FILE.toml`",
                self.path().display()
            )));
        }
        self.refuse(wanted)?;
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        let (mut parts, mut computed, mut unread) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (number, tensor) in self.tensors.iter().enumerate() {
            if let TensorContent::Quantised(quantised) = &tensor.content {
                let readers = match ReaderParts::new(&self.file, tensor) {
                    Ok(readers) => Arc::new(readers),
                    Err(error) if wanted(&tensor.name) => {
                        let error = error.within(self.path().display());
                        return Err(Error::request(format!("{error}; leave such tensors out by ‹exclude›")));
                    }
                    Err(_) => {
                        unread.extend(tensor.arrays.iter().cloned());
                        continue;
                    }
                };
                parts.extend(tensor.arrays.iter().cloned());
                computed.insert(quantised.codes, (number, readers));
                *kinds.entry(tensor.layouts.join(" or ")).or_default() += 1;
            }
        }
        self.parts.extend(unread);
        self.file.arrays.iter_mut().for_each(|array| array.part = self.parts.contains(&array.name));
        let mut notes = Vec::new();
        if !kinds.is_empty() {
            let all: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} in {kind}")).collect();
            notes.push(format!("Quantised tensors are decoded first: {}.", listed(&all)));
        }
        match self.tensors.iter().filter(|tensor| self.is_unscaled(tensor) && wanted(&tensor.name)).count() {
            0 => {}
            1 => notes
                .push("1 tensor of 8 bits or fewer has no scales in the file: its numbers are read unscaled.".into()),
            count => {
                notes.push(format!(
                    "{count} tensors of 8 bits or fewer have no scales in the file: their numbers are read unscaled."
                ));
            }
        }
        if computed.is_empty() {
            return Ok(DecodedFile { file: self.file, notes });
        }
        parts.sort_unstable();
        let checkpoint = Arc::new(self);
        let arrays = computed.into_iter().map(|(codes, (number, parts))| {
            let tensor = &checkpoint.tensors[number];
            let path: PathBuf = checkpoint.file.path(&checkpoint.file.arrays[codes]).to_path_buf();
            let values = Box::new(DecodedValues { checkpoint: checkpoint.clone(), tensor: number, parts });
            let (name, shape, made_of) = (tensor.name.clone(), tensor.shape.clone(), tensor.arrays.len());
            (codes, ComputedArray { name, shape, path, made_of, values })
        });
        let keep = |name: &str| parts.binary_search_by(|part| part.as_str().cmp(name)).is_err();
        let file = checkpoint.file.with_computed(keep, arrays.collect());
        Ok(DecodedFile { file, notes })
    }
}
