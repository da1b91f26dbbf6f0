//! The live router: moves packets from a back end through links in real time.

pub mod bands;
pub mod data_plane;
pub mod feed;
pub mod link;
pub mod on_wire;
pub mod snapshot;

use std::{collections::HashMap, io, os::fd::BorrowedFd};

use sluice_aqm::{Aqm, Verdict};
use sluice_ecn::Ecn;
use sluice_link::Clock;
use sluice_queue::Observer;

use crate::{
    backends::{Backend, Fate, Incoming},
    packet::{Held, class::ByClass, ecn::set_ce, flows::Flows},
    router::{
        data_plane::DataPlane,
        feed::Feed,
        link::{Link, Outlet, held},
        snapshot::{Live, Snapshot},
    },
    settings::Settings,
};

/// Batches that are read before departures are checked again.
const MOST_BATCHES: usize = 8;

/// Packets released and lost since the last query, and how long those that left have waited.
#[derive(Default)]
struct Outcome {
    released: Vec<(u64, Held)>,
    lost: Vec<u32>,
    sojourn_by_class: ByClass,
}

impl Observer<Held> for Outcome {
    fn lost(&mut self, packet: Held, _: Verdict) {
        self.lost.push(packet.id);
    }
}

impl Outlet<Held> for Outcome {
    fn released(&mut self, at_ns: u64, packet: Held) {
        self.released.push((at_ns, packet));
    }

    fn lost_on_wire(&mut self, packet: Held) {
        self.lost.push(packet.id);
    }

    fn started(&mut self, packet: &Held, sojourn_ns: u64) {
        self.sojourn_by_class.add(packet.class, sojourn_ns);
    }
}

/// A link in operation, with its counts.
struct RunningLink {
    link: Link,
    outcome: Outcome,
    /// Whole packets that may have to be marked.
    payloads: HashMap<u32, Vec<u8>>,
    live: Live,
    flows: Flows,
    /// Flows since the last query of the state.
    new_flows: Flows,
}

/// Connects a back end's arrivals and departures by links.
pub struct Router<B> {
    backend: B,
    ports: Vec<RunningLink>,
    /// What happens to packets that are held at the end.
    at_end: Fate<'static>,
    /// Another discipline to which the same arrivals come.
    shadow: Option<Feed>,
}

impl<B: Backend> Router<B> {
    /// Returns a router that holds nothing, at time 0; `at_end` is what happens to packets that are
    /// held at the end.
    ///
    /// # Errors
    /// If the back end refuses the settings.
    pub fn new(mut backend: B, settings: &Settings, at_end: Fate<'static>) -> io::Result<Self> {
        let mut ports = Vec::new();
        for (number, link) in settings.links().into_iter().enumerate() {
            backend.set(number, link.ecn(), held(link))?;
            let [random, on_wire] = settings.randoms(number);
            ports.push(RunningLink {
                link: Link::new(link.clone(), Clock::endless(), random).with_wire(on_wire),
                outcome: Outcome::default(),
                payloads: HashMap::new(),
                live: Live::default(),
                flows: Flows::default(),
                new_flows: Flows::default(),
            });
        }
        Ok(Self {
            backend,
            ports,
            at_end,
            shadow: None,
        })
    }

    /// Passes the arrivals on to another discipline, too.
    pub fn with_shadow(mut self, shadow: Option<Feed>) -> Self {
        self.shadow = shadow;
        self
    }

    /// Releases the packets that are due, and passes the decisions to the back end.
    fn settle(&mut self, now_ns: u64) -> io::Result<()> {
        for (number, port) in self.ports.iter_mut().enumerate() {
            port.link.advance(now_ns, &mut port.outcome);
            let Outcome { released, lost, .. } = &mut port.outcome;
            for id in lost.drain(..) {
                port.payloads.remove(&id);
                self.backend.decide(number, id, Fate::Drop)?;
            }
            for (due_ns, packet) in released.drain(..) {
                port.live.lateness.add(now_ns - due_ns);
                port.live.released += 1;
                let mut payload = port.payloads.remove(&packet.id).unwrap_or_default();
                let fate = if !packet.marked {
                    Fate::Accept
                } else if set_ce(&mut payload) {
                    Fate::Replace(&payload)
                } else {
                    port.live.unmarkable += 1;
                    Fate::Accept
                };
                self.backend.decide(number, packet.id, fate)?;
            }
        }
        self.backend.flush()
    }
}

