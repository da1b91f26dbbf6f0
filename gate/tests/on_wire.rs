//! The wire behind a link: it does what that of the network world does, and has room for so many packets.

use sluice_aqm::Verdict;
use sluice_gate::{
    cli::LinkOptions,
    packet::Held,
    replay::replay,
    router::link::{Link, Outlet, held},
    settings::Settings,
};
use sluice_link::Clock;
use sluice_network::{
    Bursts, Distribution as WireTime, Loss, Monitor, Policer, Step, Trace, WirePlan,
};
use sluice_queue::Observer;
use sluice_random::stream;

use crate::cases::{RATE_BPS, cases, plan_of, recorded};

/// Packets that leave a replay, and those that its wire loses.
#[derive(Default)]
struct Through {
    released_ns: Vec<u64>,
    released_bytes: Vec<u64>,
    lost: u64,
}

impl Observer<Held> for Through {
    fn lost(&mut self, _: Held, _: Verdict) {}
}

impl Outlet<Held> for Through {
    fn released(&mut self, at_ns: u64, packet: Held) {
        self.released_ns.push(at_ns);
        self.released_bytes.push(packet.bytes.into());
    }

    fn lost_on_wire(&mut self, _: Held) {
        self.lost += 1;
    }
}

/// When packets come out of the wire of the network world, and how many it loses.
#[derive(Default)]
struct InNetwork {
    received_ns: Vec<u64>,
    lost: u64,
}

impl Trace for InNetwork {
    fn begin(&mut self, _: &[u32], _: &[u32]) {}

    fn note(&mut self, _: u64, event: sluice_network::Event) {
        match event.step {
            Step::Receive => self.received_ns.push(event.at_ns),
            Step::Lose => self.lost += 1,
            _ => {}
        }
    }
}

/// The wire behind the link loses the same packets, and lets the others out at the same times.
#[test]
fn a_wire_does_what_that_of_the_network_world_does() {
    let capture = recorded(20_000);
    let settings = cases().find(|case| case.forward.discipline.spec.name().contains("red"));
    let mut settings = settings.unwrap();
    let burst = Loss::GilbertElliott {
        enter: 0.01,
        leave: 0.2,
        loss: [0.001, 1.0],
    };
    let jitter = Some(WireTime::Exponential(3_000_000));
    let bursts = Some(Bursts {
        gap: WireTime::Uniform(1_000_000, 9_000_000),
        packets: 4,
    });
    let policer = Loss::Policer(Policer {
        rate_bps: 900_000.0,
        burst_bytes: 20_000.0,
    });
    for (loss, jitter, reorder, bursts) in [
        (Some(burst), jitter, true, None),
        (Some(Loss::Bernoulli(0.05)), jitter, false, None),
        (Some(policer), None, false, bursts),
    ] {
        settings.forward.wire = Some(WirePlan {
            loss,
            jitter,
            jitter_share: 0.5,
            reorder,
            bursts,
            tampers: None,
        });
        let mut through = Through::default();
        replay(&capture, &settings, &mut through).unwrap();
        let mut network = InNetwork::default();
        let plan = plan_of(&capture, &settings);
        sluice_network::simulate_traced(&plan, &Monitor::default(), &mut network).unwrap();
        assert!(through.lost > 100, "{}", through.lost);
        assert_eq!(through.lost, network.lost);
        // the network world tells each as it enters the wire
        network.received_ns.sort_unstable();
        let pairs = through.released_ns.iter().zip(&network.received_ns);
        assert_eq!(pairs.clone().find(|(ours, theirs)| ours != theirs), None);
        assert_eq!(through.released_ns.len(), network.received_ns.len());
    }
}

/// Returns a wire that lets one packet out after each gap.
fn one_in_each(gap_ns: u64) -> WirePlan {
    WirePlan {
        loss: None,
        jitter: None,
        jitter_share: 1.0,
        reorder: false,
        bursts: Some(Bursts {
            gap: WireTime::Constant(gap_ns),
            packets: 1,
        }),
        tampers: None,
    }
}

