//! Lanes, tins and classes have the counts in the gate that they have in the network world, for the same
//! arrivals.

use sluice_gate::{
    replay::{Watch, replay},
    router::bands::Band,
    settings::Settings,
};
use sluice_network::{Monitor, Tally};

use crate::replay::{coupled_cases, of_classes, plan_of, recorded};

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
