//! The table of the regimes of a campaign.

use serde::Deserialize;

use super::Part;
use crate::report::Table;

crate::rows! {
    /// A regime of operands in a part of a campaign.
    #[derive(Deserialize)]
    pub struct RegimeRow in "regimes" {
        /// Instruction.
        instruction: String => shown("instruction").essential(),
        /// Regime.
        regime: String => shown("regime").essential(),
        /// Outputs compared.
        compared: u64 => shown("compared").essential(),
        /// Outputs that differ.
        differing: u64 => shown("differ").essential(),
    }
}

/// Makes the table of regimes: a row for each regime of each part.
pub fn regimes<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Table {
    let rows = parts.into_iter().flat_map(|Part { run, state, .. }| {
        run.regimes.iter().zip(&state.regimes).map(|(regime, count)| RegimeRow {
            instruction: run.instruction.clone(),
            regime: regime.clone(),
            compared: count.compared,
            differing: count.differing,
        })
    });
    Table::of("By regime of operands", rows)
}