/// Bursts that are slower than the link would fill the wire without end: what it has no room for is
/// lost on it.
#[test]
fn a_wire_that_is_slower_than_the_link_is_bounded() {
    const GAP_NS: u64 = 10_000_000;
    let capture = recorded(20_000);
    let end_ns = *capture.time_ns.last().unwrap();
    let settings = cases().find(|case| case.forward.discipline.spec.name().contains("red"));
    let mut settings = settings.unwrap();
    let mut through = |gap_ns| {
        settings.forward.wire = Some(one_in_each(gap_ns));
        let mut through = Through::default();
        replay(&capture, &settings, &mut through).unwrap();
        assert!(through.lost > 100, "{}", through.lost);
        through
    };
    // the last packet waits for the 1000 before it, a gap each, and for what was in the queue
    let late_ns = through(GAP_NS).released_ns.last().unwrap() - end_ns;
    assert!(late_ns < 1_000 * GAP_NS + 2_000_000_000, "{late_ns}");
    assert!(late_ns > 900 * GAP_NS, "{late_ns}");
    // above the least room: what the link sends in ten gaps
    let Through {
        released_ns,
        released_bytes,
        ..
    } = through(2_000_000_000);
    let times = released_ns.iter().zip(&released_bytes);
    let on_wire = times.filter(|(at_ns, _)| **at_ns > end_ns);
    let bytes: u64 = on_wire.map(|(_, bytes)| bytes).sum();
    // packets that come after the capture's end take the places of those that leave meanwhile
    let room = RATE_BPS / 8 * 20;
    assert!(
        (room - 1500..=room + 3000).contains(&bytes),
        "{bytes} {room}"
    );
}

/// Neither the delay nor the wire takes places that are meant for the queue.
#[test]
fn the_queue_has_its_limit_behind_it_a_full_delay_and_a_full_wire() {
    const LIMIT: u32 = 500;
    const SHORT: u64 = 20;
    let options = LinkOptions {
        aqm: Some("drop_tail".into()),
        rate: Some("10e6".into()),
        limit: Some(LIMIT.to_string()),
        delay: Some("1".into()),
        ..LinkOptions::default()
    };
    let mut settings = Settings::read(&options).unwrap().forward;
    settings.wire = Some(one_in_each(1_000_000));
    let reserved = held(&settings);
    let [random, on_wire] = ["aqm 0", "wire 0"].map(|name| stream(1, name, 0));
    let mut link = Link::new(settings, Clock::endless(), random).with_wire(on_wire);
    let mut through = Through::default();
    let (mut most_held, mut most_waiting) = (0, 0);
    // a packet takes 16 us
    for number in 0..200_000 {
        let packet = Held {
            bytes: SHORT as u32,
            ..Held::default()
        };
        link.arrive(number * 15_000, packet, &mut through);
        most_held = most_held.max(link.held());
        most_waiting = most_waiting.max(link.packets());
    }
    assert!(through.lost > 1000, "{}", through.lost);
    assert_eq!(most_waiting, LIMIT as usize);
    assert!(
        (reserved - 3..=reserved).contains(&most_held),
        "{most_held} {reserved}"
    );
}

/// A delay that a reload ends lets all that was on its way out at once: a wire that delays nothing
/// loses none of it.
#[test]
fn a_wire_without_delay_needs_no_room() {
    let read = |delay: &str| {
        let options = LinkOptions {
            aqm: Some("drop_tail".into()),
            rate: Some("100e6".into()),
            limit: Some("100".into()),
            delay: Some(delay.into()),
            ..LinkOptions::default()
        };
        let mut settings = Settings::read(&options).unwrap().forward;
        settings.wire = Some(WirePlan {
            bursts: None,
            ..one_in_each(1)
        });
        settings
    };
    let [random, on_wire] = ["aqm 0", "wire 0"].map(|name| stream(1, name, 0));
    let mut link = Link::new(read("1"), Clock::endless(), random).with_wire(on_wire);
    let mut through = Through::default();
    for number in 0..7000 {
        let packet = Held {
            bytes: 1500,
            ..Held::default()
        };
        if number == 5000 {
            link.change(number * 120_000, read("0"));
        }
        link.arrive(number * 120_000, packet, &mut through);
    }
    link.advance(2_000_000_000, &mut through);
    assert_eq!((through.lost, through.released_ns.len()), (0, 7000));
}
