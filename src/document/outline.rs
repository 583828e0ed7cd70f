//! The parts of a document, and which tables belong to each.

/// A part that is made of tables and their figures.
pub(super) struct Section {
    /// Its name in links and files.
    pub(super) id: &'static str,
    /// The heading.
    pub(super) heading: &'static str,
    /// What the reader must know of it.
    pub(super) intro: &'static str,
    /// The keys of its tables, in order.
    pub(super) tables: &'static [&'static str],
}

/// Tables that other parts say in another way.
pub(super) const TAKEN: &[&str] = &["features", "regimes", "devices"];

/// The parts after the summary, the instructions, the arithmetic and its proof.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        id: "neighbours",
        heading: "How it differs from its neighbours",
        intro: "Of each two that were told apart the reasons, each with the smallest input that shows it. What cannot be \
                observed is proved to change no result.",
        tables: &[
            "reasons",
            "distinguished",
            "generations",
            "known_arithmetics",
            "fingerprints",
            "kit",
            "results",
            "steps",
        ],
    },
    Section {
        id: "errors",
        heading: "Errors",
        intro: "Each operation beside its arithmetic model, beside plain f32 on a CPU and beside the correctly rounded exact result.",
        tables: &["bit_references", "bit_agreement", "summary", "profile"],
    },
    Section {
        id: "growth",
        heading: "Error against k, exponent gap and range",
        intro: "How the error of a sum depends on the number of its terms and on the exponents of its operands.",
        tables: &["product_errors", "bit_factors"],
    },
    Section {
        id: "chains",
        heading: "Chains of products",
        intro: "How errors grow when each result is the next operand.",
        tables: &["curves", "curve_pairs", "chain"],
    },
    Section {
        id: "splitting",
        heading: "Products of more precision, by splitting",
        intro: "Products in f32 and of wide integers, made of products of parts.",
        tables: &[
            "emulations",
            "emulation_errors",
            "integer_emulations",
            "splitting_cells",
            "splitting_errors",
            "integer_cells",
        ],
    },
    Section {
        id: "cost",
        heading: "What instructions cost",
        intro: "Clocks and rates of one multiprocessor, or core, by warps and independent runs; and what the whole device does.",
        tables: &["costs", "scalar_costs", "load_costs", "sustained_costs", "cost_points", "cost_cells"],
    },
    Section {
        id: "quantisation",
        heading: "Quantisation",
        intro: "What formats make of data.",
        tables: &["quantisation", "tensor_quantisation", "worst_runs", "arrays", "elements", "scales", "conversions"],
    },
    Section {
        id: "products",
        heading: "Matrix products and their schedules",
        intro: "Whole products: which instructions compute them, in what order, and whether a replay gives every bit.",
        tables: &[
            "library_summary",
            "library_products",
            "batches",
            "products",
            "product_steps",
            "accuracy",
            "ulps",
            "matches",
            "between",
            "product_comparison",
            "smallest_product",
        ],
    },
    Section {
        id: "scalar",
        heading: "Scalar instructions and conversions",
        intro: "Conversions and scalar operations beside correctly rounded ones.",
        tables: &["sweeps", "check", "differences"],
    },
    Section {
        id: "published",
        heading: "Published figures and ours",
        intro: "What the literature printed, and what devices gave here. A device that is a model gives what the model says.",
        tables: &["findings", "cells", "explanations", "published_samples", "device_pairs", "published"],
    },
    Section { id: "other", heading: "Further results", intro: "", tables: &[] },
];
