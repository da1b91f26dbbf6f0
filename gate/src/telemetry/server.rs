//! Answers the requests at an endpoint, many side by side, in one thread. A client that is slow, or
//! that never asks, makes no other one wait; time, memory and number of all of them are bounded.
//!
//! Viewers of the live page stay, and get each event. One that does not read misses events, and then
//! its place.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{setsockopt, sockopt},
};

use crate::{
    machine::{privileges, wake::Woken},
    switch::{Refused, Switcher},
    telemetry::{
        endpoint::Endpoint,
        hub::Hub,
        live,
        request::{self, Asked, MOST_BYTES, Refusal, Wanted},
    },
};

/// Clients at the same time. If more come, those that have been here longest are put out: whoever
/// asks at once has got its answer long before.
const CLIENTS: usize = 64;
/// Viewers at the same time; further ones are told to come later.
const VIEWERS: usize = 64;
/// Time from the connection of a client until its answer is written.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time in which a viewer must take an event.
const EVENT_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of all answers that are not yet written; beyond it, too, the longest here are put out.
const ANSWER_BYTES: usize = 8 << 20;
/// Bytes that the kernel keeps for a client by TCP, which would be megabytes otherwise.
const SEND_BYTES: usize = 64 << 10;
/// Pause after the system could not give a connection, although there is no other.
const REST: Duration = Duration::from_millis(50);
/// Head of the answer to a viewer, with how long a browser waits before it comes again, ms.
const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                      Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
                      Connection: close\r\n\r\nretry: 2000\n\n";

/// A connection that never blocks.
trait Stream: Read + Write + AsFd + Send {}

impl<S: Read + Write + AsFd + Send> Stream for S {}

/// A client and what became of its request so far.
struct Client {
    stream: Box<dyn Stream>,
    /// When it has had its time.
    end: Instant,
    /// Its request, as far as it has come.
    request: Vec<u8>,
    /// What is left to write, once the request is whole.
    answer: Option<VecDeque<u8>>,
    /// The last event that it has, if it asks for events.
    seen: Option<u64>,
}

/// Who gets every event.
struct Viewer {
    stream: Box<dyn Stream>,
    /// Number of the last event that it got, or is getting.
    seen: u64,
    /// An event, how much of it is written, and when it must be.
    left: Option<(Arc<str>, usize, Instant)>,
}

/// Answers requests in a thread of its own, with what the hub has at present. Changes go by
/// `switcher`, if there is any.
///
/// # Errors
/// If there can be no such thread, or if the endpoint cannot be used.
pub fn serve(
    endpoint: Endpoint,
    switcher: Option<Switcher>,
    has_shadow: bool,
) -> io::Result<Arc<Hub>> {
    let page = live::page(switcher.is_some(), has_shadow);
    let mut server = Server::new(endpoint, switcher, page)?;
    let hub = Arc::clone(&server.hub);
    thread::Builder::new().spawn(move || {
        privileges::give_way();
        loop {
            server.wait();
            server.turn(Instant::now());
        }
    })?;
    Ok(hub)
}

struct Server {
    endpoint: Endpoint,
    hub: Arc<Hub>,
    woken: Woken,
    switcher: Option<Switcher>,
    page: String,
    /// The longest here first.
    clients: VecDeque<Client>,
    viewers: Vec<Viewer>,
}

impl Server {
    fn new(endpoint: Endpoint, switcher: Option<Switcher>, page: String) -> io::Result<Self> {
        match &endpoint {
            Endpoint::Tcp(listener) => listener.set_nonblocking(true)?,
            Endpoint::Unix(listener) => listener.set_nonblocking(true)?,
        }
        let (hub, woken) = Hub::new()?;
        Ok(Self {
            endpoint,
            hub: Arc::new(hub),
            woken,
            switcher,
            page,
            clients: VecDeque::new(),
            viewers: Vec::new(),
        })
    }

