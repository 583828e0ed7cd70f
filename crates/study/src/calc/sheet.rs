//! Operations on operands that are written out, as a table.

use super::{CodeMeaning, Operator};
use crate::{
    Error, Result,
    format::Format,
    report::{Table, counted, grouped},
    softfloat::{CLASSES, Flags, Outcome},
    tensor::{self, ValueRead},
};

crate::rows! {
    /// An operation on given operands.
    pub struct OperationRow in "operations" {
        /// The first operand as it was given.
        x_input: Option<String> => hidden(),
        /// Its code.
        x_code: Option<String> => shown("x").essential(),
        /// Its value.
        x_decimal: Option<String> => shown("its value").beside(),
        /// The second operand as it was given, if there is one.
        y_input: Option<String> => hidden(),
        /// Its code.
        y_code: Option<String> => shown("y").if_filled().essential(),
        /// Its value.
        y_decimal: Option<String> => shown("its value").beside().if_filled(),
        /// The third operand as it was given, if there is one.
        z_input: Option<String> => hidden(),
        /// Its code.
        z_code: Option<String> => shown("z").if_filled().essential(),
        /// Its value.
        z_decimal: Option<String> => shown("its value").beside().if_filled(),
        /// The code of the result; of a comparison 0 or 1, of a classification the number of the class.
        code: Option<String> => shown("result").essential(),
        /// Its value.
        decimal: Option<String> => shown("its value").beside().essential(),
        /// The exception flags that were raised.
        flags: Vec<&'static str> => shown("flags").essential(),
        /// The flags as bits.
        flag_bits: String => hidden(),
    }
}

/// A table that grows by one row for each operation.
#[derive(Debug, Clone)]
pub struct OperationSheet<'a> {
    operator: &'a Operator,
    operations: Vec<OperationRow>,
    without_code: usize,
}

impl<'a> OperationSheet<'a> {
    /// A table without rows.
    pub fn new(operator: &'a Operator) -> Self {
        OperationSheet { operator, operations: Vec::new(), without_code: 0 }
    }

    /// Computes on operands: hexadecimal codes (`0x3c00`), or numbers rounded to the format (RNE).
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
        let sources = words.iter().map(|word| tensor::read(Some(format), word)).collect::<Result<Vec<_>>>()?;
        let mut operands = [0; 3];
        for (operand, source) in operands.iter_mut().zip(&sources) {
            *operand = source.code.expect("a value read in a format has a code there");
        }
        let outcome = self.operator.apply(operands);
        self.without_code += usize::from(outcome.code.is_none());
        self.operations.push(self.row(format, &sources, &outcome));
        Ok(())
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.operations.len()
    }

    /// Number of results without a code: NaN in a format without NaN.
    pub fn without_code(&self) -> usize {
        self.without_code
    }

    /// The results, in a sentence; none of no results.
    pub fn answer(&self) -> Option<String> {
        match &self.operations[..] {
            [] => None,
            [row] => Some(self.answer_of_one(row)),
            rows => Some(self.answer_of_several(rows)),
        }
    }

    fn answer_of_one(&self, row: &OperationRow) -> String {
        let operands = [&row.x_code, &row.y_code, &row.z_code].into_iter().flatten();
        let operands = operands.map(String::as_str).collect::<Vec<_>>().join(" and ");
        let flags = if row.flags.is_empty() { "none".to_string() } else { row.flags.join(", ") };
        let result = match (&row.code, &row.decimal) {
            (Some(code), Some(decimal)) => format!("{code}, {decimal}"),
            _ => "NaN, which the format lacks".into(),
        };
        format!("{}, of {operands} is {result}; flags: {flags}.", self.operator.briefly())
    }

    fn answer_of_several(&self, rows: &[OperationRow]) -> String {
        let count = |of: &dyn Fn(&OperationRow) -> bool| rows.iter().filter(|row| of(row)).count() as i64;
        let mut parts = vec![format!("{} without flags", grouped(count(&|row| row.flags.is_empty())))];
        for flag in Flags::from_bits(u8::MAX).names() {
            let raised = count(&|row| row.flags.contains(&flag));
            parts.extend((raised > 0).then(|| format!("{} {flag}", grouped(raised))));
        }
        if self.without_code > 0 {
            parts.push(format!("{} NaN, which the format lacks", grouped(self.without_code as i64)));
        }
        format!("{}: {}, {}.", self.operator.briefly(), counted(rows.len() as u64, "result"), parts.join(", "))
    }

    /// The table.
    pub fn into_table(self) -> Table {
        Table::of(self.operator.describe(), self.operations)
    }

    fn row(&self, format: &Format, sources: &[ValueRead], outcome: &Outcome) -> OperationRow {
        let input = |at: usize| sources.get(at).map(|source| source.text.clone());
        let code = |at: usize| sources.get(at).and_then(|source| source.code);
        let hex = |at: usize| code(at).map(|code| format.hex(code));
        let decimal = |at: usize| code(at).map(|code| format.decode(code).decimal());
        let (result, its_value) = outcome.code.map(|code| self.result(code)).unzip();
        OperationRow {
            x_input: input(0),
            x_code: hex(0),
            x_decimal: decimal(0),
            y_input: input(1),
            y_code: hex(1),
            y_decimal: decimal(1),
            z_input: input(2),
            z_code: hex(2),
            z_decimal: decimal(2),
            code: result,
            decimal: its_value,
            flags: outcome.flags.names().collect(),
            flag_bits: format!("0x{:02x}", outcome.flags.bits()),
        }
    }

    fn result(&self, code: u64) -> (String, String) {
        match self.operator.answer() {
            CodeMeaning::Code(to) => (to.hex(code), to.decode(code).decimal()),
            CodeMeaning::Truth => (code.to_string(), if code == 0 { "false" } else { "true" }.into()),
            CodeMeaning::Class => (code.to_string(), CLASSES[code as usize].into()),
        }
    }
}
