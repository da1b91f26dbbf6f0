//! Users of the web: each user fetches an object, thinks, and fetches the next object.

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
    /// Kind of the TCP flows.
    pub kind: TcpKind,
    /// Size of an object, packets.
    pub objects: Size,
    /// Time from the end of a fetch to the start of the next.
    pub think: Distribution,
    /// Earliest start of the first fetch.
    pub start_ns: u64,
    /// First fetches start uniformly over this time from `start_ns` on.
    pub spread_ns: u64,
    /// No fetch starts from this time on.
    pub stop_ns: u64,
}

impl Web {
    /// Draws the flow of a user, with its first fetch.
    pub fn draw(&self, random: &mut Stream) -> TcpFlow {
        let start_ns = self.start_ns + spread(self.spread_ns, random);
        TcpFlow {
            packets: self.objects.draw(random),
            start_ns,
            stop_ns: NEVER,
        }
    }

    /// Returns a user during the first fetch, which `flow` says.
    pub fn user(&self, random: Stream, flow: &TcpFlow) -> User {
        User {
            object: Object {
                packets: flow.packets,
                start_ns: flow.start_ns,
                first: true,
            },
            objects: self.objects,
            think: self.think,
            stop_ns: self.stop_ns,
            random,
            thinks_since_ns: None,
        }
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        self.kind.check()?;
        self.objects.check()?;
        self.think.check()
    }
}

/// What a user fetches.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub packets: u32,
    /// When the fetch started.
    pub start_ns: u64,
    /// True if the connection opens with it.
    pub first: bool,
}

/// A user in a run.
#[derive(Clone, Debug)]
pub struct User {
    object: Object,
    objects: Size,
    think: Distribution,
    stop_ns: u64,
    random: Stream,
    thinks_since_ns: Option<u64>,
}

impl User {
    /// Called when all of an object has arrived. Returns the object, and when the next fetch
    /// starts; `None` if no further one starts. Returns nothing if it already did.
    pub fn think(&mut self, now: u64) -> Option<(Object, Option<u64>)> {
        if self.thinks_since_ns.is_some() {
            return None;
        }
        self.thinks_since_ns = Some(now);
        // at least 1 ns: with think times of 0 time would never advance
        let next_ns = now.saturating_add(self.think.draw(&mut self.random).max(1));
        let next_ns = (next_ns < self.stop_ns).then_some(next_ns);
        Some((self.object, next_ns))
    }

    /// Returns the object that is being fetched, or was to be; `None` while the user thinks.
    pub fn fetching(&self) -> Option<&Object> {
        self.thinks_since_ns.is_none().then_some(&self.object)
    }

    /// Starts a fetch. Returns the packets of the object, and the time in which nothing was sent,
    /// ns.
    pub fn fetch(&mut self, now: u64) -> (u32, u64) {
        let since_ns = self.thinks_since_ns.take().unwrap_or(now);
        self.object = Object {
            packets: self.objects.draw(&mut self.random),
            start_ns: now,
            first: false,
        };
        (self.object.packets, now - since_ns)
    }
}