impl<B: Backend> DataPlane for Router<B> {
    fn source(&self, link: usize) -> String {
        self.backend.source(link)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.backend.descriptors()
    }

    fn due_ns(&self) -> Option<u64> {
        self.ports
            .iter()
            .filter_map(|port| port.link.due_ns())
            .min()
    }

    fn turn(&mut self, now_ns: impl Fn() -> u64) -> io::Result<bool> {
        let mut more = true;
        for _ in 0..MOST_BATCHES {
            let (ports, shadow) = (&mut self.ports, &mut self.shadow);
            let mut now = None;
            more = self.backend.receive(&mut |incoming| {
                let now_ns = *now.get_or_insert_with(&now_ns);
                let link = incoming.link;
                let packet = ports[link].arrive(now_ns, incoming);
                if let Some(shadow) = shadow {
                    shadow.arrive(link, now_ns, packet);
                }
            })?;
            self.settle(now_ns())?;
            if !more {
                break;
            }
        }
        Ok(more)
    }

    fn change(&mut self, now_ns: u64, settings: &Settings) -> io::Result<Result<(), String>> {
        self.settle(now_ns)?;
        for (number, link) in settings.links().into_iter().enumerate() {
            let port = &mut self.ports[number];
            let held = held(link) + port.link.held();
            self.backend.set(number, link.ecn(), held)?;
            port.link.change(now_ns, link.clone());
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.change(now_ns, settings);
        }
        Ok(Ok(()))
    }

    fn end(&mut self, now_ns: u64) -> io::Result<()> {
        self.settle(now_ns)?;
        let closed = self.backend.close();
        // packets that have already arrived
        while matches!(closed, Ok(true)) && self.turn(|| now_ns)? {}
        for (number, port) in self.ports.iter_mut().enumerate() {
            for packet in port.link.drain(now_ns) {
                port.live.left_at_end += 1;
                self.backend.decide(number, packet.id, self.at_end)?;
            }
        }
        self.backend.flush()?;
        closed.map(drop)
    }

    /// Releases all packets that are due first.
    fn snapshots(&mut self, now_ns: u64) -> io::Result<Vec<Snapshot>> {
        self.settle(now_ns)?;
        if let Some(shadow) = &mut self.shadow {
            shadow.until(now_ns);
        }
        let backend = &self.backend;
        let snapshot = |(number, port): (usize, &mut RunningLink)| {
            let new_flows = std::mem::take(&mut port.new_flows);
            port.flows.merge(&new_flows);
            let aqm = port.link.aqm();
            Snapshot {
                qdisc: None,
                shares: [port.flows.shares(), new_flows.shares()],
                settings: port.link.settings().clone(),
                rate_bps: port.link.rate_bps(now_ns),
                aqm: (
                    aqm.and_then(|aqm| aqm.average()),
                    aqm.and_then(|aqm| aqm.probability()),
                ),
                measures: port.link.measures(now_ns),
                bands: port.link.bands(now_ns),
                wire: port.link.wire(),
                live: Live {
                    sojourn_by_class: port.outcome.sojourn_by_class,
                    ..port.live.clone()
                },
                losses: backend.losses(number),
                kernel: backend.counts(number),
                queue: (port.link.packets(), port.link.bytes()),
            }
        };
        Ok(self.ports.iter_mut().enumerate().map(snapshot).collect())
    }
}

