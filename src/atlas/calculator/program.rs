//! Programs as JSON, for the evaluator in a page.
//!
//! The document has all that the arithmetic depends on:
//!
//! - `instruction`: its name, `k`, the `stored` elements of a row of A, the names of the formats `a`, `b`, `c` and `d`;
//!   `scale` (format and block) and `chunk` (sparsity) where it has them; `saturate` and `xor` where they are true;
//! - `formats`: the record of each format that is named, with the fields of [`Float`];
//! - `unpack`: the conversion of A, B and C;
//! - `invalid`: results of infinity times zero and of opposite infinities, where they are not NaN;
//! - `specials`: the order of NaN operands, if all products and c decide infinities and NaNs at once;
//! - `steps`: the operations, each with its `operation`, its `name` and its `group` (absent after all groups);
//! - `output`: the conversion of the last value to D.
//!
//! An operand is `"c"`, `"zero"`, the number of a step, or the pair of a step and a place in its list of products. Factors
//! are a stored k, or a triple of k and the masks of A and B (hexadecimal). Codes are hexadecimal. Absent options are left
//! out.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{
    arithmetic::{
        Addend, Destination, ElementaryOperation, Factors, IntegerSum, InvalidOperations, KeyValue, Multiply,
        NanOperand, OppositeInfinities, OverflowTest, Program, Scaling, Source, SpecialOperands, Sum, Unpack, Wrap,
        ZeroTimesInfinity,
    },
    format::{Encoding, Float, Format, Zeros},
    isa::Instruction,
    softfloat::ResultTarget,
};

/// Program of an instruction as compact JSON, with the records of its formats.
pub fn program_json(program: &Program) -> String {
    let mut formats = Formats::default();
    let mut document = json!({
        "instruction": instruction(&program.instruction, &mut formats),
        "unpack": program.unpack.iter().map(|operand| unpack(operand, &mut formats)).collect::<Vec<_>>(),
        "steps": program.steps.iter().map(|step| {
            let mut object = json!({ "name": step.name });
            set(&mut object, "group", step.group);
            object.as_object_mut().expect("an object").extend(operation(&step.operation, &mut formats));
            object
        }).collect::<Vec<_>>(),
        "output": {
            "value": source(program.output.value),
            "to": target(&program.output.target, &mut formats),
            "passes_nan": program.output.passes_nan,
        },
        "formats": formats.records,
    });
    set(&mut document, "factor_nan", program.factor_nan.map(hexadecimal));
    set(&mut document, "specials", program.specials.as_deref().map(nans));
    let InvalidOperations { zero_times_infinity: product, opposite_infinities: sum } = program.invalid;
    let mut invalid = json!({});
    set(&mut invalid, "zero_times_infinity", (product != ZeroTimesInfinity::Nan).then(|| product.name()));
    set(&mut invalid, "opposite_infinities", (sum != OppositeInfinities::Nan).then(|| sum.name()));
    set(&mut document, "invalid", (program.invalid != InvalidOperations::default()).then_some(invalid));
    document.to_string()
}

/// Records of the formats that a document names.
#[derive(Default)]
struct Formats {
    records: BTreeMap<&'static str, Value>,
}

