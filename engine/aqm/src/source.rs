//! AQMs of both kinds: from headers, and a program's own.

use std::{fmt, sync::Arc};

use crate::{
    discipline::{Aqm, Configured, Running},
    ffi::{Verdict, View},
};

/// Makes the AQMs of a run: each queue gets an instance of its own.
#[derive(Clone)]
pub enum AqmSource {
    /// An AQM from a header.
    Configured(Configured),
    /// Those of classes of service, one each.
    Classes(Arc<[Configured]>),
    /// A program's own AQM: the function that makes a new instance.
    Foreign(Arc<dyn Fn() -> Box<dyn Aqm + Send> + Send + Sync>),
}

impl AqmSource {
    /// Returns a new instance for the queue with this number.
    pub fn start(&self, lane: u32) -> AnyAqm {
        match self {
            Self::Configured(configured) => AnyAqm::Header(configured.start()),
            Self::Classes(classes) => AnyAqm::Header(classes[lane as usize].start()),
            Self::Foreign(start) => AnyAqm::Foreign(start()),
        }
    }

    /// Returns the error of a run of its instances; see [`Configured::wrong`].
    pub fn wrong(&self) -> Option<String> {
        match self {
            Self::Configured(configured) => configured.wrong(),
            Self::Classes(classes) => classes.iter().find_map(Configured::wrong),
            Self::Foreign(_) => None,
        }
    }
}

impl From<Configured> for AqmSource {
    fn from(configured: Configured) -> Self {
        Self::Configured(configured)
    }
}

impl fmt::Debug for AqmSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured(configured) => configured.fmt(f),
            Self::Classes(classes) => classes.fmt(f),
            Self::Foreign(_) => f.write_str("Foreign"),
        }
    }
}

/// An instance of an AQM of either kind.
pub enum AnyAqm {
    /// An AQM from a header.
    Header(Running),
    /// A program's own AQM.
    Foreign(Box<dyn Aqm + Send>),
}

/// Evaluates the same expression with an AQM of either kind.
macro_rules! with_aqm {
    ($any:expr, $aqm:ident => $do:expr) => {
        match $any {
            AnyAqm::Header($aqm) => $do,
            AnyAqm::Foreign($aqm) => $do,
        }
    };
}

impl AnyAqm {
    /// Goes on, in the queue with this number, with the parameters of `source` and the same state.
    /// Returns false, and changes nothing, if that makes other AQMs, or a program's own, whose
    /// parameters are its own business.
    pub fn retune(&mut self, lane: u32, source: &AqmSource) -> bool {
        match (self, source) {
            (Self::Header(running), AqmSource::Configured(configured)) => {
                running.retune(configured)
            }
            (Self::Header(running), AqmSource::Classes(classes)) => {
                (classes.get(lane as usize)).is_some_and(|configured| running.retune(configured))
            }
            _ => false,
        }
    }
}

impl Aqm for AnyAqm {
    #[inline]
    fn arrive(&mut self, view: &View) -> Verdict {
        with_aqm!(self, aqm => aqm.arrive(view))
    }

    fn watches_departures(&self) -> bool {
        with_aqm!(self, aqm => aqm.watches_departures())
    }

    #[inline]
    fn depart(&mut self, view: &View) -> Verdict {
        with_aqm!(self, aqm => aqm.depart(view))
    }

    fn wants_candidate(&self) -> bool {
        with_aqm!(self, aqm => aqm.wants_candidate())
    }

    fn watches_occupancy(&self) -> bool {
        with_aqm!(self, aqm => aqm.watches_occupancy())
    }

    #[inline]
    fn occupancy(&mut self, view: &View, change: i64) {
        with_aqm!(self, aqm => aqm.occupancy(view, change));
    }

    fn tick_interval_ns(&self) -> Option<u64> {
        with_aqm!(self, aqm => aqm.tick_interval_ns())
    }

    fn tick(&mut self, view: &View) {
        with_aqm!(self, aqm => aqm.tick(view));
    }

    fn average(&self) -> Option<f64> {
        with_aqm!(self, aqm => aqm.average())
    }

    fn probability(&self) -> Option<f64> {
        with_aqm!(self, aqm => aqm.probability())
    }
}
