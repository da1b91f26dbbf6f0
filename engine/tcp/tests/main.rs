//! The tests of this crate, as one program: compiled and linked once, not once for each file.

mod bench;
mod channel;
mod cubic;
mod dctcp;
mod handshake;
mod linux;
mod linux_marks;
mod ns2;
mod odd_networks;
mod pacing;
mod rack;
mod rfc;
mod sack_compression;
mod transfers;
