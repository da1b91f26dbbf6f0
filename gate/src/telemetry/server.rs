//! Answers the requests at an endpoint, many side by side, in one thread. A client that is slow, or
//! that never asks, makes no other one wait; time, memory and number of all of them are bounded.

use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::telemetry::endpoint::Endpoint;

/// Clients at the same time. If more come, those that have been here longest are put out: whoever
/// asks at once has got its answer long before.
const CLIENTS: usize = 64;
/// Time from the connection of a client until its answer is written.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest request, bytes.
const REQUEST_BYTES: usize = 8 << 10;
/// Bytes of all answers that are not yet written; beyond it, too, the longest here are put out.
const ANSWER_BYTES: usize = 8 << 20;
/// Pause after the system could not give a connection, although there is no other.
const REST: Duration = Duration::from_millis(50);

/// The pages of an endpoint.
#[derive(Debug, Default)]
pub struct Pages {
    /// Metrics for Prometheus.
    pub metrics: String,
    /// The last record of each link, a line of JSON each.
    pub records: String,
}

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
}

/// Answers requests in a thread of its own, with the present pages.
///
/// # Errors
/// If there can be no such thread, or if the endpoint cannot be used.
pub fn serve(endpoint: Endpoint) -> io::Result<Arc<Mutex<Pages>>> {
    let mut server = Server::new(endpoint)?;
    let pages = Arc::clone(&server.pages);
    thread::Builder::new().spawn(move || {
        loop {
            server.wait();
            server.turn(Instant::now());
        }
    })?;
    Ok(pages)
}

struct Server {
    endpoint: Endpoint,
    pages: Arc<Mutex<Pages>>,
    /// The longest here first.
    clients: VecDeque<Client>,
}

impl Server {
    fn new(endpoint: Endpoint) -> io::Result<Self> {
        match &endpoint {
            Endpoint::Tcp(listener) => listener.set_nonblocking(true)?,
            Endpoint::Unix(listener) => listener.set_nonblocking(true)?,
        }
        Ok(Self {
            endpoint,
            pages: Arc::default(),
            clients: VecDeque::new(),
        })
    }

    /// Waits until a client comes or can go on, or until one has had its time.
    fn wait(&self) {
        let listener = match &self.endpoint {
            Endpoint::Tcp(listener) => listener.as_fd(),
            Endpoint::Unix(listener) => listener.as_fd(),
        };
        let mut watched = vec![PollFd::new(listener, PollFlags::POLLIN)];
        for client in &self.clients {
            let wanted = match client.answer {
                None => PollFlags::POLLIN,
                Some(_) => PollFlags::POLLOUT,
            };
            watched.push(PollFd::new(client.stream.as_fd(), wanted));
        }
        let first = self.clients.front();
        let timeout = first.map_or(PollTimeout::NONE, |client| {
            let left = client.end.saturating_duration_since(Instant::now());
            // a ms more, as poll counts in whole ones
            PollTimeout::try_from(left.as_millis() as u64 + 1).unwrap_or(PollTimeout::MAX)
        });
        // an error, such as that of a signal, is found by those that are served now
        poll(&mut watched, timeout).ok();
    }

    /// Does for each client what can be done without waiting.
    fn turn(&mut self, now: Instant) {
        let pages = Arc::clone(&self.pages);
        self.clients
            .retain_mut(|client| now < client.end && client.goes_on(&pages));
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
            let mut client = Client {
                stream,
                end: now + PATIENCE,
                request: Vec::new(),
                answer: None,
            };
            if client.goes_on(&pages) {
                self.clients.push_back(client);
            }
            while self.clients.len() > CLIENTS {
                self.clients.pop_front();
            }
        }
        while self.answer_bytes() > ANSWER_BYTES {
            self.clients.pop_front();
        }
    }

    fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match &self.endpoint {
            Endpoint::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
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
}

impl Client {
    /// Reads and writes without waiting. Returns false once it is answered, gone or refused.
    fn goes_on(&mut self, pages: &Mutex<Pages>) -> bool {
        let done = match &mut self.answer {
            None => self.read(pages),
            Some(answer) => write(&mut self.stream, answer),
        };
        match done {
            Ok(is_over) => !is_over,
            Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        }
    }

    /// Reads more of the request; once it is whole, begins with the answer. Returns true if it is
    /// over.
    fn read(&mut self, pages: &Mutex<Pages>) -> io::Result<bool> {
        let mut more = [0; REQUEST_BYTES];
        let room = REQUEST_BYTES - self.request.len();
        let length = self.stream.read(&mut more[..room])?;
        self.request.extend_from_slice(&more[..length]);
        let is_whole = self.request.windows(4).any(|part| part == b"\r\n\r\n");
        if !is_whole {
            return Ok(length == 0 || self.request.len() == REQUEST_BYTES);
        }
        let answer = self.answer.insert(answer(&self.request, pages));
        write(&mut self.stream, answer)
    }
}

