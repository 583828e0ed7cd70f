//! Inline assembly statements of an instruction, as macros for its kernel.

use super::fragments::{Fragment, Fragments};
use crate::isa::{Instruction, Kernel};

/// The macros by which the kernel source uses the instruction.
pub(super) fn statements(i: &Instruction, kernel: Kernel, fragments: &Fragments) -> String {
    match kernel {
        Kernel::Mma | Kernel::Mma884 => mma(i, fragments),
        Kernel::Wmma => wmma(i, fragments),
        Kernel::Wgmma => wgmma(i, fragments),
    }
}

/// A statement under construction, with its number of operands so far.
#[derive(Default)]
struct Statement {
    count: usize,
}

impl Statement {
    /// The template's `{%4, %5}` for the next registers, and their `"r"(x[0]), "r"(x[1])`.
    fn vector(&mut self, name: &str, fragment: &Fragment, direction: &str) -> (String, String) {
        let constraint = if fragment.bits() == 64 { "l" } else { "r" };
        let range = self.count..self.count + fragment.registers;
        self.count = range.end;
        let template: Vec<String> = range.map(|n| format!("%{n}")).collect();
        let operands: Vec<String> =
            (0..fragment.registers).map(|r| format!("\"{direction}{constraint}\"(({name})[{r}])")).collect();
        (format!("{{{}}}", template.join(", ")), operands.join(", "))
    }

    /// The template's `%4` for one operand, and its `"l"(x)`.
    fn scalar(&mut self, name: &str, constraint: &str) -> (String, String) {
        self.count += 1;
        (format!("%{}", self.count - 1), format!("\"{constraint}\"({name})"))
    }
}

/// `EXECUTE(d, a, b, c)`.
/// For sparse forms it is `EXECUTE(d, a, b, c, e)` with the metadata, at sparsity selector 0.
fn mma(i: &Instruction, fragments: &Fragments) -> String {
    let mut statement = Statement::default();
    let (d, d_operands) = statement.vector("d", &fragments.d, "=");
    let (a, a_operands) = statement.vector("a", &fragments.a, "");
    let (b, b_operands) = statement.vector("b", &fragments.b, "");
    let (c, c_operands) = statement.vector("c", &fragments.c, "");
    let (parameters, template, operands) = if i.is_sparse() {
        let (e, e_operands) = statement.scalar("e", "r");
        ("d, a, b, c, e", format!(", {e}, 0"), format!(", {e_operands}"))
    } else {
        ("d, a, b, c", String::new(), String::new())
    };
    format!(
        "#define EXECUTE({parameters}) asm volatile(\"{} {d}, {a}, {b}, {c}{template};\" : {d_operands} : \
         {a_operands}, {b_operands}, {c_operands}{operands})\n",
        i.ptx
    )
}

/// `LOAD_A(fragment, memory)`, `LOAD_B`, `LOAD_C`, `STORE_D(memory, fragment)`, `EXECUTE(d, a, b, c)`.
/// A, C and D are row-major in memory and B is column-major, each without gaps.
fn wmma(i: &Instruction, fragments: &Fragments) -> String {
    let shape = format!("m{}n{}k{}", i.m, i.n, i.k);
    let load = |operand: &str, layout: &str, fragment: &Fragment, stride: usize| {
        let mut statement = Statement::default();
        let (vector, outputs) = statement.vector("fragment", fragment, "=");
        let (address, input) = statement.scalar("memory", "l");
        format!(
            "#define LOAD_{}(fragment, memory) asm volatile(\"wmma.load.{operand}.sync.aligned.{layout}.{shape}.{} \
             {vector}, [{address}], {stride};\" : {outputs} : {input} : \"memory\")\n",
            operand.to_ascii_uppercase(),
            fragment.format.name
        )
    };
    let mut statement = Statement::default();
    let (address, address_operand) = statement.scalar("memory", "l");
    let (vector, inputs) = statement.vector("fragment", &fragments.d, "");
    let store = format!(
        "#define STORE_D(memory, fragment) asm volatile(\"wmma.store.d.sync.aligned.row.{shape}.{} [{address}], \
         {vector}, {};\" :: {address_operand}, {inputs} : \"memory\")\n",
        fragments.d.format.name, i.n
    );
    [
        load("a", "row", &fragments.a, i.k),
        load("b", "col", &fragments.b, i.k),
        load("c", "row", &fragments.c, i.n),
        store,
        mma(i, fragments),
    ]
    .concat()
}

/// `EXECUTE(d, a, b)`, and `ISSUE`, the same without the fence, the commit and the wait.
/// Sparse forms have `e` with the metadata, at sparsity selector 0.
fn wgmma(i: &Instruction, fragments: &Fragments) -> String {
    let mut statement = Statement::default();
    let (d, d_operands) = statement.vector("d", &fragments.d, "+");
    let a_in_registers = i.has_qualifier("rs");
    let (a, a_operands) =
        if a_in_registers { statement.vector("a", &fragments.a, "") } else { statement.scalar("a", "l") };
    let (b, b_operands) = statement.scalar("b", "l");
    let (parameters, e, e_operands) = if i.is_sparse() {
        let (e, operand) = statement.scalar("e", "r");
        ("d, a, b, e", format!(", {e}, 0"), format!(", {operand}"))
    } else {
        ("d, a, b", String::new(), String::new())
    };
    // After scale-d come the signs of A and B (floating-point), then their transpositions (16-bit, in shared memory).
    let immediates = match (i.a.is_integer(), i.a.bits, a_in_registers) {
        (true, ..) => "",
        (_, 16, false) => ", 1, 1, 0, 0",
        (_, 16, true) => ", 1, 1, 0",
        _ => ", 1, 1",
    };
    let issue = [
        ".reg .pred accumulate;".to_string(),
        "setp.ne.b32 accumulate, 1, 0;".to_string(),
        format!("{} {d}, {a}, {b}{e}, accumulate{immediates};", i.ptx),
    ];
    let fence = "wgmma.fence.sync.aligned;";
    let completed = ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"];
    let [declared, set, run] = issue.each_ref().map(String::as_str);
    let execute = ["{", declared, set, fence, run, completed[0], completed[1], "}"];
    let macro_of = |name: &str, lines: &[&str]| {
        format!(
            "#define {name}({parameters}) asm volatile(\"{}\" : {d_operands} : {a_operands}, {b_operands}{e_operands} : \
             \"memory\")\n",
            lines.join("\\n")
        )
    };
    macro_of("EXECUTE", &execute) + &macro_of("ISSUE", &["{", declared, set, run, "}"])
}
