//! `tcnum identify`: arithmetics that it never saw, worked out from answers alone.

#[path = "../common/arithmetics/mod.rs"]
mod arithmetics;
mod black_box;
mod blind;
mod bounds;
mod command;
mod designs;
mod evidence;
mod features;
mod hardware;
mod honesty;
mod kinds;
mod kits;
#[path = "../common/machine.rs"]
mod machine;
mod oddities;
#[path = "../common/program.rs"]
mod program;
mod quick;
mod random;
mod shipped;
mod words;
