//! The parts of the onebell program.

pub mod keeper;
