//! Ends that can do different things about marks, in one network, and wires that interfere.

use std::path::Path;

use sluice_ecn::Ecn;
use sluice_network::{Event, Kind, Monitor, Plan, Step, Trace, simulate_traced};
use sluice_scenario::AnyScenario;

/// Data packets of each group at the bottleneck, and SYNs.
#[derive(Default)]
struct Observed {
    group_of: Vec<u32>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    syns: Vec<u8>,
    answers: Vec<u8>,
    /// By the codepoint with which they arrive, Not-ECT, ECT(1), ECT(0), CE.
    arrived: [u64; 4],
    /// ACKs whose count of marks, or echo, is not that of the start.
    tells: u64,
}

impl Trace for Observed {
    fn begin(&mut self, tcp_groups: &[u32], _datagram_groups: &[u32]) {
        self.group_of = tcp_groups.to_vec();
        self.groups = vec![Group::default(); 1 + *tcp_groups.iter().max().unwrap() as usize];
    }

    fn note(&mut self, _now_ns: u64, event: Event) {
        let packet = event.packet;
        let group = &mut self.groups[self.group_of[packet.flow as usize] as usize];
        match (packet.kind, event.step, packet.is_syn()) {
            // the bottleneck is link 0
            (Kind::Data, Step::Arrive, true) if event.link == 0 => group.syns.push(packet.ace()),
            (Kind::Ack, Step::Receive, true) if event.link == 1 => group.answers.push(packet.ace()),
            (Kind::Data, Step::Arrive, false) if event.link == 0 => {
                group.arrived[usize::from(packet.ecn().bits())] += 1;
            }
            (Kind::Ack, Step::Receive, false) if event.link == 1 => {
                group.tells += u64::from(packet.echoes_mark() && packet.ace() != 5);
            }
            _ => {}
        }
    }
}

/// Runs groups of one flow each for 6 s behind an AQM that marks; `links` is what links have of
/// their own.
fn observe(groups: &[&str], links: &str) -> Vec<Group> {
    let flows: Vec<String> = groups
        .iter()
        .map(|tcp| format!("{{ kind = 'tcp', tcp = {{ like = 'linux', {tcp} }} }}"))
        .collect();
    let text = format!(
        "duration_s = 6
         topology = {{ kind = 'dumbbell', rate_bps = 4e6, delay_s = 0.02, client_delays_s = [0.001] }}
         queue = {{ limit = 200, ecn = true }}
         flows = [{}]
         disciplines = [{{ aqm = 'codel' }}]
         {links}",
        flows.join(", ")
    );
    let AnyScenario::Network(scenario) = AnyScenario::parse(&text, Path::new("")).unwrap() else {
        panic!("a scenario with a topology is a network's");
    };
    let plan = Plan::of(&scenario, &scenario.disciplines[0]).unwrap();
    let mut seen = Observed::default();
    simulate_traced(&plan, &Monitor::default(), &mut seen).unwrap();
    seen.groups
}

const ACCURATE: &str = "ecn = true, accurate_ecn = true, congestion_control = 'cubic'";
const CLASSIC: &str = "ecn = true, congestion_control = 'cubic'";
const PRAGUE: &str = "ecn = true, congestion_control = 'prague'";

/// Returns the only codepoint, besides CE, with which packets arrive.
fn codepoint(group: &Group) -> Ecn {
    let sent = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0];
    let of = |ecn: &Ecn| group.arrived[usize::from(ecn.bits())];
    let most = sent.into_iter().max_by_key(of).unwrap();
    let others: u64 = sent.iter().filter(|ecn| **ecn != most).map(of).sum();
    // what is sent again is Not-ECT
    assert!(of(&most) > 100 && others < of(&most) / 10, "{group:?}");
    most
}

#[test]
fn all_kinds_of_ends_share_a_network() {
    let with = |tcp: &str, server: &str| format!("{tcp}, server_ecn = '{server}'");
    let rows = [
        (with(ACCURATE, "accurate"), 0b111, 0b010, Ecn::Ect0),
        (with(ACCURATE, "classic"), 0b111, 0b001, Ecn::Ect0),
        (with(ACCURATE, "nonce"), 0b111, 0b101, Ecn::Ect0),
        (with(ACCURATE, "none"), 0b111, 0b000, Ecn::NotEct),
        (with(ACCURATE, "broken"), 0b111, 0b111, Ecn::NotEct),
        (with(CLASSIC, "accurate"), 0b011, 0b001, Ecn::Ect0),
        (with(PRAGUE, "accurate"), 0b111, 0b011, Ecn::Ect1),
        (with(PRAGUE, "classic"), 0b111, 0b001, Ecn::Ect0),
        (with(PRAGUE, "none"), 0b111, 0b000, Ecn::NotEct),
    ];
    let groups: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    for (group, (tcp, syn, answer, sends)) in observe(&groups, "").iter().zip(&rows) {
        assert_eq!(
            (&group.syns, &group.answers),
            (&vec![*syn], &vec![*answer]),
            "{tcp}"
        );
        assert_eq!(codepoint(group), *sends, "{tcp}");
        assert_eq!(group.tells > 0, *sends != Ecn::NotEct, "{tcp} {group:?}");
    }
}

#[test]
fn wires_that_interfere_are_found_out_or_not() {
    let wire = |link: &str, ecn: &str| format!("links.'{link}'.wire.ecn = '{ecn}'");
    let (there, back) = ("left -> right", "right -> left");
    let groups = [ACCURATE, CLASSIC, PRAGUE];
    let seen = |link: &str, ecn: &str| observe(&groups, &wire(link, ecn));
    // only an ECN-capable SYN shows that codepoints are cleared
    let bleached = seen(there, "bleach");
    assert_eq!(
        bleached.iter().map(codepoint).collect::<Vec<_>>(),
        [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct]
    );
    assert!(bleached.iter().all(|group| group.tells == 0));
    // a SYN that arrives marked shows it where it was Not-ECT, and where the answer tells of it
    let marked = seen(there, "mark");
    assert_eq!(
        marked.iter().map(codepoint).collect::<Vec<_>>(),
        [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1]
    );
    assert!(marked.iter().all(|group| group.tells > 0));
    // nothing is agreed on
    for link in [there, back] {
        let cleared = seen(link, "clear_flags");
        assert!(cleared.iter().all(|group| codepoint(group) == Ecn::NotEct));
        assert!(cleared.iter().all(|group| group.answers == [0]));
    }
    // after the third SYN, or the second
    let lost = seen(there, "lose_syn");
    let syns: Vec<&[u8]> = lost.iter().map(|group| &group.syns[..]).collect();
    assert_eq!(
        syns,
        [&[0b111, 0b111, 0][..], &[0b011, 0], &[0b111, 0b111, 0]]
    );
    assert!(lost.iter().all(|group| codepoint(group) == Ecn::NotEct));
}
