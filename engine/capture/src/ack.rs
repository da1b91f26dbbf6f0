//! What a TCP packet acknowledges, and whether it does nothing else: for a filter of ACKs as that of
//! Linux's CAKE.

use etherparse::TcpSlice;

/// Flags of byte 13 of the TCP header (RFC 9293, section 3.1).
pub(crate) const ACK: u8 = 0x10;
pub(crate) const SYN: u8 = 0x02;
const ECE_CWR: u8 = 0xc0;
/// The bits of byte 12 that are reserved, of which AccECN uses one.
const RESERVED: u8 = 0x0f;
/// Options (<https://www.iana.org/assignments/tcp-parameters>).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Sequence number before which all has arrived.
    pub acked: u32,
    /// SACK blocks, the end of each not included; an empty one ends the list.
    pub sacks: [(u32, u32); 4],
    /// Value and echo of the option for timestamps.
    pub timestamps: Option<[u32; 2]>,
    /// The flags ECE and CWR, as in the header.
    pub ecn_flags: u8,
    /// True if it has no data, no flags but ACK, ECE and CWR, and no options but those above, padding and
    /// a signature: `cake_tcph_may_drop()` of Linux. Linux reads no further where an option's length is
    /// wrong, and the first of two alike; here such an ACK is not pure, nor one that has an empty block, as
    /// nobody knows what its receiver makes of it.
    pub is_pure: bool,
}

impl Ack {
    /// Reads a TCP packet, of which `bytes` follow the IP header; `None` if it is no ACK, if it opens a
    /// connection, or if its header is not whole.
    pub(crate) fn of(payload: &[u8], bytes: u32) -> Option<Self> {
        let header = TcpSlice::from_slice(payload).ok()?;
        let [reserved, flags] = [header.slice()[12] & RESERVED, header.slice()[13]];
        if flags & (ACK | SYN) != ACK {
            return None;
        }
        let mut found = Self {
            acked: header.acknowledgment_number(),
            ecn_flags: flags & ECE_CWR,
            ..Self::default()
        };
        let has_known_options = found.read(header.options());
        found.is_pure = reserved == 0
            && flags & !ECE_CWR == ACK
            && bytes == header.header_slice().len() as u32
            && has_known_options;
        Some(found)
    }

    /// Reads options; false if one is not known, comes twice or is malformed.
    fn read(&mut self, mut options: &[u8]) -> bool {
        let mut known = true;
        while let [kind, rest @ ..] = options {
            if *kind == END {
                break;
            }
            if *kind == NO_OPERATION {
                options = rest;
                continue;
            }
            let size = rest.first().map_or(0, |size| usize::from(*size));
            let Some(value) = options.get(2..size) else {
                return false;
            };
            known &= self.take(*kind, value);
            options = &options[size..];
        }
        known
    }

