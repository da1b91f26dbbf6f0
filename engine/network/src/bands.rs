//! Bands: parts of a queue that a discipline tells apart, such as the lanes of DualPI2, the tins of
//! CAKE and classes of service.

use sluice_queue::Event;

use crate::{
    classes::ClassesHeld,
    packet::Packet,
    series::BandSeries,
    tally::{Cell, ClassQueue},
};

/// What is counted of each band in a period, as of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BandTallies {
    pub cells: Vec<Cell>,
    pub queues: Vec<ClassQueue>,
}

impl BandTallies {
    /// No counts yet of so many bands.
    pub fn new(bands: usize) -> Self {
        Self {
            cells: vec![Cell::default(); bands],
            queues: vec![ClassQueue::default(); bands],
        }
    }
}

/// Counts what happens in the bands of one queue.
pub struct Bands {
    /// Lanes in each: flows are spread over those of one band.
    lanes: usize,
    held: ClassesHeld,
    /// Packets sent since the start of the run, and the sum of their sojourns, ns.
    sent: Vec<(u64, u64)>,
}

impl Bands {
    /// So many bands without packets, with so many lanes in each.
    pub fn new(bands: usize, lanes: usize) -> Self {
        Self {
            lanes,
            held: ClassesHeld::new(Some(bands)),
            sent: vec![(0, 0); bands],
        }
    }

    pub fn count(&self) -> usize {
        self.sent.len()
    }

    /// Counts an event in a lane.
    pub fn note(&mut self, to: &mut BandTallies, now_ns: u64, lane: usize, event: &Event<'_>) {
        let band = lane / self.lanes;
        let cell = &mut to.cells[band];
        cell.arrivals += u64::from(matches!(event, Event::Arrive(..)));
        if let Some(verdict) = event.counted() {
            cell.verdicts[verdict as usize] += 1;
        }
        let change = event.change();
        if change != 0 {
            self.held.change(&mut to.queues, band, now_ns, change);
        }
    }

    /// Counts a packet of a lane that is sent, with its times as in [`crate::tally::Tally::send`].
    pub fn send(
        &mut self,
        to: &mut BandTallies,
        lane: usize,
        (sojourn_ns, delay_ns): (u64, u64),
        packet: &Packet,
    ) {
        let band = lane / self.lanes;
        to.queues[band].send(sojourn_ns);
        to.cells[band].send(delay_ns, packet);
        let (sent, waited_ns) = &mut self.sent[band];
        *sent += 1;
        *waited_ns += sojourn_ns;
    }

    /// Counts the time up to `now_ns`.
    pub fn count_time(&mut self, to: &mut BandTallies, now_ns: u64) {
        self.held.count(&mut to.queues, now_ns);
    }

    /// Takes a sample.
    pub fn sample(&self, series: &mut Vec<BandSeries>) {
        series.resize_with(self.count(), BandSeries::default);
        for (band, (series, (sent, waited_ns))) in series.iter_mut().zip(&self.sent).enumerate() {
            series.queue.push(self.held.packets(band));
            series.sent.push(*sent);
            series.sojourn_ns.push(*waited_ns);
        }
    }
}
