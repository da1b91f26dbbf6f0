//! BBR and Prague in scenarios: what they need, what both ends agree on, and that they fill a link
//! with a short queue where CUBIC fills the buffer.

use std::path::Path;

use sluice_network::{Monitor, Plan, Source, TcpKind, simulate};
use sluice_scenario::AnyScenario;
use sluice_tcp::CongestionControl;

/// One flow over 10 Mbit/s and a round trip of 40 ms with the given TCP: 33 packets of 1500 bytes
/// fill the path. The buffer holds 200.
fn plan(tcp: &str, discipline: &str) -> Plan {
    let text = format!(
        "duration_s = 20
         warm_up_s = 5
         topology = {{ kind = 'dumbbell', rate_bps = 10e6, delay_s = 0.01, client_delays_s = [0.01] }}
         queue = {{ limit = 200 }}
         flows = [{{ kind = 'tcp', tcp = {{ like = 'linux', packet_bytes = 1500, {tcp} }} }}]
         disciplines = [{discipline}]"
    );
    let AnyScenario::Network(scenario) = AnyScenario::parse(&text, Path::new("")).unwrap() else {
        panic!("a scenario with a topology is a network's");
    };
    Plan::of(&scenario, &scenario.disciplines[0]).unwrap()
}

fn kind(plan: &Plan) -> &TcpKind {
    match &plan.groups[0].source {
        Source::Long(long) => &long.kind,
        _ => panic!("a long flow"),
    }
}

/// Returns the share of the time in which the link is busy, and the mean queue, packets.
fn busy_and_queue(plan: &Plan) -> (f64, f64) {
    let run = simulate(plan, Some(1), &Monitor::default()).unwrap();
    let port = &run[0].periods[1].ports[0];
    let all: u64 = port.queue_ns.iter().sum();
    let products = port
        .queue_ns
        .iter()
        .zip(0_u64..)
        .map(|(ns, queue)| *ns as f64 * queue as f64);
    let busy = 1.0 - port.idle_ns as f64 / port.duration_ns as f64;
    (busy, products.sum::<f64>() / all as f64)
}

#[test]
fn bbr_alone_fills_the_link_with_a_queue_far_below_cubics() {
    let (busy, queue) =
        busy_and_queue(&plan("congestion_control = 'bbr'", "{ aqm = 'drop_tail' }"));
    assert!(busy > 0.95 && queue < 12.0, "{busy} {queue}");
    let (_, of_cubic) = busy_and_queue(&plan(
        "congestion_control = 'cubic'",
        "{ aqm = 'drop_tail' }",
    ));
    assert!(of_cubic > 100.0, "{of_cubic}");
}

#[test]
fn prague_fills_a_link_that_marks_early() {
    let marking = "{ aqm = 'codel', ecn = true, params = { target = 0.002, interval = 0.02 } }";
    let tcp = "congestion_control = 'prague', ecn = true";
    let (busy, queue) = busy_and_queue(&plan(tcp, marking));
    assert!(busy > 0.9 && queue < 10.0, "{busy} {queue}");
}

#[test]
fn prague_asks_for_numbers_of_marks_and_without_them_it_is_reno() {
    let prague = plan(
        "congestion_control = 'prague', ecn = true",
        "{ aqm = 'codel' }",
    );
    let kind_of = kind(&prague);
    assert_eq!(kind_of.config.congestion_control, CongestionControl::Prague);
    assert!(kind_of.config.accurate_ecn && kind_of.config.pacing);
    let fallen_back = plan(
        "congestion_control = 'prague', ecn = true, accurate_ecn = false",
        "{ aqm = 'codel' }",
    );
    let kind_of = kind(&fallen_back);
    assert_eq!(kind_of.config.congestion_control, CongestionControl::Reno);
    assert!(kind_of.config.ecn && !kind_of.config.accurate_ecn && !kind_of.config.pacing);
}

/// Prague beside CUBIC over 50 Mbit/s and 20 ms, both with marks, in one queue of an AQM: Prague's
/// share of what is acknowledged.
fn share_of_prague(discipline: &str, fallback: bool) -> f64 {
    let flow = |tcp: &str| {
        format!(
            "{{ kind = 'tcp', spread_s = 0.1, tcp = {{ like = 'linux', packet_bytes = 1500, ecn = true, {tcp} }} }}"
        )
    };
    let text = format!(
        "duration_s = 40
         topology = {{ kind = 'dumbbell', rate_bps = 50e6, delay_s = 0.005, client_delays_s = [0.005] }}
         queue = {{ limit = 1000, ecn = true }}
         flows = [{}, {}]
         disciplines = [{discipline}]",
        flow(&format!("congestion_control = 'prague', classic_fallback = {fallback}")),
        flow("congestion_control = 'cubic'"),
    );
    let AnyScenario::Network(scenario) = AnyScenario::parse(&text, Path::new("")).unwrap() else {
        panic!("a scenario with a topology is a network's");
    };
    let plan = Plan::of(&scenario, &scenario.disciplines[0]).unwrap();
    let run = simulate(&plan, Some(1), &Monitor::default()).unwrap();
    let [prague, cubic] = [0, 1].map(|flow| f64::from(run[0].tcp[flow].acknowledged));
    prague / (prague + cubic)
}

#[test]
fn with_its_fallback_prague_leaves_cubic_a_share_of_a_classic_queue() {
    for discipline in ["{ aqm = 'codel' }", "{ aqm = 'pie' }"] {
        let [off, on] = [false, true].map(|fallback| share_of_prague(discipline, fallback));
        assert!(off > 0.75, "{discipline}: {off}");
        assert!((0.4..0.65).contains(&on), "{discipline}: {on}");
    }
    // a queue for L4S is none
    let [off, on] = [false, true].map(|on| share_of_prague("{ aqm = 'dualpi2' }", on));
    assert_eq!(off, on);
}
