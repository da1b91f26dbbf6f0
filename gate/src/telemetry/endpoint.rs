//! The endpoint at which a daemon reports its state: a page for Prometheus at `/metrics`, and the
//! last records as JSON lines at `/records`. `server.rs` answers; the client side, which `sluiced
//! top` uses, is here.

use std::{
    fs::{self, Permissions},
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::{
        fd::{AsFd, AsRawFd},
        unix::{
            fs::{FileTypeExt, PermissionsExt},
            net::{UnixListener, UnixStream},
        },
    },
    path::Path,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{self, AddressFamily, SockFlag, SockType, UnixAddr, socket},
};
use serde_json::Value;

use crate::{
    cli::Address,
    router::snapshot::NAMES,
    telemetry::record::{Line, VERSION},
};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Largest answer, bytes.
const MOST_BYTES: usize = 16 << 20;
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
                    && connect(path)
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
}

/// Asks a daemon for its records: JSON lines.
///
/// # Errors
/// If no daemon answers there in time.
pub fn ask(address: &Address) -> io::Result<String> {
    match address {
        Address::Tcp(address) => records(TcpStream::connect_timeout(address, PATIENCE)?),
        Address::Unix(path) => records(connect(path)?),
    }
}

/// Connects to a socket in the file system without waiting: a daemon that stands still takes no
/// connections.
fn connect(path: &Path) -> io::Result<UnixStream> {
    let kind = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = socket(AddressFamily::Unix, SockType::Stream, kind, None)?;
    socket::connect(stream.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(stream.into())
}

/// Returns the records in the answer of a daemon.
///
/// # Errors
/// If there are none, or if the answer is not from a daemon.
pub fn parse(answer: &str) -> Result<Vec<Line>, String> {
    let records: Vec<Line> = answer.lines().map(line).collect::<Result<_, _>>()?;
    if records.is_empty() {
        return Err("it has nothing to tell yet".into());
    }
    Ok(records)
}

fn line(text: &str) -> Result<Line, String> {
    let foreign = |_| "what answers there is no sluiced".to_owned();
    let told: Value = serde_json::from_str(text).map_err(foreign)?;
    // its names are printed: what another program answers there must not be
    if !NAMES.contains(&told["link"].as_str().unwrap_or_default()) || !told["clock_ns"].is_u64() {
        return Err("what answers there is no sluiced".into());
    }
    if told["version"] != VERSION {
        return Err("a sluiced of another version answers there".into());
    }
    serde_json::from_value(told).map_err(foreign)
}

fn records(mut stream: impl Read + Write + AsFd) -> io::Result<String> {
    let end = Instant::now() + PATIENCE;
    stream.write_all(b"GET /records HTTP/1.0\r\n\r\n")?;
    let (mut answer, mut more) = (Vec::new(), [0; 1 << 16]);
    loop {
        wait(&stream, end)?;
        match stream.read(&mut more)? {
            0 => break,
            length => answer.extend_from_slice(&more[..length]),
        }
        if answer.len() > MOST_BYTES {
            return Err(io::Error::other("the answer has no end"));
        }
    }
    let answer = String::from_utf8(answer).map_err(io::Error::other)?;
    match answer.split_once("\r\n\r\n") {
        Some((_, body)) => Ok(body.to_owned()),
        None => Err(io::Error::other("the answer is no page")),
    }
}

/// Waits until something can be read.
fn wait(stream: impl AsFd, end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    let timeout = PollTimeout::try_from(left.as_millis() as u64).unwrap_or(PollTimeout::ZERO);
    match poll(
        &mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)],
        timeout,
    ) {
        Ok(0) => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no whole answer within {} s", PATIENCE.as_secs()),
        )),
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::server;

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
        let hub = server::serve(Endpoint::open(&address).unwrap(), None, false).unwrap();
        hub.pages().records = "{}\n".into();
        assert_eq!(ask(&address).unwrap(), "{}\n");
        let refused = Endpoint::open(&address).err().unwrap();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o666
        );
    }
}
