//! Markers: which packets get which drop precedence.

use crate::{
    limits::{Limits, at_least},
    reader::Reader,
    show::rounded,
    table::{kinds, table},
};

const RATE: Limits = at_least(1000.0).at_most(1e14).unit("bits/s");
const BURST: Limits = at_least(0.0).at_most(1e12).unit("bytes");

table! {
    /// One rate and two bursts (RFC 2697): green up to the first, yellow up to the second, else red.
    pub struct SingleRate kind "srtcm" checked by has_a_burst {
        /// Committed information rate.
        cir_bps: f64, RATE;
        /// Committed burst size: what is green at once after a pause.
        cbs_bytes: f64, BURST;
        /// Excess burst size: what is yellow at once. Its tokens are those that the first has no
        /// room for.
        ebs_bytes: f64, BURST;
        /// Whether packets keep the precedence that they have, or get a higher one (colour-aware).
        colour_aware: bool = false;
    }
}

impl SingleRate {
    fn has_a_burst(&self, reader: &mut Reader) {
        if self.cbs_bytes == 0.0 && self.ebs_bytes == 0.0 {
            reader.say("one of cbs_bytes and ebs_bytes must be above 0: else all packets are red");
        }
    }
}

table! {
    /// Two rates (RFC 2698): green up to the first, yellow up to the second, else red.
    pub struct TwoRate kind "trtcm" checked by peak_is_higher {
        /// Committed information rate.
        cir_bps: f64, RATE;
        /// Committed burst size: what is green at once after a pause.
        cbs_bytes: f64, at_least(1.0).at_most(1e12).unit("bytes");
        /// Peak information rate.
        pir_bps: f64, RATE;
        /// Peak burst size: what is not red at once after a pause.
        pbs_bytes: f64, at_least(1.0).at_most(1e12).unit("bytes");
        /// Whether packets keep the precedence that they have, or get a higher one (colour-aware).
        colour_aware: bool = false;
    }
}

impl TwoRate {
    fn peak_is_higher(&self, reader: &mut Reader) {
        if self.pir_bps < self.cir_bps {
            reader.say(format!(
                "pir_bps = {} must be at least cir_bps = {} (bits/s)",
                rounded(self.pir_bps),
                rounded(self.cir_bps)
            ));
        }
    }
}

kinds! {
    /// A meter with two token buckets, by which packets of assured forwarding (AF11 to AF43) get a
    /// drop precedence: green ones 1 (AFx1), yellow ones 2, red ones 3.
    pub enum Marker { SingleRate, TwoRate }
}
