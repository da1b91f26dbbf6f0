//! Reports while the router runs: a JSON line for each link and interval, and the counts in
//! Prometheus' text format. A thread of its own writes them, so that no file delays a packet.

pub mod endpoint;
pub mod hub;
mod live;
mod prometheus;
pub mod record;
mod request;
pub mod seen;
pub mod server;
pub(crate) mod summary;

use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use sluice_queue::LineFile;

use self::{hub::Hub, record::Record, seen::Seen};
use crate::{Failure, machine::privileges, say};

/// Records that may wait for the disk; further ones are left out until the disk catches up.
pub const WAITING: usize = 64;
/// Longest wait for the disk at the end.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// What the writer gets.
enum Message {
    Records(Vec<Record>),
    /// A text for the viewers of the live page.
    Text(String),
}

/// Takes the router's records.
pub struct Telemetry {
    messages: SyncSender<Message>,
    /// Tells once, as the writer ends.
    ended: Receiver<Result<(), Failure>>,
    /// Records that were left out because the disk was slow.
    pub left_out: u64,
}

impl Telemetry {
    /// Starts to write to `file`, and for the endpoint's `hub`, as far as they are given.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub fn start(file: Option<(File, &Path)>, hub: Option<Arc<Hub>>) -> Result<Self, Failure> {
        let refused = |error| Failure(format!("no thread for the telemetry: {error}"));
        let (messages, received) = sync_channel(WAITING);
        let (end, ended) = sync_channel(1);
        let mut file = file.map(|(file, path)| (LineFile::new(file), path.to_owned()));
        let work = move || {
            privileges::step_back();
            let written = write(&received, hub.as_deref(), |line| match &mut file {
                Some((file, path)) => file
                    .write_all(line.as_bytes())
                    .and_then(|()| file.flush())
                    .map_err(|error| Failure::writing(path, &error)),
                None => Ok(()),
            });
            // nobody waits for it any more
            end.send(written).ok();
        };
        thread::Builder::new().spawn(work).map_err(refused)?;
        Ok(Self {
            messages,
            ended,
            left_out: 0,
        })
    }

    /// Passes records to the writer, without waiting.
    pub fn record(&mut self, records: Vec<Record>) {
        if let Err(TrySendError::Full(_)) = self.messages.try_send(Message::Records(records)) {
            self.left_out += 1;
        }
    }

    /// Shows a message to the viewers of the live page, without waiting.
    pub fn show(&self, text: &str) {
        self.messages.try_send(Message::Text(text.to_owned())).ok();
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// If the file could not be written, or not in time.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.messages);
        self.ended.recv_timeout(LAST_WAIT).unwrap_or_else(|_| {
            Err(Failure(format!(
                "--jsonl: the last records are left out: the file took none for {} s, as a pipe \
                 does that nobody reads",
                LAST_WAIT.as_secs()
            )))
        })
    }
}

/// Writes all records; after an error of the file it updates only the endpoint.
fn write(
    received: &Receiver<Message>,
    hub: Option<&Hub>,
    mut to_file: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut earlier: Vec<Record> = Vec::new();
    let mut seen: Vec<Record> = Vec::new();
    let mut written = Ok(());
    for message in received {
        let records = match message {
            Message::Records(records) => records,
            Message::Text(text) => {
                hub.inspect(|hub| hub.publish("told", &text));
                continue;
            }
        };
        let mut lines = String::new();
        for (place, record) in records.iter().enumerate() {
            let line = record.line(earlier.get(place));
            lines += &serde_json::to_string(&line).expect("numbers and texts");
            lines.push('\n');
        }
        if written.is_ok() {
            written = to_file(&lines);
            if let Err(failure) = &written {
                say(&format!("{failure}; no more is recorded"));
            }
        }
        if let Some(hub) = hub {
            let metrics = prometheus::page(&records);
            let mut pages = hub.pages();
            (pages.metrics, pages.records) = (metrics, lines);
            drop(pages);
            if (seen.first()).is_none_or(|seen| Hub::is_time(records[0].clock_ns, seen.clock_ns)) {
                let of = |(place, record)| Seen::of(record, seen.get(place));
                hub.publish(
                    "seen",
                    &records.iter().enumerate().map(of).collect::<Vec<_>>(),
                );
                seen.clone_from(&records);
            }
        }
        earlier = records;
    }
    written
}
