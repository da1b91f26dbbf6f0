//! The queue before a link in a run, with its counts.

use rand::Rng;
use sluice_aqm::{AnyAqm, Aqm, NEVER, Verdict};
use sluice_link::Service;
use sluice_queue::Queue;
use sluice_random::Stream;

use crate::{
    classes::ClassesHeld,
    observation::PortState,
    packet::Transit,
    series::PortSeries,
    tally::{Tally, hold, lost},
    topology,
};

/// A queue before a link, the random words for its AQM, and its counts.
pub struct Port {
    pub link: usize,
    pub queue: Queue<Transit, AnyAqm>,
    pub random: Stream,
    pub busy: bool,
    /// The link's rate if it is constant, how it sends if it varies, and what its rate is now.
    constant_bps: u64,
    service: Option<Service>,
    rate_bps: u64,
    /// When the AQMs get their next tick; [`NEVER`] if they get none.
    pub tick_ns: u64,
    /// Time up to which the queue's length and the link's idle time are counted.
    counted_ns: u64,
    /// Counts from before the present tally.
    earlier: Earlier,
    pub tally: Tally,
    pub held: ClassesHeld,
    /// Number of classes; `None` if flows are not counted by class.
    classes: Option<usize>,
    pub series: PortSeries,
}

/// A port's counts from the start of the run to the start of its present tally.
#[derive(Default)]
struct Earlier {
    arrivals: u64,
    sent: u64,
    sent_bytes: u64,
    sojourn_ns: u128,
    verdicts: [u64; Verdict::COUNT],
}

impl Port {
    /// An empty port before link number `number`, which is idle. `classes` as in [`Tally::new`].
    pub fn new(
        number: usize,
        plan: &topology::PortPlan,
        link: &topology::Link,
        random: Stream,
        classes: Option<usize>,
    ) -> Self {
        Self {
            link: number,
            queue: Queue::new(
                plan.discipline,
                plan.scheduler.as_ref(),
                || plan.aqm.start(),
                link.rate_bps,
            ),
            constant_bps: link.rate_bps,
            service: link.service.clone(),
            rate_bps: link.rate_bps,
            random,
            busy: false,
            tick_ns: NEVER,
            counted_ns: 0,
            earlier: Earlier::default(),
            tally: Tally::new(classes),
            held: ClassesHeld::new(classes),
            classes,
            series: PortSeries::default(),
        }
    }

    /// Counts the time up to `now_ns` with the present length and state. Must be called before
    /// either changes.
    #[inline]
    pub fn count(&mut self, now_ns: u64) {
        let ns = now_ns - self.counted_ns;
        hold(&mut self.tally.queue_ns, self.queue.packets(), ns);
        if !self.busy {
            self.tally.idle_ns += ns;
        }
        self.counted_ns = now_ns;
    }

    /// Goes on under another discipline; see [`Queue::retune`].
    pub fn retune(&mut self, now_ns: u64, to: &topology::PortPlan) {
        let random = &mut self.random;
        self.queue.retune(
            now_ns,
            (to.discipline, to.scheduler.as_ref()),
            |aqm| aqm.retune(&to.aqm),
            || to.aqm.start(),
            &mut || random.next_u64(),
        );
    }

    /// Sets another constant rate of the link.
    pub fn set_rate(&mut self, rate_bps: u64) {
        (self.constant_bps, self.rate_bps) = (rate_bps, rate_bps);
        self.queue.set_rate(rate_bps);
    }

    /// Returns when the AQMs get their next tick, ns, if it is not yet in the agenda. It is due an
    /// interval from now, or earlier if it already was.
    pub fn next_tick_ns(&mut self, now_ns: u64) -> Option<u64> {
        let interval_ns = self.queue.tick_interval_ns();
        let earliest = interval_ns.map_or(NEVER, |interval_ns| now_ns + interval_ns);
        let is_new = earliest < self.tick_ns;
        if is_new || interval_ns.is_none() {
            self.tick_ns = earliest;
        }
        is_new.then_some(earliest)
    }

    /// Shows the AQMs the link's rate at `now_ns`, and returns when it changes next, if it does.
    pub fn show_rate(&mut self, now_ns: u64) -> Option<u64> {
        let service = self.service.as_ref()?;
        self.rate_bps = service.rate_bps(now_ns, self.constant_bps);
        self.queue.set_rate(self.rate_bps);
        service.next_change_ns(now_ns)
    }

    /// Takes a sample.
    pub fn sample(&mut self) {
        let series = &mut self.series;
        if self.service.is_some() {
            series.rate_bps.push(self.rate_bps);
        }
        series.queue.push(self.queue.packets() as u32);
        series
            .arrivals
            .push(self.earlier.arrivals + self.tally.arrivals_so_far());
        series.losses.push(lost(self.queue.verdicts()));
        series
            .sent_bytes
            .push(self.earlier.sent_bytes + self.tally.sent_bytes_so_far());
        let mut aqms = self.queue.aqms();
        if let (Some(aqm), None) = (aqms.next(), aqms.next()) {
            series.average.extend(aqm.average());
            series.probability.extend(aqm.probability());
        }
        series.probability.extend(self.queue.coupled_probability());
    }

    /// Returns what can be seen of it now.
    pub fn observe(&self) -> PortState {
        PortState {
            link: self.link,
            queue: self.queue.state(),
            in_service: self.busy,
            rate_bps: self.rate_bps,
            arrivals: self.earlier.arrivals + self.tally.arrivals_so_far(),
            sent: self.earlier.sent + self.tally.sent_so_far(),
            sent_bytes: self.earlier.sent_bytes + self.tally.sent_bytes_so_far(),
            sojourn_ns: self.earlier.sojourn_ns + self.tally.sojourn.sum(),
        }
    }

    /// Returns the counts since the last call.
    pub fn take_tally(&mut self, now_ns: u64) -> Tally {
        self.count(now_ns);
        self.held.count(&mut self.tally.classes, now_ns);
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(self.classes));
        let all = *self.queue.verdicts();
        let earlier = &self.earlier.verdicts;
        tally.close(std::array::from_fn(|verdict| {
            all[verdict] - earlier[verdict]
        }));
        self.earlier = Earlier {
            arrivals: self.earlier.arrivals + tally.arrivals,
            sent: self.earlier.sent + tally.sent,
            sent_bytes: self.earlier.sent_bytes + tally.sent_bytes,
            sojourn_ns: self.earlier.sojourn_ns + tally.sojourn.sum(),
            verdicts: all,
        };
        tally
    }
}
