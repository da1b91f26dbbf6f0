//! What is told while the router runs: a JSON line for each link and interval, and the counts in
//! Prometheus' text format. A thread of its own does it, so that no file holds up a packet.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{IpAddr, TcpListener},
    os::unix::net::UnixListener,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Failure, nfqueue::kernel_drops, prometheus, router::Standing, say};

/// Records that wait for the disk; later ones are left out until it comes along.
const WAITING: usize = 64;
/// A reader of the endpoint that takes longer than this is let go.
const PATIENCE: Duration = Duration::from_secs(1);

/// A link, as it is called and as it stands.
#[derive(Clone, Debug)]
pub struct Record {
    /// `forward` or `reverse`.
    pub link: &'static str,
    /// The kernel's monotonic clock at that moment.
    pub clock_ns: u64,
    /// How it stands.
    pub standing: Standing,
    /// Packets that found the kernel's queue full, and those for which the receive buffer had no
    /// room, as the kernel counts them.
    pub kernel_drops: [u64; 2],
}

impl Record {
    /// Asks the kernel what it dropped of its queue of that number.
    pub fn new(link: &'static str, queue: u16, clock_ns: u64, standing: Standing) -> Self {
        Self {
            link,
            clock_ns,
            standing,
            kernel_drops: kernel_drops(queue).unwrap_or_default(),
        }
    }

    /// Everything that is counted, times in ms.
    pub fn json(&self) -> Value {
        let Standing {
            measures,
            live,
            losses,
            queue,
            aqm,
        } = &self.standing;
        let mut json = measures.json();
        json["link"] = json!(self.link);
        json["clock_ns"] = json!(self.clock_ns);
        json["queue_packets"] = json!(queue.0);
        json["queue_bytes"] = json!(queue.1);
        json["average_queue"] = json!(aqm.0);
        json["drop_probability"] = json!(aqm.1);
        json["released"] = json!(live.released);
        json["left_at_end"] = json!(live.left_at_end);
        json["lateness_ms"] = live.lateness.json();
        json["unreadable"] = json!(live.unreadable);
        json["unmarkable"] = json!(live.unmarkable);
        json["id_gaps"] = json!(losses.id_gaps);
        json["overruns"] = json!(losses.overruns);
        json["refused_verdicts"] = json!(losses.refused);
        json["kernel_queue_drops"] = json!(self.kernel_drops[0]);
        json["kernel_buffer_drops"] = json!(self.kernel_drops[1]);
        json
    }
}

/// Where the router hands its records in.
pub struct Telemetry {
    records: SyncSender<Vec<Record>>,
    writer: JoinHandle<Result<(), Failure>>,
    /// Records that were left out because the disk was slow.
    pub left_out: u64,
}

impl Telemetry {
    /// Starts to write to `file`, and to answer at `endpoint`, as far as they are given.
    pub fn start(file: Option<(File, &Path)>, endpoint: Option<Endpoint>) -> Self {
        let (records, received) = sync_channel(WAITING);
        let page = endpoint.map(|endpoint| {
            let page = Arc::new(Mutex::new(String::new()));
            let shown = Arc::clone(&page);
            thread::spawn(move || endpoint.serve(&shown));
            page
        });
        let file = file.map(|(file, path)| (file, path.to_owned()));
        let writer = thread::spawn(move || {
            let mut file = file;
            let mut bytes = 0;
            write(&received, page.as_deref(), |line| match &mut file {
                Some((file, path)) => match file.write_all(line.as_bytes()) {
                    Ok(()) => {
                        bytes += line.len() as u64;
                        Ok(())
                    }
                    Err(error) => {
                        // no half of a line; what is no file cannot be shortened
                        file.set_len(bytes).ok();
                        Err(Failure::writing(path, &error))
                    }
                },
                None => Ok(()),
            })
        });
        Self {
            records,
            writer,
            left_out: 0,
        }
    }

    /// Hands in how the links stand; does not wait.
    pub fn record(&mut self, records: Vec<Record>) {
        if let Err(TrySendError::Full(_)) = self.records.try_send(records) {
            self.left_out += 1;
        }
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.records);
        self.writer.join().expect("the writer does not panic")
    }
}

/// Writes all records; after an error only the endpoint goes on.
fn write(
    received: &Receiver<Vec<Record>>,
    page: Option<&Mutex<String>>,
    mut to_file: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut earlier: Vec<Record> = Vec::new();
    let mut written = Ok(());
    for records in received {
        for (place, record) in records.iter().enumerate() {
            let mut json = record.json();
            let now = &record.standing.measures;
            let interval = match earlier.get(place) {
                Some(before) => now.since(&before.standing.measures),
                None => now.clone(),
            };
            json["interval"] = interval.json();
            for (name, pairs) in interval.distributions() {
                json["interval"][name] = pairs;
            }
            if written.is_ok() {
                written = to_file(&format!("{json}\n"));
                if let Err(failure) = &written {
                    say(&format!("{failure}; no more is recorded"));
                }
            }
        }
        if let Some(page) = page {
            *page.lock().expect("nobody panics with it") = prometheus::page(&records);
        }
        earlier = records;
    }
    written
}

/// Where Prometheus asks.
pub enum Endpoint {
    /// On loopback.
    Tcp(TcpListener),
    /// A socket in the file system.
    Unix(UnixListener),
}

impl Endpoint {
    /// Opens `unix:PATH` or `ADDRESS:PORT`, an address of this machine only.
    ///
    /// # Errors
    /// If it is none, or cannot be had.
    pub fn open(text: &str) -> Result<Self, Failure> {
        let refuse = |error: io::Error| Failure(format!("--metrics {text}: {error}"));
        if let Some(path) = text.strip_prefix("unix:") {
            return UnixListener::bind(path).map(Self::Unix).map_err(refuse);
        }
        let address = text.rsplit_once(':').and_then(|(host, port)| {
            let host: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
            Some((host, port.parse::<u16>().ok()?))
        });
        match address {
            Some((host, port)) if host.is_loopback() => TcpListener::bind((host, port))
                .map(Self::Tcp)
                .map_err(refuse),
            _ => Err(Failure(format!(
                "--metrics {text} must be 127.0.0.1:PORT, [::1]:PORT or unix:PATH: whoever reads it \
                 from elsewhere goes through a server that checks who asks"
            ))),
        }
    }

    /// Answers whoever asks with the page.
    fn serve(self, page: &Mutex<String>) {
        loop {
            let done = match &self {
                Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    answer(stream, page)
                }),
                Self::Unix(listener) => listener.accept().and_then(|(stream, _)| {
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    answer(stream, page)
                }),
            };
            // who asked has gone, or asks too slowly: the next one may not
            drop(done);
        }
    }
}

fn answer(mut stream: impl Read + Write, page: &Mutex<String>) -> io::Result<()> {
    // whatever is asked, there is one page
    let _asked = stream.read(&mut [0; 4096])?;
    let page = page.lock().expect("nobody panics with it").clone();
    write!(
        stream,
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n{page}",
        page.len()
    )
}
