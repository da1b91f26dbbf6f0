//! Counts of the bands of a link's queue: lanes of DualPI2, tins of CAKE, classes of service.

use sluice_aqm::{Scheduler, Verdict};
use sluice_queue::{Event, Observer};

use crate::{measures::Measures, router::link::Outlet, settings::LinkSettings};

/// What is counted of one band, as of a link.
#[derive(Clone, Debug, Default)]
pub struct Band {
    /// Counts since the start. None are of the link's rate or its wire.
    pub measures: Measures,
    /// Packets that wait now.
    pub waiting: usize,
}

/// Counts what happens in the bands of one queue.
pub struct Bands {
    /// Lanes in each.
    lanes: usize,
    of_bands: Vec<Band>,
}

impl Bands {
    /// Bands without packets; `None` if the discipline has none.
    pub fn of(settings: &LinkSettings) -> Option<Self> {
        let (bands, lanes) = Scheduler::bands_of(settings.in_lanes()?)?;
        let of_bands = vec![Band::default(); bands];
        Some(Self { lanes, of_bands })
    }

    /// Counts an event in a lane.
    fn note(&mut self, now_ns: u64, lane: usize, event: &Event<'_>) {
        let Band { measures, waiting } = &mut self.of_bands[lane / self.lanes];
        if let Event::Arrive(view, _) = event {
            measures.arrivals += 1;
            measures.arrived_bytes += u64::from(view.packet_bytes);
        }
        if let Some(verdict) = event.counted() {
            measures.verdicts[verdict as usize] += 1;
        }
        let change = event.change();
        if change != 0 {
            measures.hold(now_ns, *waiting);
            *waiting = waiting.saturating_add_signed(change as isize);
        }
    }

    /// Counts a packet of a lane whose transmission begins; it ends `delay_ns` after the packet's arrival.
    pub fn send(&mut self, lane: usize, bytes: u32, (sojourn_ns, delay_ns): (u64, u64)) {
        let Band { measures, .. } = &mut self.of_bands[lane / self.lanes];
        measures.send(bytes, (sojourn_ns, delay_ns));
    }

    /// Takes out all packets that wait, whatever becomes of them.
    pub fn empty(&mut self, now_ns: u64) {
        for Band { measures, waiting } in &mut self.of_bands {
            measures.hold(now_ns, *waiting);
            *waiting = 0;
        }
    }

    /// Returns what was counted up to `now_ns` of each.
    pub fn measures(&mut self, now_ns: u64) -> Vec<Band> {
        for Band { measures, waiting } in &mut self.of_bands {
            measures.hold(now_ns, *waiting);
        }
        self.of_bands.clone()
    }
}

/// Shows bands, if there are any, what happens before an outlet sees it.
pub struct Counting<'a, O> {
    /// The bands.
    pub bands: Option<&'a mut Bands>,
    /// The outlet.
    pub outlet: &'a mut O,
}

impl<P, O: Outlet<P>> Observer<P> for Counting<'_, O> {
    #[inline]
    fn lost(&mut self, packet: P, verdict: Verdict) {
        self.outlet.lost(packet, verdict);
    }

    #[inline]
    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        if let Some(bands) = &mut self.bands {
            bands.note(now_ns, queue, &event);
        }
        self.outlet.note(now_ns, queue, event);
    }
}
