//! The endpoint at which a daemon reports its state: a page for Prometheus at `/metrics`, and the
//! last records as JSON lines at `/records`. The client side, which `sluiced top` uses, is here,
//! too.

use std::{
    fs::{self, Permissions},
    io::{self, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream},
    os::unix::{
        fs::{FileTypeExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    str::FromStr,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::Value;

/// Longest wait for a peer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Largest answer, bytes.
const MOST_BYTES: u64 = 16 << 20;
/// Default address.
pub const USUAL: &str = "127.0.0.1:8417";

/// An address on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port on loopback.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let parsed = text.rsplit_once(':').and_then(|(host, port)| {
            let host: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
            Some(SocketAddr::new(host, port.parse().ok()?))
        });
        match parsed {
            Some(address) if address.ip().is_loopback() => Ok(Self::Tcp(address)),
            _ => Err(
                "must be 127.0.0.1:PORT, [::1]:PORT or unix:PATH: whoever reads it from \
                      elsewhere goes through a server that checks who asks"
                    .into(),
            ),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(out, "{address}"),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// The pages of an endpoint.
#[derive(Debug, Default)]
pub struct Pages {
    /// Metrics for Prometheus.
    pub metrics: String,
    /// The last record of each link, a line of JSON each.
    pub records: String,
}

/// An endpoint that is open for requests.
pub enum Endpoint {
    /// A port on loopback.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener),
}

impl Endpoint {
    /// Opens an endpoint. Every user of this machine may read it, also by a socket in the file
    /// system. A socket that a former daemon left behind is replaced.
    ///
    /// # Errors
    /// If the address cannot be used.
    pub fn open(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
            Address::Unix(path) => {
                // a file that is no socket refuses connections, too, and must not be deleted
                let is_socket = |file: fs::Metadata| file.file_type().is_socket();
                if fs::symlink_metadata(path).is_ok_and(is_socket)
                    && UnixStream::connect(path)
                        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
                {
                    fs::remove_file(path)?;
                }
                let listener = UnixListener::bind(path)?;
                fs::set_permissions(path, Permissions::from_mode(0o666))?;
                Ok(Self::Unix(listener))
            }
        }
    }

    /// Answers requests in a thread of its own, with the present pages.
    pub fn serve(self) -> Arc<Mutex<Pages>> {
        let pages = Arc::new(Mutex::new(Pages::default()));
        let shown = Arc::clone(&pages);
        thread::spawn(move || {
            loop {
                let done = match &self {
                    Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                        stream.set_read_timeout(Some(PATIENCE))?;
                        stream.set_write_timeout(Some(PATIENCE))?;
                        answer(stream, &shown)
                    }),
                    Self::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                        stream.set_read_timeout(Some(PATIENCE))?;
                        stream.set_write_timeout(Some(PATIENCE))?;
                        answer(stream, &shown)
                    }),
                };
                // an error means that this client is gone or too slow; the next one may not be
                drop(done);
            }
        });
        pages
    }
}

/// Answers with the records if they are requested, and with the metrics otherwise.
fn answer(mut stream: impl Read + Write, pages: &Mutex<Pages>) -> io::Result<()> {
    let mut asked = [0; 4096];
    let length = stream.read(&mut asked)?;
    let wants_records = asked[..length].starts_with(b"GET /records ");
    let (kind, page) = {
        let pages = pages.lock().expect("nobody panics with it");
        if wants_records {
            ("application/jsonl", pages.records.clone())
        } else {
            ("text/plain; version=0.0.4", pages.metrics.clone())
        }
    };
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{page}",
        page.len()
    )
}

/// Asks a daemon for its records: JSON lines.
///
/// # Errors
/// If no daemon answers there.
pub fn ask(address: &Address) -> io::Result<String> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            records(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            records(stream)
        }
    }
}

/// Returns the records in the answer of a daemon.
///
/// # Errors
/// If there are none, or if the answer is not from a daemon.
pub fn parse(answer: &str) -> Result<Vec<Value>, String> {
    let records: Result<Vec<Value>, _> = answer.lines().map(serde_json::from_str).collect();
    match records {
        Ok(records) if records.is_empty() => Err("it has nothing to tell yet".into()),
        Ok(records) if records.iter().all(|record| record["clock_ns"].is_u64()) => Ok(records),
        _ => Err("what answers there is no sluiced".into()),
    }
}

fn records(mut stream: impl Read + Write) -> io::Result<String> {
    stream.write_all(b"GET /records HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(MOST_BYTES).read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((_, body)) => Ok(body.to_owned()),
        None => Err(io::Error::other("the answer is no page")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_this_machine() {
        for text in [USUAL, "[::1]:9100", "unix:/run/sluiced/metrics"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["192.168.1.1:9100", "9100", "localhost:9100", "unix:", ""] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.starts_with("must be 127.0.0.1:PORT"), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_no_socket_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics");
        fs::write(&path, "not ours").unwrap();
        let refused = Endpoint::open(&Address::Unix(path.clone())).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read_to_string(&path).unwrap(), "not ours");
    }

    #[test]
    fn a_socket_that_was_left_behind_is_taken_over_and_one_in_use_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics");
        let address = Address::Unix(path.clone());
        drop(Endpoint::open(&address).unwrap());
        assert!(path.exists());
        let pages = Endpoint::open(&address).unwrap().serve();
        pages.lock().unwrap().records = "{}\n".into();
        assert_eq!(ask(&address).unwrap(), "{}\n");
        let refused = Endpoint::open(&address).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o666
        );
    }
}
