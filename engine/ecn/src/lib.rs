//! Explicit congestion notification: the codepoint that a packet carries in its IP header.
//!
//! All worlds, queues, TCP endpoints and captures use this one type.

/// The codepoint in the two low bits of the traffic class (RFC 3168, section 5; RFC 9331, section
/// 2.1). Its number is the value of these bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not-ECT: the transport does not understand marks.
    #[default]
    NotEct = 0,
    /// ECT(1): the transport understands marks, and asks for the treatment of L4S.
    Ect1 = 1,
    /// ECT(0): the transport understands marks.
    Ect0 = 2,
    /// CE: congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// Returns the codepoint in the two low bits of a byte; the other bits are ignored.
    #[inline]
    pub fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Returns the value of its two bits.
    #[inline]
    pub fn bits(self) -> u8 {
        self as u8
    }

    /// True if the packet can be marked, or is already (ECT(0), ECT(1) or CE): an early drop lets
    /// it pass as marked.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Self::NotEct
    }

    /// True if the packet is marked (CE).
    #[inline]
    pub fn is_marked(self) -> bool {
        self == Self::Ce
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_codepoints_are_the_same() {
        for bits in 0..=u8::MAX {
            assert_eq!(Ecn::from_bits(bits).bits(), bits & 3);
        }
        let told = |ecn: Ecn| (ecn.is_capable(), ecn.is_marked());
        let all = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(told);
        assert_eq!(
            all,
            [(false, false), (true, false), (true, false), (true, true)]
        );
    }
}
