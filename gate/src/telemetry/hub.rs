//! What the endpoint tells at present, and the latest events for its viewers.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rand::random;
use serde::Serialize;

use crate::machine::wake::{self, Wake, Woken};

/// Events that are kept, for viewers that come or are slow: five minutes of one a second, with a
/// shadow.
const KEPT: usize = 600;
/// Shortest time between two events of a kind, ns: faster than anybody sees.
const PERIOD_NS: u64 = 40_000_000;

/// The pages, which threads write and the endpoint's thread reads. Nobody holds them for longer than
/// it takes to copy a pointer or to write one page.
#[derive(Debug)]
pub struct Hub {
    pages: Mutex<Pages>,
    wake: Wake,
    /// Tells the events of this daemon from those of one before it.
    run: u32,
}

/// All that can be asked for.
#[derive(Debug, Default)]
pub struct Pages {
    /// Metrics for Prometheus.
    pub metrics: String,
    /// The last record of each link, a line of JSON each.
    pub records: String,
    events: VecDeque<Arc<str>>,
    /// Number of the last event; they count from 1.
    last: u64,
}

impl Hub {
    /// Returns an empty hub, and what wakes its reader.
    ///
    /// # Errors
    /// If the system has no more files.
    pub(super) fn new() -> io::Result<(Self, Woken)> {
        let (wake, woken) = wake::pair()?;
        let hub = Self {
            pages: Mutex::default(),
            wake,
            run: random(),
        };
        Ok((hub, woken))
    }

    /// Returns the pages, for a short time.
    pub fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if an event may follow another one of its kind.
    pub fn is_time(now_ns: u64, last_ns: u64) -> bool {
        now_ns.saturating_sub(last_ns) >= PERIOD_NS
    }

    /// Tells all viewers something, as one event of a kind.
    pub fn publish(&self, kind: &str, data: &impl Serialize) {
        let data = serde_json::to_string(data).expect("numbers and texts");
        let mut pages = self.pages();
        pages.last += 1;
        let (run, number) = (self.run, pages.last);
        let text = format!("id: {run:x}-{number}\nevent: {kind}\ndata: {data}\n\n");
        pages.events.push_back(text.into());
        if pages.events.len() > KEPT {
            pages.events.pop_front();
        }
        drop(pages);
        self.wake.wake();
    }

    /// Returns the first event after the one with this number, and its number. What is no longer
    /// kept is left out.
    pub(super) fn next(&self, seen: u64) -> Option<(u64, Arc<str>)> {
        let pages = self.pages();
        let first = pages.last + 1 - pages.events.len() as u64;
        let number = first.max(seen + 1);
        let event = pages.events.get((number - first) as usize)?;
        Some((number, Arc::clone(event)))
    }

    /// Returns the number of an event by its id; 0 if it is not of this daemon.
    pub(super) fn number(&self, id: &str) -> u64 {
        let parts = id.split_once('-');
        let own = parts.filter(|(run, _)| *run == format!("{:x}", self.run));
        let number = own.and_then(|(_, number)| number.parse().ok());
        number.map_or(0, |number: u64| number.min(self.pages().last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_gets_what_is_kept_in_order_and_goes_on_where_it_was() {
        let (hub, _woken) = Hub::new().unwrap();
        assert!(hub.next(0).is_none());
        for number in 1..=KEPT + 10 {
            hub.publish("seen", &number);
        }
        let (first, text) = hub.next(0).unwrap();
        assert_eq!(first, 11);
        let id = text.lines().next().unwrap().strip_prefix("id: ").unwrap();
        assert_eq!(text.lines().nth(2), Some("data: 11"));
        assert_eq!(hub.number(id), 11);
        assert_eq!(hub.next(11).unwrap().0, 12);
        assert!(hub.next(KEPT as u64 + 10).is_none());
        for foreign in ["", "1", "-5", "x-12", "0-12"] {
            assert_eq!(hub.number(foreign), 0, "{foreign}");
        }
        let beyond = id.replace("-11", "-99999999");
        assert!(hub.next(hub.number(&beyond)).is_none());
    }
}
