//! Wires that lose, delay, gather and reorder packets.

use sluice_wire::{Loss as Losses, Tampering, WirePlan};

use crate::{
    limits::{Limits, above, at_least},
    network::distribution::Distribution,
    reader::Reader,
    table::{kinds, table, words},
};

const PROBABILITY: Limits = at_least(0.0).at_most(1.0);
const CHANCE: Limits = above(0.0).at_most(1.0);

table! {
    /// Each packet is lost by itself.
    pub struct Bernoulli kind "bernoulli" {
        /// Probability that a packet is lost.
        probability: f64, PROBABILITY;
    }
}

table! {
    /// Losses in bursts: a state, good or bad, may change at each packet.
    ///
    /// The model of Gilbert (1960) and Elliott (1963).
    /// A share `enter / (enter + leave)` of the packets meets the bad state, `1 / leave` of them in a
    /// row on average.
    pub struct GilbertElliott kind "gilbert-elliott" {
        /// Probability, at each packet, that the good state ends.
        enter: f64, CHANCE;
        /// Probability, at each packet, that the bad state ends.
        leave: f64, CHANCE;
        /// Probability that a packet is lost in the bad state.
        loss_in_bad: f64 = 1.0, PROBABILITY;
        /// Probability that a packet is lost in the good state.
        loss_in_good: f64 = 0.0, PROBABILITY;
    }
}

table! {
    /// A policer (RFC 2697): what exceeds a rate and a burst is lost, and nothing waits.
    pub struct Policer kind "policer" {
        /// Rate that passes.
        rate_bps: f64, at_least(1000.0).at_most(1e14).unit("bits/s");
        /// What passes at once after a pause.
        burst_bytes: f64, at_least(1.0).at_most(1e12).unit("bytes");
    }
}

kinds! {
    /// How a wire loses packets.
    pub enum Loss { Bernoulli, GilbertElliott, Policer }
}

table! {
    /// Packets come out in slots, as of a radio that sends aggregates (Linux: the `slot` of netem).
    ///
    /// A packet that comes when no slot is ahead waits for one, a random time later.
    pub struct Bursts {
        /// Time until the next slot.
        gap: Distribution;
        /// Most packets in a slot.
        packets: u32 = 16, at_least(1.0).at_most(1e6).unit("packets");
    }
}

words! {
    /// What a wire does to explicit congestion notification, as middleboxes of the Internet do.
    pub enum Tampers {
        /// Clears the ECN codepoint of every packet.
        Bleach = "bleach",
        /// Sets CE in every packet, ECN-capable or not.
        Mark = "mark",
        /// Clears AE, CWR and ECE of every TCP header.
        ClearFlags = "clear_flags",
        /// Loses SYNs, and their answers, in which any of these flags is set.
        LoseSyn = "lose_syn",
    }
}

table! {
    /// What happens to packets on the wire, behind the queue and the transmission.
    ///
    /// It is counted apart: a loss here is no verdict of the AQM.
    pub struct Wire checked by sensible {
        /// Losses; not given: none.
        loss: Option<Loss>;
        /// A time that each packet takes in addition to the link's delay; not given: none.
        jitter: Option<Distribution>;
        /// Share of the packets that take it; the others take none.
        jitter_share: f64 = 1.0, CHANCE;
        /// Whether packets may overtake each other. If not, a packet comes out with the one before it
        /// at the earliest.
        reorder: bool = false;
        /// Slots in which packets come out, after the jitter; not given: each comes out by itself.
        bursts: Option<Bursts>;
        /// What it does to explicit congestion notification, as some middleboxes do; not given: nothing.
        /// The network world has it.
        ecn: Option<Tampers>;
    }
}

impl Wire {
    /// Returns what happens to packets on it.
    pub fn plan(&self) -> WirePlan {
        WirePlan {
            loss: self.loss.as_ref().map(Loss::plan),
            jitter: self.jitter.as_ref().map(Distribution::plan),
            jitter_share: self.jitter_share,
            reorder: self.reorder,
            bursts: self.bursts.as_ref().map(|bursts| sluice_wire::Bursts {
                gap: bursts.gap.plan(),
                packets: bursts.packets,
            }),
            tampers: self.ecn.map(|tampers| match tampers {
                Tampers::Bleach => Tampering::Bleach,
                Tampers::Mark => Tampering::Mark,
                Tampers::ClearFlags => Tampering::ClearFlags,
                Tampers::LoseSyn => Tampering::LoseSyn,
            }),
        }
    }

    fn sensible(&self, reader: &mut Reader) {
        let happens = [
            self.loss.is_some(),
            self.jitter.is_some(),
            self.bursts.is_some(),
            self.ecn.is_some(),
        ];
        if !happens.contains(&true) {
            reader.say(
                "one of loss, jitter, bursts and ecn must be given: else nothing happens on it",
            );
        }
        if self.reorder && self.bursts.is_some() {
            reader.say(
                "reorder and bursts cannot both be given: packets of a burst keep their order",
            );
        }
        if self.jitter.is_none() && (self.reorder || self.jitter_share < 1.0) {
            reader
                .say("reorder and jitter_share must have a jitter: it is what makes packets late");
        }
    }
}

impl Loss {
    fn plan(&self) -> Losses {
        match self {
            Self::Bernoulli(each) => Losses::Bernoulli(each.probability),
            Self::GilbertElliott(burst) => Losses::GilbertElliott {
                enter: burst.enter,
                leave: burst.leave,
                loss: [burst.loss_in_good, burst.loss_in_bad],
            },
            Self::Policer(policer) => Losses::Policer(sluice_wire::Policer {
                rate_bps: policer.rate_bps,
                burst_bytes: policer.burst_bytes,
            }),
        }
    }
}
