//! An upper bound of the memory that a gate uses, known before the first packet.

use std::{fmt, mem::size_of};

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::{
    Failure,
    backends::{
        SPARE_PACKETS,
        nfqueue::{BATCH, BUFFER_BYTES, MESSAGE_BYTES},
        tun,
    },
    measures::Times,
    packet::Held,
    router::{bands::Band, feed, link::held, on_wire::Room},
    settings::{LinkSettings, Settings},
    telemetry::WAITING,
};
use sluice_aqm::Scheduler;

/// Memory of a packet of 1500 bytes in the kernel (`truesize` of its buffer).
const KERNEL_BYTES: u64 = 2304;
/// Bytes of a packet that is kept whole, because it may have to be marked.
const WHOLE_BYTES: u64 = 1500;
/// Memory of the program, its threads, histograms, records that wait for the disk, and answers that
/// clients of the endpoint do not read.
const FIXED_BYTES: u64 = 32 << 20;
/// Address space that malloc and the stacks of the threads reserve and hardly use (measured: 135 MB
/// for a gate that holds few packets).
const RESERVED_BYTES: u64 = 160 << 20;
/// Memory of the programs of a qdisc.
#[cfg(feature = "kernel")]
const PROGRAMS_BYTES: u64 = 1 << 20;
/// Places for each packet: a queue's lists grow by doubling, and a packet is in at most two of
/// them.
const LISTS: u64 = 4;
/// Bytes of a place in such a list.
const PLACE_BYTES: u64 = (size_of::<Held>() + size_of::<u64>()) as u64;
/// Bytes of one of several queues, without its AQM's state and its list.
const QUEUE_BYTES: u64 = 512;

/// The bound: here, and in words with that of the kernel.
pub struct Bound {
    own_bytes: u64,
    told: String,
}

impl Bound {
    /// Returns the same with a shadow of these links beside it, which has words of its own.
    pub fn with_shadow(self, links: &[LinkSettings]) -> Self {
        Self {
            own_bytes: self.own_bytes + bytes_of_shadow(links),
            ..self
        }
    }

    /// Refuses settings for which a limit of the address space (`ulimit -v`) is too small: a gate
    /// would end when its queue is full.
    ///
    /// # Errors
    /// If it is, with what would be enough.
    pub fn fits(&self) -> Result<(), Failure> {
        let limit = getrlimit(Resource::RLIMIT_AS).map_or(RLIM_INFINITY, |(soft, _)| soft);
        let needed = self.own_bytes + RESERVED_BYTES;
        if limit >= needed {
            return Ok(());
        }
        Err(Failure(format!(
            "the limit of the address space (`ulimit -v`) is {} MB, which must be {} MB or more for \
             these queues; a smaller --limit needs less",
            limit >> 20,
            needed.div_ceil(1 << 20)
        )))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.told)
    }
}

/// Returns the bound with the kernel's queues: the kernel keeps the packets.
pub fn bound(settings: &Settings) -> Bound {
    // the kernel doubles the requested size
    let buffer = 2 * BUFFER_BYTES as u64;
    let kernel_packets = packets(settings) + spare(settings, SPARE_PACKETS);
    describe(
        settings,
        (BATCH * MESSAGE_BYTES) as u64,
        kernel_packets,
        buffer,
    )
}

/// Returns the bound with TUN devices: the gate keeps the packets.
pub fn bound_over_tun(settings: &Settings) -> Bound {
    // the memory of a packet is used again, perhaps for a longer one
    let kept: u64 = settings
        .links()
        .into_iter()
        .map(|link| held(link) * WHOLE_BYTES)
        .sum();
    let own = tun::MOST_BYTES as u64 + kept;
    describe(settings, own, spare(settings, SPARE_PACKETS), 0)
}

