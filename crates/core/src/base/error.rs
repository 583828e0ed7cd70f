//! The error type of the crate and the exit status of each kind of error.

use std::fmt;

use crate::base::visible::{visible, without_middle};

/// Error of a request, a device or an interruption.
///
/// The kinds mirror the exit statuses of the command line: 2 for a wrong request or input, 3 for a device that failed.
/// (A mismatch is not an error but a result: status 1.)
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The request, or the input that it names, is wrong (exit status 2).
    Request {
        /// Problem, its place and its remedy, in one or two sentences.
        message: String,
    },
    /// The device, or the model it is compared with, lacks the instruction (exit status 2).
    /// `--available` forgives this error only.
    Unavailable {
        /// Names the device that lacks the instruction, and devices that have it, in one or two sentences.
        message: String,
    },
    /// The device could not be reached or failed at work (exit status 3).
    Device {
        /// Failure, progress until then and remedy, in one or two sentences.
        message: String,
    },
    /// The work was stopped before its end (exit status 130, 143 or 1).
    Interrupted {
        /// Cause of the interruption.
        by: Interruption,
    },
}

/// Cause of an interruption: a signal, or the user's time limit.
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
    /// All interruptions.
    pub const ALL: [Interruption; 3] = [Interruption::Int, Interruption::Term, Interruption::TimeLimit];

    /// Name of the signal, or `--time-limit`.
    pub fn name(self) -> &'static str {
        match self {
            Interruption::Int => "SIGINT",
            Interruption::Term => "SIGTERM",
            Interruption::TimeLimit => "--time-limit",
        }
    }

    /// Exit status of an interrupted run: 128 plus the signal's number; 1 at the time limit.
    pub fn exit_status(self) -> u8 {
        self.signal().map_or(1, |number| 128 + number as u8)
    }

    /// Number of the signal.
    pub fn signal(self) -> Option<usize> {
        match self {
            Interruption::Int => Some(2),
            Interruption::Term => Some(15),
            Interruption::TimeLimit => None,
        }
    }
}

/// Result of a fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Error in the request or its input (exit status 2).
    pub fn request(message: impl Into<String>) -> Self {
        Error::Request { message: message.into() }
    }

    /// Error of a device or a model that lacks an instruction (exit status 2).
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::Unavailable { message: message.into() }
    }

    /// True if the only error is that a device or a model lacks the instruction.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Error::Unavailable { .. })
    }

    /// Failure of a device (exit status 3).
    pub fn device(message: impl Into<String>) -> Self {
        Error::Device { message: message.into() }
    }

    /// Error of reading the file or stream at `place`; an interruption of the reader stays an interruption.
    pub fn reading(error: std::io::Error, place: impl fmt::Display) -> Self {
        error.downcast().unwrap_or_else(|error| Error::request(format!("{place}: {error}")))
    }

    /// Exit status of the command line: 2 for a request, 3 for a device, else the interruption's.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Request { .. } | Error::Unavailable { .. } => 2,
            Error::Device { .. } => 3,
            Error::Interrupted { by } => by.exit_status(),
        }
    }

    /// Prefixes the message with `context` and a colon.
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
