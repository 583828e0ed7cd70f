//! The one error type of the crate and the exit status that each kind of error maps to.

use std::fmt;

use crate::base::visible::{visible, without_middle};

/// Why a command could not do what was asked.
///
/// The kinds mirror the exit statuses of the command line: a wrong request or input is status 2,
/// a device that failed is status 3. (A mismatch that was found is not an error: it is a result, status 1.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request, or the input that it names, is wrong. Exit status 2.
    Request {
        /// What is wrong, where, and what to do about it: one or two sentences.
        message: String,
    },
    /// The device, or the model that it is compared with, does not have the instruction: the one error that `--available`
    /// forgives. Exit status 2.
    Unavailable {
        /// What lacks what, and what has it: one or two sentences.
        message: String,
    },
    /// The device could not be reached, or failed while it worked. Exit status 3.
    Device {
        /// What failed, how far it got, and what to do about it: one or two sentences.
        message: String,
    },
    /// The work was stopped before its end. Exit status 130, 143 or 1.
    Interrupted {
        /// What stopped it.
        by: Interruption,
    },
}

/// What asks the program to stop: a signal, or the limit of time that the user gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGTERM: a scheduler's time limit, `kill`.
    Term,
    /// `--time-limit`.
    TimeLimit,
}

impl Interruption {
    /// Every interruption.
    pub const ALL: [Interruption; 3] = [Interruption::Int, Interruption::Term, Interruption::TimeLimit];

    /// The signal's name, or `--time-limit`.
    pub fn name(self) -> &'static str {
        match self {
            Interruption::Int => "SIGINT",
            Interruption::Term => "SIGTERM",
            Interruption::TimeLimit => "--time-limit",
        }
    }

    /// The exit status of a run that was stopped: 128 plus the signal's number; 1 at the limit of time.
    pub fn exit_status(self) -> u8 {
        self.signal().map_or(1, |number| 128 + number as u8)
    }

    /// The signal's number.
    pub fn signal(self) -> Option<usize> {
        match self {
            Interruption::Int => Some(2),
            Interruption::Term => Some(15),
            Interruption::TimeLimit => None,
        }
    }
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error in the request or its input (exit status 2).
    pub fn request(message: impl Into<String>) -> Self {
        Error::Request { message: message.into() }
    }

    /// A device or a model lacks an instruction (exit status 2).
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::Unavailable { message: message.into() }
    }

    /// Whether a device or a model lacks the instruction, and nothing else is wrong.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Error::Unavailable { .. })
    }

    /// A failure of a device (exit status 3).
    pub fn device(message: impl Into<String>) -> Self {
        Error::Device { message: message.into() }
    }

    /// The meaning of a failure to read what is at `place`: where a reader was interrupted, the interruption.
    pub fn reading(error: std::io::Error, place: impl fmt::Display) -> Self {
        error.downcast().unwrap_or_else(|error| Error::request(format!("{place}: {error}")))
    }

    /// The exit status of the command line: 2 for a wrong request, 3 for a failed device, that of the interruption otherwise.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Request { .. } | Error::Unavailable { .. } => 2,
            Error::Device { .. } => 3,
            Error::Interrupted { by } => by.exit_status(),
        }
    }

    /// The same error with `context` and a colon before its message.
    pub fn within(self, context: impl fmt::Display) -> Self {
        match self {
            Error::Request { message } => Error::Request { message: format!("{context}: {message}") },
            Error::Unavailable { message } => Error::Unavailable { message: format!("{context}: {message}") },
            Error::Device { message } => Error::Device { message: format!("{context}: {message}") },
            Error::Interrupted { by } => Error::Interrupted { by },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Request { message } | Error::Unavailable { message } | Error::Device { message } => {
                f.write_str(&without_middle(&visible(message)))
            }
            Error::Interrupted { by } => write!(f, "interrupted by {}", by.name()),
        }
    }
}

impl std::error::Error for Error {}
