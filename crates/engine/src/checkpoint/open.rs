//! An open checkpoint.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{
    config::Config,
    converted::ConvertedContent,
    find,
    layout::Layout,
    reader::TensorReader,
    tensor::{CheckpointTensor, Reading, TensorContent},
};
use crate::{
    Error, Result,
    array::ArrayFile,
    base::visible::one_line,
    format::Format,
    tensor::{ArrayRole, TensorPiece},
};

/// The tensors of a file, a folder or an index of files.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    /// Its arrays.
    pub file: ArrayFile,
    /// Tensors, by name.
    pub tensors: Vec<CheckpointTensor>,
    /// Tensors whose arrays fit no layout, and why.
    pub misfits: Vec<(String, String)>,
    /// The reason why the codes of a file of this program have no meaning here.
    pub(crate) unknown: Option<String>,
    /// Arrays that are no tensors by themselves: codes that are not decoded, and scales next to codes.
    pub(crate) parts: BTreeSet<String>,
    /// Notes on the description of the model, if no layout has what it names.
    pub(crate) notes: Vec<String>,
}

impl Checkpoint {
    /// Opens the checkpoint at `path` and finds the layout of each tensor.
    ///
    /// With a layout, quantised tensors are read by it alone. A format gives a meaning to codes that the file does not name.
    ///
    /// # Errors
    /// As [`ArrayFile::open`]; a description of the model that cannot be read; codes without a format.
    pub fn open(path: &Path, layout: Option<&Layout>, format: Option<&'static Format>) -> Result<Checkpoint> {
        Checkpoint::of(ArrayFile::open(path)?, path, layout, format)
    }

    /// Finds the layouts of the tensors of an open file; otherwise as [`Checkpoint::open`].
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub fn of(
        mut file: ArrayFile,
        path: &Path,
        layout: Option<&Layout>,
        format: Option<&'static Format>,
    ) -> Result<Checkpoint> {
        file.name_codes(format).map_err(|error| error.within(path.display()))?;
        let config = Config::beside(path)?;
        let (mut notes, mut unknown) = (Vec::new(), None);
        let described = match ConvertedContent::of(&file.metadata).filter(|_| layout.is_none()) {
            Some(ConvertedContent::Blocks(blocks)) => Some(*blocks),
            Some(ConvertedContent::Codes(element, unchanged)) => {
                file.take_for_codes(element, |name| !unchanged.contains(name));
                None
            }
            Some(ConvertedContent::Unknown(what)) if format.is_none() => {
                notes.push(format!("{}: {what}: codes are shown as integers.", path.display()));
                unknown = Some(what);
                None
            }
            _ => None,
        };
        let mut layouts = layout.map_or_else(Layout::all, |one| vec![one.clone()]);
        layouts.extend(described);
        let given = layout.is_some();
        let contents =
            find::tensors(&file, &layouts, given, config.as_ref()).map_err(|error| error.within(path.display()))?;
        if let Some(layout) = layout.filter(|_| contents.tensors.iter().all(|tensor| tensor.layouts.is_empty())) {
            notes.push(format!("{}: no tensor fits ‹layout={}›.", path.display(), layout.name));
        }
        notes.extend(contents.notes);
        Ok(Checkpoint {
            path: path.to_path_buf(),
            file,
            tensors: contents.tensors,
            misfits: contents.misfits,
            parts: contents.parts,
            unknown,
            notes,
        })
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Notes on the description of the model, if no layout has what it names.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The tensor of this name.
    pub fn get(&self, name: &str) -> Option<&CheckpointTensor> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The role of a tensor, by the rule for arrays of files.
    pub fn role(&self, tensor: &CheckpointTensor) -> ArrayRole {
        match tensor.content {
            _ if self.parts.contains(&tensor.name) => ArrayRole::Part,
            TensorContent::Plain(array) => ArrayRole::of(&self.file.arrays[array]),
            TensorContent::Quantised(_) => ArrayRole::of_numbers(&tensor.name, &tensor.shape),
            TensorContent::Opaque { .. } => ArrayRole::Undecoded,
        }
    }

    /// Refuses a checkpoint with tensors whose arrays fit no layout.
    ///
    /// # Errors
    /// The first such tensor, what does not fit, and how many there are.
    pub fn complete(&self) -> Result<()> {
        let Some((name, what)) = self.misfits.first() else { return Ok(()) };
        let others = match self.misfits.len() - 1 {
            0 => String::new(),
            1 => "; so it is with one other tensor".into(),
            more => format!("; so it is with {more} other tensors"),
        };
        Err(Error::request(format!("{}: '{}': {what}{others}", self.path.display(), one_line(name))))
    }

    /// Decodes a piece of a tensor to `f32`, row by row; with a reading, by its conventions.
    ///
    /// # Errors
    /// A tensor that is not decoded; a file that cannot be read, or has been shortened; codes wider than their format.
    pub fn read(&self, tensor: &CheckpointTensor, piece: &TensorPiece, reading: Option<Reading>) -> Result<Vec<f32>> {
        let values = self.reader(tensor)?.values(piece, reading)?;
        Ok(values.into_iter().map(|value| value as f32).collect())
    }

    /// A reader of the pieces of a tensor.
    ///
    /// # Errors
    /// A tensor that is not decoded.
    pub fn reader<'a>(&'a self, tensor: &'a CheckpointTensor) -> Result<TensorReader<'a>> {
        TensorReader::new(&self.file, tensor)
    }
}
