//! Parameters of Linux.

use crate::config::{Config, MS, Variant};
use crate::quirks::Quirks;

impl Config {
    /// Returns the values of Linux, which are below those of the RFCs: time-outs from 200 ms
    /// (`TCP_RTO_MIN`), ACKs delayed by 40 ms (`TCP_DELACK_MIN`). A connection opens with a SYN.
    ///
    /// One thing is left out. Linux undoes reductions that were not needed; here only F-RTO does so,
    /// because no packet is reordered.
    pub fn linux(variant: Variant) -> Config {
        Config {
            syn: true,
            min_rto_ns: 200 * MS,
            delayed_ack_ns: Some(40 * MS),
            quirks: Quirks::LINUX,
            ..Config::rfc(variant)
        }
    }
}
