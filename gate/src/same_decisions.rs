//! Both back ends get the same packets at the same times. They must release the same packets, in
//! the same order, with the same marks.

use std::{fs::File, io::Read, os::fd::OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use rand::Rng;
use sluice_random::stream;

use crate::{
    backends::{Backend, Fate, nfqueue::Nfqueue, tun},
    cli::LinkOptions,
    machine::netlink::{Message, attribute, attributes, messages, write},
    packet::ecn::set_ce,
    router::{Router, data_plane::DataPlane},
    settings::Settings,
};

const PACKETS: usize = 20_000;
/// Offset of the number in a packet: after the headers of IPv6 (40 bytes) and UDP (8 bytes).
const NUMBER: usize = 48;

/// The packets that a back end released: number, and true if it was marked.
type LetGo = Vec<(u32, bool)>;

/// Returns a UDP packet of one of eight flows; every other packet is IPv6, every third one
/// ECN-capable.
fn packet(number: u32, draw: u64) -> Vec<u8> {
    let bytes = 100 + (draw % 1400) as u16;
    let (flow, ect) = (
        (draw >> 32) as u8 % 8,
        if number.is_multiple_of(3) { 2 } else { 0 },
    );
    let mut packet = if number.is_multiple_of(2) {
        let mut header = vec![0x45, ect];
        header.extend(bytes.to_be_bytes());
        header.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        header
    } else {
        let mut header = vec![0x60, ect << 4, 0, 0];
        header.extend((bytes - 40).to_be_bytes());
        header.extend([17, 64]);
        header.extend([0xfd; 32]);
        header
    };
    packet.extend([0x20, flow, 0x20, 1, 0, 20, 0, 0]);
    packet.resize(usize::from(bytes), 0);
    packet[NUMBER..NUMBER + 4].copy_from_slice(&number.to_be_bytes());
    packet
}

fn read(packet: &[u8]) -> (u32, bool) {
    let number = packet[NUMBER..NUMBER + 4].try_into().expect("four bytes");
    // a packet is marked if marking it again changes nothing
    let mut marked = packet.to_vec();
    set_ce(&mut marked);
    (u32::from_be_bytes(number), marked == packet)
}

fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags).unwrap()
}

/// Returns all messages that have arrived on a socket.
fn drain(mut from: &File) -> Vec<Vec<u8>> {
    let mut buffer = vec![0; 1 << 17];
    let messages = std::iter::from_fn(|| {
        let length = from.read(&mut buffer).ok()?;
        Some(buffer[..length].to_vec())
    });
    messages.collect()
}

/// Sends packets through a router, a few at a time; `take` collects the released ones. Returns
/// counts: arrivals, lost, marked, released, refused.
fn route<B: Backend>(
    backend: B,
    settings: &Settings,
    mut send: impl FnMut(u32, &[u8]),
    mut take: impl FnMut(),
) -> Vec<u64> {
    let mut router = Router::new(backend, settings, Fate::Drop).unwrap();
    let random = &mut stream(1, "arrivals", 0);
    let (mut now_ns, mut number) = (0, 0);
    while number < PACKETS as u32 {
        for _ in 0..1 + random.next_u64() % 8 {
            send(number, &packet(number, random.next_u64()));
            number += 1;
        }
        router.turn(|| now_ns).unwrap();
        take();
        now_ns += random.next_u64() % 4_000_000;
    }
    loop {
        let snapshot = &router.snapshots(now_ns).unwrap()[0];
        if snapshot.live.released + snapshot.measures.lost() == snapshot.measures.arrivals {
            break;
        }
        now_ns = router.due_ns().unwrap() + 1;
        router.turn(|| now_ns).unwrap();
        take();
    }
    let snapshot = &router.snapshots(now_ns).unwrap()[0];
    let measures = &snapshot.measures;
    vec![
        measures.arrivals,
        measures.lost(),
        measures.marked(),
        snapshot.live.released,
        snapshot.losses.refused,
    ]
}

fn over_tun(settings: &Settings) -> (LetGo, Vec<u64>) {
    let ((near, near_end), (far, far_end)) = (pair(), pair());
    let (near, far, mut got) = (File::from(near), File::from(far), LetGo::new());
    let counts = route(
        tun::tests::between([near_end, far_end], 1),
        settings,
        |_, packet| {
            assert_eq!(nix::unistd::write(&near, packet), Ok(packet.len()));
        },
        || got.extend(drain(&far).iter().map(|packet| read(packet))),
    );
    (got, counts)
}

fn over_nfqueue(settings: &Settings) -> (LetGo, Vec<u64>) {
    let (kernel, end) = pair();
    let (kernel, mut got) = (File::from(kernel), LetGo::new());
    let counts = route(
        Nfqueue::on(end, 3, 1),
        settings,
        |number, packet| {
            let mut message = Vec::new();
            write(&mut message, libc::NFQNL_MSG_PACKET, 3, false, |out| {
                let mut header = (number + 1).to_be_bytes().to_vec();
                header.extend([8, 0, 1]);
                attribute(out, libc::NFQA_PACKET_HDR, &header);
                attribute(out, libc::NFQA_PAYLOAD, packet);
            });
            assert_eq!(nix::unistd::write(&kernel, &message), Ok(message.len()));
        },
        || {
            for message in drain(&kernel) {
                got.extend(messages(&message).filter_map(let_go));
            }
        },
    );
    (got, counts)
}

/// Returns the packet that a message releases, if it releases one.
fn let_go(message: Message<'_>) -> Option<(u32, bool)> {
    let Message::Queue(kind, _, rest) = message else {
        return None;
    };
    let (mut verdict, mut payload) = (None, None);
    for (kind, value) in attributes(rest) {
        match kind {
            libc::NFQA_VERDICT_HDR => verdict = Some(value),
            libc::NFQA_PAYLOAD => payload = Some(value),
            _ => {}
        }
    }
    let verdict = verdict.filter(|_| i32::from(kind) == libc::NFQNL_MSG_VERDICT)?;
    let word = |at: usize| u32::from_be_bytes(verdict[at..at + 4].try_into().expect("four"));
    let number = word(4) - 1;
    let marked = payload.is_some_and(|packet| read(packet) == (number, true));
    (word(0) == libc::NF_ACCEPT as u32).then_some((number, marked))
}

#[test]
fn both_back_ends_decide_alike() {
    for (aqm, marks) in [
        ("drop_tail:victim=random", false),
        ("red:min_th=5,max_th=40,max_p=0.5,ecn=true", true),
        ("codel:victim=front,scheduler=fq,ecn=true", true),
        ("pie:scheduler=drr", false),
    ] {
        let settings = Settings::read(&LinkOptions {
            aqm: Some(aqm.into()),
            rate: Some("10e6".into()),
            limit: Some("60".into()),
            delay: Some("0.005".into()),
            ..LinkOptions::default()
        });
        let settings = settings.unwrap();
        let (tun, nfqueue) = (over_tun(&settings), over_nfqueue(&settings));
        assert!(tun == nfqueue, "{aqm}: {:?}, {:?}", tun.1, nfqueue.1);
        let (got, counts) = tun;
        let marked = got.iter().filter(|(_, marked)| *marked).count();
        assert!(counts[0] >= PACKETS as u64, "{aqm}");
        assert_eq!(counts[0] - counts[1], got.len() as u64, "{aqm}");
        assert_eq!(
            (counts[2], counts[3]),
            (marked as u64, got.len() as u64),
            "{aqm}"
        );
        assert!(
            counts[1] > 1000 && (marked > 100) == marks,
            "{aqm}: {counts:?}"
        );
    }
}
