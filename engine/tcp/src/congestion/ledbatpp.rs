//! LEDBAT++: LEDBAT with a smaller target, a slow start, a decrease in proportion to the window, and
//! slowdowns by which late flows, too, see the path without a queue (draft-irtf-iccrg-ledbat-plus-plus).

use super::ledbat::Delays;
use super::{Cause, Growth, Sample};
use crate::config::MS;

/// Queueing delay that it aims at (section 4: TARGET).
const TARGET_NS: u64 = 60 * MS;

/// The gain is one part of at most so many (section 4.2).
const MOST_PARTS: u64 = 16;

/// Weight of the decrease (section 4.2: Constant), and what a round trip takes off at most.
const DECREASE: f64 = 1.0;
const MOST_DECREASE: f64 = 0.5;

/// The first slow start ends at this share of the target (section 4.3).
const START_SHARE: f64 = 0.75;

/// Least window, which is also that of a slowdown, packets (sections 4.3 and 4.4).
const LEAST_WINDOW: f64 = 2.0;

/// Round trips until the first slowdown, and with the least window; times between two slowdowns, in
/// the time that the last one took (section 4.4).
const ROUNDS: u64 = 2;
const APART: u64 = 9;

#[derive(Clone, Debug, Default)]
pub(crate) struct Ledbatpp(Box<State>);

#[derive(Clone, Debug, Default)]
struct State {
    delays: Delays,
    phase: Phase,
}

/// Times are in ns.
#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// The first slow start.
    #[default]
    Start,
    /// The growth law, until the next slowdown.
    Steady { until_ns: u64 },
    /// A slowdown: the least window, and then slow start up to the window before.
    Slow {
        since_ns: u64,
        until_ns: u64,
        before: f64,
    },
}

impl Growth for Ledbatpp {
    /// Its slow start is its own: the gain holds there, too.
    fn ends_slow_start(&mut self, _cwnd: f64, _ack: &Sample) -> bool {
        true
    }

    fn grow(&mut self, cwnd: f64, credit: f64, ack: &Sample) -> f64 {
        let State { delays, phase } = &mut *self.0;
        delays.take(ack.now_ns, ack.rtt_ns);
        let gain = 1.0 / parts(delays.base_ns()) as f64;
        let delay = delays.queueing_ns() as f64 / TARGET_NS as f64;
        let now_ns = ack.now_ns;
        let rounds_ns = now_ns + ROUNDS * ack.srtt_ns;
        match *phase {
            Phase::Start if delay > START_SHARE => {
                *phase = Phase::Steady {
                    until_ns: rounds_ns,
                };
                cwnd
            }
            Phase::Start => cwnd + gain * credit,
            Phase::Steady { until_ns } if now_ns >= until_ns => {
                *phase = Phase::Slow {
                    since_ns: now_ns,
                    until_ns: rounds_ns,
                    before: cwnd,
                };
                LEAST_WINDOW
            }
            Phase::Steady { .. } => {
                let grown = if delay <= 1.0 {
                    gain
                } else {
                    (gain - DECREASE * cwnd * (delay - 1.0)).max(-MOST_DECREASE * cwnd)
                };
                (cwnd + grown * credit / cwnd).max(LEAST_WINDOW)
            }
            Phase::Slow { until_ns, .. } if now_ns < until_ns => cwnd,
            Phase::Slow {
                since_ns, before, ..
            } => {
                let grown = (cwnd + gain * credit).min(before.max(cwnd));
                if grown >= before {
                    *phase = Phase::Steady {
                        until_ns: now_ns + APART * (now_ns - since_ns),
                    };
                }
                grown
            }
        }
    }

    /// Half, once a round trip. What was slow start is over: the next slowdown comes in two round
    /// trips after the first one, and else at the time that it would have.
    fn reduce(&mut self, cwnd: f64, _used: f64, _cause: Cause) -> f64 {
        let phase = &mut self.0.phase;
        *phase = match *phase {
            Phase::Start => Phase::Steady { until_ns: 0 },
            Phase::Slow {
                since_ns, until_ns, ..
            } => Phase::Steady {
                until_ns: until_ns + APART * (until_ns - since_ns),
            },
            steady => steady,
        };
        (cwnd / 2.0).max(LEAST_WINDOW)
    }
}

/// Returns into how many parts a packet is divided (section 4.2): the gain is one of them.
fn parts(base_ns: u64) -> u64 {
    (2 * TARGET_NS)
        .div_ceil(base_ns.max(1))
        .clamp(1, MOST_PARTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SECOND;
    use crate::congestion::CongestionControl;
    use crate::congestion::path::Path;
    use crate::sender::GREEDY;

    fn path() -> Path {
        Path::new(CongestionControl::Ledbatpp, GREEDY, &[], |config| {
            config.initial_window = 2.0;
        })
    }

    #[test]
    fn the_gain_is_smaller_on_short_paths() {
        // draft, section 4.2: 1 / min(16, ceil(2 TARGET / base))
        let found = [1, 8, 20, 50, 100, 120, 300].map(|ms| parts(ms * MS));
        assert_eq!(found, [16, 15, 6, 3, 2, 1, 1]);
    }

    #[test]
    fn its_queue_is_below_the_target_and_it_slows_down_for_a_tenth_of_the_time() {
        let mut path = path();
        path.run(60 * SECOND);
        let (mut most, mut idle_ns, mut before_ns) = (0, 0, path.now_ns);
        let acknowledged = path.sender.acknowledged();
        let (mut slow, mut slowdowns) = (false, 0);
        path.watch(460 * SECOND, |path| {
            most = most.max(path.queue());
            slowdowns += u32::from(!slow && path.sender.cwnd() <= LEAST_WINDOW);
            slow = path.sender.cwnd() <= LEAST_WINDOW;
            idle_ns += if path.queue() == 0 {
                path.now_ns - before_ns
            } else {
                0
            };
            before_ns = path.now_ns;
        });
        // 60 ms are 60 packets; it reacts a round trip too late, and by a packet each
        assert!((55..=70).contains(&most), "{most}");
        assert!(slowdowns >= 5, "{slowdowns}");
        let share = f64::from(path.sender.acknowledged() - acknowledged) / 400e3;
        assert!((0.88..0.99).contains(&share), "{share}");
    }

    #[test]
    fn far_above_the_target_it_halves_and_near_to_it_takes_off_its_share() {
        let mut control = Ledbatpp::default();
        control.0.phase = Phase::Steady { until_ns: u64::MAX };
        let sample = |now_ms, rtt_ms| Sample::of_one(now_ms * MS, rtt_ms * MS, false);
        control.grow(100.0, 100.0, &sample(1, 120));
        let after = |control: &mut Ledbatpp, rtt_ms| {
            (0..3).for_each(|_| _ = control.grow(100.0, 0.0, &sample(2, rtt_ms)));
            control.grow(100.0, 100.0, &sample(2, rtt_ms))
        };
        // the base is 120 ms, so the gain is 1; 60 ms above the target is twice the target
        assert_eq!(after(&mut control, 180), 101.0);
        assert!((after(&mut control, 186) - (101.0 - 10.0)).abs() < 1e-9);
        assert_eq!(after(&mut control, 400), 50.0);
    }

    #[test]
    fn a_delay_far_beyond_the_target_leaves_the_least_window() {
        let mut path = path();
        path.run(20 * SECOND);
        path.delay_ns += 200 * MS;
        path.run(60 * SECOND);
        assert!(path.sender.cwnd() <= 4.0, "{}", path.sender.cwnd());
    }
}
