//! Options that several verbs have, each declared once.

use std::{
    ops::{Deref, DerefMut},
    path::PathBuf,
};

use clap::{Arg, Args};

use super::{
    drawings::figure_file,
    named::named,
    options::{array_file, cases, device_name, integer, model_name, output_file, safetensors, shipped_model},
};
use crate::{campaign::MOST_CASES, device::DeviceName, inputs::Init, probe::MAX_SAMPLES, product::ArrayFile};

/// Declares groups of one option, each of which stands for the option's value.
macro_rules! shared {
    ($($(#[doc = $help:literal])* #[arg($($argument:tt)*)] $group:ident { $option:ident: $value:ty })*) => {
        $(
            #[derive(Args, Debug, Clone, Default)]
            pub(crate) struct $group {
                $(#[doc = $help])*
                #[arg($($argument)*)]
                $option: $value,
            }

            impl DerefMut for $group {
                fn deref_mut(&mut self) -> &mut $value {
                    &mut self.$option
                }
            }

            impl Deref for $group {
                type Target = $value;

                fn deref(&self) -> &$value {
                    &self.$option
                }
            }
        )*
    };
}

shared! {
    /// Count all NaN codes as equal
    #[arg(long, help_heading = "What")]
    AnyNan { any_nan: bool }

    /// With --all, leave out instructions that the device or the model lacks
    #[arg(long, requires = "all", help_heading = "What")]
    Available { available: bool }

    /// Model of the arithmetic, by name or file
    #[arg(long, value_name = "MODEL", value_parser = model_name, default_value = "hopper", help_heading = "What")]
    ArithmeticModel { model: String }

    /// Model to compare with, by name or file [default: the generation's]
    #[arg(long, value_name = "MODEL", value_parser = model_name, help_heading = "What")]
    ComparedModel { model: Option<String> }

    /// Model, by name or file (repeatable) [default: all]
    #[arg(long = "model", value_name = "MODEL", value_parser = model_name, help_heading = "What")]
    Models { models: Vec<String> }

    /// Withhold this shipped model (repeatable)
    #[arg(long = "without-model", value_name = "MODEL", value_parser = shipped_model, help_heading = "What")]
    WithoutModels { without_models: Vec<String> }

    /// Instruction: name, PTX or machine code, or a TOML file (repeatable)
    #[arg(long = "instr", value_name = "NAME", help_heading = "What")]
    Instructions { instructions: Vec<String> }

    /// Instruction: name, PTX, TOML file, or gemm.mMnNkK.D.A.B.C
    #[arg(long = "instr", value_name = "NAME", help_heading = "What")]
    OneInstruction { instruction: Option<String> }

    /// Formats and compute type; .fast keeps sums of FP8 in the unit
    #[arg(long, value_name = "D.A.B.COMPUTE", help_heading = "What")]
    LibraryKind { product: Option<String> }

    /// Rounding: RNE, RNA, RZ, RU, RD, RO (to odd) or SR (stochastic)
    #[arg(long, value_name = "MODE", default_value = "RNE", help_heading = "What")]
    Round { round: String }

    /// References see operands after or before rounding [default: both]
    #[arg(long = "init", value_parser = named::<Init>(), value_name = "INIT", help_heading = "Inputs")]
    Inits { inits: Vec<Init> }

    /// Device: cuda:N, cpu, a model or GPU (hopper, H100), trace:, exec:
    #[arg(long, value_name = "DEVICE", value_parser = device_name, help_heading = "Device")]
    OneDevice { device: Option<DeviceName> }

    /// Device: cuda:N, cpu, a model or GPU, trace:, exec: (repeatable)
    #[arg(long = "device", value_name = "DEVICE", value_parser = device_name, help_heading = "Device")]
    Devices { devices: Vec<DeviceName> }

    /// Every shipped model, in addition to the named devices
    #[arg(long, help_heading = "Device")]
    AllModels { all_models: bool }

    /// Format of codes that a file does not name (.npy of ml_dtypes)
    #[arg(long, value_name = "FORMAT", help_heading = "Inputs")]
    CodeFormat { from: Option<String> }

    /// Names of tensors, * for any text
    #[arg(long, value_name = "PATTERN", help_heading = "Inputs")]
    Include { include: Vec<String> }

    /// Names of tensors to leave out
    #[arg(long, value_name = "PATTERN", help_heading = "Inputs")]
    Exclude { exclude: Vec<String> }

    /// Matrix that D is compared with in every bit
    #[arg(long, value_name = "FILE", value_parser = array_file, help_heading = "Inputs")]
    Compare { compare: Option<ArrayFile> }

    /// Cases for each instruction, such as 1e12
    #[arg(long, value_name = "N", value_parser = cases(MOST_CASES), help_heading = "Inputs")]
    Cases { cases: Option<u64> }

    /// Samples of each result [default: 10000; of a program, a minute's]
    #[arg(long, value_name = "N", value_parser = integer(1..=MAX_SAMPLES), help_heading = "Inputs")]
    Samples { samples: Option<u64> }

    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = integer(0..=u64::MAX), help_heading = "Inputs")]
    Seed { seed: u64 }

    /// Seed of the random numbers [default: 0]
    #[arg(long, value_name = "N", value_parser = integer(0..=u64::MAX), help_heading = "Inputs")]
    SeedIfGiven { seed: Option<u64> }

    /// Elements that are computed in full
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = integer(1..=1usize << 24), help_heading = "Limits")]
    Sample { sample: usize }

    /// Write the bound of every element of D, m x n in f64
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    Bounds { bounds: Option<PathBuf> }

    /// Write operands that show the difference to this file
    #[arg(long, value_name = "FILE.safetensors", value_parser = safetensors, help_heading = "Output")]
    Apart { apart: Option<PathBuf> }

    /// Write the schedule of the product to this file
    #[arg(long, value_name = "FILE.toml", value_parser = output_file, help_heading = "Output")]
    ScheduleOut { schedule_out: Option<PathBuf> }

    /// Causes of mismatches to list for each result
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = integer(0..=usize::MAX), help_heading = "Output")]
    MaxMismatches { max_mismatches: usize }

    /// Draw the figure of the result to FILE.svg, FILE.pdf or FILE.png
    #[arg(long, value_name = "FILE", value_parser = figure_file, help_heading = "Output")]
    Plot { plot: Option<PathBuf> }

    /// Show no progress on standard error
    #[arg(short, long, help_heading = "Output")]
    Quiet { quiet: bool }
}

/// A shared option whose default in this verb the help names.
pub(crate) fn with_default(option: Arg, default: &str) -> Arg {
    let help = option.get_help().map(ToString::to_string).unwrap_or_default();
    option.help(format!("{help} [default: {default}]"))
}
