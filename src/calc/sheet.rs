//! Operations on operands that are written out, as a table.

use super::{Answer, Operator};
use crate::{
    Error, Result,
    convert::{self, Source},
    format::Format,
    report::{Cell, Column, Table},
    softfloat::{CLASSES, Outcome},
};

/// The operands' names: key and heading of the code, key and heading of the value.
const OPERANDS: [[&str; 4]; 3] = [
    ["x_code", "x", "x_decimal", "its value"],
    ["y_code", "y", "y_decimal", "its value"],
    ["z_code", "z", "z_decimal", "its value"],
];

/// A table that grows by one row for each operation.
#[derive(Debug, Clone)]
pub struct Sheet<'a> {
    operator: &'a Operator,
    table: Table,
    without_code: usize,
}

impl<'a> Sheet<'a> {
    /// A table without rows.
    pub fn new(operator: &'a Operator) -> Self {
        let table = Table::new("operations", operator.describe(), columns(operator.operands()));
        Sheet { operator, table, without_code: 0 }
    }

    /// Reads the operands, each a hexadecimal code (`0x3c00`) or a number that is rounded to the format (RNE), and computes.
    ///
    /// # Errors
    /// Another count of operands than the operation has; an operand that cannot be read. No row is added then.
    pub fn compute(&mut self, words: &[&str]) -> Result<()> {
        let (count, name) = (self.operator.operands(), self.operator.name());
        if words.len() != count {
            let s = if count == 1 { "" } else { "s" };
            return Err(Error::request(format!("{name} takes {count} operand{s}, not {}", words.len())));
        }
        let format = self.operator.format();
        let sources = words.iter().map(|word| convert::read(Some(format), word)).collect::<Result<Vec<_>>>()?;
        let mut operands = [0; 3];
        for (operand, source) in operands.iter_mut().zip(&sources) {
            *operand = source.code.expect("a value read in a format has a code there");
        }
        let outcome = self.operator.apply(operands);
        self.without_code += usize::from(outcome.code.is_none());
        self.table.rows.push(self.row(format, &sources, &outcome));
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.table.rows.len()
    }

    /// How many results have no code, being NaN in a format without.
    pub fn without_code(&self) -> usize {
        self.without_code
    }

    /// The table.
    pub fn into_table(self) -> Table {
        self.table
    }

    fn row(&self, format: &Format, sources: &[Source], outcome: &Outcome) -> Vec<Cell> {
        let mut row = Vec::new();
        for source in sources {
            row.push(source.text.as_str().into());
            row.push(source.code.map(|code| format.hex(code)).into());
            row.push(source.code.map(|code| format.decode(code).decimal()).into());
        }
        let (code, decimal) = match outcome.code {
            None => (Cell::Empty, Cell::Empty),
            Some(code) => match self.operator.answer() {
                Answer::Code(to) => (to.hex(code).into(), to.decode(code).decimal().into()),
                Answer::Truth => (code.to_string().into(), if code == 0 { "false" } else { "true" }.into()),
                Answer::Class => (code.to_string().into(), CLASSES[code as usize].into()),
            },
        };
        let flags: Vec<&str> = outcome.flags.names().collect();
        row.extend([code, decimal, flags.into(), format!("0x{:02x}", outcome.flags.bits()).into()]);
        row
    }
}

fn columns(operands: usize) -> Vec<Column> {
    let mut columns = Vec::new();
    for ([code, code_label, decimal, decimal_label], input) in
        OPERANDS.into_iter().zip(["x_input", "y_input", "z_input"]).take(operands)
    {
        columns.push(Column::hidden(input));
        columns.push(Column::new(code, code_label));
        columns.push(Column::new(decimal, decimal_label));
    }
    columns.push(Column::new("code", "result"));
    columns.push(Column::new("decimal", "its value"));
    columns.push(Column::new("flags", "flags"));
    columns.push(Column::hidden("flag_bits"));
    columns
}