impl Formats {
    /// Name of a format, whose record becomes part of the document.
    fn name(&mut self, format: &'static Format) -> &'static str {
        self.records.entry(format.name).or_insert_with(|| record(format));
        format.name
    }
}

fn record(format: &Format) -> Value {
    match &format.encoding {
        Encoding::Integer { signed } => json!({ "bits": format.bits, "integer": true, "signed": signed }),
        Encoding::Float(Float {
            signed,
            exponent_bits,
            trailing_bits,
            padding_bits,
            bias,
            zeros,
            subnormals,
            specials,
            overflow,
        }) => json!({
            "bits": format.bits,
            "signed": signed,
            "exponent_bits": exponent_bits,
            "trailing_bits": trailing_bits,
            "padding_bits": padding_bits,
            "bias": bias,
            "zeros": match zeros {
                Zeros::None => "none",
                Zeros::Positive => "positive",
                Zeros::Both => "both",
            },
            "subnormals": subnormals,
            "specials": specials.name(),
            "overflow": overflow.name(),
        }),
        // No shipped instruction has such operands, and the page's evaluator knows none.
        Encoding::Table(table) => json!({ "bits": format.bits, "values": table.values() }),
    }
}

fn instruction(i: &Instruction, formats: &mut Formats) -> Value {
    let mut object = json!({
        "name": i.name,
        "k": i.k,
        "stored": i.stored_k(),
        "a": formats.name(i.a),
        "b": formats.name(i.b),
        "c": formats.name(i.c),
        "d": formats.name(i.d),
    });
    set(
        &mut object,
        "scale",
        i.scale.map(|scale| json!({ "format": formats.name(scale.format), "block": scale.block })),
    );
    set(
        &mut object,
        "chunk",
        i.chunk().map(|chunk| {
            json!({
                "length": chunk.length,
                "kept": chunk.kept,
                "together": chunk.together,
                "any_order": chunk.any_order,
            })
        }),
    );
    set(&mut object, "saturate", i.saturate.then_some(true));
    set(&mut object, "xor", i.xor.then_some(true));
    object
}

fn unpack(unpack: &Unpack, formats: &mut Formats) -> Value {
    let mut object = json!({ "subnormals": unpack.subnormals.name() });
    set(&mut object, "wider", unpack.wider.map(|wider| formats.name(wider)));
    set(&mut object, "zeros", unpack.zeros.then_some(true));
    let unusual = unpack.specials != SpecialOperands::Keep;
    set(&mut object, "specials", unusual.then(|| unpack.specials.name()));
    object
}

fn operation(operation: &ElementaryOperation, formats: &mut Formats) -> Map<String, Value> {
    let object = match operation {
        ElementaryOperation::Multiply(step) => multiply(step, formats),
        ElementaryOperation::Sum(step) => sum(step),
        ElementaryOperation::Round { value, to, passes_nan } => json!({
            "operation": "round",
            "value": source(*value),
            "to": destination(to, formats),
            "passes_nan": passes_nan,
        }),
        ElementaryOperation::Add { terms, to, nans: order } => json!({
            "operation": "add",
            "terms": terms.map(source),
            "to": destination(to, formats),
            "nans": nans(order),
        }),
        ElementaryOperation::Fma { factors: product, addend, to, nans: order } => json!({
            "operation": "fma",
            "factors": factors(product),
            "addend": source(*addend),
            "to": destination(to, formats),
            "nans": nans(order),
        }),
        ElementaryOperation::Integer(IntegerSum { wrap, group, bits, group_bits, c_bits }) => json!({
            "operation": "integer",
            "saturates": *wrap == Wrap::Saturate,
            "every": group,
            "bits": bits,
            "group_bits": group_bits,
            "c_bits": c_bits,
        }),
    };
    match object {
        Value::Object(object) => object,
        _ => unreachable!("an operation is an object"),
    }
}

fn multiply(multiply: &Multiply, formats: &mut Formats) -> Value {
    let mut object = json!({
        "operation": "multiply",
        "factors": multiply.factors.iter().map(factors).collect::<Vec<_>>(),
        "normalised": multiply.normalised,
        "nans": nans(&multiply.nans),
    });
    match multiply.scaling {
        Scaling::None => {}
        Scaling::Each => set(&mut object, "scaling", Some("each")),
        Scaling::Sums(run) => set(&mut object, "scaling", Some(run)),
    }
    set(&mut object, "limit", multiply.limit);
    set(&mut object, "bits", multiply.bits);
    set(&mut object, "rounded", multiply.rounded.as_ref().map(|to| destination(to, formats)));
    object
}

fn sum(sum: &Sum) -> Value {
    let addend = |addend: &Addend| {
        let mut object = json!({ "value": source(addend.source) });
        set(&mut object, "bits", addend.bits);
        set(&mut object, "drop", addend.drop);
        object
    };
    let mut object = json!({
        "operation": "sum",
        "products": sum.products,
        "addends": sum.addends.iter().map(addend).collect::<Vec<_>>(),
        "normalised": sum.normalised,
        "nans": nans(&sum.nans),
    });
    set(&mut object, "alignment", sum.alignment.map(|alignment| json!(KeyValue::Alignment(alignment).toml())));
    object
}

fn source(source: Source) -> Value {
    match source {
        Source::C => json!("c"),
        Source::Zero => json!("zero"),
        Source::Value(step) => json!(step),
        Source::Product(step, place) => json!([step, place]),
    }
}

fn factors(factors: &Factors) -> Value {
    match factors {
        Factors { k, a: u64::MAX, b: u64::MAX } => json!(k),
        Factors { k, a, b } => json!([k, hexadecimal(*a), hexadecimal(*b)]),
    }
}

fn destination(to: &Destination, formats: &mut Formats) -> Value {
    let mut object = target(&to.target, formats);
    set(&mut object, "subnormals", Some(to.subnormals.name()));
    set(&mut object, "tininess", Some(to.tininess.name()));
    let is_exact = to.overflow_test == OverflowTest::Exact;
    set(&mut object, "overflow-test", is_exact.then(|| to.overflow_test.name()));
    set(&mut object, "zero", Some(to.zero.name()));
    object
}

fn target(to: &ResultTarget, formats: &mut Formats) -> Value {
    json!({
        "format": formats.name(to.format),
        "rounding": to.rounding.name(),
        "overflow": to.overflow.name(),
        "nan": hexadecimal(to.nan),
    })
}

fn nans(order: &[NanOperand]) -> Vec<&'static str> {
    order.iter().map(|operand| operand.name()).collect()
}

fn hexadecimal(bits: u64) -> String {
    format!("{bits:#x}")
}

/// Sets a member of an object, if it has a value.
fn set(object: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[key] = value.into();
    }
}
