//! A control for tests: keeps all that it is told. Its window is the initial one, its rate 1000
//! packets per second.

use super::{Control, Delivery, Event, Rate, Sample, Sent, Window};
use crate::config::Config;

#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(pub Box<Told>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub sent: Vec<Sent>,
    pub acks: Vec<Sample>,
    pub rates: Vec<Option<Rate>>,
    pub events: Vec<Event>,
}

impl Control for Witness {
    const SAMPLES_DELIVERY: bool = true;

    fn on_sent(&mut self, _window: &mut Window, sent: &Sent) {
        self.0.sent.push(*sent);
    }

    fn on_ack(
        &mut self,
        _window: &mut Window,
        _config: &Config,
        ack: &Sample,
        delivery: Option<&Delivery>,
    ) {
        self.0.acks.push(*ack);
        self.0.rates.push(delivery.and_then(|of| of.rate));
    }

    fn on_event(&mut self, window: &mut Window, config: &Config, event: Event) {
        window.cwnd = config.initial_window;
        self.0.events.push(event);
    }

    fn pacing_rate(&self, _: &Window, config: &Config, _: u32, _: u64) -> Option<f64> {
        config.pacing.then_some(1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MS, SECOND};
    use crate::congestion::CongestionControl;
    use crate::congestion::path::Path;
    use crate::sender::{GREEDY, Phase};

    fn path(packets: u32, lost: &[u32], change: impl FnOnce(&mut Config)) -> Path {
        Path::new(CongestionControl::Witness, packets, lost, change)
    }

    fn told(path: &Path) -> &Told {
        path.sender.congestion.witness()
    }

    fn per_second(rate: &Rate) -> f64 {
        f64::from(rate.packets) * 1e9 / rate.interval_ns as f64
    }

    #[test]
    fn a_full_bottleneck_gives_its_rate_as_the_delivery_rate() {
        // a window of 200 packets keeps the link busy, whose rate is 1000 packets per second
        let mut path = path(GREEDY, &[], |config| config.initial_window = 200.0);
        path.run(2 * SECOND);
        let told = told(&path);
        assert!(told.acks.len() > 1800);
        // from the third round trip on: the first window left as a burst
        for rate in &told.rates[400..] {
            let delivery = rate.unwrap();
            assert!((per_second(&delivery) - 1000.0).abs() < 1e-6, "{rate:?}");
            assert!(!delivery.app_limited);
            assert_eq!(delivery.in_flight_at_send, 200);
        }
    }

    #[test]
    fn a_window_below_the_bandwidth_delay_product_gives_window_over_round_trip() {
        let mut path = path(GREEDY, &[], |config| config.initial_window = 10.0);
        path.run(2 * SECOND);
        // ten packets in each round trip of 100 ms; the first of them waits for no other
        for rate in &told(&path).rates[50..] {
            assert!((per_second(&rate.unwrap()) - 100.0).abs() < 1.0);
        }
    }

    #[test]
    fn every_packet_and_every_ack_is_told_with_what_is_in_flight() {
        let mut path = path(50, &[3, 20], |config| config.initial_window = 10.0);
        path.run(20 * SECOND);
        let told = told(&path);
        assert!(path.sender.is_done());
        assert_eq!(told.sent.len(), path.entered as usize);
        assert_eq!(told.acks.len(), path.entered as usize - 2);
        let (mut delivered, mut lost, mut in_flight, mut sent) = (0, 0, 0, 0);
        for sample in &told.acks {
            let before = told.sent[sent..]
                .iter()
                .take_while(|each| each.now_ns < sample.now_ns);
            let (mut count, mut flying) = (0, in_flight);
            for each in before {
                assert_eq!(each.in_flight, flying, "{each:?}");
                (count, flying) = (count + 1, flying + 1);
            }
            in_flight = flying;
            sent += count;
            let flight = sample.flight.unwrap();
            assert_eq!(flight.before, in_flight, "{sample:?}");
            in_flight = in_flight - sample.delivered - flight.lost;
            assert_eq!(flight.now, in_flight, "{sample:?}");
            (delivered, lost) = (delivered + sample.delivered, lost + flight.lost);
        }
        assert_eq!((delivered, lost), (50, 2));
    }

    #[test]
    fn events_come_in_their_order() {
        let mut few = path(40, &[3], |config| config.initial_window = 10.0);
        few.run(20 * SECOND);
        let (used, in_flight) = (Some(10.0), 9);
        let events = &told(&few).events;
        assert_eq!(events[0], Event::Loss { used, begins: true });
        assert_eq!(events[1], Event::Recovered { in_flight });
        // all packets of the first window are lost, and what repairs them
        let all: Vec<u32> = (0..11).collect();
        let mut path = path(40, &all, |config| config.initial_window = 10.0);
        path.run(20 * SECOND);
        let first = told(&path);
        assert!(matches!(
            first.events[0],
            Event::TimeOut {
                used: Some(_),
                in_flight: 0,
                lost: 11
            }
        ));
        assert!(
            first
                .acks
                .iter()
                .any(|sample| sample.phase == Phase::TimedOut)
        );
        path.drive(|sender, config, now, sent| {
            sender.resume(config, now, 5, 30 * SECOND, &mut |segment| {
                sent.push(segment)
            });
        });
        let idle = Event::Idle {
            idle_ns: 30 * SECOND,
            restarts: true,
        };
        assert_eq!(told(&path).events.last(), Some(&idle));
        // the application had left the network empty
        path.run(40 * SECOND);
        assert!(told(&path).rates.last().unwrap().unwrap().app_limited);
    }

    #[test]
    fn accurate_feedback_tells_how_many_packets_were_marked() {
        for (every, ack_delay_ns) in [
            (1, None),
            (3, None),
            (3, Some(40 * MS)),
            (40, Some(40 * MS)),
        ] {
            let mut path = path(400, &[50, 90], |config| {
                config.ecn = true;
                config.accurate_ecn = true;
                config.delayed_ack_ns = ack_delay_ns;
                config.quirks.takes_endless_marks = true;
            });
            path.mark_every = Some(every);
            path.run(30 * SECOND);
            assert!(path.sender.is_done() && path.marked > 0);
            let told = told(&path);
            let counted: u32 = told.acks.iter().map(|ack| ack.ce).sum();
            assert_eq!(counted, path.marked, "one in {every}");
            // and the window is reduced at most once for each window of data
            let marks = told.events.iter();
            let reductions = marks
                .filter(|event| matches!(event, Event::Mark { .. }))
                .count();
            assert!((1..=60).contains(&reductions), "{reductions}");
        }
    }

    #[test]
    fn a_control_that_does_not_ask_gets_no_delivery_rates() {
        assert!(CongestionControl::Witness.samples_delivery());
        assert!(!CongestionControl::Reno.samples_delivery());
    }
}
