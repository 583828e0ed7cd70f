//! Atlas: a static site of all arithmetics.

pub mod calculator;
