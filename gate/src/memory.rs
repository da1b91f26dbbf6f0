//! How much memory a gate can take, known before the first packet.

use std::mem::size_of;

use crate::{
    nfqueue::{BATCH, BUFFER_BYTES, MESSAGE_BYTES, SPARE_PACKETS},
    packet::Held,
    settings::{LinkSettings, Settings},
    tun,
};

/// What a packet of 1500 bytes takes in the kernel (`truesize` of its buffer).
const KERNEL_BYTES: u64 = 2304;
/// A packet that may have to be marked is kept whole.
const WHOLE_BYTES: u64 = 1500;
/// The program, its threads, histograms, and records that wait for the disk.
const FIXED_BYTES: u64 = 32 << 20;
/// Histograms, samples and programs of a qdisc; its places take less than a tenth of the packets.
#[cfg(feature = "kernel")]
const MAPS_BYTES: u64 = 4 << 20;
/// A queue's lists grow by doubling, and a packet stands in two of them at most.
const LISTS: u64 = 4;

/// The bound with the kernel's queues, in one line: it keeps the packets.
pub fn bound(settings: &Settings) -> String {
    // the kernel doubles what is asked for
    let buffer = 2 * BUFFER_BYTES as u64;
    let kernel_packets = packets(settings) + spare(settings, SPARE_PACKETS);
    told(
        settings,
        (BATCH * MESSAGE_BYTES) as u64,
        kernel_packets,
        buffer,
    )
}

/// The bound with TUN devices: the packets are here.
pub fn bound_over_tun(settings: &Settings) -> String {
    let own = tun::MOST_BYTES as u64 + packets(settings) * WHOLE_BYTES;
    told(settings, own, spare(settings, tun::SPARE_PACKETS), 0)
}

/// The bound with a qdisc of the kernel, in one line: only histograms are here.
#[cfg(feature = "kernel")]
pub fn bound_in_kernel(settings: &Settings) -> String {
    let packets = u64::from(settings.forward.buffer.limit);
    let kernel = packets * KERNEL_BYTES + MAPS_BYTES;
    format!(
        "at most {} MB here, and {} MB in the kernel for {packets} packets (of 1500 bytes each)",
        FIXED_BYTES.div_ceil(1_000_000),
        kernel.div_ceil(1_000_000),
    )
}

fn packets(settings: &Settings) -> u64 {
    settings.links().into_iter().map(held).sum()
}

/// Packets that have not been read yet.
fn spare(settings: &Settings, of_a_link: u32) -> u64 {
    settings.links().len() as u64 * u64::from(of_a_link)
}

fn told(settings: &Settings, buffers: u64, kernel_packets: u64, kernel_buffer: u64) -> String {
    let packets = packets(settings);
    let whole: u64 = settings
        .links()
        .into_iter()
        .filter(|link| link.ecn())
        .map(held)
        .sum();
    let place = LISTS * (size_of::<Held>() + size_of::<u64>()) as u64;
    let own = FIXED_BYTES + buffers + packets * place + whole * WHOLE_BYTES;
    let kernel = kernel_packets * KERNEL_BYTES + kernel_buffer;
    format!(
        "at most {} MB here for {packets} packets, and {} MB in the kernel for {kernel_packets} \
         (of 1500 bytes each)",
        own.div_ceil(1_000_000),
        kernel.div_ceil(1_000_000),
    )
}

/// Packets of 1500 bytes that a link can hold: those that wait, one that is sent, and those on
/// their way.
fn held(link: &LinkSettings) -> u64 {
    let on_way = u128::from(link.rate_bps) * u128::from(link.delay_ns);
    let on_way = on_way / (8 * u128::from(WHOLE_BYTES) * 1_000_000_000);
    u64::from(link.buffer.limit) + 2 + on_way as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::LinkOptions;

    fn settings(aqm: &str, delay: &str) -> Settings {
        let settings = Settings::read(&LinkOptions {
            aqm: Some(aqm.into()),
            rate: Some("120e6".into()),
            limit: Some("1000".into()),
            delay: Some(delay.into()),
            ..LinkOptions::default()
        });
        settings.unwrap()
    }

    #[test]
    fn a_link_holds_its_limit_and_what_is_on_its_way() {
        // 120 Mbit/s are 10 packets of 1500 bytes in a ms
        assert_eq!(held(&settings("red", "0").forward), 1002);
        assert_eq!(held(&settings("red", "0.05").forward), 1502);
    }

    #[test]
    fn packets_that_may_be_marked_are_kept_whole() {
        let megabytes = |aqm: &str| {
            let told = bound(&settings(aqm, "10"));
            let word = told.split_whitespace().nth(2).unwrap();
            word.parse::<u64>().unwrap()
        };
        // 101,002 packets of 1500 bytes
        let more = megabytes("red:ecn=true") - megabytes("red");
        assert!((151..=152).contains(&more), "{more}");
    }
}
