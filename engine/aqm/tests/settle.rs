//! Overflow and marking of every verdict, with and without ECN, with and without room.

use sluice_aqm::{
    Aqm, Running,
    Verdict::{self, Admit, DropBoth, DropEarly, DropForced, DropOverflow, Mark},
    View,
};

use crate::common::{configured, number};

/// Verdict of the AQM, then the settled ones: with room, with room and ECN, full, full and ECN.
const TABLE: [(Verdict, [Verdict; 4]); Verdict::COUNT] = [
    (Admit, [Admit, Admit, DropOverflow, DropOverflow]),
    (DropEarly, [DropEarly, Mark, DropEarly, DropOverflow]),
    (DropForced, [DropForced, DropForced, DropForced, DropForced]),
    (
        DropOverflow,
        [DropOverflow, DropOverflow, DropOverflow, DropOverflow],
    ),
    (Mark, [Mark, Mark, DropOverflow, DropOverflow]),
    (DropBoth, [DropBoth, DropBoth, DropBoth, DropBoth]),
];

fn situations() -> [View; 4] {
    [(9, 0, 0), (9, 1, 0), (10, 0, 1), (10, 1, 1)].map(|(queue_packets, ecn_capable, full)| View {
        queue_packets,
        ecn_capable,
        full,
        ..View::default()
    })
}

#[test]
fn every_verdict_settles_as_the_table_says() {
    for (verdict, settled) in TABLE {
        for (view, expected) in situations().iter().zip(settled) {
            assert_eq!(
                Running::settle(verdict, view),
                expected,
                "{verdict:?} {view:?}"
            );
        }
    }
}

/// The same with an AQM: with w = 1 the average is the queue of 9 or 10 packets.
#[test]
fn arrivals_are_settled() {
    let early = [
        ("min_th", number(0.0)),
        ("max_th", number(11.0)),
        ("max_p", number(1.0)),
    ];
    let forced = [("min_th", number(0.0)), ("max_th", number(1.0))];
    let admit = [("min_th", number(100.0)), ("max_th", number(200.0))];
    for (verdict, given) in [
        (DropEarly, &early[..]),
        (DropForced, &forced),
        (Admit, &admit),
    ] {
        let (_, settled) = TABLE.iter().find(|row| row.0 == verdict).unwrap();
        let given = [given, &[("w", number(1.0))]].concat();
        for (view, expected) in situations().iter().zip(settled) {
            let mut running = configured("red", &given).start();
            assert_eq!(running.arrive(view), *expected, "{verdict:?} {view:?}");
        }
    }
}
