//! The router's arrivals, passed on to a thread for which no packet waits.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use crate::{
    packet::Held,
    settings::{ConfiguredDiscipline, LinkSettings, Settings},
};

/// Arrivals that are passed on together.
pub const BATCH: usize = 1024;
/// Messages that may wait; further arrivals are left out until the thread catches up.
pub const WAITING: usize = 64;

/// Greatest memory of all messages, with those that come back, bytes.
pub const WAITING_BYTES: u64 = (2 * (WAITING + 2) * BATCH * size_of::<Arrival>()) as u64;

/// A packet that came to a link.
#[derive(Clone, Copy)]
pub struct Arrival {
    /// Place of the link.
    pub link: usize,
    /// Time, ns.
    pub now_ns: u64,
    /// The packet.
    pub packet: Held,
}

/// What is passed on.
pub enum Message {
    /// Packets that came.
    Arrivals(Vec<Arrival>),
    /// All links have other settings from now on.
    Settings(u64, Vec<LinkSettings>),
    /// All that came up to now was passed on, but for so many arrivals.
    Until(u64, u64),
}

/// Where the router passes its arrivals on. No call waits.
pub struct Feed {
    to: SyncSender<Message>,
    pub(crate) batch: Vec<Arrival>,
    /// Batches that come back empty: the thread frees none, for which the router could have to wait.
    empty: Receiver<Vec<Arrival>>,
    pub(crate) left_out: u64,
    /// Settings for which there was no room yet: they come before any further arrival.
    next: Option<Message>,
    discipline: ConfiguredDiscipline,
}

impl Feed {
    /// Passes a packet's arrival on.
    #[inline]
    pub fn arrive(&mut self, link: usize, now_ns: u64, packet: Held) {
        self.batch.push(Arrival {
            link,
            now_ns,
            packet,
        });
        if self.batch.len() == BATCH {
            self.pass_on();
        }
    }

    /// Says that all arrivals up to now were passed on.
    pub fn until(&mut self, now_ns: u64) {
        self.pass_on();
        self.send(Message::Until(now_ns, self.left_out)).ok();
    }

    /// Says that the links have other rates, delays and buffers; the discipline stays.
    pub fn change(&mut self, now_ns: u64, settings: &Settings) {
        self.pass_on();
        let links = shadowed(settings, &self.discipline);
        self.next = Some(Message::Settings(now_ns, links));
    }

    /// Says that so many arrivals are not known.
    pub fn leave_out(&mut self, arrivals: u64) {
        self.left_out += arrivals;
    }

    /// Passes the batch on, or leaves it out if there is no room.
    fn pass_on(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.batch = match self.send(Message::Arrivals(batch)) {
            Err(Message::Arrivals(mut batch)) => {
                self.left_out += batch.len() as u64;
                batch.clear();
                batch
            }
            _ => {
                let empty = self.empty.try_recv();
                empty.unwrap_or_else(|_| Vec::with_capacity(BATCH))
            }
        };
    }

    /// Sends the next settings, and then this; returns it if there is no room.
    fn send(&mut self, message: Message) -> Result<(), Message> {
        if let Some(next) = self.next.take()
            && let Err(TrySendError::Full(next)) = self.to.try_send(next)
        {
            self.next = Some(next);
            return Err(message);
        }
        let sent = self.to.try_send(message);
        sent.map_err(|(TrySendError::Full(message) | TrySendError::Disconnected(message))| message)
    }
}

/// Where the thread takes what is passed on.
pub struct Fed {
    /// What is passed on.
    pub messages: Receiver<Message>,
    /// Where batches go back, empty.
    pub empty: SyncSender<Vec<Arrival>>,
}

/// Returns both ends; the thread's links have this discipline.
pub fn open(discipline: ConfiguredDiscipline) -> (Feed, Fed) {
    let (to, messages) = sync_channel(WAITING);
    let (back, empty) = sync_channel(WAITING);
    let feed = Feed {
        to,
        batch: Vec::with_capacity(BATCH),
        empty,
        left_out: 0,
        next: None,
        discipline,
    };
    let fed = Fed {
        messages,
        empty: back,
    };
    (feed, fed)
}

/// Links of the same settings, but for their discipline.
pub fn shadowed(settings: &Settings, discipline: &ConfiguredDiscipline) -> Vec<LinkSettings> {
    let links = settings.links().into_iter();
    links
        .map(|link| link.with_discipline(discipline.clone()))
        .collect()
}
