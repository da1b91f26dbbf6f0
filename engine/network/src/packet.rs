//! Packets, as the network carries them.

use sluice_ecn::Ecn;
use sluice_queue::AckFacts;
use sluice_tcp::{Ack, Segment};

use crate::slab::{Options, Slab};

/// A packet. Millions can be in transit: there, [`Packed`](crate::transit::Packed) takes only 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Index of its flow, among the TCP flows or among the datagram flows.
    pub flow: u32,
    /// Sequence number in packets, or in datagrams of the flow; in an ACK, the next sequence number
    /// that the receiver expects.
    pub number: u32,
    /// Place of what is kept of it in [`crate::slab::Aside`], 0 if nothing is.
    pub(crate) aside: u32,
    /// Size on the wire.
    pub bytes: u16,
    /// Traffic class: its differentiated services codepoint, and in the two low bits its ECN
    /// codepoint.
    pub traffic_class: u8,
    /// Kind of the packet.
    pub kind: Kind,
    /// Sum of the flags below that are set.
    pub(crate) flags: u8,
}

/// What a host writes into the traffic class of the packets of a flow, by their ECN codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrafficClass([u8; 4]);

impl TrafficClass {
    /// A differentiated services codepoint, 0 to 63; with `ect1`, ECT(1) takes the place of ECT(0).
    pub fn new(dscp: u8, ect1: bool) -> Self {
        Self([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| {
            let ecn = if ect1 && ecn == Ecn::Ect0 {
                Ecn::Ect1
            } else {
                ecn
            };
            dscp << 2 | ecn.bits()
        }))
    }

    /// Returns the traffic class of a packet that would have this codepoint.
    #[inline]
    pub(crate) fn of(self, ecn: Ecn) -> u8 {
        self.0[usize::from(ecn.bits())]
    }
}

impl Default for TrafficClass {
    fn default() -> Self {
        Self::new(0, false)
    }
}

/// Kind of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A TCP segment.
    #[default]
    Data,
    /// A TCP acknowledgement.
    Ack,
    /// A datagram, which gets no answer of its own.
    Datagram,
    /// Feedback on the datagrams of a video call.
    Feedback,
}

impl Kind {
    /// What is counted apart at a queue: TCP's data, answers, and datagrams.
    pub const COUNTED: [&[Self]; 3] = [
        &[Self::Data],
        &[Self::Ack, Self::Feedback],
        &[Self::Datagram],
    ];
    /// How many kinds there are.
    pub const COUNT: usize = 4;

    /// True if it answers: not a packet whose way is measured.
    #[inline]
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Ack | Self::Feedback)
    }
}

const SYN: u8 = 1;
const RETRANSMITTED: u8 = 2;
pub(crate) const CWR: u8 = 4;
const ECE: u8 = 8;
const PUSH: u8 = 64;
/// Place of three bits of the TCP header, AE, CWR and ECE: of accurate feedback, and of the handshake
/// (RFC 9768, section 3.1). ECE of classic feedback is the last of them; CWR of data has the bit below
/// them, PSH the one above.
pub(crate) const ACE_SHIFT: u8 = 3;
const ACE_AE: u8 = 4;

impl Packet {
    /// A TCP segment of a flow.
    #[inline]
    pub(crate) fn data(flow: u32, bytes: u16, segment: Segment, class: TrafficClass) -> Self {
        let flags = flag(segment.syn, SYN)
            | flag(segment.retransmitted, RETRANSMITTED)
            | flag(segment.cwr, CWR)
            | flag(segment.push, PUSH)
            | segment.ace << ACE_SHIFT;
        Self {
            flow,
            number: segment.seq,
            aside: 0,
            bytes,
            traffic_class: class.of(segment.ecn),
            kind: Kind::Data,
            flags,
        }
    }

