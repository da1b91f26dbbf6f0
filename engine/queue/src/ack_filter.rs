//! The ACK filter of Linux's CAKE (`sch_cake.c`: `cake_ack_filter()`): an ACK that waits is removed when
//! a newer one of its connection joins, if it would tell the sender nothing more.

use sluice_aqm::AckFilter;

/// What the filter sees of a TCP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFacts {
    /// The same for all packets of a connection in one direction, and for no others.
    pub connection: u64,
    /// Sequence number before which all has arrived.
    pub acked: u32,
    /// SACK blocks, the end of each not included; an empty one ends the list.
    pub sacks: [(u32, u32); 4],
    /// Value and echo of the option for timestamps (RFC 7323), if it has this option.
    pub timestamps: Option<[u32; 2]>,
    /// The flags ECE and CWR.
    pub ecn_flags: u8,
    /// True if it has no data, no flags but ACK, ECE and CWR, and no options that would be missed.
    pub is_pure: bool,
}

/// Returns the place of the packet, among those that wait in a lane, that is removed; the last of them
/// has just joined. Each is given by its facts, `None` if it is not an ACK.
pub fn needless(
    filter: AckFilter,
    waiting: impl ExactSizeIterator<Item = Option<AckFacts>>,
    newest: &AckFacts,
) -> Option<usize> {
    let last = waiting.len().checked_sub(1)?;
    // the first that may go, with its flags, and how many there were
    let (mut found, mut count) = (None, 0);
    for (place, each) in waiting.enumerate().take(last) {
        let Some(each) = each.filter(|each| each.connection == newest.connection) else {
            continue;
        };
        if found.is_some_and(|(_, flags)| flags != each.ecn_flags) {
            // the one found tells of a change of the flags
            (found, count) = (None, count - 1);
        }
        let is_needed = is_after(each.acked, newest.acked)
            || has_later_timestamps(&each, newest)
            || !acknowledges_more(newest, &each);
        if !each.is_pure || is_needed {
            continue;
        }
        let (first, _) = *found.get_or_insert((place, each.ecn_flags));
        count += 1;
        if count > 1 {
            return Some(first);
        }
    }
    let (place, flags) = found?;
    let stands_before = place + 1 == last && flags == newest.ecn_flags;
    (filter == AckFilter::Aggressive && stands_before).then_some(place)
}

/// True if an ACK has a timestamp that is after that of `newer`, which counts as 0 without one.
fn has_later_timestamps(ack: &AckFacts, newer: &AckFacts) -> bool {
    let newer = newer.timestamps.unwrap_or_default();
    let both = ack.timestamps.into_iter().flatten().zip(newer);
    both.into_iter().any(|(own, newer)| is_after(own, newer))
}

/// True if `newer` acknowledges more than `ack`: by SACK blocks, or by its number if they are the same.
fn acknowledges_more(newer: &AckFacts, ack: &AckFacts) -> bool {
    match compare_sacks(ack, newer) {
        None => false,
        Some(0) => ack.acked != newer.acked,
        Some(_) => true,
    }
}

/// Returns how many more packets `newer` has in its SACK blocks; `None` if `ack` has some that `newer`
/// has not, or a duplicate (RFC 2883), which must be told. A block may go round, or be nonsense: sizes
/// are modulo 2^32, as in Linux.
fn compare_sacks(ack: &AckFacts, newer: &AckFacts) -> Option<u32> {
    let size = |blocks: &[(u32, u32)]| {
        let sizes = blocks.iter().map(|(start, end)| end.wrapping_sub(*start));
        sizes.fold(0, u32::wrapping_add)
    };
    let (own, others) = (blocks(ack), blocks(newer));
    let is_kept = own.iter().all(|&(start, end)| {
        let covers = |&(from, to): &(u32, u32)| !is_after(from, start) && !is_after(end, to);
        !is_after(ack.acked, start) && others.iter().any(covers)
    });
    is_kept.then(|| size(others).saturating_sub(size(own)))
}

fn blocks(ack: &AckFacts) -> &[(u32, u32)] {
    let count = ack
        .sacks
        .iter()
        .take_while(|(start, end)| start != end)
        .count();
    &ack.sacks[..count]
}

/// True if one sequence number comes after another, modulo 2^32.
fn is_after(one: u32, other: u32) -> bool {
    (other.wrapping_sub(one) as i32) < 0
}

#[cfg(test)]
mod tests {
    use sluice_aqm::AckFilter::{Aggressive, Careful};

    use super::*;

    fn ack(acked: u32) -> AckFacts {
        AckFacts {
            connection: 1,
            acked,
            is_pure: true,
            ..AckFacts::default()
        }
    }

    fn sacked(acked: u32, blocks: &[(u32, u32)]) -> AckFacts {
        let mut sacks = [(0, 0); 4];
        sacks[..blocks.len()].copy_from_slice(blocks);
        AckFacts {
            sacks,
            ..ack(acked)
        }
    }

    fn removed(filter: AckFilter, waiting: &[AckFacts]) -> Option<usize> {
        let newest = waiting.last().expect("one that joined");
        needless(filter, waiting.iter().map(|each| Some(*each)), newest)
    }