/// Returns the answer to a request: the records if they are asked for, and the metrics otherwise.
fn answer(request: &[u8], pages: &Mutex<Pages>) -> VecDeque<u8> {
    let pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    let (kind, page) = match request.starts_with(b"GET /records ") {
        true => ("application/jsonl", &pages.records),
        false => ("text/plain; version=0.0.4", &pages.metrics),
    };
    let length = page.len();
    let head = format!("HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}");
    format!("{head}\r\n\r\n{page}").into_bytes().into()
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
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::{cli::Address, telemetry::endpoint::ask};

    /// An endpoint in a folder of its own, not yet served.
    struct Served {
        server: Server,
        path: std::path::PathBuf,
        _folder: tempfile::TempDir,
    }

    fn served(page: &str) -> Served {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics");
        let server = Server::new(Endpoint::open(&Address::Unix(path.clone())).unwrap()).unwrap();
        server.pages.lock().unwrap().records = page.into();
        Served {
            server,
            path,
            _folder: folder,
        }
    }

    impl Served {
        fn client(&self) -> UnixStream {
            let stream = UnixStream::connect(&self.path).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        }

        /// Asks, and returns what has come after one more turn, without its head.
        fn asked(&mut self, now: Instant) -> String {
            let mut stream = self.client();
            stream.write_all(b"GET /records HTTP/1.0\r\n\r\n").unwrap();
            self.server.turn(now);
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.split_once("\r\n\r\n").unwrap().1.to_owned()
        }
    }

    /// True if the other end has closed the connection.
    fn is_closed(stream: &mut UnixStream) -> bool {
        match stream.read(&mut [0; 16]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    #[test]
    fn forty_clients_that_never_ask_make_nobody_wait() {
        let folder = tempfile::tempdir().unwrap();
        for address in [
            Address::Unix(folder.path().join("metrics")),
            "127.0.0.1:0".parse().unwrap(),
        ] {
            let endpoint = Endpoint::open(&address).unwrap();
            let address = match &endpoint {
                Endpoint::Tcp(listener) => Address::Tcp(listener.local_addr().unwrap()),
                Endpoint::Unix(_) => address,
            };
            serve(endpoint).unwrap().lock().unwrap().records = "{}\n".into();
            let silent: Vec<Box<dyn Stream>> = (0..40)
                .map(|_| -> Box<dyn Stream> {
                    match &address {
                        Address::Tcp(to) => Box::new(std::net::TcpStream::connect(to).unwrap()),
                        Address::Unix(to) => Box::new(UnixStream::connect(to).unwrap()),
                    }
                })
                .collect();
            // a second for each of them would be 40; a machine that is busy may need a few
            let answer = (0..10).find_map(|_| ask(&address).ok());
            assert_eq!(answer.as_deref(), Some("{}\n"));
            drop(silent);
        }
    }

    #[test]
    fn a_request_that_comes_byte_by_byte_is_answered_or_ends_in_time() {
        let mut served = served("{}\n");
        let (start, request) = (Instant::now(), b"GET /records HTTP/1.0\r\nHost: a\r\n\r\n");
        let [mut whole, mut endless] = [served.client(), served.client()];
        served.server.turn(start);
        for byte in request {
            whole.write_all(&[*byte]).unwrap();
            endless.write_all(b"h").unwrap();
            served.server.turn(start);
        }
        let mut answer = String::new();
        whole.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("\r\n\r\n{}\n"), "{answer}");
        let late = start + PATIENCE;
        served.server.turn(late - Duration::from_millis(1));
        assert!(!is_closed(&mut endless));
        endless.write_all(b"h").unwrap();
        served.server.turn(late);
        assert!(is_closed(&mut endless));
        assert!(served.server.clients.is_empty());
    }

    #[test]
    fn a_request_without_an_end_is_cut_off() {
        let mut served = served("{}\n");
        let mut client = served.client();
        let now = Instant::now();
        served.server.turn(now);
        let mut sent = 0;
        while let Ok(more) = client.write(&[b'h'; 1000]) {
            sent += more;
            served.server.turn(now);
            let held = served.server.clients.iter().map(|each| each.request.len());
            assert!(held.sum::<usize>() <= REQUEST_BYTES);
        }
        assert!(sent < 1 << 20, "{sent}");
        assert!(served.server.clients.is_empty());
        assert_eq!(served.asked(now), "{}\n");
    }

    #[test]
    fn of_too_many_clients_those_that_are_there_longest_go() {
        let mut served = served("{}\n");
        let now = Instant::now();
        let mut clients: Vec<UnixStream> = Vec::new();
        for _ in 0..3 * CLIENTS {
            clients.push(served.client());
            served.server.turn(now);
        }
        assert_eq!(served.server.clients.len(), CLIENTS);
        assert_eq!(served.asked(now), "{}\n");
        let open = clients.iter_mut().map(|client| !is_closed(client));
        let open: Vec<bool> = open.collect();
        assert!(open[..2 * CLIENTS].iter().all(|open| !open));
        assert!(open[2 * CLIENTS..].iter().all(|open| *open));
    }

    #[test]
    fn answers_that_nobody_reads_take_a_bounded_memory() {
        let page = "x".repeat(1 << 20);
        let mut served = served(&page);
        let now = Instant::now();
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = served.client();
            client.write_all(b"GET /records HTTP/1.0\r\n\r\n").unwrap();
            served.server.turn(now);
            assert!(served.server.answer_bytes() <= ANSWER_BYTES);
            clients.push(client);
        }
        assert!(served.server.clients.len() > 4);
        // the last one gets all of it, as it reads
        let (mut client, mut got) = (clients.pop().unwrap(), Vec::new());
        while client.read_to_end(&mut got).is_err() {
            served.server.turn(now);
        }
        assert!(got.ends_with(page.as_bytes()));
        served.server.turn(now + PATIENCE);
        assert!(served.server.clients.is_empty());
    }
}
