//! What `sluiced top` draws from recorded telemetry: ten intervals of half a second, both
//! directions, two senders that are too fast for the link.
//!
//! After an intended change of the drawing, `SLUICED_DRAW=1 cargo test -p sluice-gate --test top`
//! writes the picture anew.

use std::{fs, path::Path};

use ratatui::{Terminal, backend::TestBackend};
use sluice_gate::screen::Screen;

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
    for answer in ["<html>", "# HELP node_load1", "{}", "[1]"] {
        let refused = screen.take(answer);
        assert_eq!(refused, Err("what answers there is no sluiced".into()));
    }
}
