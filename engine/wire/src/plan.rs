//! What is asked of a wire, and what can be of it.

use crate::{bursts::Bursts, distribution::Distribution, policer::Policer};

/// How a wire loses packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet by itself, with this probability.
    Bernoulli(f64),
    /// By a state that may change at each packet (Gilbert 1960; Elliott 1963).
    GilbertElliott {
        /// Probability that the good state ends.
        enter: f64,
        /// Probability that the bad state ends.
        leave: f64,
        /// Probabilities of a loss in the good and in the bad state.
        loss: [f64; 2],
    },
    /// By the sizes of the packets and their times.
    Policer(Policer),
}

/// What a wire does to explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tampering {
    /// Clears the ECN codepoint of every packet.
    Bleach,
    /// Sets CE in every packet, ECN-capable or not.
    Mark,
    /// Clears AE, CWR and ECE of every TCP header.
    ClearFlags,
    /// Loses SYNs, and their answers, in which any of these flags is set.
    LoseSyn,
}

/// What happens to packets on a wire.
#[derive(Clone, Debug, PartialEq)]
pub struct WirePlan {
    /// Losses.
    pub loss: Option<Loss>,
    /// Further delay.
    pub jitter: Option<Distribution>,
    /// Share of the packets that have it.
    pub jitter_share: f64,
    /// True if packets may overtake each other.
    pub reorder: bool,
    /// Slots in which packets come out; they keep their order.
    pub bursts: Option<Bursts>,
    /// What it does to ECN; the caller does it.
    pub tampers: Option<Tampering>,
}

impl WirePlan {
    /// Returns a time that next to all packets are on it, ns: ten times the mean of what delays them.
    pub fn holds_ns(&self) -> u64 {
        let gap = self.bursts.as_ref().map(|bursts| &bursts.gap);
        let times = self.jitter.as_ref().into_iter().chain(gap);
        (10.0 * times.map(Distribution::mean_ns).sum::<f64>()) as u64
    }

    /// Refuses probabilities outside of 0 to 1, and times that cannot be drawn.
    ///
    /// # Errors
    /// Says which.
    pub fn check(&self) -> Result<(), String> {
        let probabilities = match self.loss {
            None | Some(Loss::Policer(_)) => Vec::new(),
            Some(Loss::Bernoulli(probability)) => vec![probability],
            Some(Loss::GilbertElliott { enter, leave, loss }) => {
                vec![enter, leave, loss[0], loss[1]]
            }
        };
        let all = probabilities.iter().chain([&self.jitter_share]);
        for probability in all {
            if !(0.0..=1.0).contains(probability) {
                return Err(format!(
                    "a probability of its wire = {probability} must lie between 0 and 1"
                ));
            }
        }
        let gap = self.bursts.as_ref().map(|bursts| bursts.gap);
        let times = [self.jitter, gap];
        times.iter().flatten().try_for_each(Distribution::check)
    }
}
