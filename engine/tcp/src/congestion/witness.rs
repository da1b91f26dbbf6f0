//! A control for tests: keeps all that it is told. Its window is the initial one, its rate 1000
//! packets per second.

use super::{Control, Event, Sample, Sent, Window};
use crate::config::Config;

#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(pub Box<Told>);

#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub sent: Vec<Sent>,
    pub acks: Vec<Sample>,
    pub events: Vec<Event>,
}

impl Control for Witness {
    const SAMPLES_DELIVERY: bool = true;

    fn on_sent(&mut self, _window: &mut Window, sent: &Sent) {
        self.0.sent.push(*sent);
    }

    fn on_ack(&mut self, _window: &mut Window, _config: &Config, ack: &Sample) {
        self.0.acks.push(*ack);
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
    use std::collections::VecDeque;

    use super::super::{AnyControl, Delivery};
    use super::*;
    use crate::config::{MS, SECOND, Variant};
    use crate::congestion::CongestionControl;
    use crate::segment::{Ack, Segment};
    use crate::sender::{GREEDY, Phase, Sender};
    use crate::receiver::Receiver;

    /// A path of 100 ms with a bottleneck that sends a packet each millisecond.
    struct Path {
        config: Config,
        sender: Sender,
        receiver: Receiver,
        lost: Vec<u32>,
        entered: u32,
        free_ns: u64,
        acks: VecDeque<(u64, Ack)>,
        now_ns: u64,
    }

    const SERVICE_NS: u64 = MS;
    const DELAY_NS: u64 = 99 * MS;

    impl Path {
        fn new(packets: u32, lost: &[u32], change: impl FnOnce(&mut Config)) -> Self {
            let mut config = Config {
                congestion_control: CongestionControl::Witness,
                delayed_ack_ns: None,
                ..Config::rfc(Variant::Rack)
            };
            change(&mut config);
            Self {
                sender: Sender::new(&config, packets, 0),
                config,
                receiver: Receiver::new(),
                lost: lost.to_vec(),
                entered: 0,
                free_ns: 0,
                acks: VecDeque::new(),
                now_ns: 0,
            }
        }

        /// Runs a call of the sender, and carries what it sends.
        fn drive(&mut self, call: impl FnOnce(&mut Sender, &Config, u64, &mut Vec<Segment>)) {
            let mut sent = vec![];
            call(&mut self.sender, &self.config, self.now_ns, &mut sent);
            for segment in sent {
                self.entered += 1;
                if self.lost.contains(&(self.entered - 1)) {
                    continue;
                }
                self.free_ns = self.free_ns.max(self.now_ns) + SERVICE_NS;
                let due_ns = self.free_ns + DELAY_NS;
                let acks = &mut self.acks;
                self.receiver
                    .on_segment(&self.config, due_ns, &segment, &mut |ack| {
                        acks.push_back((due_ns, ack));
                    });
            }
        }

        fn run(&mut self, until_ns: u64) {
            if self.now_ns == 0 {
                self.drive(|sender, config, now, sent| {
                    sender.start(config, now, &mut |segment| sent.push(segment));
                });
            }
            loop {
                let timer_ns = self.sender.deadline().unwrap_or(u64::MAX);
                let ack_ns = self.acks.front().map_or(u64::MAX, |(due_ns, _)| *due_ns);
                let next_ns = timer_ns.min(ack_ns);
                if next_ns > until_ns {
                    self.now_ns = until_ns;
                    return;
                }
                self.now_ns = next_ns;
                if ack_ns <= timer_ns {
                    let (_, ack) = self.acks.pop_front().unwrap();
                    self.drive(|sender, config, now, sent| {
                        sender.on_ack(config, now, &ack, &mut |segment| sent.push(segment));
                    });
                } else {
                    self.drive(|sender, config, now, sent| {
                        sender.on_timer(config, now, &mut |segment| sent.push(segment));
                    });
                }
            }
        }

        fn told(&self) -> &Told {
            self.sender.congestion.witness()
        }
    }

    fn rate(delivery: &Delivery) -> f64 {
        f64::from(delivery.packets) * 1e9 / delivery.interval_ns as f64
    }

    #[test]
    fn a_full_bottleneck_gives_its_rate_as_the_delivery_rate() {
        // a window of 200 packets keeps the link busy, whose rate is 1000 packets per second
        let mut path = Path::new(GREEDY, &[], |config| config.initial_window = 200.0);
        path.run(2 * SECOND);
        let told = path.told();
        assert!(told.acks.len() > 1800);
        // from the third round trip on: the first window left as a burst
        for sample in &told.acks[400..] {
            let delivery = sample.flight.unwrap().delivery.unwrap();
            assert!((rate(&delivery) - 1000.0).abs() < 1e-6, "{sample:?}");
            assert!(!delivery.app_limited);
            assert_eq!(delivery.in_flight_at_send, 200);
        }
    }

    #[test]
    fn a_window_below_the_bandwidth_delay_product_gives_window_over_round_trip() {
        let mut path = Path::new(GREEDY, &[], |config| config.initial_window = 10.0);
        path.run(2 * SECOND);
        // ten packets in each round trip of 100 ms; the first of them waits for no other
        for sample in &path.told().acks[50..] {
            assert!((rate(&sample.flight.unwrap().delivery.unwrap()) - 100.0).abs() < 1.0);
        }
    }

    #[test]
    fn every_packet_and_every_ack_is_told_with_what_is_in_flight() {
        let mut path = Path::new(50, &[3, 20], |config| config.initial_window = 10.0);
        path.run(20 * SECOND);
        let told = path.told();
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
        let mut path = Path::new(40, &[3], |config| config.initial_window = 10.0);
        path.run(20 * SECOND);
        let (used, in_flight) = (Some(10.0), 9);
        let told = &path.told().events;
        assert_eq!(told[0], Event::Loss { used, begins: true });
        assert_eq!(told[1], Event::Recovered { in_flight });
        // all packets of the first window are lost, and what repairs them
        let all: Vec<u32> = (0..11).collect();
        let mut path = Path::new(40, &all, |config| config.initial_window = 10.0);
        path.run(20 * SECOND);
        let told = path.told();
        assert!(matches!(told.events[0], Event::TimeOut { used: Some(_), in_flight: 0 }));
        assert!(told.acks.iter().any(|sample| sample.phase == Phase::TimedOut));
        path.drive(|sender, config, now, sent| {
            sender.resume(config, now, 5, 30 * SECOND, &mut |segment| sent.push(segment));
        });
        let idle = Event::Idle { idle_ns: 30 * SECOND, restarts: true };
        assert_eq!(path.told().events.last(), Some(&idle));
        // the application had left the network empty
        path.run(40 * SECOND);
        assert!(path.told().acks.last().unwrap().flight.unwrap().delivery.unwrap().app_limited);
    }

    #[test]
    fn a_control_that_does_not_ask_gets_no_delivery_rates() {
        assert!(CongestionControl::Witness.samples_delivery());
        let others = CongestionControl::ALL.iter().filter(|each| each.samples_delivery());
        assert_eq!(others.count(), 1);
        let AnyControl::Reno(_) = CongestionControl::Reno.start() else {
            panic!("Reno is Reno");
        };
    }
}
