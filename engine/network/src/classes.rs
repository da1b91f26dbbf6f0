//! Classes of flows: which one a packet belongs to, and how many packets of each wait at a port.

use crate::{
    packet::{Kind, Packet},
    tally::{ClassQueue, hold},
};

/// The class of each flow of a run.
#[derive(Clone, Default)]
pub struct Classes {
    tcp: Vec<u16>,
    datagrams: Vec<u16>,
    /// Number of classes; `None` if flows are not counted by class.
    pub count: Option<usize>,
}

impl Classes {
    /// The classes of flows whose groups are given. `of_group` is the class of each group; empty:
    /// flows are not counted by class.
    pub fn new(of_group: &[u16], tcp_groups: &[u32], datagram_groups: &[u32]) -> Self {
        let Some(last) = of_group.iter().max() else {
            return Self::default();
        };
        let class = |group: &u32| of_group[*group as usize];
        Self {
            tcp: tcp_groups.iter().map(class).collect(),
            datagrams: datagram_groups.iter().map(class).collect(),
            count: Some(usize::from(*last) + 1),
        }
    }

    /// Returns the class of a packet.
    ///
    /// # Panics
    /// If flows are not counted by class.
    #[inline]
    pub fn of(&self, packet: &Packet) -> usize {
        let flows = match packet.kind {
            Kind::Data | Kind::Ack => &self.tcp,
            Kind::Datagram | Kind::Feedback => &self.datagrams,
        };
        usize::from(flows[packet.flow as usize])
    }

    /// Returns the class of each TCP flow; empty if flows are not counted by class.
    pub fn tcp(&self) -> &[u16] {
        &self.tcp
    }

    /// Returns the class of each flow of datagrams; empty if flows are not counted by class.
    pub fn datagrams(&self) -> &[u16] {
        &self.datagrams
    }
}

/// The waiting packets of each class at a port. Times are counted only when a class's number
/// changes, so a packet costs the same with any number of classes.
pub struct ClassesHeld(Vec<Held>);

#[derive(Clone, Copy, Default)]
struct Held {
    packets: u32,
    since_ns: u64,
}

impl ClassesHeld {
    /// No packets; `classes` as in [`crate::tally::Tally::new`].
    pub fn new(classes: Option<usize>) -> Self {
        Self(vec![Held::default(); classes.unwrap_or(0)])
    }

    /// Counts a packet that came (+1) or left (-1).
    #[inline]
    pub fn change(&mut self, counts: &mut [ClassQueue], class: usize, now_ns: u64, by: i32) {
        let held = &mut self.0[class];
        held.count(&mut counts[class], now_ns);
        held.packets = held.packets.wrapping_add_signed(by);
    }

    /// Returns how many packets of a class wait.
    pub fn packets(&self, class: usize) -> u32 {
        self.0[class].packets
    }

    /// Counts the time up to `now_ns`.
    pub fn count(&mut self, counts: &mut [ClassQueue], now_ns: u64) {
        for (held, counts) in self.0.iter_mut().zip(counts) {
            held.count(counts, now_ns);
        }
    }
}

impl Held {
    #[inline]
    fn count(&mut self, counts: &mut ClassQueue, now_ns: u64) {
        let packets = self.packets as usize;
        hold(&mut counts.queue_ns, packets, now_ns - self.since_ns);
        self.since_ns = now_ns;
    }
}
