//! An optional time in eight bytes: hundreds of thousands of endpoints may be kept.

/// A time in ns, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Deadline(u64);

impl Deadline {
    pub const NONE: Deadline = Deadline(u64::MAX);

    pub fn at(ns: u64) -> Deadline {
        Deadline(ns)
    }

    pub fn get(self) -> Option<u64> {
        (self != Deadline::NONE).then_some(self.0)
    }

    pub fn is_none(self) -> bool {
        self == Deadline::NONE
    }

    /// True if the time is reached at `now_ns`; false if there is none.
    pub fn is_due(self, now_ns: u64) -> bool {
        self.0 <= now_ns
    }
}

impl Default for Deadline {
    fn default() -> Deadline {
        Deadline::NONE
    }
}
