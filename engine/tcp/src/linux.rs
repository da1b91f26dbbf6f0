//! Linux: its values.

use crate::config::{Config, MS, Variant};
use crate::quirks::Quirks;

impl Config {
    /// The values of Linux, which go below those of the RFCs: time-outs from 200 ms (`TCP_RTO_MIN`),
    /// ACKs delayed by 40 ms (`TCP_DELACK_MIN`). A connection opens with a SYN.
    ///
    /// Left out is the undoing of reductions, but for that by F-RTO: nothing here is reordered. So is
    /// PSH, of which a receiver acknowledges each at once: how often it comes is the application's.
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
