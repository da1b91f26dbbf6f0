//! What a trace says about its flows and links.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::{
    line::{Address, Event, FlowKey, Header, Line},
    piece::{Piece, Place},
    series::{FIRST_BIN_S, MOST_BINS, Series},
};

/// Packets of one type, id, source and destination.
#[derive(Clone, Debug)]
pub struct Flow {
    /// As ns-2 names it: `tcp`, `ack`, `cbr` and so on.
    pub kind: String,
    /// Flow id: ns-2's `fid_`.
    pub id: u32,
    /// Where its packets start.
    pub source: Address,
    /// Where they end.
    pub destination: Address,
    /// Packets that left the source.
    pub sent: u64,
    /// Packets that came to the destination.
    pub received: u64,
    /// Packets dropped or corrupted on the way.
    pub lost: u64,
    /// Bytes that came to the destination.
    pub received_bytes: u64,
    /// When the first packet left, s; NaN if none did.
    pub first_sent_s: f64,
    /// When the last packet came, s; NaN if none did.
    pub last_received_s: f64,
    /// Packets with a known delay: those that left the source within the trace.
    pub delays: u64,
    /// Sum of their delays from source to destination, s.
    pub delay_sum_s: f64,
    /// The shortest delay, s.
    pub delay_min_s: f64,
    /// The longest delay, s.
    pub delay_max_s: f64,
    /// Sum of the absolute differences of successive packets' delays, s.
    pub delay_change_sum_s: f64,
    /// Bytes received in each bin.
    pub course: Vec<f64>,
    last_delay_s: f64,
    series: Series,
}

/// One direction of a link and the queue in front of it.
#[derive(Clone, Debug)]
pub struct Link {
    /// Node that sends.
    pub from: u32,
    /// Node that receives.
    pub to: u32,
    /// Packets that arrived at the queue.
    pub arrivals: u64,
    /// Packets that left the queue and were sent over the link.
    pub departures: u64,
    /// Packets that the queue dropped.
    pub drops: u64,
    /// Packets that the link corrupted.
    pub corrupted: u64,
    /// Bytes that were sent over the link.
    pub departed_bytes: u64,
    /// The longest queue, packets.
    pub queue_max: u64,
    /// Integral of the queue over time, packets times s.
    pub queue_area: f64,
    /// Integral of the queue for each bin, packets times s.
    pub course: Vec<f64>,
    queue: u64,
    changed_s: f64,
    series: Series,
}

/// Summary of a trace.
#[derive(Debug, Default)]
pub struct Summary {
    /// Flows, in the order of their first packets.
    pub flows: Vec<Flow>,
    /// Links, in the order of their first packets.
    pub links: Vec<Link>,
    /// Number of lines that count.
    pub lines: u64,
    /// True if the file ends within a line, which does not count.
    pub cut_off: bool,
    /// Time of the first line, s.
    pub start_s: f64,
    /// Time of the last line, s.
    pub end_s: f64,
    /// Width of the bins of each course, s; the first bin starts at 0.
    pub bin_s: f64,
}

/// A summary that grows with each line.
#[derive(Default)]
pub(crate) struct Reader {
    summary: Summary,
    known_flows: HashMap<FlowKey, usize, FxBuildHasher>,
    known_links: HashMap<(u32, u32), usize, FxBuildHasher>,
    /// Flow and send time, s, of each packet between source and destination, by packet id.
    on_the_way: HashMap<u64, (usize, f64), FxBuildHasher>,
}

impl Reader {
    pub fn lines(&self) -> u64 {
        self.summary.lines
    }

    /// Adds the next lines; `Err` says why one of them is impossible.
    pub fn take(&mut self, piece: &mut Piece) -> Result<(), String> {
        for (line, header) in &piece.lines {
            let header = *header as usize;
            self.take_line(line, &piece.headers[header], &mut piece.places[header])?;
        }
        piece.wrong.take().map_or(Ok(()), Err)
    }

    fn take_line(&mut self, line: &Line, header: &Header, place: &mut Place) -> Result<(), String> {
        let now = line.time_s;
        let summary = &mut self.summary;
        if summary.lines == 0 {
            (summary.start_s, summary.bin_s) = (now, FIRST_BIN_S);
        } else if now < summary.end_s {
            return Err(format!("time goes back from {} to {now} s", summary.end_s));
        }
        summary.end_s = now;
        summary.lines += 1;
        while now >= summary.bin_s * MOST_BINS as f64 {
            summary.bin_s *= 2.0;
            summary
                .flows
                .iter_mut()
                .for_each(|flow| flow.series.halve());
            summary
                .links
                .iter_mut()
                .for_each(|link| link.series.halve());
        }
        let link = *place.link.get_or_insert_with(|| self.link(header, now));
        let bin_s = self.summary.bin_s;
        self.summary.links[link].take(line, header.bytes, bin_s);
        let flow = &header.flow;
        match line.event {
            Event::Arrive if header.from == flow.source.node => self.send(line, flow, place),
            Event::Receive if header.to == flow.destination.node => {
                self.receive(line, header, place);
            }
            Event::Drop | Event::Corrupt => self.lose(line, flow, place),
            _ => {}
        }
        Ok(())
    }

