//! Compares CHOKe with the flow chart of its paper in floating point.

use sluice_aqm::{Aqm, Running, Verdict, View};

use crate::common::{
    configured,
    link::{Event, FLOWS, Told},
    number,
    red_float::RedFloat,
};

#[test]
fn choke_follows_the_oracle() {
    let given = [
        ("min_th", 20.0),
        ("max_th", 60.0),
        ("max_p", 0.1),
        ("w", 0.02),
    ];
    let mut red = RedFloat::new(given.map(|(_, value)| value), 1000.0);
    let (mut told, mut both, mut forced) = (Told::default(), 0, 0);
    let configured = configured("choke", &given.map(|(name, value)| (name, number(value))));
    FLOWS.drive(&configured, 60_000, |event, view, verdict, running| {
        if event != Event::Arrive {
            return;
        }
        red.observe(view);
        let off = (running.average().unwrap() - red.average).abs();
        assert!(off < 1e-6, "average off by {off}");
        // Pan et al. 2000, figure 1
        if (red.average - 20.0).abs() < 1e-6 || (red.average - 60.0).abs() < 1e-6 {
            red.follow(verdict, 0.0);
            return;
        }
        let meets_itself = view.queue_packets > 0 && view.candidate_flow_hash == view.flow_hash;
        if red.average > 20.0 && meets_itself {
            both += 1;
            assert_eq!(verdict, Verdict::DropBoth, "{view:?}");
        } else if red.average >= 60.0 {
            forced += 1;
            assert_eq!(verdict, Verdict::DropForced, "{view:?}");
            red.follow(verdict, 1.0);
        } else {
            told.chance(view, verdict, red.p_a(), 1e-6);
            red.follow(verdict, red.p_b());
        }
    });
    assert!(both > 500 && forced > 500, "{both} {forced}");
    told.assert_telling();
}

#[test]
fn a_flow_that_holds_the_queue_loses_the_more() {
    let given = [
        ("min_th", number(20.0)),
        ("max_th", number(60.0)),
        ("w", number(0.02)),
    ];
    let (mut arrived, mut lost) = ([0_u32; 2], [0_u32; 2]);
    FLOWS.drive(
        &configured("choke", &given),
        60_000,
        |event, view, verdict, _| {
            let heavy = usize::from(view.flow_hash == 77);
            if event == Event::Arrive && view.queue_packets > 0 {
                arrived[heavy] += 1;
                lost[heavy] += u32::from(verdict == Verdict::DropBoth);
            }
        },
    );
    let share = |kind: usize| f64::from(lost[kind]) / f64::from(arrived[kind]);
    assert!(share(1) > 2.0 * share(0), "{} {}", share(1), share(0));
}

#[test]
fn an_empty_queue_has_no_candidate() {
    let given = [
        ("min_th", number(0.0)),
        ("max_th", number(1.0)),
        ("w", number(0.5)),
    ];
    let mut choke: Running = configured("choke", &given).start();
    let long = View {
        queue_packets: 9,
        limit_packets: 10,
        candidate_flow_hash: 1,
        ..View::default()
    };
    choke.arrive(&long);
    assert!(choke.average().unwrap() > 1.0);
    // the field of the candidate happens to equal the packet's flow
    let empty = View {
        queue_packets: 0,
        limit_packets: 10,
        ..View::default()
    };
    assert_eq!(choke.arrive(&empty), Verdict::DropForced);
}
