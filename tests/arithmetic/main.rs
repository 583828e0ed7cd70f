//! The arithmetic of matrix instructions: evaluators, exact references, the shipped models, and the recordings that they rest on.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod arm_recordings;
#[path = "../common/changed.rs"]
mod changed;
mod classes;
mod corners;
mod distinguish;
mod evidence;
mod fast_evaluator;
mod generations;
mod joint;
#[path = "../common/machine.rs"]
mod machine;
mod model_files;
mod models;
mod one_bit;
mod order;
mod power;
mod power_stream;
mod programs;
mod random_arithmetics;
mod recorded_vectors;
mod recordings;
mod references;
mod registers;
mod special_keys;
mod targets;
mod unobservable;
