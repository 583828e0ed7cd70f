//! Disclosures of RISC-V's matrix tiles: the tuple (G, psm, rnd) of each geometry that a model covers.

use crate::{
    Error, Result,
    arithmetic::{
        Model,
        disclosure::{Disclosure, of_program},
    },
    isa,
    report::Table,
};

/// Target whose instructions a disclosure covers.
const TILES: &str = "zvvfmm-vlen512";

crate::rows! {
    /// A row of a disclosure of RISC-V's matrix tiles.
    pub struct DisclosureRow in "disclosure" {
        /// Bits of an element of C.
        sew: usize => shown("SEW").essential(),
        /// Elements of A or B in the space of one of C.
        w: usize => shown("W").essential(),
        /// Sub-dot-products of an instruction with LMUL = 1.
        lambda: usize => shown("lambda").essential(),
        /// Sub-dot-products of a group.
        g: usize => shown("G").essential(),
        /// 1 if the sum of a group is inexact, by `algorithm`; 0 if it is exact.
        psm: usize => shown("psm").essential(),
        /// Rounding of the sum of a group before it is added to C: frm, rto (to odd) or xct (none).
        rnd: &'static str => shown("rnd").essential(),
        /// Algorithm where psm is 1.
        algorithm: &'static str => shown("algorithm").essential(),
    }
}

/// Makes the disclosure of a model's tile instructions.
///
/// # Errors
/// A model without such instructions, or with one that no tuple describes.
pub fn of_model(model: &Model) -> Result<Table> {
    let mut rows: Vec<Disclosure> = Vec::new();
    for i in isa::all().iter().filter(|i| i.support_on(TILES).is_some() && model.rule(i).is_some()) {
        let row = of_program(&model.program(i)?).ok_or_else(|| {
            Error::request(format!(
                "no tuple (G, psm, rnd) describes {i} of the model '{}'; publish its rule instead",
                model.name
            ))
        })?;
        match rows.iter().find(|other| (other.sew, other.w, other.lambda) == (row.sew, row.w, row.lambda)) {
            Some(other) if *other != row => {
                return Err(Error::request(format!(
                    "{i} of the model '{}' has another tuple than other formats of its geometry; a disclosure has one for all",
                    model.name
                )));
            }
            Some(_) => (),
            None => rows.push(row),
        }
    }
    if rows.is_empty() {
        let name = &model.name;
        return Err(Error::request(format!(
            "the model '{name}' has no tile instructions of RISC-V; `tcnum instructions mmacc` lists them"
        )));
    }
    let row = |row: &Disclosure| DisclosureRow {
        sew: row.sew,
        w: row.w,
        lambda: row.lambda,
        g: row.g,
        psm: usize::from(row.bulk),
        rnd: row.rnd.name(),
        algorithm: row.algorithm(),
    };
    Ok(Table::of("Disclosure: (SEW, W, lambda) to (G, psm, rnd)", rows.iter().map(row)))
}
