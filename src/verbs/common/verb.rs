//! The interface between a verb and the command line.

use std::borrow::Cow;

use super::{drawings::Figures, gates::Gates, options::OutputDestination};
use crate::Result;

/// Arguments of a verb, with the destinations of its result.
pub(crate) trait Verb {
    /// Destination of the result; `None` for verbs that print text or make documents.
    fn destination(&self) -> Option<&OutputDestination>;

    /// True if `--out` names a file that the verb makes, so that the report goes to standard output.
    fn makes_file(&self) -> bool {
        false
    }

    /// True if the verb starts this program again, which the library is not.
    fn starts_commands(&self) -> bool {
        false
    }

    /// Figures of the result, if the verb draws any.
    ///
    /// # Errors
    /// A file that decides which figures there are cannot be read.
    fn figures(&self) -> Result<Option<Figures<'_>>> {
        Ok(None)
    }

    /// Destinations of the checks, and the file that they are about.
    fn gates(&self) -> Option<(&Gates, Option<Cow<'_, str>>)> {
        None
    }
}
