//! What `sluiced top` shows: the queue and the sojourn of each link over time, and its counts.

use std::collections::VecDeque;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Style, Stylize},
    text::Line,
    widgets::{Paragraph, Sparkline},
};

use crate::{
    measures::TimeFigures,
    settings::limit,
    telemetry::{
        endpoint,
        record::{Interval, Line as Record},
    },
    top::fitting::{fitting, wrapped},
};

/// Records that are kept for each link: more than a terminal has columns.
const KEPT: usize = 1000;
/// Steps into which the height of a drawing is divided.
const STEPS: f64 = 1e4;
/// Least columns of a drawing's scale.
const SCALE: usize = 7;
/// Rows that a drawing keeps, with its title, before flows are left out.
const DRAWING: u16 = 3;
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
    last: Record,
    /// What the last record says of its interval.
    interval: Interval,
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
                .find(|known| known.last.link == record.link);
            match known {
                Some(known) if known.last.clock_ns == record.clock_ns => {}
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
        let title = Line::from(self.title(head.width));
        frame.render_widget(
            match self.absent {
                None => title,
                Some(_) => title.red(),
            },
            head,
        );
        let areas = Layout::vertical(self.links.iter().map(|_| Constraint::Fill(1))).split(rest);
        for (link, area) in self.links.iter().zip(areas.iter()) {
            link.draw(frame, *area);
        }
    }

    fn title(&self, columns: u16) -> String {
        let address = &self.address;
        if let Some(what) = &self.absent {
            return fitting(
                columns,
                [
                    format!("sluiced at {address}: {what}; q ends"),
                    format!("{what}; q ends"),
                ],
            );
        }
        let period = self.links.first().map(History::period).unwrap_or_default();
        fitting(
            columns,
            [
                format!(
                    "sluiced at {address}; each bar is the mean of {period}, the newest at the \
                     right; q ends"
                ),
                format!("sluiced at {address}; a bar is a mean of {period}; q ends"),
                format!("sluiced; a bar is the mean of {period}; q ends"),
            ],
        )
    }
}

impl History {
    fn of(record: Record) -> Self {
        let mut history = Self {
            last: Record::default(),
            interval: Interval::default(),
            queue: VecDeque::new(),
            sojourn: VecDeque::new(),
        };
        history.add(record);
        history
    }

