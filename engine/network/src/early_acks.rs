//! ACKs that are sent ahead of time.
//!
//! A receiver that acknowledges each packet at once does nothing else. So when a packet enters the last
//! link of its route, it is known what its ACK says and when this comes out of the first link back, and
//! neither the packet's arrival nor its ACK's start is an event. The last link must have a port, or
//! follow on from one that has. The first link back must carry nothing but such ACKs, for data of one
//! last link: then they enter it in their order.
//!
//! Behind one bottleneck there may be several last links, to servers, and the ACKs of all meet in one
//! link. If no packet can pass another on the ways there, the ACKs enter it in the order in which the
//! data left the bottleneck, and this link follows on, too. Only a SYN, which is short, could pass. So
//! while one is under way, ACKs enter the link where they meet as events; see [`Receivers::acknowledge`].
//!
//! This is chosen once for a network: for all its TCP flows or for none.

use std::collections::{BTreeMap, BTreeSet};

use sluice_link::Ticks;
use sluice_tcp::Config;

use crate::{
    ahead::prefetch_entry,
    endpoints::TcpReceiver,
    links::Links,
    packet::Packet,
    plan::Plan,
    routes::Routes,
    slab::Aside,
    sources::{Group, TcpKind},
    topology::{Link, Topology},
    transit::Packed,
};

/// The receivers that acknowledge ahead of time; none if this network does not allow it.
#[derive(Default)]
pub struct Receivers {
    all: Vec<TcpReceiver>,
    kinds: Vec<TcpKind>,
    /// Events of the first links back that meet in one link; none if that cannot follow on.
    firsts: Vec<usize>,
    /// Some ACKs may be on these links.
    come: bool,
}

impl Receivers {
    /// These receivers, of flows of these kinds.
    pub fn new(
        all: Vec<TcpReceiver>,
        kinds: Vec<TcpKind>,
        early: &EarlyAcks,
        links: &Links,
    ) -> Self {
        let meeting = early.meeting.iter();
        let firsts = meeting.flat_map(|meeting| &meeting.firsts);
        Self {
            all,
            kinds,
            firsts: firsts.map(|link| links.event_of(*link)).collect(),
            come: false,
        }
    }

    /// Takes a packet that comes out of the last link of its route at `at`, and sends its ACK.
    ///
    /// Where ACKs meet, it goes on at once if no SYN is under way. If one is, the ACKs stay on the
    /// first links back until their time, or until the first packet behind the SYN: they all enter
    /// before its ACK.
    #[inline(never)]
    pub fn acknowledge(&mut self, at: Ticks, packed: Packed, links: &mut Links, aside: &mut Aside) {
        let packet = Packet::from(packed);
        let goes_on = !self.firsts.is_empty() && aside.syns == 0;
        if goes_on && self.come {
            links.let_in(&self.firsts);
        }
        self.come = !goes_on;
        let receiver = &mut self.all[packet.flow as usize];
        let kind = &self.kinds[receiver.kind as usize];
        let place = links.start_back(receiver.route, goes_on);
        let now_ns = links.clock.ns(at);
        let mut answer = |ack| {
            let (bytes, kept) = (kind.bytes_of(&ack), &mut aside.options);
            let reply = Packet::ack(packet.flow, bytes, &ack, kind.traffic_class, kept);
            links.send_back(at, reply.with_syn(packet.is_syn()).into(), place);
        };
        receiver
            .endpoint
            .on_segment(&kind.config, now_ns, &packet.segment(), &mut answer);
        aside.syns -= u32::from(packet.is_syn());
    }

    /// Prefetches the receiver of a packet that will soon be sent.
    #[inline]
    pub fn fetch(&self, packet: &Packet) {
        prefetch_entry(&self.all, packet.flow as usize);
    }
}

/// Where data is acknowledged ahead of time.
#[derive(Default)]
pub struct EarlyAcks {
    /// For the first link of each route back: the last link of the data.
    last: BTreeMap<usize, usize>,
    /// Where the ACKs of all flows meet, if they keep the order of the data.
    pub meeting: Option<Meeting>,
}

/// A link to which several others lead.
pub struct Meeting {
    pub link: usize,
    firsts: BTreeSet<usize>,
}

impl EarlyAcks {
    /// Finds where it is; nowhere if any TCP flow does not allow it.
    pub fn find(plan: &Plan, routes: &Routes) -> Self {
        Self::of_all(plan, routes).unwrap_or_default()
    }

    /// True if there is such a place.
    pub fn are_found(&self) -> bool {
        !self.last.is_empty()
    }

    fn of_all(plan: &Plan, routes: &Routes) -> Option<Self> {
        let mut early = Self::default();
        for (group, kind) in with_kinds(plan) {
            early.add(&plan.topology, routes, group, &kind.config)?;
        }
        let is_back = |link: usize| early.last.contains_key(&link);
        for group in &plan.groups {
            let mut there = routes.links(group.from, group.to);
            let mut back = answers(group, routes).skip(usize::from(group.source.tcp().is_some()));
            if there.any(is_back) || back.any(is_back) {
                return None;
            }
        }
        let branches = Branches::find(plan, routes);
        early.meeting = branches.filter(Branches::keep_order).map(|found| Meeting {
            link: found.to,
            firsts: early.last.keys().copied().collect(),
        });
        Some(early)
    }

