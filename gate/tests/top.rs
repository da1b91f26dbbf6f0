//! What `sluiced top` draws from recorded telemetry: ten intervals of half a second, both
//! directions, two senders that are too fast for the link.
//!
//! After an intended change of the drawing, `SLUICED_DRAW=1 cargo test -p sluice-gate --test gate top::`
//! writes the picture anew.

use std::{collections::BTreeSet, fs, path::Path};

use ratatui::{Terminal, backend::TestBackend};
use serde_json::{Value, json};
use sluice_gate::top::screen::Screen;

const RECORDED: &str = include_str!("recorded/top.jsonl");

fn drawn(screen: &Screen, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..rows).map(|row| {
        let cells = (0..columns).map(|column| buffer[(column, row)].symbol());
        cells.collect::<String>().trim_end().to_owned() + "\n"
    });
    rows.collect()
}

/// Returns a screen with the records as they came: both links of an interval together.
fn screen() -> Screen {
    let mut screen = Screen::new("127.0.0.1:8417".into());
    let lines: Vec<&str> = RECORDED.lines().collect();
    for both in lines.chunks(2) {
        let both = both.join("\n");
        screen.take(&both).unwrap();
        // the daemon is asked more often than it has new records
        screen.take(&both).unwrap();
    }
    screen
}

#[test]
fn both_directions_are_drawn_in_time() {
    let drawn = drawn(&screen(), 90, 32);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/top.txt");
    if std::env::var_os("SLUICED_DRAW").is_some() {
        fs::write(&path, &drawn).unwrap();
    }
    assert_eq!(drawn, fs::read_to_string(path).unwrap());
}

#[test]
fn a_terminal_of_any_size_will_do() {
    let screen = screen();
    for (columns, rows) in [(1, 1), (5, 3), (20, 8), (300, 100), (1000, 40)] {
        drawn(&screen, columns, rows);
    }
}

/// Returns the words and numbers of a drawing, without punctuation and bars.
fn words(drawn: &str) -> BTreeSet<&str> {
    let words = drawn.split_whitespace();
    let words = words.map(|word| word.trim_matches([',', ';', ':', '(', ')']));
    words
        .filter(|word| !word.contains(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']))
        .collect()
}

#[test]
fn in_few_columns_no_word_and_no_number_is_cut() {
    let screen = screen();
    let wide = drawn(&screen, 300, 100);
    let mut known = words(&wide);
    known.extend(["a", "…"]);
    for columns in 45..=120 {
        for rows in [10, 24, 50] {
            let narrow = drawn(&screen, columns, rows);
            let cut: Vec<_> = words(&narrow).difference(&known).copied().collect();
            assert!(cut.is_empty(), "{columns} x {rows}: {cut:?}\n{narrow}");
        }
    }
}

#[test]
fn in_few_columns_and_rows_what_matters_most_stays() {
    let screen = screen();
    for (columns, rows) in [(60, 24), (80, 24), (60, 40)] {
        let drawn = drawn(&screen, columns, rows);
        for told in [
            "q ends",
            "forward: 4 Mbit/s, ",
            "codel fq, drop from front",
            "5.76 Mbit/s arrived, 3.99 sent; 30.60 % ",
            "p50 0.03, p99 0.23, max 0.34",
            "mean 99.0, max 100; now: 99",
            "mean 96.29, p50 182.45, p99 186.65",
            " 66.7 % 10.9.0.2:43524 > 10.9.0.1:9000 udp",
            "▇",
        ] {
            assert!(drawn.contains(told), "{columns} x {rows}: {told}\n{drawn}");
        }
    }
}

/// Returns a screen of one link with a discipline of that name, and a flow of IPv6.
fn named(discipline: &str) -> Screen {
    let mut record: Value = serde_json::from_str(RECORDED.lines().last().unwrap()).unwrap();
    record["discipline"] = json!(discipline);
    record["interval"]["flows"]["heaviest"][0]["flow"] =
        json!("[2001:db8:1111:2222:3333:4444:5555:6666]:51484 > [2001:db8:7777:8888::9]:443 tcp");
    let mut screen = Screen::new("127.0.0.1:8417".into());
    screen.take(&record.to_string()).unwrap();
    screen
}

#[test]
fn long_labels_and_flows_stay_within_their_lines() {
    let name = "a very long label ".repeat(20);
    let drawn_long = drawn(&named(&name), 60, 30);
    assert!(drawn_long.contains("reverse: 4 Mbit/s, a very long label a very long label a …\n"));
    assert!(drawn_long.contains(
        " 66.7 % [2001:db8:1111:2222:3333:4444:5555:6666]:51484 >\n        \
         [2001:db8:7777:8888::9]:443 tcp\n"
    ));
    let word = drawn(&named(&"x".repeat(300)), 60, 30);
    assert!(word.contains("reverse: 4 Mbit/s, …\n"), "{word}");
    // from right to left, with a word that would turn the line, and with bells and colours
    let odd = "\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1b}[31m\u{7}";
    let odd = drawn(&named(odd), 60, 30);
    assert!(!odd.contains(['\u{1b}', '\u{7}']), "{odd:?}");
    assert!(odd.contains("mean 96.29, p50 182.45, p99 186.65"));
}

#[test]
fn a_daemon_that_has_gone_is_told_of_and_what_it_told_stays() {
    let mut screen = screen();
    screen.absent = Some("Connection refused".into());
    let drawn = drawn(&screen, 90, 32);
    let mut lines = drawn.lines();
    assert_eq!(
        lines.next(),
        Some("sluiced at 127.0.0.1:8417: Connection refused; q ends")
    );
    assert!(lines.next().unwrap().starts_with("forward: 4 Mbit/s"));
}

#[test]
fn what_is_no_record_is_refused() {
    let mut screen = Screen::new(String::new());
    assert_eq!(screen.take(""), Err("it has nothing to tell yet".into()));
    for answer in [
        "<html>",
        "# HELP node_load1",
        "{}",
        "[1]",
        r#"{"clock_ns":1,"link":"\u001b[2Jforward"}"#,
    ] {
        let refused = screen.take(answer);
        assert_eq!(refused, Err("what answers there is no sluiced".into()));
    }
}
