//! The retransmission timeout: RFC 6298 in Jacobson's integer form.
//!
//! Round-trip times are counted in ticks of the sender's clock. The smoothed time is stored times
//! eight and its variation times four. RFC 6298's equations (2.3) and its rule RTO = SRTT + max(G,
//! 4 RTTVAR), with G one tick, then become additions and shifts (Jacobson 1988, appendix A); ns-2
//! computes the same.

use crate::config::Config;

/// Above this backoff factor the estimate is considered wrong and is measured anew (RFC 6298,
/// section 5).
const DISTRUSTED_BACKOFF: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct Rto {
    /// Smoothed round-trip time, eighths of a tick; 0: none yet.
    srtt8: i64,
    /// Mean deviation, quarters of a tick.
    rttvar4: i64,
    /// Timeout without backoff, ns.
    base_ns: u64,
    backoff: u32,
}

impl Rto {
    pub fn new(config: &Config) -> Rto {
        Rto {
            srtt8: 0,
            rttvar4: 0,
            base_ns: config.initial_rto_ns,
            backoff: 1,
        }
    }

    /// Takes a measured round-trip time, in ticks (RFC 6298, 2.2 and 2.3).
    pub fn sample(&mut self, config: &Config, ticks: u64) {
        let rtt = ticks.max(1) as i64;
        if self.srtt8 == 0 {
            self.srtt8 = rtt << 3;
            self.rttvar4 = rtt << 1;
        } else {
            let error = rtt - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + error).max(1);
            self.rttvar4 = (self.rttvar4 + error.abs() - (self.rttvar4 >> 2)).max(1);
        }
        let rto = ((self.rttvar4 << 3) + self.srtt8) >> 3;
        self.base_ns = rto as u64 * config.tick_ns;
    }

    /// Doubles the timeout (RFC 6298, 5.5).
    pub fn back_off(&mut self, config: &Config) {
        if self.timeout_ns(config) < config.max_rto_ns {
            self.backoff *= 2;
        }
        if self.backoff > DISTRUSTED_BACKOFF {
            self.rttvar4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }

    /// Ends the backoff: a packet sent once was acknowledged (Karn's algorithm).
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    pub fn timeout_ns(&self, config: &Config) -> u64 {
        let base_ns = if config.quirks.adds_least_rto && self.srtt8 > 0 {
            let deviations_ns = self.rttvar4 as u64 * config.tick_ns;
            self.srtt_ns(config) + deviations_ns.max(config.min_rto_ns)
        } else {
            self.base_ns.max(config.min_rto_ns)
        };
        (base_ns * u64::from(self.backoff)).min(config.max_rto_ns)
    }

    pub fn srtt_ns(&self, config: &Config) -> u64 {
        self.srtt8 as u64 * config.tick_ns / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MS, Variant};

    #[test]
    fn linux_adds_the_least_time_out_to_the_round_trip() {
        let linux = Config::linux(Variant::Rack);
        let rfc = Config {
            min_rto_ns: 200 * MS,
            ..Config::rfc(Variant::Rack)
        };
        let settled = |config: &Config| {
            let mut rto = Rto::new(config);
            assert_eq!(rto.timeout_ns(config), 1000 * MS);
            (0..100).for_each(|_| rto.sample(config, 100));
            rto.timeout_ns(config)
        };
        // 100 ms with hardly any deviation
        assert_eq!((settled(&linux), settled(&rfc)), (300 * MS, 200 * MS));
    }
}