    /// Adds the links of a group's flows; `None` if they do not allow it.
    fn add(
        &mut self,
        topology: &Topology,
        routes: &Routes,
        group: &Group,
        config: &Config,
    ) -> Option<()> {
        let last = routes.links(group.from, group.to).last()?;
        let first = routes.links(group.to, group.from).next()?;
        let known = *self.last.entry(first).or_insert(last);
        let mut port = last;
        while topology.links[port].port.is_none() {
            port = routes.before(port)?;
        }
        let (out, back) = (&topology.links[last], &topology.links[first]);
        let allows = config.delayed_ack_ns.is_none()
            && known == last
            && out.wire.is_none()
            && back.port.is_none();
        allows.then_some(())
    }
}

/// The ways of data and ACKs from one link to another: over a last link, and over the first link back.
struct Branches<'a> {
    from: &'a Link,
    to: usize,
    all: Vec<(&'a Link, &'a Link)>,
    /// Least and greatest sizes of data without SYNs, and of ACKs, bytes.
    data: (u64, u64),
    acks: (u64, u64),
    /// Least delay of the links before the first one, if there are SYNs.
    before_ns: Option<u64>,
}

impl<'a> Branches<'a> {
    /// Returns the ways of all TCP flows; `None` if they are not all from one link to another, or if
    /// others are on them.
    fn find(plan: &'a Plan, routes: &Routes) -> Option<Self> {
        let links = &plan.topology.links;
        let (mut ends, mut before_ns) = (None, None);
        let (mut all, mut last) = (Vec::new(), BTreeSet::new());
        for (group, kind) in with_kinds(plan) {
            let out = routes.links(group.from, group.to).last()?;
            let mut back = answers(group, routes);
            let (first, to, from) = (back.next()?, back.next()?, routes.before(out)?);
            if *ends.get_or_insert((from, to)) != (from, to) {
                return None;
            }
            last.insert(out);
            all.push((&links[out], &links[first]));
            if kind.config.syn {
                let before = routes.links(group.from, group.to);
                let before = before.take_while(|link| *link != from);
                let delay_ns = before.map(|link| links[link].delay_ns).sum();
                before_ns = Some(before_ns.unwrap_or(u64::MAX).min(delay_ns));
            }
        }
        let (from, to) = ends?;
        for group in &plan.groups {
            let is_tcp = group.source.tcp().is_some();
            let mut there = routes.links(group.from, group.to);
            let skipped = if is_tcp { 2 } else { 0 };
            let mut back = answers(group, routes);
            if there.any(|link| link == to || (!is_tcp && last.contains(&link)))
                || back.any(|link| last.contains(&link))
                || answers(group, routes).skip(skipped).any(|link| link == to)
            {
                return None;
            }
        }
        let mut ways = all.iter().flat_map(|(out, back)| [*out, *back]);
        let is_plain =
            |each: &Link| each.port.is_none() && each.wire.is_none() && each.service.is_none();
        let allows =
            links[from].service.is_none() && links[to].port.is_none() && ways.all(is_plain);
        let data = with_kinds(plan).map(|(_, kind)| u64::from(kind.packet_bytes));
        let acks = with_kinds(plan).flat_map(|(_, kind)| kind.least_and_most_of_acks());
        allows.then_some(Self {
            from: &links[from],
            to,
            all,
            data: (data.clone().min()?, data.max()?),
            acks: (acks.clone().min()?, acks.max()?),
            before_ns,
        })
    }

    /// True if no packet passes another, except a SYN, and if a SYN that is sent after a packet left
    /// the common link, or later, does not pass it.
    fn keep_order(&self) -> bool {
        let time_s = |bytes: u64, link: &Link| 8.0 * bytes as f64 / link.rate_bps as f64;
        // packets come from the common link at least so long after one another
        let gap_s = time_s(self.data.0, self.from);
        let (mut least_s, mut most_s, mut delay_s) = (f64::INFINITY, 0.0_f64, f64::INFINITY);
        for (out, back) in &self.all {
            // a packet waits behind others only where one of them, or its ACK, takes longer than on
            // the common link
            let is_slower = |link: &Link| link.rate_bps < self.from.rate_bps;
            if is_slower(out) || is_slower(back) || time_s(self.acks.1, back) > gap_s {
                return false;
            }
            let delays_s = (out.delay_ns + back.delay_ns) as f64 / 1e9;
            let times_s = |data, ack| time_s(data, out) + time_s(ack, back);
            delay_s = delay_s.min(delays_s);
            least_s = least_s.min(delays_s + times_s(self.data.0, self.acks.0));
            // waits included: behind a SYN, whose times are short, there may be some
            most_s = most_s.max(delays_s + times_s(self.data.1, self.acks.1));
        }
        let before_s = self.before_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e9);
        most_s - least_s < 0.9 * gap_s
            // rounding is far below the tenth that remains
            && time_s(self.data.1, self.from) + most_s - delay_s < 0.9 * before_s
    }
}