    #[test]
    fn two_that_may_go_are_needed_or_one_right_before() {
        assert_eq!(removed(Careful, &[ack(1)]), None);
        assert_eq!(removed(Careful, &[ack(1), ack(2)]), None);
        assert_eq!(removed(Aggressive, &[ack(1), ack(2)]), Some(0));
        // the first of them goes
        assert_eq!(removed(Careful, &[ack(1), ack(2), ack(3)]), Some(0));
        // data stands between
        let data = AckFacts {
            is_pure: false,
            ..ack(2)
        };
        assert_eq!(removed(Aggressive, &[ack(1), data, ack(3)]), None);
        let none = [Some(ack(1)), None, Some(ack(3))];
        assert_eq!(needless(Aggressive, none.into_iter(), &ack(3)), None);
        assert_eq!(removed(Careful, &[data, ack(1), ack(2), ack(3)]), Some(1));
    }

    #[test]
    fn only_older_acks_of_the_same_connection_go() {
        let other = AckFacts {
            connection: 2,
            ..ack(1)
        };
        assert_eq!(removed(Aggressive, &[other, ack(2)]), None);
        assert_eq!(
            removed(Careful, &[ack(1), other, other, ack(2), ack(3)]),
            Some(0)
        );
        // a duplicate ACK has the number of the newest: it counts towards fast retransmit
        assert_eq!(removed(Aggressive, &[ack(2), ack(2)]), None);
        assert_eq!(removed(Careful, &[ack(2), ack(2), ack(2)]), None);
        // the newest is an old one that came late
        assert_eq!(removed(Aggressive, &[ack(3), ack(2)]), None);
        // numbers go round
        assert_eq!(removed(Aggressive, &[ack(u32::MAX), ack(1)]), Some(0));
    }

    #[test]
    fn later_timestamps_are_kept() {
        let timed = |acked, timestamps| AckFacts {
            timestamps,
            ..ack(acked)
        };
        let newest = timed(2, Some([5, u32::MAX]));
        for (timestamps, place) in [
            (None, Some(0)),
            (Some([5, u32::MAX]), Some(0)),
            (Some([6, u32::MAX]), None),
            (Some([5, 0]), None),
        ] {
            let waiting = [timed(1, timestamps), newest];
            assert_eq!(removed(Aggressive, &waiting), place, "{timestamps:?}");
        }
        // an end that has them and one that does not
        assert_eq!(removed(Aggressive, &[timed(1, Some([6, 0])), ack(2)]), None);
    }

    #[test]
    fn a_change_of_the_flags_of_ecn_is_kept() {
        let echo = |acked| AckFacts {
            ecn_flags: 1,
            ..ack(acked)
        };
        assert_eq!(removed(Aggressive, &[ack(1), echo(2)]), None);
        assert_eq!(removed(Aggressive, &[echo(1), echo(2)]), Some(0));
        assert_eq!(removed(Careful, &[ack(1), echo(2), echo(3)]), None);
        // 1 is not dropped any more, and of those that echo two are needed
        assert_eq!(
            removed(Careful, &[ack(1), echo(2), echo(3), echo(4)]),
            Some(1)
        );
        // the newest needs no flag of theirs
        assert_eq!(removed(Careful, &[echo(1), echo(2), ack(3)]), Some(0));
    }

    #[test]
    fn sack_blocks_must_be_among_those_of_the_newest() {
        let small = sacked(1, &[(5, 6)]);
        assert_eq!(removed(Aggressive, &[small, ack(9)]), None);
        assert_eq!(removed(Aggressive, &[small, sacked(1, &[(5, 6)])]), None);
        assert_eq!(removed(Aggressive, &[small, sacked(1, &[(5, 7)])]), Some(0));
        assert_eq!(
            removed(Aggressive, &[small, sacked(1, &[(8, 9), (5, 6)])]),
            Some(0)
        );
        assert_eq!(removed(Aggressive, &[small, sacked(2, &[(5, 6)])]), Some(0));
        assert_eq!(
            removed(Aggressive, &[ack(1), sacked(1, &[(5, 6)])]),
            Some(0)
        );
        assert_eq!(removed(Aggressive, &[small, sacked(1, &[(6, 9)])]), None);
        // a packet came twice: the block is before what is acknowledged
        let twice = sacked(4, &[(2, 3)]);
        assert_eq!(removed(Aggressive, &[twice, sacked(5, &[(2, 3)])]), None);
    }

    #[test]
    fn sack_blocks_may_have_any_numbers() {
        const MOST: u32 = u32::MAX;
        // a block goes round
        let round = sacked(MOST - 9, &[(MOST - 1, 2)]);
        let more = sacked(MOST - 9, &[(MOST - 1, 3)]);
        assert_eq!(removed(Aggressive, &[round, more]), Some(0));
        assert_eq!(removed(Aggressive, &[more, round]), None);
        // it ends before it starts, and sizes are together more than 2^32
        let numbers = [0, 1, 5, 1 << 31, (1 << 31) + 1, MOST - 1, MOST];
        let ends = numbers.map(|start| numbers.map(|end| (start, end)));
        let blocks = ends.concat();
        for one in &blocks {
            for other in &blocks {
                let hostile = sacked(1, &[*one, *other, *one, *other]);
                for filter in [Careful, Aggressive] {
                    let waiting = [hostile, sacked(1, &[*other]), sacked(2, &[*one])];
                    let gone = removed(filter, &waiting);
                    assert!(gone.is_none_or(|place| place < 2), "{one:?} {other:?}");
                }
            }
        }
    }
}
