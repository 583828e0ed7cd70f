//! The one error type of the crate and the exit status that each kind of error maps to.

use std::fmt;

use crate::base::visible::{visible, without_middle};

/// Why a command could not do what was asked.
///
/// The two kinds mirror the exit statuses of the command line: a wrong request or input is status 2,
/// a device that failed is status 3. (A mismatch that was found is not an error: it is a result, status 1.)
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request, or the input that it names, is wrong. Exit status 2.
    Request {
        /// What is wrong, where, and what to do about it: one or two sentences.
        message: String,
    },
    /// The device could not be reached, or failed while it worked. Exit status 3.
    Device {
        /// What failed, how far it got, and what to do about it: one or two sentences.
        message: String,
    },
}

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error in the request or its input (exit status 2).
    pub fn request(message: impl Into<String>) -> Self {
        Error::Request { message: message.into() }
    }

    /// A failure of a device (exit status 3).
    pub fn device(message: impl Into<String>) -> Self {
        Error::Device { message: message.into() }
    }

    /// The exit status of the command line: 2 for a wrong request, 3 for a failed device.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Request { .. } => 2,
            Error::Device { .. } => 3,
        }
    }

    /// The same error with `context` and a colon before its message.
    pub fn within(self, context: impl fmt::Display) -> Self {
        match self {
            Error::Request { message } => Error::Request { message: format!("{context}: {message}") },
            Error::Device { message } => Error::Device { message: format!("{context}: {message}") },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Request { message } | Error::Device { message } => f.write_str(&visible(&without_middle(message))),
        }
    }
}

impl std::error::Error for Error {}
