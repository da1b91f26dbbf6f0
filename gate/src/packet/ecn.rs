//! Marking: sets congestion experienced (CE) in the header of an IP packet (RFC 3168, section 5).

/// Both bits of the field: CE.
const CE: u8 = 3;
/// Offset of the header's checksum in IPv4.
const CHECKSUM: usize = 10;

/// Sets CE. Returns true if the packet has a header in which this is possible; otherwise it is
/// unchanged.
pub fn set_ce(packet: &mut [u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] |= CE;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[CHECKSUM], packet[CHECKSUM + 1]]);
            let sum = updated(sum, before, after).to_be_bytes();
            packet[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum);
            true
        }
        // the traffic class lies across the first two bytes: its lowest bits are in the second
        Some(6) if packet.len() >= 40 => {
            packet[1] |= CE << 4;
            true
        }
        _ => false,
    }
}

/// Returns a checksum after one of the words that it covers has changed (RFC 1624, equation 3).
fn updated(sum: u16, before: u16, after: u16) -> u16 {
    let total = u32::from(!sum) + u32::from(!before) + u32::from(after);
    let folded = (total & 0xffff) + (total >> 16);
    !((folded & 0xffff) as u16 + (folded >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sum over all words of a header, which is all ones if its checksum is right.
    fn sum(header: &[u8]) -> u32 {
        let words = header.chunks(2);
        let mut sum: u32 = words
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum
    }

    #[test]
    fn the_checksum_of_ipv4_stays_right() {
        for tos in 0..=255 {
            for length in [20_u16, 0x1234, 0xffff] {
                let mut header = [0; 20];
                header[..4].copy_from_slice(&[0x45, tos, (length >> 8) as u8, length as u8]);
                header[8..10].copy_from_slice(&[64, 17]);
                header[12..].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
                let right = !(sum(&header) as u16);
                header[10..12].copy_from_slice(&right.to_be_bytes());
                assert!(set_ce(&mut header));
                assert_eq!(
                    (header[1], sum(&header)),
                    (tos | 3, 0xffff),
                    "{tos} {length}"
                );
            }
        }
    }

    #[test]
    fn the_traffic_class_of_ipv6_is_found() {
        let mut header = [0; 40];
        header[..4].copy_from_slice(&[0x6a, 0xbc, 0xde, 0xf0]);
        assert!(set_ce(&mut header));
        assert_eq!(header[..4], [0x6a, 0xbc | 0x30, 0xde, 0xf0]);
    }

    #[test]
    fn what_is_no_header_stays_as_it_is() {
        for packet in [&[][..], &[0x45; 19], &[0x60; 39], &[0x10; 60]] {
            let mut marked = packet.to_vec();
            assert!(!set_ce(&mut marked));
            assert_eq!(marked, packet);
        }
    }
}