/// Returns the bound with a qdisc of the kernel whose maps have `maps_bytes`: the gate keeps only
/// histograms.
#[cfg(feature = "kernel")]
pub fn bound_in_kernel(settings: &Settings, maps_bytes: u64) -> Bound {
    Bound {
        own_bytes: FIXED_BYTES,
        told: format!(
            "at most {} MB here, and {}",
            FIXED_BYTES.div_ceil(1_000_000),
            bound_of_kind(settings, maps_bytes, 1)
        ),
    }
}

/// Describes the bound of a kind of qdisc for `instances` interfaces.
#[cfg(feature = "kernel")]
pub fn bound_of_kind(settings: &Settings, maps_bytes: u64, instances: u32) -> String {
    let packets = u64::from(settings.forward.buffer.limit) * u64::from(instances);
    let kernel = packets * KERNEL_BYTES + maps_bytes + PROGRAMS_BYTES;
    format!(
        "{} MB in the kernel for {packets} packets (of 1500 bytes each)",
        kernel.div_ceil(1_000_000),
    )
}

/// Describes the bound of links that only follow others' arrivals.
pub fn bound_of_shadow(links: &[LinkSettings]) -> String {
    format!("at most {} MB", bytes_of_shadow(links).div_ceil(1_000_000))
}

fn bytes_of_shadow(links: &[LinkSettings]) -> u64 {
    let links = links.iter();
    let own: u64 = links
        .map(|link| held(link) * LISTS * PLACE_BYTES + queues(link) + records(link))
        .sum();
    feed::WAITING_BYTES + own
}

fn packets(settings: &Settings) -> u64 {
    settings.links().into_iter().map(held).sum()
}

/// Returns how many packets of all links may wait unread in the kernel.
fn spare(settings: &Settings, of_a_link: u32) -> u64 {
    settings.links().len() as u64 * u64::from(of_a_link)
}

fn describe(settings: &Settings, buffers: u64, kernel_packets: u64, kernel_buffer: u64) -> Bound {
    let packets = packets(settings);
    let links = settings.links().into_iter();
    let own: u64 = links
        .map(|link| {
            let kept = if link.ecn() { whole(link) } else { 0 };
            held(link) * LISTS * PLACE_BYTES + kept + queues(link) + records(link)
        })
        .sum();
    let own_bytes = FIXED_BYTES + buffers + own;
    let kernel = kernel_packets * KERNEL_BYTES + kernel_buffer;
    Bound {
        own_bytes,
        told: format!(
            "at most {} MB here for {packets} packets, and {} MB in the kernel for {kernel_packets} \
             (of 1500 bytes each), should all queues be full",
            own_bytes.div_ceil(1_000_000),
            kernel.div_ceil(1_000_000),
        ),
    }
}

/// Returns the bytes of packets that are kept whole. Those that wait have the greatest length; the
/// bytes of those on their way and on the wire follow from the link's rate and their times.
fn whole(link: &LinkSettings) -> u64 {
    let waiting = (u64::from(link.buffer.limit) + 2) * WHOLE_BYTES;
    waiting + Room::on_link(link).bytes + Room::on_wire(link).bytes
}

/// Returns the memory of a link's queues without packets, bytes: each has an AQM, and a list that
/// may once grow as long as the limit and then stays so.
fn queues(link: &LinkSettings) -> u64 {
    let state = if link.discipline.aqm.class().is_coupled() {
        0
    } else {
        let aqms = link
            .discipline
            .of_classes
            .iter()
            .chain([&link.discipline.aqm]);
        let sizes = aqms.map(|aqm| aqm.start().state().len() as u64);
        sizes.max().expect("one AQM")
    };
    let scheduler = link.in_lanes();
    let (queues, lists) = scheduler.map_or((1, 0), |scheduler| {
        let lanes = u64::from(Scheduler::lanes_of(scheduler));
        (lanes, lanes)
    });
    let list = u64::from(link.buffer.limit).next_power_of_two().max(16) * PLACE_BYTES;
    queues * (state + QUEUE_BYTES) + lists * list
}

