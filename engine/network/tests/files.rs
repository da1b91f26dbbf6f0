//! Every scenario file of a network gives a plan for each of its disciplines; the plans have the
//! scenario's values.

use std::{fs, path::Path};

use sluice_network::{Plan, Source};
use sluice_scenario::AnyScenario;

fn plans(text: &str) -> Vec<Plan> {
    let AnyScenario::Network(scenario) = AnyScenario::parse(text, Path::new("")).unwrap() else {
        panic!("a scenario with a topology is a network's");
    };
    let plan = |discipline| Plan::of(&scenario, discipline).unwrap();
    scenario.disciplines.iter().map(plan).collect()
}

#[test]
fn every_file_gives_its_plans() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/network");
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for plan in plans(&text) {
            assert!(plan.topology.links.iter().any(|link| link.port.is_some()));
            assert!(!plan.groups.is_empty());
        }
    }
}

#[test]
fn flows_are_dealt_out_in_turn_and_times_are_whole_nanoseconds() {
    let [plan] = &plans(
        "duration_s = 10
         topology = { kind = 'dumbbell', client_delays_s = [0.01, 0.02], two_way = true }
         flows = [
             { kind = 'tcp', count = 3, start_s = 1.5, tcp = { like = 'ns2', min_rto_s = 0.3 } },
             { kind = 'datagrams', route = 'reverse', rate_bps = 1e6, stop_s = 2 },
         ]
         disciplines = [{ aqm = 'red', victim = 'front' }]",
    )[..] else {
        panic!("one discipline");
    };
    let counts: Vec<u32> = plan.groups.iter().map(|group| group.count).collect();
    assert_eq!(counts, [2, 1, 1, 0]);
    let name = |node: usize| plan.topology.nodes[node].as_str();
    let ends: Vec<_> = plan
        .groups
        .iter()
        .map(|group| (name(group.from), name(group.to)))
        .collect();
    assert_eq!(
        ends,
        [
            ("client0", "server0"),
            ("client1", "server1"),
            ("server0", "client0"),
            ("server1", "client1"),
        ]
    );
    let Source::Long(long) = &plan.groups[0].source else {
        panic!("{:?}", plan.groups[0].source);
    };
    assert_eq!(long.flow.start_ns, 1_500_000_000);
    assert_eq!(long.kind.config.min_rto_ns, 300_000_000);
    assert_eq!(long.kind.config.initial_rto_ns, 3_000_000_000);
    let Source::Datagrams(datagrams) = &plan.groups[2].source else {
        panic!("{:?}", plan.groups[2].source);
    };
    assert_eq!(datagrams.stop_ns, 2_000_000_000);
    assert_eq!(
        (plan.duration_ns, plan.warm_up_ns),
        (10_000_000_000, 5_000_000_000)
    );
    let ports = plan
        .topology
        .links
        .iter()
        .filter(|link| link.port.is_some());
    assert_eq!(ports.count(), 2);
}

#[test]
fn what_cannot_be_simulated_is_told_in_the_scenarios_words() {
    let text = "duration_s = 10
        topology = { kind = 'dumbbell' }
        flows = [{ kind = 'tcp' }, { kind = 'tcp', tcp = { initial_rto_s = 61 } }]
        disciplines = [{ aqm = 'red' }]";
    let AnyScenario::Network(scenario) = AnyScenario::parse(text, Path::new("")).unwrap() else {
        panic!("a scenario with a topology is a network's");
    };
    let told = Plan::of(&scenario, &scenario.disciplines[0]).unwrap_err();
    assert_eq!(
        told.to_string(),
        "flows.1: tcp.initial_rto_s = 61 must lie between 1e-09 and 60 (s)"
    );
}
