//! What `sluiced top` shows: the queue and the sojourn of each link over time, and its counts.

use std::collections::VecDeque;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::Line,
    widgets::{Paragraph, Sparkline},
};
use serde_json::Value;

use crate::{endpoint, settings::limit};

/// Records that are kept for each link: more than a terminal has columns.
const KEPT: usize = 1000;
/// Steps into which the height of a drawing is divided.
const STEPS: f64 = 1e4;
/// Columns of a drawing's scale.
const SCALE: u16 = 7;
/// Least heights of the drawings, so that what is almost nothing looks so: packets, and ms.
const LEAST_QUEUE: f64 = 10.0;
const LEAST_SOJOURN: f64 = 1.0;
/// Flows that are shown for each link.
const FLOWS: usize = 5;

/// The contents of the screen.
pub struct Screen {
    address: String,
    links: Vec<History>,
    /// Why there are no new records, if there are none.
    pub absent: Option<String>,
}

/// The history of a link: its last record, and two series from all of them.
struct History {
    last: Value,
    /// Mean queue of each interval, packets.
    queue: VecDeque<f64>,
    /// Mean sojourn of each interval, ms.
    sojourn: VecDeque<f64>,
}

impl Screen {
    /// Returns a screen for the daemon at an address, without any records.
    pub fn new(address: String) -> Self {
        Self {
            address,
            links: Vec::new(),
            absent: None,
        }
    }

    /// Takes records, a line of JSON for each link; a record that it already has is ignored.
    ///
    /// # Errors
    /// If they are no records of a daemon.
    pub fn take(&mut self, records: &str) -> Result<(), String> {
        for record in endpoint::parse(records)? {
            let known = self
                .links
                .iter_mut()
                .find(|known| known.last["link"] == record["link"]);
            match known {
                Some(known) if known.last["clock_ns"] == record["clock_ns"] => {}
                Some(known) => known.add(record),
                None => self.links.push(History::of(record)),
            }
        }
        Ok(())
    }

    /// Draws the screen.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let [head, rest] =
            Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(frame.area());
        let title = match &self.absent {
            None => format!(
                "sluiced at {}; each bar is the mean of {}, the newest at the right; q ends",
                self.address,
                self.links.first().map(History::period).unwrap_or_default()
            )
            .into(),
            Some(what) => format!("sluiced at {}: {what}; q ends", self.address).red(),
        };
        frame.render_widget(Line::from(title), head);
        let areas = Layout::vertical(self.links.iter().map(|_| Constraint::Fill(1))).split(rest);
        for (link, area) in self.links.iter().zip(areas.iter()) {
            link.draw(frame, *area);
        }
    }
}

impl History {
    fn of(record: Value) -> Self {
        let mut history = Self {
            last: Value::Null,
            queue: VecDeque::new(),
            sojourn: VecDeque::new(),
        };
        history.add(record);
        history
    }

