//! An error lists all problems of a scenario, each with the path of its field.

use std::{fs, path::Path};

use sluice_scenario::AnyScenario;

const SLOTTED: &str = "slots = 1e5\n\
    arrivals = { kind = 'geometric', rate = 0.5 }\n\
    service = { kind = 'geometric', mu = 0.5 }\n\
    disciplines = [{ aqm = 'red' }]\n";
const NETWORK: &str = "duration_s = 1.0\n\
    topology = { kind = 'dumbbell' }\n\
    flows = [{ kind = 'tcp' }]\n\
    disciplines = [{ aqm = 'drop_tail' }]\n";

fn refusal(text: &str) -> String {
    match AnyScenario::parse(text, Path::new("folder")) {
        Ok(scenario) => panic!("{scenario:?}"),
        Err(error) => error.to_string(),
    }
}

/// Returns the scenario with a changed field of its top level.
fn changed(scenario: &str, line: &str) -> String {
    let name = line.split_whitespace().next().unwrap();
    let others = scenario
        .lines()
        .filter(|other| other.split_whitespace().next() != Some(name));
    others.chain([line]).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_wrong_is_told_with_its_path() {
    let cases = [
        ("slots = 999", "slots = 999 must be at least 1000 (slots)"),
        (
            "slots = 1000.5",
            "slots = 1000.5 must be a whole number (slots)",
        ),
        (
            "slots = 1e16",
            "slots = 1e+16 must be at most 1e+15 (slots)",
        ),
        ("slots = inf", "slots = inf must be a whole number (slots)"),
        ("slots = nan", "slots = nan must be a whole number (slots)"),
        ("slot_s = nan", "slot_s = nan must be a number (s)"),
        ("seed = -1", "seed = -1 must be at least 0"),
        (
            "seed = 18446744073709551616",
            "seed = 18446744073709551616 must be below 1.84467e+19",
        ),
        (
            "slotz = 5",
            "slotz is not a field (did you mean slots?); there are title, arrivals, service, queue, disciplines, slots, replications, seed, slot_s, packet_bytes",
        ),
        ("title = 5", "title = 5 must be text"),
        ("title = 1979-05-27", "title = 1979-05-27 must be text"),
        ("queue = 3", "queue = 3 must be a table"),
        (
            "queue = { victim = 'tial' }",
            "queue.victim = 'tial' must be one of 'tail', 'front' or 'random'; did you mean tail?",
        ),
        (
            "arrivals = 'fgn'",
            "arrivals = 'fgn' must be a table: { kind = \"fgn\" }",
        ),
        ("arrivals = { rate = 0.5 }", "arrivals.kind is missing"),
        (
            "arrivals = { kind = 'fgnn' }",
            "arrivals.kind = 'fgnn' must be one of 'geometric', 'self-similar', 'fgn' or 'replay'; did you mean fgn?",
        ),
        (
            "arrivals = { kind = 'geometric', rate = 0.5, mu = 1 }",
            "arrivals.mu is not a field; there are kind, rate",
        ),
        (
            "service = { kind = 'geometric', mu = true }",
            "service.mu = true must be a number",
        ),
        ("disciplines = 1", "disciplines = 1 must be a list"),
        ("disciplines = [1]", "disciplines.0 = 1 must be a table"),
        (
            &format!(
                "disciplines = [{{ aqm = 'red', label = '{}' }}]",
                "ü".repeat(5000)
            ),
            "disciplines.0.label has 5000 characters: at most 200",
        ),
        (
            "disciplines = [{ aqm = 3 }]",
            "disciplines.0.aqm = 3 must be an AQM's name, or the path of its C header or Python file",
        ),
        (
            "disciplines = [{ aqm = 'red', params = { w = 2 } }]",
            "disciplines.0: red.w = 2 must lie between 0 and 1",
        ),
        (
            "disciplines = [{ aqm = 'no.h' }]",
            "disciplines.0: folder/no.h: No such file or directory",
        ),
        (
            "disciplines = [{ aqm = 'red' }, { aqm = 'red' }]",
            "disciplines: two are called 'red'; give each a label",
        ),
        (
            "slots = 1e15",
            "slots = 1000000000000000 must be at most 9223372036854: with 1000000 ns a slot an AQM's clock counts no further",
        ),
    ];
    for (line, told) in cases {
        assert_eq!(refusal(&changed(SLOTTED, line)), told);
    }
    let cases = [
        (
            "flows = [{ kind = 'tcp', tcp = { min_rto_s = -1 } }]",
            "flows.0.tcp.min_rto_s = -1 must be at least 1e-09 (s)",
        ),
        (
            "flows = [{ kind = 'tcp', tcp = { variant = 'cubic' } }]",
            "flows.0.tcp.variant = 'cubic' must be one of 'tahoe', 'reno', 'newreno', 'sack' or 'rack': it is a congestion control; say congestion_control = 'cubic' beside variant = 'sack'",
        ),
        (
            "flows = [{ kind = 'tcp', tcp = { congestion_control = 'bbr' } }]",
            "flows.0.tcp: congestion_control = 'bbr' needs variant = 'rack', which like = 'linux' has: it asks what is in flight",
        ),
        (
            "flows = [{ kind = 'tcp', way = 'forward' }]",
            "flows.0.way is not a field; it is called route",
        ),
        (
            "flows = [{ kind = 'tcp', route = 'sideways' }]",
            "flows.0: route = sideways must be one of forward, reverse",
        ),
        ("flows = []", "flows = [] must have at least 1"),
        (
            "topology = { kind = 'dumbbell', rate_bps = 1.5 }",
            "topology.rate_bps = 1.5 must be whole, as all below 50000 (bits/s)",
        ),
        (
            "topology = { kind = 'dumbbell', hops = 4 }",
            "topology.hops is not a field; there are kind, rate_bps, delay_s, client_delays_s, server_delay_s, access_rate_bps, two_way",
        ),
        (
            "topology = { kind = 'graph', links = [{ source = '', sink = ' ', rate_bps = 1, delay_s = 0 }] }",
            "topology.links.0.source = '' must not be empty\ntopology.links.0.sink = ' ' must be printable text",
        ),
        (
            "title = 'RED \u{202e}evil'",
            "title = 'RED \\u202eevil' must be printable text",
        ),
        (
            "warm_up_s = 1",
            "warm_up_s = 1 must be below duration_s = 1 (s), or be left out for half of it",
        ),
        (
            "flows = [{ kind = 'call', max_rate_bps = 1e12, frames_per_s = 0.1, packet_bytes = 41 }]",
            "flows.0: max_rate_bps = 1e+12 at frames_per_s = 0.1 makes frames of 3.04878e+10 packets of packet_bytes = 41; a frame must have 10000 at most",
        ),
    ];
    for (line, told) in cases {
        assert_eq!(refusal(&changed(NETWORK, line)), told);
    }
}

#[test]
fn all_problems_are_told_at_once_in_the_order_of_the_fields() {
    let text = changed(
        SLOTTED,
        "seed = -1\nreplications = 0\nqueue = { limit = 0, limits = 1 }",
    );
    assert_eq!(
        refusal(&text),
        "queue.limit = 0 must be at least 1 (packets)\n\
         queue.limits is not a field (did you mean limit?); there are limit, limit_bytes, victim, ecn\n\
         replications = 0 must be at least 1\n\
         seed = -1 must be at least 0"
    );
    let many = format!(
        "topology = {{ kind = 'dumbbell', client_delays_s = [{}] }}",
        "-1, ".repeat(1000)
    );
    let told = refusal(&changed(NETWORK, &many));
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(
        lines[49],
        "topology.client_delays_s.49 = -1 must be at least 0 (s)"
    );
    assert_eq!(lines[50..], ["and 950 more problems"]);
}

#[test]
fn what_no_person_writes_is_refused_too() {
    let nested = format!("x = {}{}", "[".repeat(5000), "]".repeat(5000));
    assert!(
        refusal(&nested).starts_with("not valid TOML: "),
        "{}",
        refusal(&nested)
    );
    let dotted = format!("{}a = 1", "a.".repeat(900));
    assert!(
        refusal(&dotted).starts_with("not valid TOML: "),
        "{}",
        refusal(&dotted)
    );
    let digits = format!("seed = {}", "9".repeat(5000));
    assert_eq!(
        refusal(&changed(SLOTTED, &digits)),
        "seed = a far too large number must be below 1.84467e+19"
    );
    assert_eq!(
        AnyScenario::load(Path::new("/dev/zero"))
            .unwrap_err()
            .to_string(),
        "/dev/zero: a scenario must have at most 16777216 bytes"
    );
    let folder = std::env::temp_dir().join(format!("sluice-refusals-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("scenario.toml");
    fs::write(&path, b"slots = 1\n\xff").unwrap();
    let told = AnyScenario::load(&path).unwrap_err().to_string();
    assert_eq!(
        told,
        format!("{}: not valid TOML: line 2 is not UTF-8", path.display())
    );
    fs::write(&path, format!("\u{feff}{SLOTTED}")).unwrap();
    assert!(AnyScenario::load(&path).is_ok());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn broken_toml_is_told_with_line_and_column() {
    let told = refusal("title = 'x'\nslots = = 1\n");
    assert!(
        told.starts_with("not valid TOML: ") && told.ends_with(" (at line 2, column 9)"),
        "{told}"
    );
}

#[test]
fn a_second_rate_of_datagrams_is_refused_at_its_own_fields() {
    let refused = |mmpp: &str| {
        let flows = format!(
            "flows = [{{ kind = 'datagrams', rate_bps = 1.2e6, gaps = 'exponential', mmpp = {{ {mmpp} }} }}]"
        );
        refusal(&changed(NETWORK, &flows))
    };
    assert_eq!(
        refused("other_rate_bps = 1e14, mean_s = 1.0, other_mean_s = 1.0"),
        "flows.0.mmpp: other_rate_bps = 1e+14 must be at most 4e+12 (bits/s): a packet a nanosecond"
    );
    // 500 bytes at 1.2 Mbit/s take 1/300 s, and the first rate lasts for 1 part of 1e17
    assert_eq!(
        refused("other_rate_bps = 0.0, mean_s = 1e-9, other_mean_s = 1e8"),
        "flows.0.mmpp: mean_s = 1e-09 and other_mean_s = 1e+08 are 1e+08 s together; they must last a \
         hundredth of the mean time between two datagrams, 3.33333e+14 s"
    );
}
