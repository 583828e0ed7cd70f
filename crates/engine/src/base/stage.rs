//! Progress of long work.

/// The current stage of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage<'a> {
    /// Next or latest part of the work.
    pub what: &'a str,
    /// Parts done; they take about equally long.
    pub done: u64,
    /// All parts; 0 if unknown.
    pub total: u64,
}

impl<'a> Stage<'a> {
    /// Makes a stage without known parts.
    pub fn of(what: &'a str) -> Stage<'a> {
        Stage { what, done: 0, total: 0 }
    }
}
