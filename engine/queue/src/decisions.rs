//! The decision log: the calls of an AQM and its verdicts, as text that every world can write.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use sluice_aqm::{Verdict, View};

use crate::observer::{Event, Observer};

/// The columns of a decision log that are not fields of the view.
const OWN: &str = "number,time_ns,link,queue,event,packet,verdict";

/// Returns the first line of a decision log: its columns.
pub fn columns() -> String {
    shown().fold(OWN.to_owned(), |columns, name| columns + "," + name)
}

/// Returns the fields of the view that are columns; `now_ns` is `time_ns`.
fn shown() -> impl Iterator<Item = &'static str> {
    View::names().skip(1)
}

/// Writes the events at queues as CSV, with the header of [`columns`] and a line for each event.
///
/// - `number` counts the lines from 1, `time_ns` is the world's clock, `link` the number of the link
///   behind the queue (0 if there is only one), `queue` the number of the scheduler's queue.
/// - `event` is `arrive` or `depart` (the AQM judges a packet), `join` or `leave` (only if the AQM
///   follows the occupancy), `tick`, or `lost` (a packet is lost; the verdict is the reason).
/// - `packet` is the number of the packet, counted from 1 at its arrival; it is empty at ticks.
/// - `verdict` is that of `enum aqm_verdict` without `AQM_`; it is empty if there is none.
/// - The rest is the view that the AQM got, field by field; it is empty at `lost`.
pub struct DecisionLog<W> {
    out: W,
    lines: u64,
    /// By link.
    numbers: Vec<Numbers>,
    failed: Option<io::Error>,
}

/// Numbers of the packets at a link.
#[derive(Default)]
struct Numbers {
    /// The last packet that arrived, and the last that left the waiting packets.
    arrived: u64,
    left: u64,
    /// The waiting packets of each of the scheduler's queues.
    waiting: Vec<VecDeque<u64>>,
}

impl Numbers {
    fn queue(&mut self, queue: usize) -> &mut VecDeque<u64> {
        if queue >= self.waiting.len() {
            self.waiting.resize_with(queue + 1, VecDeque::new);
        }
        &mut self.waiting[queue]
    }
}

impl<W: Write> DecisionLog<W> {
    /// Starts the log and writes its header.
    pub fn new(out: W) -> Self {
        let mut log = Self {
            out,
            lines: 0,
            numbers: Vec::new(),
            failed: None,
        };
        log.failed = writeln!(log.out, "{}", columns()).err();
        log
    }

    /// Ends the log and returns what it was written to.
    ///
    /// # Errors
    /// The first error of a write; nothing was written after it.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    /// Writes an event at the queue before a link.
    pub fn note(&mut self, now_ns: u64, link: usize, queue: usize, event: Event<'_>) {
        if link >= self.numbers.len() {
            self.numbers.resize_with(link + 1, Numbers::default);
        }
        let numbers = &mut self.numbers[link];
        let (name, packet, verdict, view) = match event {
            Event::Arrive(view, verdict) => {
                numbers.arrived += 1;
                ("arrive", numbers.arrived, Some(verdict), Some(view))
            }
            Event::Join(view) => {
                let arrived = numbers.arrived;
                numbers.queue(queue).push_back(arrived);
                ("join", arrived, None, view)
            }
            Event::Leave(index, view) => {
                let left = numbers.queue(queue).remove(index);
                numbers.left = left.expect("a packet at every index");
                ("leave", numbers.left, None, view)
            }
            Event::Depart(view, verdict) => ("depart", numbers.left, Some(verdict), Some(view)),
            Event::LoseArrival(verdict) => ("lost", numbers.arrived, Some(verdict), None),
            Event::LoseLeft(verdict) => ("lost", numbers.left, Some(verdict), None),
            Event::Tick(view) => ("tick", 0, None, Some(view)),
        };
        if (view.is_none() && name != "lost") || self.failed.is_some() {
            return;
        }
        self.lines += 1;
        let place = (now_ns, link, queue);
        self.failed = self.write(place, name, packet, verdict, view).err();
    }

    fn write(
        &mut self,
        (now_ns, link, queue): (u64, usize, usize),
        event: &str,
        packet: u64,
        verdict: Option<Verdict>,
        view: Option<&View>,
    ) -> io::Result<()> {
        let out = &mut self.out;
        write!(out, "{},{now_ns},{link},{queue},{event},", self.lines)?;
        if packet > 0 {
            write!(out, "{packet}")?;
        }
        write!(out, ",{}", verdict.map_or("", Verdict::name))?;
        match view {
            Some(view) => view
                .values()
                .skip(1)
                .try_for_each(|value| write!(out, ",{value}"))?,
            None => shown().try_for_each(|_| write!(out, ","))?,
        }
        writeln!(out)
    }
}

/// The log of a world with one link.
impl<P, W: Write> Observer<P> for &mut DecisionLog<W> {
    fn lost(&mut self, _packet: P, _verdict: Verdict) {}

    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        DecisionLog::note(self, now_ns, 0, queue, event);
    }
}