    /// Waits until there is an event, until a client comes or can go on, or until one has had its
    /// time.
    fn wait(&self) {
        let listener = match &self.endpoint {
            Endpoint::Tcp(listener) => listener.as_fd(),
            Endpoint::Unix(listener) => listener.as_fd(),
        };
        let mut watched = vec![
            PollFd::new(listener, PollFlags::POLLIN),
            PollFd::new(self.woken.as_fd(), PollFlags::POLLIN),
        ];
        let wanted = |writes| {
            if writes {
                PollFlags::POLLOUT
            } else {
                PollFlags::POLLIN
            }
        };
        for client in &self.clients {
            let wanted = wanted(client.answer.is_some());
            watched.push(PollFd::new(client.stream.as_fd(), wanted));
        }
        for viewer in &self.viewers {
            let wanted = wanted(viewer.left.is_some());
            watched.push(PollFd::new(viewer.stream.as_fd(), wanted));
        }
        let ends =
            (self.viewers.iter()).filter_map(|viewer| viewer.left.as_ref().map(|left| left.2));
        let first = ends
            .chain(self.clients.front().map(|client| client.end))
            .min();
        let timeout = first.map_or(PollTimeout::NONE, |end| {
            let left = end.saturating_duration_since(Instant::now());
            // a ms more, as poll counts in whole ones
            PollTimeout::try_from(left.as_millis() as u64 + 1).unwrap_or(PollTimeout::MAX)
        });
        // an error, such as that of a signal, is found by those that are served now
        poll(&mut watched, timeout).ok();
    }

    /// Does for each client what can be done without waiting.
    fn turn(&mut self, now: Instant) {
        self.woken.sleep();
        for client in std::mem::take(&mut self.clients) {
            if now < client.end {
                self.go_on(now, client);
            }
        }
        for _ in 0..CLIENTS {
            let stream = match self.accept() {
                Ok(stream) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // the system has no more files: that of the longest here is used again
                Err(_) if self.clients.pop_front().is_some() => continue,
                Err(_) => {
                    thread::sleep(REST);
                    break;
                }
            };
            let client = Client {
                stream,
                end: now + PATIENCE,
                request: Vec::new(),
                answer: None,
                seen: None,
            };
            self.go_on(now, client);
            while self.clients.len() > CLIENTS {
                self.clients.pop_front();
            }
        }
        while self.answer_bytes() > ANSWER_BYTES {
            self.clients.pop_front();
        }
        let hub = &self.hub;
        self.viewers.retain_mut(|viewer| viewer.goes_on(now, hub));
    }

    fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.endpoint {
            Endpoint::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                // of what nobody reads, the kernel keeps no more
                setsockopt(&stream, sockopt::SndBuf, &SEND_BYTES)?;
                Box::new(stream)
            }
            Endpoint::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
        })
    }

    fn answer_bytes(&self) -> usize {
        let answers = self.clients.iter().flat_map(|client| &client.answer);
        answers.map(VecDeque::len).sum()
    }

    /// Reads and writes without waiting. A client stays until it is answered, gone or refused; then
    /// it may become a viewer.
    fn go_on(&mut self, now: Instant, mut client: Client) {
        let done = match &mut client.answer {
            None => self.read(&mut client),
            Some(answer) => write(&mut client.stream, answer),
        };
        match (done, client.seen) {
            (Ok(false), _) => self.clients.push_back(client),
            (Ok(true), Some(seen)) => {
                let mut viewer = Viewer {
                    stream: client.stream,
                    seen,
                    left: None,
                };
                if viewer.goes_on(now, &self.hub) {
                    self.viewers.push(viewer);
                }
            }
            (Ok(true), None) => {}
            (Err(error), _) if is_later(&error) => self.clients.push_back(client),
            (Err(_), _) => {}
        }
    }

    /// Reads more of the request; once it is whole, begins with the answer. Returns true if it is
    /// over.
    fn read(&self, client: &mut Client) -> io::Result<bool> {
        let mut more = [0; MOST_BYTES];
        let room = MOST_BYTES - client.request.len();
        let length = client.stream.read(&mut more[..room])?;
        client.request.extend_from_slice(&more[..length]);
        let Some(asked) = request::read(&client.request) else {
            return Ok(length == 0);
        };
        let answer = match asked.and_then(|asked| self.answer(asked)) {
            Ok(Answer::Page(kind, page)) => answer("200 OK", kind, &page),
            Ok(Answer::Events(seen)) => {
                client.seen = Some(seen);
                EVENTS.into()
            }
            Err(Refusal(status, why)) => answer(status, "text/plain", &format!("{why}\n")),
        };
        let answer = client.answer.insert(answer.into_bytes().into());
        write(&mut client.stream, answer)
    }

    fn answer(&self, asked: Asked) -> Result<Answer, Refusal> {
        let page = |kind, page: &str| Ok(Answer::Page(kind, page.to_owned()));
        match asked {
            Asked::Page => page("text/html; charset=utf-8", &self.page),
            Asked::Metrics => page("text/plain; version=0.0.4", &self.hub.pages().metrics),
            Asked::Records => page("application/jsonl", &self.hub.pages().records),
            Asked::Disciplines => page("application/json", &live::disciplines()),
            Asked::Events(_) if self.viewers.len() >= VIEWERS => {
                let why = format!("{VIEWERS} viewers are here already");
                Err(Refusal("503 Service Unavailable", why))
            }
            Asked::Events(last) => Ok(Answer::Events(self.hub.number(&last))),
            Asked::Switch(token, wanted) => self.switch(&token, &wanted),
        }
    }

    fn switch(&self, token: &str, wanted: &Wanted) -> Result<Answer, Refusal> {
        let Some(switcher) = &self.switcher else {
            let why = "sluiced was started without --token: nobody may change it here";
            return Err(Refusal("403 Forbidden", why.into()));
        };
        match switcher.switch(token, &wanted.link, &wanted.discipline) {
            Ok(()) => Ok(Answer::Page("text/plain", "passed on\n".into())),
            Err(Refused::Token) => Err(Refusal("401 Unauthorized", "another token".into())),
            Err(Refused::Wrong(what)) => Err(Refusal("400 Bad Request", what)),
            Err(Refused::Busy) => Err(Refusal("503 Service Unavailable", "others wait".into())),
        }
    }
}

/// What a request gets.
enum Answer {
    /// A page of a type.
    Page(&'static str, String),
    /// Events after the one of this number.
    Events(u64),
}

/// Returns an answer with its head. Nothing of it may be kept, framed, or read by another page.
fn answer(status: &str, kind: &str, page: &str) -> String {
    let length = page.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: {}\r\nConnection: close\r\n\r\n{page}",
        live::POLICY
    )
}

impl Viewer {
    /// Writes without waiting all events that it does not yet have. Returns false if it has gone, or
    /// if it took an event for too long.
    fn goes_on(&mut self, now: Instant, hub: &Hub) -> bool {
        loop {
            if let Some((event, written, end)) = &mut self.left {
                match self.stream.write(&event.as_bytes()[*written..]) {
                    Ok(0) => return false,
                    Ok(length) => *written += length,
                    Err(error) => return is_later(&error) && now < *end,
                }
                if *written < event.len() {
                    continue;
                }
            }
            let Some((number, event)) = hub.next(self.seen) else {
                self.left = None;
                break;
            };
            self.seen = number;
            self.left = Some((event, 0, now + EVENT_PATIENCE));
        }
        // it has nothing more to say: what comes is its end
        self.stream
            .read(&mut [0; 16])
            .is_err_and(|error| is_later(&error))
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Writes as much of an answer as the client takes. Returns true if that is all of it.
fn write(stream: &mut impl Write, answer: &mut VecDeque<u8>) -> io::Result<bool> {
    while !answer.is_empty() {
        let written = stream.write(answer.as_slices().0)?;
        if written == 0 {
            return Ok(true);
        }
        answer.drain(..written);
    }
    Ok(true)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
