//! What recording costs the router, for bench/gate_recording_cost.py: `recording PART COUNT`.
//!
//! Each part is a function of its own, so that callgrind can count it alone (`--toggle-collect`).
//! Without callgrind it prints the time of each, ns: the least of all rounds. Only `written` takes
//! COUNT.

use std::{
    fs::{File, OpenOptions},
    hint::black_box,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    time::Instant,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socketpair, sockopt},
    unistd,
};
use sluice_gate::{
    backends::{Fate, nfqueue::Nfqueue},
    cli::LinkOptions,
    measures::{Measures, Times},
    packet::flows::Flows,
    router::{Router, data_plane::DataPlane},
    settings::Settings,
    telemetry::{Telemetry, endpoint::Endpoint, record::Record, server},
};

/// Packets of a turn, as many as the router reads at a time; turns of a part; turns of a record.
const BATCH: u32 = 64;
const TURNS: u32 = 300;
const RECORD_TURNS: u32 = 50;
/// Records, fewer than may wait for the disk.
const RECORDS: usize = 40;
const FLOWS: u32 = 40;
const PACKET_BYTES: u16 = 100;
/// Time between two batches: 320 Mbit/s before a link of 300.
const GAP_NS: u64 = 160_000;

/// Returns the kernel's message with a packet: `nfgenmsg`, its header and its first bytes.
fn message(id: u32) -> Vec<u8> {
    let flow = (id.wrapping_mul(0x9e37_79b1) >> 16) % FLOWS;
    let mut packet = vec![0x45, 0];
    packet.extend(PACKET_BYTES.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x20, flow as u8, 0x20, 1, 0, 80, 0, 0]);
    packet.resize(usize::from(PACKET_BYTES), 0);
    let mut body = vec![libc::AF_INET as u8, 0, 0, 3];
    let mut attribute = |kind: i32, value: &[u8]| {
        body.extend((value.len() as u16 + 4).to_ne_bytes());
        body.extend((kind as u16).to_ne_bytes());
        body.extend(value);
        body.resize(body.len().next_multiple_of(4), 0);
    };
    let header = [&id.to_be_bytes()[..], &[8, 0, 1, 0]].concat();
    attribute(libc::NFQA_PACKET_HDR, &header[..7]);
    attribute(libc::NFQA_PAYLOAD, &packet);
    let kind = (libc::NFNL_SUBSYS_QUEUE << 8 | libc::NFQNL_MSG_PACKET) as u16;
    let mut whole = (body.len() as u32 + 16).to_ne_bytes().to_vec();
    whole.extend(kind.to_ne_bytes());
    whole.extend([0; 10]);
    whole.extend(body);
    whole
}

/// A router, and the kernel's side of its socket.
struct Bed {
    router: Router<Nfqueue>,
    kernel: File,
    id: u32,
    now_ns: u64,
}

impl Bed {
    fn new() -> Self {
        let settings = Settings::read(&LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("300e6".into()),
            ..LinkOptions::default()
        });
        let (kernel, end): (OwnedFd, OwnedFd) = socketpair(
            AddressFamily::Unix,
            SockType::SeqPacket,
            None,
            SockFlag::SOCK_NONBLOCK,
        )
        .expect("a pair of sockets");
        setsockopt(&kernel, sockopt::SndBuf, &(1 << 20)).expect("room for a batch");
        let settings = settings.expect("settings that are right");
        let nfqueue = Nfqueue::on(end, 3, 1);
        Self {
            router: Router::new(nfqueue, &settings, Fate::Drop).expect("a socket"),
            kernel: kernel.into(),
            id: 0,
            now_ns: 0,
        }
    }

    /// Acts as the kernel and hands over a batch.
    fn feed(&mut self) {
        self.now_ns += GAP_NS;
        for _ in 0..BATCH {
            self.id += 1;
            unistd::write(&self.kernel, &message(self.id)).expect("room for a batch");
        }
    }

    fn forget(&self) {
        let mut buffer = vec![0; 1 << 17];
        let mut ready = [PollFd::new(self.kernel.as_fd(), PollFlags::POLLIN)];
        while poll(&mut ready, PollTimeout::ZERO).expect("a socket") > 0 {
            unistd::read(&self.kernel, &mut buffer).expect("what was decided");
        }
    }

    fn record(&mut self) -> Vec<Record> {
        let snapshots = counted_snapshots(&mut self.router, self.now_ns);
        let record = |snapshot| Record {
            link: "forward",
            clock_ns: self.now_ns,
            snapshot,
        };
        snapshots.into_iter().map(record).collect()
    }
}

