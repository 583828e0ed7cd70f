//! The calculator of the atlas: its evaluator in JavaScript agrees with the reference, in Node.js and in a browser.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod browser;
mod evaluator;
mod formats;
#[path = "../common/machine.rs"]
mod machine;
mod node;
mod subjects;
