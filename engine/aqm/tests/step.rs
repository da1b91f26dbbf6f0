//! Step: nothing up to the threshold, everything above it.

use sluice_aqm::{Aqm, Value, Verdict, View};

use crate::common::{configured, number, word};

fn view(packets: u32, sojourn_ns: u64, ecn_capable: u8) -> View {
    View {
        sojourn_ns,
        ecn_capable,
        queue_packets: packets,
        queue_bytes: 1500 * u64::from(packets),
        packet_bytes: 1500,
        limit_packets: 250,
        ..View::default()
    }
}

#[test]
fn packets_that_waited_too_long_are_marked_or_dropped_as_they_leave() {
    let mut step = configured("step", &[("threshold", number(0.002))]).start();
    for (sojourn_ns, ecn_capable, expected) in [
        (2_000_000, 1, Verdict::Admit),
        (2_000_001, 1, Verdict::Mark),
        (2_000_000, 0, Verdict::Admit),
        (2_000_001, 0, Verdict::DropEarly),
    ] {
        let view = view(100, sojourn_ns, ecn_capable);
        assert_eq!(step.arrive(&view), Verdict::Admit);
        assert_eq!(step.depart(&view), expected, "{sojourn_ns}, {ecn_capable}");
    }
}

#[test]
fn packets_that_find_too_many_waiting_are_marked_or_dropped_as_they_arrive() {
    let cases: [(&str, &str, f64); 2] = [
        ("bytes", "threshold_bytes", 15_000.0),
        ("packets", "threshold_packets", 10.0),
    ];
    for (of, name, threshold) in cases {
        let given: [(&str, Value); 2] = [("of", word(of)), (name, number(threshold))];
        let mut step = configured("step", &given).start();
        for (packets, ecn_capable, expected) in [
            (10, 1, Verdict::Admit),
            (11, 1, Verdict::Mark),
            (10, 0, Verdict::Admit),
            (11, 0, Verdict::DropEarly),
        ] {
            let view = view(packets, 1_000_000_000, ecn_capable);
            assert_eq!(
                step.arrive(&view),
                expected,
                "{of}, {packets}, {ecn_capable}"
            );
            assert_eq!(step.depart(&view), Verdict::Admit);
        }
    }
}

#[test]
fn what_cannot_be_marked_may_pass() {
    let pass = ("not_ect", word("pass"));
    let mut by_delay = configured("step", std::slice::from_ref(&pass)).start();
    let mut by_bytes = configured("step", &[pass, ("of", word("bytes"))]).start();
    for (ecn_capable, expected) in [(0, Verdict::Admit), (1, Verdict::Mark)] {
        let view = view(100, 1_000_000_000, ecn_capable);
        assert_eq!(by_delay.depart(&view), expected);
        assert_eq!(by_bytes.arrive(&view), expected);
    }
}
