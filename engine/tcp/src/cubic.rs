//! CUBIC's growth and reduction (RFC 9438, without HyStart++).

/// Multiplicative decrease factor (RFC 9438, section 4.6).
pub(crate) const BETA: f64 = 0.7;

/// Aggressiveness, packets per second cubed (RFC 9438, section 5.1).
const C: f64 = 0.4;

/// Growth of the window that Reno would have with CUBIC's decrease (RFC 9438, section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

#[derive(Clone, Debug, Default)]
pub(crate) struct Cubic {
    /// Window before the last reduction, packets; 0: start from the window found.
    w_max: f64,
    /// Window just before the last reduction, without fast convergence, packets.
    cwnd_prior: f64,
    /// Reno's window, packets.
    w_est: f64,
    /// Time from the start of the epoch to `w_max`, seconds.
    k_s: f64,
    /// When congestion avoidance began, ns.
    epoch_ns: Option<u64>,
}

impl Cubic {
    /// The window after an ACK of `acked` packets in congestion avoidance (RFC 9438, sections 4.2
    /// to 4.5).
    pub fn grow(&mut self, cwnd: f64, now_ns: u64, srtt_ns: u64, acked: u32) -> f64 {
        let epoch_ns = match self.epoch_ns {
            Some(epoch_ns) => epoch_ns,
            None => self.begin_epoch(cwnd, now_ns),
        };
        let elapsed_s = (now_ns - epoch_ns) as f64 * 1e-9;
        let alpha = if self.w_est < self.cwnd_prior {
            ALPHA
        } else {
            1.0
        };
        self.w_est += alpha * f64::from(acked) / cwnd;
        if self.w_cubic(elapsed_s) < self.w_est {
            return self.w_est.max(cwnd);
        }
        let target = self.w_cubic(elapsed_s + srtt_ns as f64 * 1e-9);
        cwnd + (target.clamp(cwnd, 1.5 * cwnd) - cwnd) / cwnd
    }

    /// Notes a reduction of the window by a loss or a mark, with fast convergence (RFC 9438,
    /// section 4.7).
    pub fn reduce(&mut self, cwnd: f64) {
        self.w_max = if cwnd < self.w_max {
            cwnd * (1.0 + BETA) / 2.0
        } else {
            cwnd
        };
        self.cwnd_prior = cwnd;
        self.epoch_ns = None;
    }

    /// Notes a time-out: growth starts from the window then found (RFC 9438, section 4.8).
    pub fn time_out(&mut self, cwnd: f64) {
        self.w_max = 0.0;
        self.cwnd_prior = cwnd;
        self.epoch_ns = None;
    }

    fn begin_epoch(&mut self, cwnd: f64, now_ns: u64) -> u64 {
        self.w_max = self.w_max.max(cwnd);
        self.k_s = ((self.w_max - cwnd) / C).cbrt();
        self.w_est = cwnd;
        self.epoch_ns = Some(now_ns);
        now_ns
    }

    /// RFC 9438, equation 1, packets.
    fn w_cubic(&self, elapsed_s: f64) -> f64 {
        let from_max_s = elapsed_s - self.k_s;
        C * from_max_s * from_max_s * from_max_s + self.w_max
    }
}
