//! The commands as they are used: what they print, write and refuse, and the schema and the kept reports of it.

mod atlas;
mod bits;
mod calc;
mod chain;
mod citations;
mod cli_formats;
mod command_line;
mod completions_and_manual;
mod convert_files;
mod convert_streams;
mod cost;
mod decoded_files;
mod diff;
mod distinguish;
mod documents;
mod ends;
mod evidence;
mod experiment_suite;
mod experiments;
mod explain;
mod features;
mod inspect;
mod interruption;
#[path = "../common/machine.rs"]
mod machine;
mod model_names;
mod models_command;
mod output_files;
mod packaging;
mod papers;
#[path = "../common/program.rs"]
mod program;
mod progress;
mod published_figures;
mod quantise_files;
mod recipes;
mod recordings;
mod report_page;
mod report_schema;
mod reports;
mod scalar_command;
mod scales;
mod standard_input;
mod testfloat_sample;
mod tree;
mod verdicts;