impl RunningLink {
    /// Takes a packet; returns it as it arrived, also if it cannot be marked here.
    fn arrive(&mut self, now_ns: u64, incoming: Incoming<'_>) -> Held {
        let Incoming {
            id, bytes, data, ..
        } = incoming;
        let read = sluice_capture::ip_packet(data, bytes);
        match &read {
            Some(packet) => self.new_flows.add(packet),
            None => self.live.unreadable += 1,
        }
        let whole = data.len() == bytes as usize && self.link.settings().ecn();
        let arrived = Held::arriving(id, bytes, read.as_ref());
        let mut packet = arrived;
        if !whole {
            packet.ecn = Ecn::NotEct;
        } else if packet.ecn.is_capable() {
            self.payloads.insert(id, data.to_vec());
        }
        self.link.arrive(now_ns, packet, &mut self.outcome);
        arrived
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, AsRawFd};

    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, socketpair};

    use super::*;
    use crate::{
        backends::{Counts, Losses, SPARE_PACKETS, nfqueue::Nfqueue},
        cli::LinkOptions,
        machine::netlink::{Message, attributes, messages},
    };

    /// A back end with one packet of 1500 bytes, and the decisions on it.
    struct One {
        file: std::fs::File,
        waiting: bool,
        decided: Vec<u32>,
    }

    impl Backend for One {
        fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
            vec![self.file.as_fd()]
        }

        fn source(&self, _: usize) -> String {
            String::new()
        }

        fn receive(&mut self, take: &mut dyn FnMut(Incoming<'_>)) -> io::Result<bool> {
            if std::mem::take(&mut self.waiting) {
                take(Incoming {
                    link: 0,
                    id: 7,
                    bytes: 1500,
                    data: &[],
                });
            }
            Ok(false)
        }

        fn decide(&mut self, _: usize, id: u32, _: Fate<'_>) -> io::Result<()> {
            self.decided.push(id);
            Ok(())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn set(&mut self, _: usize, _: bool, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn losses(&self, _: usize) -> Losses {
            Losses::default()
        }

        fn counts(&self, _: usize) -> Counts {
            Counts::default()
        }
    }

    #[test]
    fn a_packet_that_is_due_as_a_record_is_made_does_not_wait_for_the_next_turn() {
        let settings = Settings::read(&LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("12e6".into()),
            limit: Some("10".into()),
            ..LinkOptions::default()
        });
        let backend = One {
            file: std::fs::File::open("/dev/null").unwrap(),
            waiting: true,
            decided: Vec::new(),
        };
        let mut router = Router::new(backend, &settings.unwrap(), Fate::Drop).unwrap();
        router.turn(|| 0).unwrap();
        // 1500 bytes at 12 Mbit/s; times are rounded down to ns
        assert!((999_999..=1_000_000).contains(&router.due_ns().unwrap()));
        assert!(router.backend.decided.is_empty());
        let snapshots = router.snapshots(1_000_001).unwrap();
        assert_eq!(snapshots[0].live.released, 1);
        assert_eq!(router.backend.decided, [7]);
    }

    #[test]
    fn another_discipline_may_mark_where_the_links_own_does_not() {
        let settings = Settings::read(&LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("12e6".into()),
            ..LinkOptions::default()
        });
        let backend = One {
            file: std::fs::File::open("/dev/null").unwrap(),
            waiting: false,
            decided: Vec::new(),
        };
        let mut router = Router::new(backend, &settings.unwrap(), Fate::Drop).unwrap();
        // IPv4 with ECT(0), UDP
        let mut data = [0; 28];
        (data[0], data[1], data[3], data[9]) = (0x45, 0b10, 28, 17);
        let arrived = router.ports[0].arrive(
            0,
            Incoming {
                link: 0,
                id: 1,
                bytes: 28,
                data: &data,
            },
        );
        assert_eq!(arrived.ecn, Ecn::Ect0);
        assert!(router.ports[0].payloads.is_empty());
    }

    #[test]
    fn a_reload_tells_the_kernel_how_many_packets_it_is_to_keep() {
        let settings = |limit: u32| {
            let read = Settings::read(&LinkOptions {
                aqm: Some("drop_tail".into()),
                rate: Some("1e6".into()),
                limit: Some(limit.to_string()),
                ..LinkOptions::default()
            });
            read.unwrap()
        };
        let (kernel, end) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_NONBLOCK,
        )
        .unwrap();
        let most = || {
            let mut buffer = [0; 256];
            let length = recv(kernel.as_raw_fd(), &mut buffer, MsgFlags::empty()).unwrap();
            let Some(Message::Queue(_, 3, rest)) = messages(&buffer[..length]).next() else {
                panic!("no message about queue 3");
            };
            let (_, value) = attributes(rest)
                .find(|(kind, _)| *kind == libc::NFQA_CFG_QUEUE_MAXLEN)
                .unwrap();
            u32::from_be_bytes(value.try_into().unwrap()) - SPARE_PACKETS
        };
        let mut router = Router::new(Nfqueue::on(end, 3, 1), &settings(100), Fate::Drop).unwrap();
        // two more than the limit: one in transmission, one arriving
        assert_eq!(most(), 102);
        for limit in [5000, 20] {
            router.change(0, &settings(limit)).unwrap().unwrap();
            assert_eq!(most(), limit + 2);
        }
    }
}
