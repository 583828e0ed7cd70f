//! Content of the arrays of a file: codes of a format, or blocks.

use crate::{
    Error, Result,
    format::{
        self, Format,
        block::{self, BlockFormat},
    },
};

/// Content of the arrays of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileContent {
    /// Codes of a format; `None`: of the formats that the file names.
    Scalar(Option<&'static Format>),
    /// Blocks.
    Blocks(&'static BlockFormat),
}

impl FileContent {
    /// The block or scalar format of this name.
    ///
    /// # Errors
    /// A name that neither has; a format of the user's with the name of a block format.
    pub fn named(name: &str) -> Result<FileContent> {
        if let Some(block) = block::resolve(name)? {
            return Ok(FileContent::Blocks(block));
        }
        let known: Vec<&str> = block::formats().iter().map(|format| format.name).collect();
        match format::resolve(name) {
            // Files say by this name what they hold.
            Ok(format) if block::find(format.name).is_some() => {
                Err(Error::request(format!("{name}: the name '{format}' belongs to a block format; rename yours")))
            }
            Ok(format) => Ok(FileContent::Scalar(Some(format))),
            Err(error) => Err(Error::request(format!("{error}; block formats are {}", known.join(", ")))),
        }
    }
}