    fn add(&mut self, record: Value) {
        let interval = &record["interval"];
        for (series, value) in [
            (&mut self.queue, number(&interval["queue_mean"])),
            (&mut self.sojourn, number(&interval["sojourn_ms"]["mean"])),
        ] {
            if series.len() == KEPT {
                series.pop_front();
            }
            series.push_back(value);
        }
        self.last = record;
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let about = self.about();
        let flows = self.flows();
        let [text, queue, sojourn, table] = Layout::vertical([
            Constraint::Length(about.len() as u16),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Length(flows.len() as u16),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(about), text);
        let of = &self.last["interval"];
        let title = format!(
            "queue, packets; last {}: mean {:.1}, max {}; now: {}",
            self.period(),
            number(&of["queue_mean"]),
            of["queue_max"],
            self.last["queue_packets"]
        );
        chart(frame, queue, title, &self.queue, (LEAST_QUEUE, Color::Cyan));
        let times = &of["sojourn_ms"];
        let title = format!(
            "sojourn, ms; last {}: mean {:.2}, p50 {:.2}, p99 {:.2}",
            self.period(),
            number(&times["mean"]),
            number(&times["p50"]),
            number(&times["p99"])
        );
        let look = (LEAST_SOJOURN, Color::Yellow);
        chart(frame, sojourn, title, &self.sojourn, look);
        frame.render_widget(Paragraph::new(flows), table);
    }

    /// The length of the last interval, as a text.
    fn period(&self) -> String {
        let time_s = number(&self.last["interval"]["time_s"]);
        match time_s {
            0.1.. => format!("{time_s:.1} s"),
            _ => format!("{:.0} ms", 1e3 * time_s),
        }
    }

    /// Describes the link, its traffic in the last interval, and problems.
    fn about(&self) -> Vec<Line<'static>> {
        let (last, of) = (&self.last, &self.last["interval"]);
        let rate = number(&last["rate_bps"]) / 1e6;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let name = format!(
            "{}: {rate} Mbit/s, limit {}, {}",
            text(&last["link"]),
            limit(number(&last["limit"]) as u32, last["limit_bytes"].as_u64()),
            text(&last["discipline"])
        );
        let overhead = number(&last["overhead_bytes"]);
        let megabits = |bytes: &str, packets: &str| {
            let all = number(&of[bytes]) + overhead * number(&of[packets]);
            all * 8e-6 / number(&of["time_s"]).max(1e-9)
        };
        let share = |count: &str| 100.0 * number(&of[count]) / number(&of["arrivals"]).max(1.0);
        let counts = format!(
            "last {}: {:.2} Mbit/s arrived, {:.2} sent; {:.2} % of packets lost, {:.2} % marked",
            self.period(),
            megabits("arrived_bytes", "arrivals"),
            megabits("sent_bytes", "sent"),
            share("lost"),
            share("marked"),
        );
        let late = &of["lateness_ms"];
        let lateness = format!(
            "lateness (departure after its due time), ms: p50 {:.2}, p99 {:.2}, max {:.2}",
            number(&late["p50"]),
            number(&late["p99"]),
            number(&late["max"])
        );
        let mut lines = vec![name.bold().into(), counts.into(), lateness.into()];
        let beyond = number(&last["id_gaps"]) + number(&last["kernel_queue_drops"]);
        if beyond > 0.0 {
            let told = format!("the kernel could not hand over {beyond} packets since the start");
            lines.push(told.red().into());
        }
        lines
    }

    /// Lists the heaviest flows of the last interval.
    fn flows(&self) -> Vec<Line<'static>> {
        let flows = &self.last["interval"]["flows"];
        let all = number(&flows["bytes"]).max(1.0);
        let heaviest = flows["heaviest"].as_array().into_iter().flatten();
        let title = format!(
            "heaviest flows, % of the bytes that arrived in {}:",
            self.period()
        );
        let lines = heaviest.take(FLOWS).map(|flow| {
            let share = 100.0 * number(&flow["bytes"]) / all;
            let name = flow["flow"].as_str().unwrap_or_default();
            format!("{share:5.1} % {name}").into()
        });
        std::iter::once(title.bold().into()).chain(lines).collect()
    }
}

/// Draws a series over time, the newest value at the right, with its scale at the left. The full
/// height is at least `least`.
fn chart(
    frame: &mut Frame<'_>,
    area: Rect,
    title: String,
    series: &VecDeque<f64>,
    (least, color): (f64, Color),
) {
    let [head, area] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let [scale, area] =
        Layout::horizontal([Constraint::Length(SCALE), Constraint::Fill(1)]).areas(area);
    let shown = series.len().min(area.width as usize);
    let newest = series.iter().skip(series.len() - shown);
    let top = round_up(newest.clone().copied().fold(least, f64::max));
    let mut marks = vec![Line::default(); scale.height as usize];
    if let [.., last] = &mut marks[..] {
        *last = "0 ".into();
    }
    if let [first, ..] = &mut marks[..] {
        *first = format!("{top} ").into();
    }
    let chart = Sparkline::default()
        .style(Style::new().fg(color))
        .max(STEPS as u64)
        .data(newest.map(|value| (STEPS * value / top) as u64));
    frame.render_widget(Line::from(title.bold()), head);
    frame.render_widget(Paragraph::new(marks).right_aligned(), scale);
    frame.render_widget(chart, area);
}

/// Returns the next number that is 1, 2 or 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let ten = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0].map(|step| step * ten);
    steps
        .into_iter()
        .find(|step| *step >= value)
        .unwrap_or(10.0 * ten)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_default()
}
