//! Small traces with known results; broken traces are refused.

use std::{fs, path::PathBuf};

use crate::{Summary, TraceError, read};

fn file(name: &str, text: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sluice-trace-{}-{name}", std::process::id()));
    fs::write(&path, text).unwrap();
    path
}

fn summary(name: &str, text: &str) -> Result<Summary, String> {
    let path = file(name, text);
    let result = read(&path);
    fs::remove_file(&path).unwrap();
    result.map_err(|error| error.to_string().replace(path.to_str().unwrap(), "FILE"))
}

/// Two packets of a flow over two links; the third is dropped at the second link.
const SMALL: &str = "\
+ 0 0 1 tcp 1000 ------- 5 0.0 2.0 0 10
- 0 0 1 tcp 1000 ------- 5 0.0 2.0 0 10
+ 0 0 1 tcp 1000 ------- 5 0.0 2.0 1 11
- 0.1 0 1 tcp 1000 ------- 5 0.0 2.0 1 11
r 0.5 0 1 tcp 1000 ------- 5 0.0 2.0 0 10
+ 0.5 1 2 tcp 1000 ------- 5 0.0 2.0 0 10
- 0.5 1 2 tcp 1000 ------- 5 0.0 2.0 0 10
r 0.6 0 1 tcp 1000 ------- 5 0.0 2.0 1 11
+ 0.6 1 2 tcp 1000 ------- 5 0.0 2.0 1 11
+ 0.7 0 1 tcp 1000 ------- 5 0.0 2.0 2 12
- 0.7 0 1 tcp 1000 ------- 5 0.0 2.0 2 12
- 0.9 1 2 tcp 1000 ------- 5 0.0 2.0 1 11
r 1 1 2 tcp 1000 ------- 5 0.0 2.0 0 10
r 1.2 0 1 tcp 1000 ------- 5 0.0 2.0 2 12
+ 1.2 1 2 tcp 1000 ------- 5 0.0 2.0 2 12
d 1.2 1 2 tcp 1000 ------- 5 0.0 2.0 2 12
r 1.5 1 2 tcp 1000 ------- 5 0.0 2.0 1 11
";

#[test]
fn flows_and_links_of_a_small_trace() {
    let summary = summary("small", SMALL).unwrap();
    assert_eq!((summary.lines, summary.cut_off), (17, false));
    assert_eq!((summary.start_s, summary.end_s), (0.0, 1.5));
    let [flow] = &summary.flows[..] else {
        panic!("one flow")
    };
    assert_eq!((flow.kind.as_str(), flow.id), ("tcp", 5));
    assert_eq!((flow.sent, flow.received, flow.lost), (3, 2, 1));
    assert_eq!(flow.received_bytes, 2000);
    assert_eq!((flow.first_sent_s, flow.last_received_s), (0.0, 1.5));
    assert_eq!(
        (flow.delay_min_s, flow.delay_max_s, flow.delay_sum_s),
        (1.0, 1.5, 2.5)
    );
    assert_eq!(flow.delay_change_sum_s, 0.5);
    assert_eq!(flow.course.iter().sum::<f64>(), 2000.0);
    let [first, second] = &summary.links[..] else {
        panic!("two links")
    };
    assert_eq!((first.arrivals, first.departures, first.drops), (3, 3, 0));
    assert_eq!(
        (second.arrivals, second.departures, second.drops),
        (3, 2, 1)
    );
    assert_eq!((first.queue_max, second.queue_max), (1, 1));
    assert!((first.queue_area - 0.1).abs() < 1e-12);
    assert!((second.queue_area - 0.3).abs() < 1e-12);
    assert!((second.course.iter().sum::<f64>() - 0.3).abs() < 1e-12);
}

#[test]
fn a_last_line_that_is_cut_off_does_not_count() {
    let whole = summary("whole", SMALL).unwrap();
    for cut in 1..40 {
        let cut_off = summary("cut", &SMALL[..SMALL.len() - cut]).unwrap();
        assert!(cut_off.cut_off);
        assert_eq!(cut_off.lines, whole.lines - 1);
        assert_eq!(cut_off.flows[0].received, 1);
    }
}

#[test]
fn a_packet_whose_start_is_not_in_the_trace_has_no_delay() {
    let text = SMALL.split_inclusive('\n').skip(4).collect::<String>();
    let flow = summary("late", &text).unwrap().flows.remove(0);
    assert_eq!(
        (flow.sent, flow.received, flow.lost, flow.delays),
        (1, 2, 1, 0)
    );
}

#[test]
fn what_is_no_trace_is_refused() {
    let second = SMALL.lines().nth(1).unwrap();
    for (name, text, message) in [
        (
            "empty",
            String::new(),
            "FILE has no whole line: it must be a trace of ns-2",
        ),
        (
            "line",
            "+ 0 0 1 tcp".into(),
            "FILE has no whole line: it must be a trace of ns-2",
        ),
        (
            "zeros",
            "\0".repeat(2 * crate::PIECES * crate::PIECE),
            "FILE: line 1: field 1 (event) is \"\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\" and must be one of + - r d e",
        ),
        (
            "few",
            SMALL.replacen(second, "- 0 0 1 tcp", 1),
            "FILE: line 2: 5 of 12 fields",
        ),
        (
            "gap",
            SMALL.replacen(second, "", 1),
            "FILE: line 2: 0 of 12 fields",
        ),
        (
            "back",
            SMALL.replacen("r 0.6", "r 0.4", 1),
            "FILE: line 8: time goes back from 0.5 to 0.4 s",
        ),
    ] {
        assert_eq!(summary(name, &text).unwrap_err(), message);
    }
    assert!(matches!(read("/no/such/trace"), Err(TraceError::Io { .. })));
}

#[test]
fn blocks_join_into_one_trace() {
    // longer than a block; no block ends at the end of a line
    let count = 200_000_u64;
    let lines: String = (0..count)
        .map(|k| {
            let time = k as f64 / 1e3;
            format!(
                "+ {time} 0 1 cbr 500 ------- 0 0.0 1.0 {k} {k}\n- {time} 0 1 cbr 500 ------- 0 0.0 1.0 {k} {k}\n"
            )
        })
        .collect();
    assert!(lines.len() > crate::PIECES * crate::PIECE);
    let summary = summary("long", &lines).unwrap();
    assert_eq!((summary.lines, summary.flows[0].sent), (2 * count, count));
    assert_eq!(summary.links[0].departures, count);
    let bins = (summary.end_s / summary.bin_s).ceil();
    assert!((512.0..=1024.0).contains(&bins), "{bins}");
}
