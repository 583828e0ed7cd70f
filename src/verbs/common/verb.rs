//! What a verb is to the command line.

use std::borrow::Cow;

use super::{drawings::Figures, gates::Gates, options::OutputDestination};
use crate::Result;

/// The arguments of a verb, and what the command line must know of its result.
pub(crate) trait Verb {
    /// Where the result goes; nowhere where the verb prints text or makes documents.
    fn destination(&self) -> Option<&OutputDestination>;

    /// Whether `--out` names a file that the verb makes, so that the result goes to standard output.
    fn makes_file(&self) -> bool {
        false
    }

    /// The figures of the result, if the verb may have some.
    ///
    /// # Errors
    /// A file that says which figures there are, and cannot be read.
    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(None)
    }

    /// Where the checks go, and the file that they are about, if there is one.
    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        None
    }
}
