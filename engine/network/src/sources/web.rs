//! Users of the web: each user fetches the objects of a page, thinks, and fetches the next page.

use std::ops::Range;

use sluice_aqm::NEVER;
use sluice_random::Stream;

use super::{
    Distribution,
    application::{Object, Supply, Turn},
    size::Size,
    tcp::{TcpFlow, TcpKind, spread},
};

/// Users who each fetch one page after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// Kind of the TCP flows.
    pub kind: TcpKind,
    /// Size of an object, packets.
    pub objects: Size,
    /// Objects of a page.
    pub page_objects: u32,
    /// Connections of a user, at most as many as objects; each fetches one object at a time.
    pub connections: u32,
    /// Time from the end of a page to the start of the next.
    pub think: Distribution,
    /// Earliest start of the first page.
    pub start_ns: u64,
    /// First pages start uniformly over this time from `start_ns` on.
    pub spread_ns: u64,
    /// No page starts from this time on.
    pub stop_ns: u64,
}

impl Web {
    /// Draws the flows of a user, each with its first object.
    pub fn draw(&self, random: &mut Stream) -> Vec<TcpFlow> {
        let start_ns = self.start_ns + spread(self.spread_ns, random);
        let flow = |_| TcpFlow {
            packets: self.objects.draw(random),
            start_ns,
            stop_ns: NEVER,
        };
        (0..self.connections).map(flow).collect()
    }

    /// Returns a user during the first page, whose first objects `flows` say.
    pub fn user(&self, random: Stream, flows: &[TcpFlow]) -> User {
        let connection = |flow: &TcpFlow| Connection {
            object: Object {
                packets: flow.packets,
                start_ns: flow.start_ns,
                first: true,
            },
            idle_since_ns: None,
        };
        User {
            connections: flows.iter().map(connection).collect(),
            page_start_ns: flows[0].start_ns,
            to_come: self.page_objects - self.connections,
            open: self.connections,
            page_objects: self.page_objects,
            objects: self.objects,
            think: self.think,
            stop_ns: self.stop_ns,
            random,
        }
    }

    /// Checks all parameters.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=self.page_objects).contains(&self.connections) {
            return Err(format!(
                "connections = {} must lie between 1 and page_objects = {}",
                self.connections, self.page_objects
            ));
        }
        self.kind.check()?;
        self.objects.check()?;
        self.think.check()
    }
}

/// A connection of a user.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// What it fetches, or fetched last.
    object: Object,
    /// `None` while it fetches.
    idle_since_ns: Option<u64>,
}

/// A user in a run.
#[derive(Clone, Debug)]
pub struct User {
    connections: Vec<Connection>,
    page_start_ns: u64,
    /// Objects of the page that no connection has begun, and those that are not there yet of the
    /// others.
    to_come: u32,
    open: u32,
    page_objects: u32,
    objects: Size,
    think: Distribution,
    stop_ns: u64,
    random: Stream,
}

impl User {
    /// All of an object has arrived over a connection.
    pub fn arrived(&mut self, connection: u32, now: u64) -> Turn {
        let all = self.connections.len() as u32;
        let one = &mut self.connections[connection as usize];
        if one.idle_since_ns.is_some() {
            return Turn::default();
        }
        one.idle_since_ns = Some(now);
        let ended = Some(one.object);
        let at =
            |due_ns: u64, which: Range<u32>| (due_ns < self.stop_ns).then_some((due_ns, which));
        if self.to_come > 0 {
            self.to_come -= 1;
            return Turn {
                ended,
                next: Some((now, connection..connection + 1)),
                page_ns: None,
            };
        }
        self.open -= 1;
        if self.open > 0 {
            return Turn {
                ended,
                ..Turn::default()
            };
        }
        // at least 1 ns: with think times of 0 time would never advance
        let next_ns = now.saturating_add(self.think.draw(&mut self.random).max(1));
        let page_ns = Some(now - self.page_start_ns);
        self.page_start_ns = next_ns;
        (self.to_come, self.open) = (self.page_objects - all, all);
        Turn {
            ended,
            next: at(next_ns, 0..all),
            page_ns,
        }
    }

    /// Returns the object that a connection fetches, or was to; `None` while it does nothing.
    pub fn fetching(&self, connection: u32) -> Option<&Object> {
        let one = &self.connections[connection as usize];
        one.idle_since_ns.is_none().then_some(&one.object)
    }

    /// A connection asks for an object.
    pub fn fetch(&mut self, connection: u32, now: u64) -> Supply {
        let packets = self.objects.draw(&mut self.random);
        let one = &mut self.connections[connection as usize];
        let since_ns = one.idle_since_ns.take().unwrap_or(now);
        one.object = Object {
            packets,
            start_ns: now,
            first: false,
        };
        Supply {
            packets,
            idle_ns: Some(now - since_ns),
            again_ns: None,
        }
    }
}
