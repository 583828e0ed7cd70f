//! The block formats: one record each.

use super::{BlockFormat, Element};
use crate::format::{FORMATS, Format};

const MX: &str = "OCP Microscaling Formats (MX) Specification 1.0";
const NVFP4: &str = "NVIDIA, Pretraining Large Language Models with NVFP4 (2025)";

/// Record with this name, looked up by the compiler.
const fn named(name: &str) -> &'static Format {
    let mut i = 0;
    while i < FORMATS.len() {
        if same(FORMATS[i].name.as_bytes(), name.as_bytes()) {
            return &FORMATS[i];
        }
        i += 1;
    }
    panic!("no format has this name")
}

const fn same(x: &[u8], y: &[u8]) -> bool {
    let mut i = 0;
    while i < x.len() && i < y.len() && x[i] == y[i] {
        i += 1;
    }
    i == x.len() && i == y.len()
}

const fn floating(name: &str) -> Element {
    Element { format: named(name), exponent: 0, symmetric: false }
}

const fn mx(name: &'static str, aliases: &'static [&'static str], element: Element) -> BlockFormat {
    BlockFormat {
        name,
        aliases,
        element,
        length: 32,
        scale: named("e8m0"),
        tensor_scale: None,
        default_rule: "floor",
        source: MX,
    }
}

/// All block formats, in the order of tables.
#[rustfmt::skip]
pub static BLOCK_FORMATS: &[BlockFormat] = &[
    mx("mxfp8-e4m3", &["mxfp8", "mxfp8e4m3fn"], floating("e4m3")),
    mx("mxfp8-e5m2", &[], floating("e5m2")),
    mx("mxfp6-e2m3", &["mxfp6", "mxfp6e2m3fn"], floating("e2m3")),
    mx("mxfp6-e3m2", &["mxfp6e3m2fn"], floating("e3m2")),
    mx("mxfp4", &["mxfp4-e2m1", "mxfp4e2m1fn"], floating("e2m1")),
    mx("mxint8", &["mxs8"], Element { format: named("s8"), exponent: -6, symmetric: true }),
    BlockFormat { name: "nvfp4", aliases: &["nvfp4-e2m1"], element: floating("e2m1"), length: 16, scale: named("ue4m3"),
        tensor_scale: Some(named("f32")), default_rule: "nearest", source: NVFP4 },
];
