//! Users of the web: each fetches an object, thinks, and fetches the next.

use sluice_random::Stream;

use super::{
    distribution::Distribution,
    size::Size,
    tcp::{TcpFlow, TcpKind, spread},
};
use sluice_aqm::NEVER;

/// Users who each fetch one object after the other over one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// What the connections have in common.
    pub kind: TcpKind,
    /// Packets of an object.
    pub objects: Size,
    /// From the end of one fetch to the start of the next.
    pub think: Distribution,
    /// Earliest start of the first fetch.
    pub start_ns: u64,
    /// First fetches start uniformly over this time from the earliest.
    pub spread_ns: u64,
    /// From here no fetch starts.
    pub stop_ns: u64,
}

impl Web {
    /// The flow of a user's first fetch.
    pub fn draw(&self, random: &mut Stream) -> TcpFlow {
        let start_ns = self.start_ns + spread(self.spread_ns, random);
        TcpFlow {
            packets: self.objects.draw(random),
            start_ns,
            stop_ns: NEVER,
        }
    }

    /// The user, during the first fetch.
    pub fn user(&self, random: Stream) -> User {
        User {
            objects: self.objects,
            think: self.think,
            stop_ns: self.stop_ns,
            random,
            thinks_since_ns: None,
        }
    }

    /// What is wrong with them, if anything.
    pub fn check(&self) -> Result<(), String> {
        self.kind.check()?;
        self.objects.check()?;
        self.think.check()
    }
}

/// A user at work.
#[derive(Clone, Debug)]
pub struct User {
    objects: Size,
    think: Distribution,
    stop_ns: u64,
    random: Stream,
    thinks_since_ns: Option<u64>,
}

impl User {
    /// All of an object has arrived. Gives when the next fetch starts; `None` if that is known
    /// already, or if no other starts.
    pub fn think(&mut self, now: u64) -> Option<u64> {
        if self.thinks_since_ns.is_some() {
            return None;
        }
        self.thinks_since_ns = Some(now);
        // at least 1 ns, or a distribution of zeros would never let time pass
        let next_ns = now.saturating_add(self.think.draw(&mut self.random).max(1));
        (next_ns < self.stop_ns).then_some(next_ns)
    }

    /// A fetch starts: packets of the object, and how long nothing was sent, ns.
    pub fn fetch(&mut self, now: u64) -> (u32, u64) {
        let since_ns = self.thinks_since_ns.take().unwrap_or(now);
        (self.objects.draw(&mut self.random), now - since_ns)
    }
}
