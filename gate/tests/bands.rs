//! Lanes, tins and classes have the counts in the gate that they have in the network world, for the same
//! arrivals.

use sluice_aqm::Verdict;
use sluice_gate::{
    cli::LinkOptions,
    packet::Held,
    replay::{Watch, replay},
    router::{bands::Band, link::Link},
    settings::{LinkSettings, Settings},
};
use sluice_link::Clock;
use sluice_network::{Monitor, Tally};
use sluice_random::stream;

use crate::cases::{coupled_cases, of_classes, plan_of, recorded};

const PACKETS: usize = 20_000;

/// Returns verdicts, packets and bytes sent, the longest time of each queue, and sums of sojourns and
/// delays.
fn of_gate(band: &Band) -> (Vec<u64>, [u64; 5]) {
    let measures = &band.measures;
    let found = [
        measures.arrivals,
        measures.sent,
        measures.sent_bytes,
        measures.sojourn.sum_ns(),
        measures.delay.sum_ns(),
    ];
    (measures.verdicts.to_vec(), found)
}

fn of_network(tally: &Tally) -> (Vec<u64>, [u64; 5]) {
    let found = [
        tally.arrivals,
        tally.sent,
        tally.sent_bytes,
        tally.sojourn.sum() as u64,
        tally.delay.sum() as u64,
    ];
    (tally.verdicts.to_vec(), found)
}

/// Returns how long each number of packets but 0 waited: the network world goes on when all have left.
fn waited(queue_ns: &[u64]) -> Vec<(usize, u64)> {
    let times = queue_ns.iter().copied().enumerate().skip(1);
    times.filter(|(_, ns)| *ns > 0).collect()
}

#[test]
fn bands_have_the_counts_of_the_network_world() {
    let capture = recorded(PACKETS);
    let mut several = 0;
    for settings in coupled_cases().chain(of_classes()) {
        let Settings { forward, .. } = &settings;
        let told = forward.describe();
        let (measures, bands) = replay(&capture, &settings, &mut Watch(())).unwrap();
        let mut plan = plan_of(&capture, &settings);
        plan.classes = vec![0];
        let found = sluice_network::simulate(&plan, Some(1), &Monitor::default()).unwrap();
        let port = &found[0].periods[0].ports[0];
        let bands = bands.unwrap();
        assert_eq!(bands.len(), port.of_bands().count(), "{told}");
        for (band, tally) in bands.iter().zip(port.of_bands()) {
            assert_eq!(of_gate(band), of_network(&tally), "{told}");
            assert_eq!(
                waited(&band.measures.queue_ns),
                waited(&tally.queue_ns),
                "{told}"
            );
            assert_eq!(band.waiting, 0, "{told}");
            several += usize::from(band.measures.sent > 1000);
        }
        let sent: u64 = bands.iter().map(|band| band.measures.sent).sum();
        assert_eq!(sent, measures.sent, "{told}");
    }
    // two lanes, three tins, three classes of three schedulers
    assert!(several >= 10, "{several}");
}

const MS: u64 = 1_000_000;

fn settings(aqm: &str) -> LinkSettings {
    let options = LinkOptions {
        aqm: Some(aqm.into()),
        rate: Some("10e6".into()),
        limit: Some("200".into()),
        ..LinkOptions::default()
    };
    Settings::read(&options).unwrap().forward
}

/// Returns a link after 100 ms, in which twice its rate came in two DSCPs.
fn after_100_ms(aqm: &str) -> Link {
    let mut link = Link::new(settings(aqm), Clock::endless(), stream(1, "aqm 0", 0));
    send(&mut link, 0);
    link
}

/// Sends for 100 ms twice a link's rate in two DSCPs.
fn send(link: &mut Link, from_ns: u64) {
    for number in 0..167 {
        let packet = Held {
            bytes: 1500,
            dscp: [0, 46][number % 2],
            flow_hash: number as u32 % 7,
            ..Held::default()
        };
        let now_ns = from_ns + number as u64 * MS * 3 / 5;
        link.arrive(now_ns, packet, &mut Watch(()));
    }
}

/// Returns what was counted of each band: arrivals, drops, packets sent, packets that wait.
fn counts(bands: Option<Vec<Band>>) -> Option<Vec<[u64; 4]>> {
    let of_one = |Band { measures, waiting }: &Band| {
        let verdicts = (0..Verdict::COUNT as u32).filter_map(Verdict::from_code);
        let drops = verdicts.filter(|verdict| verdict.is_drop());
        let drops: u64 = drops.map(|drop| measures.verdicts[drop as usize]).sum();
        [measures.arrivals, drops, measures.sent, *waiting as u64]
    };
    bands.map(|bands| bands.iter().map(of_one).collect())
}

const CAKE: &str = "cake:ecn=true,diffserv=diffserv4";

#[test]
fn a_change_of_parameters_goes_on_counting() {
    let mut link = after_100_ms(CAKE);
    let before = counts(link.bands(100 * MS)).unwrap();
    assert_eq!(before.len(), 4);
    link.change(100 * MS, settings(&format!("{CAKE},rtt=0.05")));
    assert_eq!(counts(link.bands(100 * MS)).unwrap(), before);
    send(&mut link, 100 * MS);
    let after = counts(link.bands(200 * MS)).unwrap();
    let arrivals = |bands: &[[u64; 4]]| bands.iter().map(|band| band[0]).collect::<Vec<_>>();
    assert_eq!(arrivals(&before).iter().sum::<u64>(), 167);
    let twice = arrivals(&before)
        .iter()
        .map(|count| 2 * count)
        .collect::<Vec<_>>();
    assert_eq!(arrivals(&after), twice);
    for [arrivals, drops, sent, waiting] in after {
        assert_eq!(arrivals, drops + sent + waiting);
    }
}

/// Packets that waited as the bands changed belong to none of the new ones: their counts are unknown.
#[test]
fn bands_are_unknown_after_a_change_to_others_and_there_are_none_in_one_queue() {
    for (before, after, expected) in [
        (CAKE, "cake:ecn=true,diffserv=diffserv8", None),
        ("codel", CAKE, None),
        ("dualpi2:ecn=true", CAKE, None),
        (CAKE, "codel", Some(vec![])),
        ("codel", "codel:target=0.01", Some(vec![])),
        ("codel", "pie", Some(vec![])),
    ] {
        let mut link = after_100_ms(before);
        link.change(100 * MS, settings(after));
        assert_eq!(counts(link.bands(100 * MS)), expected, "{before} {after}");
        send(&mut link, 100 * MS);
        assert_eq!(counts(link.bands(200 * MS)), expected, "{before} {after}");
    }
}

#[test]
fn nothing_waits_in_the_bands_of_a_drained_link() {
    let mut link = after_100_ms(CAKE);
    let now_ns = 100 * MS;
    let waiting = |link: &mut Link| {
        let bands = counts(link.bands(now_ns)).unwrap();
        bands.iter().map(|band| band[3]).sum::<u64>()
    };
    assert_eq!(waiting(&mut link), link.packets() as u64);
    assert!(link.packets() > 10);
    link.drain(now_ns);
    assert_eq!((waiting(&mut link), link.packets()), (0, 0));
    // all the time is counted
    let bands = link.bands(now_ns).unwrap();
    for band in bands {
        assert_eq!(band.measures.queue_ns.iter().sum::<u64>(), now_ns);
    }
    assert_eq!(link.measures(now_ns).queue_ns.iter().sum::<u64>(), now_ns);
}