#[inline(never)]
fn counted_whole(router: &mut Router<Nfqueue>, now_ns: u64) {
    router.turn(|| now_ns).expect("a socket");
}

#[inline(never)]
fn counted_snapshots(
    router: &mut Router<Nfqueue>,
    now_ns: u64,
) -> Vec<sluice_gate::router::snapshot::Snapshot> {
    router.snapshots(now_ns).expect("a socket")
}

#[inline(never)]
fn counted_flows(flows: &mut Flows, packets: &[sluice_capture::Packet]) {
    for packet in packets {
        flows.add(packet);
    }
}

/// Counts sojourn, delay and lateness of each packet.
#[inline(never)]
fn counted_times(times: &mut [Times; 3], ns: &[u64]) {
    for ns in ns {
        times[0].add(*ns);
        times[1].add(*ns + 2666);
        times[2].add(*ns >> 4);
    }
}

/// Counts each packet as it arrives, and as its transmission begins.
#[inline(never)]
fn counted_hold(measures: &mut Measures, ns: &[u64]) {
    for (ns, waiting) in ns.iter().zip(0..) {
        measures.hold(measures.until_ns + ns, waiting);
        measures.arrivals += 1;
        measures.arrived_bytes += 100;
        measures.hold(measures.until_ns + ns, waiting + 1);
        measures.sent += 1;
        measures.sent_bytes += 100;
        black_box(&mut *measures);
    }
}

/// Returns the least time of some rounds, ns for each packet of a batch.
fn least(rounds: u32, mut round: impl FnMut(u32) -> u64) -> f64 {
    let least = (0..rounds).map(&mut round).min().expect("some rounds");
    least as f64 / f64::from(BATCH)
}

fn timed(work: impl FnOnce()) -> u64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as u64
}

/// Runs a part and returns the least time, ns for each packet of a batch.
fn part(name: &str) -> f64 {
    let ns: Vec<u64> = (0..u64::from(BATCH))
        .map(|k| 1_000_000 + k * k * 977)
        .collect();
    match name {
        "whole" => {
            let mut bed = Bed::new();
            least(TURNS, |_| {
                bed.feed();
                let took = timed(|| counted_whole(&mut bed.router, bed.now_ns));
                bed.forget();
                took
            })
        }
        "flows" => {
            let mut flows = Flows::default();
            least(TURNS, |turn| {
                let packets: Vec<_> = (1..=BATCH)
                    .map(|number| message(turn * BATCH + number))
                    .map(|message| sluice_capture::ip_packet(&message[36..], 100))
                    .collect::<Option<_>>()
                    .expect("packets of IP");
                timed(|| counted_flows(&mut flows, &packets))
            })
        }
        "times" => {
            let mut times = <[Times; 3]>::default();
            least(TURNS, |_| timed(|| counted_times(&mut times, &ns)))
        }
        "hold" => {
            let mut measures = Measures::default();
            least(TURNS, |_| timed(|| counted_hold(&mut measures, &ns)))
        }
        _ => panic!("no such part: {name}"),
    }
}

/// Makes `RECORDS` records, of which `count` are written and shown.
fn written(count: usize) {
    let mut bed = Bed::new();
    let records: Vec<_> = (0..RECORDS)
        .map(|_| {
            for _ in 0..RECORD_TURNS {
                bed.feed();
                bed.router.turn(|| bed.now_ns).expect("a socket");
                bed.forget();
            }
            bed.record()
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let address = format!("unix:{}", folder.path().join("metrics").display());
    let endpoint = Endpoint::open(&address.parse().expect("an address")).expect("a socket");
    let null = Path::new("/dev/null");
    let file = OpenOptions::new().write(true).open(null).expect("a file");
    let hub = server::serve(endpoint, None, false).expect("threads");
    let mut telemetry = Telemetry::start(Some((file, null)), Some(hub)).expect("threads");
    for each in records.into_iter().take(count) {
        telemetry.record(each);
    }
    assert_eq!(telemetry.left_out, 0);
    telemetry.finish().expect("a file that takes all");
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["written", count] => written(count.parse().expect("a number")),
        [name] => println!("{}", part(name)),
        _ => panic!("recording whole|flows|times|hold, or recording written COUNT"),
    }
}