    pub fn finish(mut self, cut_off: bool) -> Summary {
        let (end_s, bin_s) = (self.summary.end_s, self.summary.bin_s);
        for link in &mut self.summary.links {
            link.hold(end_s, bin_s);
            link.course = std::mem::take(&mut link.series.0);
        }
        for flow in &mut self.summary.flows {
            flow.course = std::mem::take(&mut flow.series.0);
        }
        self.summary.cut_off = cut_off;
        self.summary
    }

    fn link(&mut self, header: &Header, now_s: f64) -> usize {
        let links = &mut self.summary.links;
        *self
            .known_links
            .entry((header.from, header.to))
            .or_insert_with(|| {
                links.push(Link::new(header.from, header.to, now_s));
                links.len() - 1
            })
    }

    fn flow(&mut self, key: &FlowKey, place: &mut Place) -> usize {
        *place.flow.get_or_insert_with(|| {
            if let Some(flow) = self.known_flows.get(key) {
                return *flow;
            }
            let flow = self.summary.flows.len();
            self.known_flows.insert(key.clone(), flow);
            self.summary.flows.push(Flow::new(key));
            flow
        })
    }

    fn send(&mut self, line: &Line, key: &FlowKey, place: &mut Place) {
        let place = self.flow(key, place);
        let flow = &mut self.summary.flows[place];
        if flow.sent == 0 {
            flow.first_sent_s = line.time_s;
        }
        flow.sent += 1;
        self.on_the_way.insert(line.packet, (place, line.time_s));
    }

    fn receive(&mut self, line: &Line, header: &Header, place: &mut Place) {
        let known = self.on_the_way.remove(&line.packet);
        let place = known.map_or_else(|| self.flow(&header.flow, place), |(place, _)| place);
        let bin_s = self.summary.bin_s;
        let flow = &mut self.summary.flows[place];
        flow.received += 1;
        flow.received_bytes += u64::from(header.bytes);
        flow.last_received_s = line.time_s;
        flow.series.add(f64::from(header.bytes), line.time_s, bin_s);
        if let Some((_, sent_s)) = known {
            flow.delay(line.time_s - sent_s);
        }
    }

    fn lose(&mut self, line: &Line, key: &FlowKey, place: &mut Place) {
        let known = self.on_the_way.remove(&line.packet);
        let place = known.map_or_else(|| self.flow(key, place), |(place, _)| place);
        self.summary.flows[place].lost += 1;
    }
}

impl Flow {
    fn new(key: &FlowKey) -> Self {
        Self {
            kind: key.kind.clone(),
            id: key.id,
            source: key.source,
            destination: key.destination,
            sent: 0,
            received: 0,
            lost: 0,
            received_bytes: 0,
            first_sent_s: f64::NAN,
            last_received_s: f64::NAN,
            delays: 0,
            delay_sum_s: 0.0,
            delay_min_s: f64::INFINITY,
            delay_max_s: 0.0,
            delay_change_sum_s: 0.0,
            course: Vec::new(),
            last_delay_s: 0.0,
            series: Series::default(),
        }
    }

    fn delay(&mut self, delay_s: f64) {
        if self.delays > 0 {
            self.delay_change_sum_s += (delay_s - self.last_delay_s).abs();
        }
        self.delays += 1;
        self.last_delay_s = delay_s;
        self.delay_sum_s += delay_s;
        self.delay_min_s = self.delay_min_s.min(delay_s);
        self.delay_max_s = self.delay_max_s.max(delay_s);
    }
}

impl Link {
    fn new(from: u32, to: u32, now_s: f64) -> Self {
        Self {
            from,
            to,
            arrivals: 0,
            departures: 0,
            drops: 0,
            corrupted: 0,
            departed_bytes: 0,
            queue_max: 0,
            queue_area: 0.0,
            course: Vec::new(),
            queue: 0,
            changed_s: now_s,
            series: Series::default(),
        }
    }

    fn take(&mut self, line: &Line, bytes: u32, bin_s: f64) {
        match line.event {
            Event::Receive => {}
            Event::Corrupt => self.corrupted += 1,
            Event::Arrive => {
                self.arrivals += 1;
                self.change(self.queue + 1, line.time_s, bin_s);
            }
            Event::Depart => {
                self.departures += 1;
                self.departed_bytes += u64::from(bytes);
                self.change(self.queue.saturating_sub(1), line.time_s, bin_s);
            }
            Event::Drop => {
                self.drops += 1;
                self.change(self.queue.saturating_sub(1), line.time_s, bin_s);
            }
        }
    }

    fn change(&mut self, queue: u64, now_s: f64, bin_s: f64) {
        self.hold(now_s, bin_s);
        self.queue = queue;
    }

    /// Counts the queue as it was up to now. The longest queue counts only if it lasted: a packet
    /// that is dropped or sent at once is in the queue for no time.
    fn hold(&mut self, now_s: f64, bin_s: f64) {
        if now_s > self.changed_s {
            let queue = self.queue as f64;
            self.queue_max = self.queue_max.max(self.queue);
            self.queue_area += queue * (now_s - self.changed_s);
            self.series.hold(queue, self.changed_s, now_s, bin_s);
            self.changed_s = now_s;
        }
    }
}
