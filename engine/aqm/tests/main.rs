//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod all_headers;
mod any_parameters;
mod arithmetic;
mod avq;
mod blue;
mod broken_headers;
mod choke;
mod cobalt;
mod codel;
mod common;
mod drop_functions;
mod dualpi2;
mod fred;
mod lred;
mod moving_red;
mod oracle;
mod parameters;
mod pi;
mod pie;
mod red;
mod red_ns2;
mod rem;
mod settle;
mod sred;
mod user_aqm;
