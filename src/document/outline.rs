//! The chapters of a document that are made of tables.

/// A chapter of tables and their figures.
pub(super) struct Section {
    /// Its name in links and files.
    pub(super) id: &'static str,
    /// The heading.
    pub(super) heading: &'static str,
    /// Introduction of one or two sentences.
    pub(super) intro: &'static str,
    /// The keys of its tables, in order.
    pub(super) tables: &'static [&'static str],
}

/// Tables whose content other chapters show.
pub(super) const TAKEN: &[&str] = &["features", "regimes", "devices"];

/// Chapters after the summary, the instructions, the arithmetic and the verification.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        id: "neighbours",
        heading: "Comparison with neighbours",
        intro: "For each pair that differs: the reasons, each with its smallest input. A difference that cannot be observed \
                comes with a proof that it changes no result.",
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
        intro: "Each operation is compared with its arithmetic model, with plain f32 on a CPU and with the correctly rounded exact result.",
        tables: &["bit_references", "bit_agreement", "summary", "profile"],
    },
    Section {
        id: "growth",
        heading: "Error against k, exponent gap and range",
        intro: "The error of a sum depends on the number of its terms and on the exponents of its operands.",
        tables: &["product_errors", "bit_factors"],
    },
    Section {
        id: "chains",
        heading: "Chains of products",
        intro: "Each result is the next operand, and errors grow along the chain.",
        tables: &["curves", "curve_pairs", "chain"],
    },
    Section {
        id: "splitting",
        heading: "Products by splitting",
        intro: "Products in f32 and of wide integers are sums of products of parts.",
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
        heading: "Cost",
        intro: "Clocks and rates of one multiprocessor or core, by warps and independent runs, and rates of the whole device.",
        tables: &["costs", "scalar_costs", "load_costs", "sustained_costs", "cost_points", "load_points", "cost_cells"],
    },
    Section {
        id: "quantisation",
        heading: "Quantisation",
        intro: "Error and range of data in each format.",
        tables: &["quantisation", "tensor_quantisation", "worst_runs", "arrays", "elements", "scales", "conversions"],
    },
    Section {
        id: "products",
        heading: "Matrix products and schedules",
        intro: "Whole products: their instructions, their order, and the comparison with a replay in every bit.",
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
        intro: "Conversions and scalar operations are compared with correctly rounded ones.",
        tables: &["sweeps", "check", "differences"],
    },
    Section {
        id: "published",
        heading: "Published figures",
        intro: "Each published figure is compared with the one measured here. A simulated device gives its model's results.",
        tables: &[
            "findings",
            "cells",
            "explanations",
            "published_samples",
            "device_pairs",
            "published",
            "published_features",
        ],
    },
    Section { id: "other", heading: "Further results", intro: "", tables: &[] },
];
