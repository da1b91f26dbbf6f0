//! Clients and viewers that are slow, silent, endless or many.

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
    let server = Endpoint::open(&Address::Unix(path.clone())).unwrap();
    let server = Server::new(server, None, String::new()).unwrap();
    server.hub.pages().records = page.into();
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
        serve(endpoint, None, false).unwrap().pages().records = "{}\n".into();
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
    let (start, request) = (
        Instant::now(),
        b"GET /records HTTP/1.0\r\nHost: localhost\r\n\r\n",
    );
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
        assert!(held.sum::<usize>() <= MOST_BYTES);
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

fn watching(served: &mut Served, now: Instant) -> UnixStream {
    let mut stream = served.client();
    stream
        .write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    served.server.turn(now);
    stream
}

/// Returns all that has come.
fn heard(stream: &mut UnixStream) -> String {
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).ok();
    String::from_utf8(heard).unwrap()
}

#[test]
fn viewers_that_read_get_each_event_and_those_that_do_not_lose_their_place() {
    let mut served = served("{}\n");
    let start = Instant::now();
    let mut reading: Vec<UnixStream> = (0..40).map(|_| watching(&mut served, start)).collect();
    let stalled: Vec<UnixStream> = (0..10).map(|_| watching(&mut served, start)).collect();
    let event = "x".repeat(50_000);
    let mut got = vec![String::new(); reading.len()];
    for number in 0..20 {
        served
            .server
            .hub
            .publish("seen", &format!("{number} {event}"));
        served.server.turn(start);
        for (stream, got) in reading.iter_mut().zip(&mut got) {
            *got += &heard(stream);
        }
    }
    for got in &got {
        assert!(got.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
        for number in 0..20 {
            assert!(got.contains(&format!("data: \"{number} x")), "{number}");
        }
    }
    // of what nobody takes, each holds one event, which all share
    let left = served
        .server
        .viewers
        .iter()
        .filter(|viewer| viewer.left.is_some());
    assert_eq!(left.count(), stalled.len());
    served.server.turn(start + EVENT_PATIENCE);
    assert_eq!(served.server.viewers.len(), reading.len());
    drop(reading);
    served.server.turn(start);
    assert!(served.server.viewers.is_empty());
}

#[test]
fn too_many_viewers_are_told_so_and_programs_are_still_answered() {
    let mut served = served("{}\n");
    let now = Instant::now();
    let mut viewers: Vec<UnixStream> = (0..VIEWERS + 5)
        .map(|_| watching(&mut served, now))
        .collect();
    assert_eq!(served.server.viewers.len(), VIEWERS);
    assert!(heard(&mut viewers[VIEWERS]).starts_with("HTTP/1.1 503 "));
    assert_eq!(served.asked(now), "{}\n");
}

#[test]
fn who_speaks_after_asking_for_events_has_gone() {
    let mut served = served("{}\n");
    let now = Instant::now();
    let mut viewer = watching(&mut served, now);
    viewer.write_all(b"more").unwrap();
    served.server.turn(now);
    assert!(served.server.viewers.is_empty());
}

#[test]
fn a_switch_goes_to_the_daemon_only_with_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&token, mode).unwrap();
    let (switcher, mut switches) = crate::switch::open(&token).unwrap();
    let mut served = served("{}\n");
    let now = Instant::now();
    let mut ask = |served: &mut Served, token: &str| {
        let body = r#"{"link": "forward", "discipline": "pie"}"#;
        let mut stream = served.client();
        let head = "POST /discipline HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
        let length = body.len();
        let request = format!(
            "{head}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        served.server.turn(now);
        (
            heard(&mut stream)[9..12].to_owned(),
            switches.take().is_some(),
        )
    };
    assert_eq!(ask(&mut served, "0123456789abcdef"), ("403".into(), false));
    served.server.switcher = Some(switcher);
    assert_eq!(ask(&mut served, "0123456789abcdeg"), ("401".into(), false));
    assert_eq!(ask(&mut served, "0123456789abcdef"), ("200".into(), true));
}