    /// Takes what an option says; false if it is not known, has come before or says nothing.
    fn take(&mut self, kind: u8, value: &[u8]) -> bool {
        let mut words = value.as_chunks::<4>().0.iter();
        let mut word = || words.next().copied().map_or(0, u32::from_be_bytes);
        match (kind, value.len()) {
            (SACK, length) if length.is_multiple_of(8) && self.sacks[0] == (0, 0) => {
                let blocks = &mut self.sacks[..length / 8];
                blocks.fill_with(|| (word(), word()));
                !blocks.is_empty() && blocks.iter().all(|(start, end)| start != end)
            }
            (TIMESTAMPS, 8) if self.timestamps.is_none() => {
                self.timestamps = Some([word(), word()]);
                true
            }
            (MD5, 16) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a TCP packet with these bytes 12 and 13, options, and data.
    fn tcp(flags: [u8; 2], options: &[u8], data: &[u8]) -> Vec<u8> {
        let mut packet = vec![0, 80, 0x20, 1, 0, 0, 0, 1, 0, 0, 1, 2];
        packet.push(((5 + options.len() / 4) << 4) as u8 | flags[0]);
        packet.extend([flags[1], 1, 0, 0, 0, 0, 0]);
        packet.extend(options);
        packet.extend(data);
        packet
    }

    fn read(flags: [u8; 2], options: &[u8], data: &[u8]) -> Option<Ack> {
        let packet = tcp(flags, options, data);
        Ack::of(&packet, packet.len() as u32)
    }

    #[test]
    fn an_ack_is_pure_without_data_other_flags_and_unknown_options() {
        let plain = read([0, ACK], &[], &[]).unwrap();
        assert_eq!((plain.acked, plain.is_pure), (0x102, true));
        let echo = read([0, ACK | 0x40], &[], &[]).unwrap();
        assert_eq!((echo.ecn_flags, echo.is_pure), (0x40, true));
        let is_pure = |flags, options: &[u8], data: &[u8]| {
            read(flags, options, data).is_some_and(|ack| ack.is_pure)
        };
        assert!(!is_pure([0, ACK], &[], &[7]));
        // AE of AccECN, PSH, FIN; a window scale
        assert!(!is_pure([1, ACK], &[], &[]));
        assert!(!is_pure([0, ACK | 8], &[], &[]));
        assert!(!is_pure([0, ACK | 1], &[], &[]));
        assert!(!is_pure([0, ACK], &[3, 3, 7, 0], &[]));
        // a signature, and what ends the options
        let signature = [&[1, 1, MD5, 18][..], &[7; 16]].concat();
        assert!(is_pure([0, ACK], &signature, &[]));
        assert!(is_pure([0, ACK], &[0, 3, 3, 7], &[]));
        assert_eq!(read([0, SYN | ACK], &[], &[]), None);
        assert_eq!(read([0, 4], &[], &[]), None);
        // cut off within the header
        assert_eq!(Ack::of(&tcp([0, ACK], &[], &[])[..19], 20), None);
    }

    #[test]
    fn an_ack_with_malformed_empty_or_repeated_options_is_not_pure() {
        let block = [1, 1, SACK, 10, 0, 0, 0, 9, 0, 0, 0, 11];
        let times = [1, 1, TIMESTAMPS, 10, 0, 0, 0, 5, 0, 0, 1, 0];
        let other = [1, 1, TIMESTAMPS, 10, 0, 0, 0, 6, 0, 0, 1, 1];
        let is_pure = |options: &[&[u8]]| read([0, ACK], &options.concat(), &[]).unwrap().is_pure;
        assert!(is_pure(&[&block]) && is_pure(&[&times]) && is_pure(&[&block, &times]));
        for options in [
            // no length, one that is too short, one that is too long
            &[&[1, 1, 1, SACK][..]][..],
            &[&[MD5, 0, 0, 0]],
            &[&[TIMESTAMPS, 1, 0, 0]],
            &[&[1, 1, TIMESTAMPS, 10]],
            // what is before is whole
            &[&block, &[1, 1, SACK, 6]],
            // not the length of its kind
            &[&[MD5, 4, 0, 0]],
            &[&[TIMESTAMPS, 4, 0, 0]],
            &[&[SACK, 4, 0, 0]],
            // no block, an empty one, an empty one among others
            &[&[1, 1, SACK, 2]],
            &[&[1, 1, SACK, 10, 0, 0, 0, 9, 0, 0, 0, 9]],
            &[
                &[1, 1, SACK, 18, 0, 0, 0, 9, 0, 0, 0, 9],
                &[0, 0, 0, 20, 0, 0, 0, 22],
            ],
            // a second one, the same or not
            &[&block, &block],
            &[&times, &times],
            &[&times, &other],
            &[&times, &block, &block],
        ] {
            assert!(!is_pure(options), "{options:?}");
        }
        // the first is read
        let twice = read([0, ACK], &[times, other].concat(), &[]).unwrap();
        assert_eq!(twice.timestamps, Some([5, 256]));
    }

    #[test]
    fn blocks_and_timestamps_are_read() {
        let mut options = vec![1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 1, 0, 1, 1, 5, 18];
        options.extend([0, 0, 0, 9, 0, 0, 0, 11, 0, 0, 0, 20, 0, 0, 0, 22]);
        let found = read([0, ACK], &options, &[]).unwrap();
        assert_eq!(found.timestamps, Some([5, 256]));
        assert_eq!(found.sacks, [(9, 11), (20, 22), (0, 0), (0, 0)]);
        assert!(found.is_pure);
    }
}
