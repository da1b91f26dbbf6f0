//! RED's average and drop probability in floating point, for AQMs that use them.

use sluice_aqm::{Verdict, View};

/// Floyd & Jacobson 1993 with uniformised spacing and decay while idle.
pub struct RedFloat {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    w: f64,
    mean_packet_bytes: f64,
    pub average: f64,
    count: f64,
}

impl RedFloat {
    pub fn new([min_th, max_th, max_p, w]: [f64; 4], mean_packet_bytes: f64) -> Self {
        Self {
            min_th,
            max_th,
            max_p,
            w,
            mean_packet_bytes,
            average: 0.0,
            count: 0.0,
        }
    }

    /// Updates the average: it decays if the link is idle, and otherwise takes in the queue.
    pub fn observe(&mut self, view: &View) {
        if view.idle == 1 {
            let packet_ns = (8e9 * self.mean_packet_bytes / view.rate_bps as f64).floor();
            let packets = ((view.now_ns - view.idle_since_ns) as f64 / packet_ns).floor();
            self.average *= (1.0 - self.w).powf(packets);
        } else {
            self.average += self.w * (f64::from(view.queue_packets) - self.average);
        }
    }

    pub fn p_b(&self) -> f64 {
        if self.average < self.min_th {
            0.0
        } else if self.average >= self.max_th {
            1.0
        } else {
            self.max_p * (self.average - self.min_th) / (self.max_th - self.min_th)
        }
    }

    /// Section VI: uniform gaps.
    pub fn p_a(&self) -> f64 {
        let rest = 1.0 - self.count * self.p_b();
        if rest <= 0.0 {
            1.0
        } else {
            (self.p_b() / rest).min(1.0)
        }
    }

    /// Counts the packets since the last drop; `p_b` was the probability for this one.
    pub fn follow(&mut self, verdict: Verdict, p_b: f64) {
        let dropped = matches!(
            verdict,
            Verdict::DropEarly | Verdict::Mark | Verdict::DropForced
        );
        self.count = if dropped || p_b == 0.0 {
            0.0
        } else {
            self.count + 1.0
        };
    }
}