/// Returns the memory of a link's distribution of its queue, and of all that is counted of its bands, in
/// the records that wait for the disk, bytes. `FIXED_BYTES` has the rest.
fn records(link: &LinkSettings) -> u64 {
    let bands = link.in_lanes().and_then(Scheduler::bands_of);
    let bands = bands.map_or(0, |(bands, _)| bands as u64);
    let lengths = 8 * (u64::from(link.buffer.limit) + 1).next_power_of_two();
    // besides its queue, a band has distributions of two times
    let band = lengths + (size_of::<Band>() + 2 * Times::counts_bytes()) as u64;
    (WAITING as u64 + 4) * (lengths + bands * band)
}

#[cfg(test)]
mod tests {
    use sluice_wire::{Loss, WirePlan};

    use super::*;
    use crate::{cli::LinkOptions, router::bands::Bands};

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
        // 120 Mbit/s are 750 packets of 20 bytes in a ms
        assert_eq!(held(&settings("red", "0").forward), 1002);
        assert_eq!(held(&settings("red", "0.05").forward), 1002 + 37_500);
    }

    #[test]
    fn packets_that_may_be_marked_are_kept_whole() {
        let megabytes = |aqm: &str| bound(&settings(aqm, "10")).own_bytes.div_ceil(1_000_000);
        // 1002 packets of 1500 bytes, and 10 s at 120 Mbit/s
        let more = megabytes("red:ecn=true") - megabytes("red");
        assert!((151..=152).contains(&more), "{more}");
    }

    #[test]
    fn a_wire_that_only_loses_needs_the_least_room() {
        let mut settings = settings("red:ecn=true", "0.1");
        settings.forward.rate_bps = 1_000_000_000;
        let without = bound(&settings).own_bytes;
        settings.forward.wire = Some(WirePlan {
            loss: Some(Loss::Bernoulli(0.01)),
            jitter: None,
            jitter_share: 1.0,
            reorder: false,
            bursts: None,
            tampers: None,
        });
        let more = bound(&settings).own_bytes - without;
        assert_eq!(more, 1000 * (1500 + LISTS * PLACE_BYTES));
    }

    #[test]
    fn the_state_of_each_flow_queue_counts() {
        let of = |aqm: &str| queues(&settings(aqm, "0").forward);
        // FRED keeps a table of flows: 32 kB
        let more = of("fred:scheduler=fq") - of("red:scheduler=fq");
        assert!(more > 1024 * 32_000, "{more}");
    }
    #[test]
    fn what_is_counted_of_each_tin_counts_in_each_record() {
        let of = |diffserv: &str| {
            let aqm = format!("cake:ecn=true,diffserv={diffserv}");
            settings(&aqm, "0")
        };
        let [none, eight] = ["besteffort", "diffserv8"].map(of);
        // for 1000 packets, the length of the queue takes 1024 counts in the link and in each tin; each of
        // two times takes 36 halves of 256 counts
        assert_eq!(records(&none.forward), 68 * 8 * 1024);
        let of_tin = 8 * 1024 + 2 * 8 * 36 * 128 + size_of::<Band>() as u64;
        let more = records(&eight.forward) - records(&none.forward);
        assert_eq!(more, 68 * 8 * of_tin);
        assert!(bound(&eight).own_bytes - bound(&none).own_bytes >= more);
        let shadow = |all: &Settings| bytes_of_shadow(std::slice::from_ref(&all.forward));
        assert!(shadow(&eight) - shadow(&none) >= more);
        let both = bound(&none).with_shadow(std::slice::from_ref(&eight.forward));
        assert_eq!(both.own_bytes, bound(&none).own_bytes + shadow(&eight));
        // a tin in which as many packets wait as there can be takes no more
        let mut tins = Bands::of(&eight.forward).unwrap().measures(0);
        assert_eq!(tins.len(), 8);
        tins[0].measures.hold(0, 1000);
        assert_eq!(tins[0].measures.queue_ns.len(), 1024);
    }
}
