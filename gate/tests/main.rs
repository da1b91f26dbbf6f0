//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod acks;
mod bands;
mod cases;
mod in_a_row;
mod kernel_log;
mod on_wire;
mod reload;
mod replay;
mod top;