    /// An acknowledgement; its options go to `kept`.
    #[inline]
    pub(crate) fn ack(
        flow: u32,
        bytes: u16,
        ack: &Ack,
        class: TrafficClass,
        kept: &mut Slab<Options>,
    ) -> Self {
        let aside = Options::of(ack).map_or(0, |options| kept.keep(options));
        Self {
            flow,
            number: ack.next,
            aside,
            bytes,
            traffic_class: class.of(Ecn::NotEct),
            kind: Kind::Ack,
            flags: flag(ack.ece, ECE) | ack.ace << ACE_SHIFT,
        }
    }

    /// A datagram.
    pub(crate) fn datagram(flow: u32, number: u32, bytes: u16, traffic_class: u8) -> Self {
        Self {
            flow,
            number,
            aside: 0,
            bytes,
            traffic_class,
            kind: Kind::Datagram,
            flags: 0,
        }
    }

    /// Feedback of a call on its flow; what it says is at `aside`.
    pub(crate) fn feedback(
        flow: u32,
        number: u32,
        (bytes, traffic_class): (u16, u8),
        aside: u32,
    ) -> Self {
        Self {
            aside,
            kind: Kind::Feedback,
            ..Self::datagram(flow, number, bytes, traffic_class)
        }
    }

    /// Returns the packet with the SYN flag if `opens`.
    pub(crate) fn with_syn(self, opens: bool) -> Self {
        Self {
            flags: self.flags | flag(opens, SYN),
            ..self
        }
    }

    /// Returns the segment that it carries.
    #[inline]
    pub(crate) fn segment(&self) -> Segment {
        Segment {
            seq: self.number,
            syn: self.has(SYN),
            retransmitted: self.has(RETRANSMITTED),
            ecn: self.ecn(),
            cwr: self.has(CWR),
            push: self.has(PUSH),
            ace: self.ace(),
        }
    }

    /// Returns the acknowledgement that it carries and removes its options from `kept`.
    #[inline]
    pub(crate) fn acknowledgement(&self, kept: &mut Slab<Options>) -> Ack {
        let Options { blocks, marked } = match self.aside {
            0 => Options::default(),
            place => kept.take(place),
        };
        Ack {
            next: self.number,
            // the flags of a handshake are no echo
            ece: self.flags & (ECE | SYN) == ECE,
            ace: self.ace(),
            marked,
            sack: blocks,
        }
    }

    /// Returns what a filter of ACKs sees of it, if it is one. One that opens a connection is none. As
    /// Linux leaves packets with reserved flags and with options that it does not know, those with AE or
    /// the option of accurate feedback are not pure.
    pub(crate) fn ack_facts(&self, options: &Options) -> Option<AckFacts> {
        let is_ack = self.kind == Kind::Ack && !self.has(SYN);
        is_ack.then(|| {
            let mut sacks = [(0, 0); 4];
            for (sack, block) in sacks.iter_mut().zip(options.blocks) {
                *sack = (block.start, block.end);
            }
            AckFacts {
                connection: u64::from(self.flow),
                acked: self.number,
                sacks,
                timestamps: None,
                ecn_flags: self.ace() & !ACE_AE,
                is_pure: self.ace() & ACE_AE == 0 && options.marked.is_none(),
            }
        })
    }

    /// True if it opens a connection: a SYN, or the ACK of a SYN.
    pub fn is_syn(&self) -> bool {
        self.has(SYN)
    }

    /// Returns its ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.traffic_class)
    }

    /// Returns the bits AE, CWR and ECE: the counter of accurate feedback, or what a handshake says.
    #[inline]
    pub fn ace(&self) -> u8 {
        self.flags >> ACE_SHIFT & 7
    }

    /// True if it is an ACK that echoes a mark (ECE).
    pub fn echoes_mark(&self) -> bool {
        self.kind == Kind::Ack && self.has(ECE)
    }

    /// True if it reports that the congestion window was reduced (CWR).
    pub fn says_reduced(&self) -> bool {
        self.has(CWR)
    }

    /// True if it is the last packet of a write (PSH).
    pub fn is_pushed(&self) -> bool {
        self.has(PUSH)
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[inline]
fn flag(on: bool, flag: u8) -> u8 {
    if on { flag } else { 0 }
}
