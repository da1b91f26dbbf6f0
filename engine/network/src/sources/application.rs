//! What gives TCP flows their packets, where that is more than one transfer: users of the web,
//! players of video, and applications of a limited rate.

use std::ops::Range;

use sluice_histogram::Histogram;

use super::{limited::Writer, video::Player, web::User};

/// An object that is transferred.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub packets: u32,
    /// When the transfer started.
    pub start_ns: u64,
    /// True if the connection opens with it.
    pub first: bool,
}

/// What follows when all that an application gave a connection is acknowledged.
#[derive(Debug, Default)]
pub struct Turn {
    /// The object that ended.
    pub ended: Option<Object>,
    /// When which of the application's connections go on, ns.
    pub next: Option<(u64, Range<u32>)>,
    /// How long a page took that ended with the object.
    pub page_ns: Option<u64>,
}

/// What an application gives a connection.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// How many.
    pub packets: u32,
    /// Time since all before was acknowledged; `None` if it is not.
    pub idle_ns: Option<u64>,
    /// When it gives the next, whatever is acknowledged; `None` if that decides.
    pub again_ns: Option<u64>,
}

/// What gives a TCP flow its packets, for senders outside the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supplied {
    /// It has all of them when it starts.
    AtOnce,
    /// An application gives it one object after the other, each once what there was before is there.
    Objects,
    /// An application gives it one packet after the other, at times.
    Packets,
}

/// An application in a run.
#[derive(Clone, Debug)]
pub enum Application {
    User(User),
    Player(Box<Player>),
    Writer(Writer),
}

/// What people feel of the applications of one class in a period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Felt {
    /// Times of pages of the web, ns.
    pub pages: Histogram,
    /// Times from when frames of calls were made until they were there, ns.
    pub frames: Histogram,
    /// Time in which videos and calls were seen.
    pub played_ns: u64,
    /// Time in which they stood still for want of data.
    pub stalled_ns: u64,
    /// How often they came to stand still.
    pub stalls: u64,
    /// Segments of videos that arrived.
    pub segments: u64,
    /// Sum of their rates, and of those of frames, bits/s.
    pub rates_bps: f64,
    /// How often the rate was another than before.
    pub switches: u64,
}

/// All applications of a run. An application's connections are TCP flows with successive numbers.
#[derive(Debug, Default)]
pub struct Applications {
    /// With the flows of each, in their order.
    all: Vec<(Range<u32>, Application)>,
}

impl Applications {
    /// Adds an application with these flows, which come after those of the others.
    pub fn add(&mut self, flows: Range<u32>, application: Application) {
        let before = self.all.last().map_or(0, |(flows, _)| flows.end);
        debug_assert!(
            before <= flows.start,
            "flows from {before} on, not {flows:?}"
        );
        self.all.push((flows, application));
    }

    /// Returns the place of the application of a flow.
    fn place(&self, flow: u32) -> Option<usize> {
        let place = self.all.partition_point(|(flows, _)| flows.end <= flow);
        let (flows, _) = self.all.get(place)?;
        flows.contains(&flow).then_some(place)
    }

    /// Returns the application of a flow, and which of its connections the flow is.
    fn of(&mut self, flow: u32) -> Option<(u32, &mut Application)> {
        let place = self.place(flow)?;
        let (flows, application) = &mut self.all[place];
        Some((flow - flows.start, application))
    }

    /// True if a flow has an application.
    pub fn has(&self, flow: u32) -> bool {
        self.place(flow).is_some()
    }

    /// Returns what gives a flow its packets.
    pub fn supplies(&self, flow: u32) -> Supplied {
        match self.transfers(flow) {
            Some(_) => Supplied::Objects,
            None if self.has(flow) => Supplied::Packets,
            None => Supplied::AtOnce,
        }
    }

    /// All that the application gave a flow is acknowledged. Returns the flows that go on in
    /// `next`; `None` if the flow has no application, or if that has come to its end.
    pub fn acknowledged(&mut self, flow: u32, now: u64) -> Option<Turn> {
        let (connection, application) = self.of(flow)?;
        let mut turn = match application {
            Application::User(user) => user.arrived(connection, now),
            Application::Player(player) => player.arrived(now),
            Application::Writer(writer) => return writer.acknowledged(now),
        };
        let first = flow - connection;
        if let Some((_, which)) = &mut turn.next {
            *which = first + which.start..first + which.end;
        }
        Some(turn)
    }

    /// A flow's application gives it packets.
    ///
    /// # Panics
    /// If it has none.
    pub fn supply(&mut self, flow: u32, now: u64) -> Supply {
        match self.of(flow).expect("a flow with an application") {
            (connection, Application::User(user)) => user.fetch(connection, now),
            (_, Application::Player(player)) => player.fetch(now),
            (_, Application::Writer(writer)) => writer.write(now),
        }
    }

    /// Returns the packets of the object that a flow transfers, `Some(None)` if it transfers none;
    /// `None` if its application, if it has one, does not transfer objects.
    pub fn transfers(&self, flow: u32) -> Option<Option<u32>> {
        let (flows, application) = &self.all[self.place(flow)?];
        let object = match application {
            Application::User(user) => user.fetching(flow - flows.start),
            Application::Player(player) => player.fetching(),
            Application::Writer(_) => return None,
        };
        Some(object.map(|object| object.packets))
    }

    /// Adds what players have shown up to `now_ns` to the counts of their classes.
    pub fn count(&mut self, now_ns: u64, class_of: impl Fn(u32) -> usize, felt: &mut [Felt]) {
        for (flows, application) in &mut self.all {
            if let Application::Player(player) = application {
                player.count(now_ns, &mut felt[class_of(flows.start)]);
            }
        }
    }
}
