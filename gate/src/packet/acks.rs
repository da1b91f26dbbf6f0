//! ACKs, as CAKE's filter of ACKs sees them.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use sluice_capture::{Ack, Packet};
use sluice_queue::AckFacts;

/// Returns what a filter of ACKs sees of a packet, if it is one.
pub fn facts(packet: &Packet) -> Option<AckFacts> {
    let Ack {
        acked,
        sacks,
        timestamps,
        ecn_flags,
        is_pure,
    } = packet.ack?;
    Some(AckFacts {
        connection: connection(packet),
        acked,
        sacks,
        timestamps,
        ecn_flags,
        is_pure,
    })
}

/// Returns a hash of 64 bits of addresses and ports: two connections that wait in one lane do not have the
/// same by chance. It has a key, as else a host could make its ACKs remove those of another connection.
fn connection(packet: &Packet) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one((packet.addresses, packet.ports))
}
