//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod cake;
mod cake_collisions;
mod cake_link;
mod cake_linux;
mod classes;
mod common;
mod fifo;
mod linux_order;
mod retune;
mod schedulers;
mod sfq;