    fn add(&mut self, mut record: Record) {
        self.interval = record.interval.take().unwrap_or_default();
        let of = &self.interval.figures;
        for (series, value) in [
            (&mut self.queue, of.queue_mean),
            (&mut self.sojourn, of.sojourn_ms.mean),
        ] {
            if series.len() == KEPT {
                series.pop_front();
            }
            series.push_back(value);
        }
        self.last = record;
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        let about = self.about(area.width);
        let lines = about.len() as u16;
        let flows = self.flows(
            area.width,
            area.height.saturating_sub(lines + 2 * DRAWING).into(),
        );
        let [text, queue, sojourn, table] = Layout::vertical([
            Constraint::Length(lines),
            Constraint::Fill(1),
            Constraint::Fill(1),
            Constraint::Length(flows.len() as u16),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(about), text);
        let of = &self.interval.figures;
        let last = format!("last {}: ", self.period());
        let (mean, most) = (of.queue_mean, of.queue_max);
        let now = self.last.queue_packets;
        let title = fitting(
            area.width,
            [
                format!("queue, packets; {last}mean {mean:.1}, max {most}; now: {now}"),
                format!("queue, packets: mean {mean:.1}, max {most}; now: {now}"),
                format!("queue, packets: mean {mean:.1}"),
            ],
        );
        chart(frame, queue, title, &self.queue, (LEAST_QUEUE, Color::Cyan));
        let TimeFigures { mean, p50, p99, .. } = of.sojourn_ms;
        let title = fitting(
            area.width,
            [
                format!("sojourn, ms; {last}mean {mean:.2}, p50 {p50:.2}, p99 {p99:.2}"),
                format!("sojourn, ms: mean {mean:.2}, p50 {p50:.2}, p99 {p99:.2}"),
                format!("sojourn, ms: mean {mean:.2}"),
            ],
        );
        let look = (LEAST_SOJOURN, Color::Yellow);
        chart(frame, sojourn, title, &self.sojourn, look);
        frame.render_widget(Paragraph::new(flows), table);
    }

    /// The length of the last interval, as a text.
    fn period(&self) -> String {
        let time_s = self.interval.figures.time_s;
        match time_s {
            0.1.. => format!("{time_s:.1} s"),
            _ => format!("{:.0} ms", 1e3 * time_s),
        }
    }

    /// Describes the link, its traffic in the last interval, and problems.
    fn about(&self, columns: u16) -> Vec<Line<'static>> {
        let (last, of) = (&self.last, &self.interval.figures);
        let rate = last.rate_bps as f64 / 1e6;
        let (link, discipline) = (&last.link, &last.discipline);
        let limit = limit(last.limit, last.limit_bytes);
        let name = fitting(
            columns,
            [
                format!("{link}: {rate} Mbit/s, limit {limit}, {discipline}"),
                format!("{link}: {rate} Mbit/s, {discipline}"),
            ],
        );
        let megabits = |bytes: u64, packets: u64| {
            let all = bytes as f64 + f64::from(last.overhead_bytes) * packets as f64;
            all * 8e-6 / of.time_s.max(1e-9)
        };
        let share = |count: u64| 100.0 * count as f64 / of.arrivals.max(1) as f64;
        let came = megabits(of.arrived_bytes, of.arrivals);
        let sent = megabits(of.sent_bytes, of.sent);
        let (lost, marked) = (share(of.lost), share(of.marked));
        let period = self.period();
        let counts = fitting(
            columns,
            [
                format!(
                    "last {period}: {came:.2} Mbit/s arrived, {sent:.2} sent; {lost:.2} % of \
                     packets lost, {marked:.2} % marked"
                ),
                format!(
                    "{came:.2} Mbit/s arrived, {sent:.2} sent; {lost:.2} % lost, {marked:.2} % \
                     marked"
                ),
                format!("{came:.2} Mbit/s arrived, {sent:.2} sent; {lost:.2} % lost"),
                format!("{sent:.2} Mbit/s sent; {lost:.2} % lost"),
            ],
        );
        let TimeFigures { p50, p99, max, .. } = self.interval.lateness_ms;
        let late = format!("ms: p50 {p50:.2}, p99 {p99:.2}, max {max:.2}");
        let lateness = fitting(
            columns,
            [
                format!("lateness (departure after its due time), {late}"),
                format!("lateness, {late}"),
            ],
        );
        let mut lines = vec![name.bold().into(), counts.into(), lateness.into()];
        let beyond = last.id_gaps + last.kernel_queue_drops.unwrap_or_default();
        if beyond > 0 {
            let told = fitting(
                columns,
                [
                    format!("the kernel could not hand over {beyond} packets since the start"),
                    format!("{beyond} packets not handed over"),
                ],
            );
            lines.push(told.red().into());
        }
        lines
    }

    /// Lists the heaviest flows of the last interval, as many as have room, each in whole.
    fn flows(&self, columns: u16, rows: usize) -> Vec<Line<'static>> {
        let flows = &self.interval.flows;
        let all = flows.bytes.max(1) as f64;
        let title = fitting(
            columns,
            [
                format!(
                    "heaviest flows, % of the bytes that arrived in {}:",
                    self.period()
                ),
                "heaviest flows, % of bytes:".to_owned(),
            ],
        );
        let mut lines: Vec<Line<'_>> = vec![title.bold().into()];
        for flow in flows.heaviest.iter().take(FLOWS) {
            let share = format!("{:5.1} % ", 100.0 * flow.bytes as f64 / all);
            let indent = " ".repeat(share.len());
            let parts = wrapped(columns.saturating_sub(share.len() as u16), &flow.flow);
            if lines.len() + parts.len() > rows {
                break;
            }
            let starts = std::iter::once(share).chain(std::iter::repeat(indent));
            lines.extend(
                starts
                    .zip(parts)
                    .map(|(start, part)| (start + &part).into()),
            );
        }
        // a title alone says nothing
        if lines.len() == 1 {
            lines.clear();
        }
        lines
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
    let newest = |columns: u16| {
        let shown = series.len().min(columns.into());
        series.iter().skip(series.len() - shown)
    };
    let shown = area.width.saturating_sub(SCALE as u16);
    let top = round_up(newest(shown).copied().fold(least, f64::max));
    let mark = format!("{top} ");
    let columns = mark.len().max(SCALE) as u16;
    let [scale, area] =
        Layout::horizontal([Constraint::Length(columns), Constraint::Fill(1)]).areas(area);
    let mut marks = vec![Line::default(); scale.height as usize];
    if let [.., last] = &mut marks[..] {
        *last = "0 ".into();
    }
    if let [first, ..] = &mut marks[..] {
        *first = mark.into();
    }
    let chart = Sparkline::default()
        .style(Style::new().fg(color))
        .max(STEPS as u64)
        .data(newest(area.width).map(|value| (STEPS * value / top) as u64));
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
