//! How far long work is.

/// What long work does next, and how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage<'a> {
    /// What comes next, or has just been done.
    pub what: &'a str,
    /// Parts of the work that are done: of about the same length.
    pub done: u64,
    /// All parts; 0 where they are not known.
    pub total: u64,
}

impl<'a> Stage<'a> {
    /// Work of which no parts are known.
    pub fn of(what: &'a str) -> Stage<'a> {
        Stage { what, done: 0, total: 0 }
    }
}