/// Returns the links of the answers to a group's packets; none if they get none.
fn answers(group: &Group, routes: &Routes) -> impl Iterator<Item = usize> {
    let route = (!group.is_one_way()).then(|| routes.links(group.to, group.from));
    route.into_iter().flatten()
}

/// Returns the groups of TCP flows, with their kinds.
fn with_kinds(plan: &Plan) -> impl Iterator<Item = (&Group, &TcpKind)> + Clone {
    let groups = plan.groups.iter();
    groups.filter_map(|group| Some((group, group.source.tcp()?)))
}

#[cfg(test)]
mod tests {
    use sluice_aqm::{BufferPolicy, Configured, NEVER, Victim, find};
    use sluice_tcp::{GREEDY, Variant};

    use super::*;
    use crate::{
        packet::TrafficClass,
        sources::{LongTcp, Source, TcpFlow},
        topology::PortPlan,
    };

    const MBPS: u64 = 1_000_000;

    /// Two clients (2, 3), routers (0, 1) with a bottleneck, two servers (4, 5).
    fn dumbbell(server_mbps: [u64; 2]) -> Plan {
        let link = |from, to, mbps| Link {
            from,
            to,
            rate_bps: mbps * MBPS,
            service: None,
            delay_ns: 1000,
            wire: None,
            port: None,
        };
        let mut links = vec![link(0, 1, 10), link(1, 0, 10)];
        for (number, mbps) in server_mbps.into_iter().enumerate() {
            let (client, server) = (2 + number, 4 + number);
            links.extend([link(client, 0, 10), link(0, client, 10)]);
            links[2 + 4 * number].delay_ns = 10_000_000;
            links.extend([link(1, server, mbps), link(server, 1, mbps)]);
        }
        links[0].port = Some(PortPlan {
            discipline: BufferPolicy {
                limit: 10,
                limit_bytes: None,
                victim: Victim::Tail,
                ecn: false,
            },
            scheduler: None,
            aqm: Configured::new(find("drop_tail").unwrap(), &[])
                .unwrap()
                .into(),
        });
        Plan {
            topology: Topology {
                nodes: vec![String::new(); 6],
                links,
            },
            groups: vec![group(2, 4), group(3, 5)],
            markers: Vec::new(),
            classes: Vec::new(),
            duration_ns: 1000,
            warm_up_ns: 0,
            sample_ns: 1000,
            windows: false,
            replications: 1,
            seed: 1,
        }
    }

    fn group(from: usize, to: usize) -> Group {
        let kind = TcpKind {
            config: Config::ns2(Variant::NewReno, 20),
            packet_bytes: 500,
            ack_bytes: 40,
            traffic_class: TrafficClass::default(),
        };
        let flow = TcpFlow {
            packets: GREEDY,
            start_ns: 0,
            stop_ns: NEVER,
        };
        let source = Source::Long(LongTcp {
            kind,
            flow,
            spread_ns: 0,
            gap_ns: None,
        });
        Group {
            from,
            to,
            count: 1,
            source,
        }
    }

    /// Returns the number of first links back that get such ACKs, and the link where ACKs meet in order.
    fn found(plan: &Plan) -> (usize, Option<usize>) {
        let (routes, _) = plan.check().unwrap();
        let early = EarlyAcks::find(plan, &routes);
        (early.last.len(), early.meeting.map(|meeting| meeting.link))
    }

    #[test]
    fn acks_of_equal_servers_keep_their_order() {
        assert_eq!(found(&dumbbell([100, 100])), (2, Some(1)));
        // a packet comes each 0.4 ms, and its data needs 0.33 or 0.36 ms on the slow way
        assert_eq!(found(&dumbbell([12, 100])), (2, Some(1)));
        assert_eq!(found(&dumbbell([11, 100])), (2, None));
        // as fast as the common link, and slower
        assert_eq!(found(&dumbbell([10, 10])), (2, Some(1)));
        assert_eq!(found(&dumbbell([9, 9])), (2, None));
        let mut plan = dumbbell([100, 100]);
        plan.topology.links[4].delay_ns += 400_000;
        assert_eq!(found(&plan), (2, None));
    }

    /// A SYN that a client close to the bottleneck sends could pass data that has just left.
    #[test]
    fn a_late_syn_does_not_pass() {
        for (delay_ns, meeting) in [(400_000, None), (600_000, Some(1))] {
            let mut plan = dumbbell([100, 100]);
            plan.topology.links[2].delay_ns = delay_ns;
            assert_eq!(found(&plan), (2, meeting));
        }
    }

    #[test]
    fn what_else_is_on_a_first_link_back_allows_no_early_acks() {
        let mut plan = dumbbell([100, 100]);
        plan.groups.push(group(4, 2));
        assert_eq!(found(&plan), (0, None));
        let mut plan = dumbbell([100, 100]);
        if let Source::Long(long) = &mut plan.groups[0].source {
            long.kind.config.delayed_ack_ns = Some(1);
        }
        assert_eq!(found(&plan), (0, None));
    }
}
