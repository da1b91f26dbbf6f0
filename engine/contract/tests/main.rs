//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod damaged_scenarios;
mod vectors;
mod worlds;
