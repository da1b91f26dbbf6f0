//! Reports while the router runs: a JSON line for each link and interval, and the counts in
//! Prometheus' text format. A thread of its own writes them, so that no file delays a packet.

pub mod endpoint;
mod prometheus;
pub mod record;
mod server;
pub(crate) mod summary;

use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Mutex,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::Duration,
};

use sluice_queue::LineFile;

use self::{endpoint::Endpoint, record::Record, server::Pages};
use crate::{Failure, say};

/// Records that may wait for the disk; further ones are left out until the disk catches up.
pub const WAITING: usize = 64;
/// Longest wait for the disk at the end.
const LAST_WAIT: Duration = Duration::from_secs(3);

/// Takes the router's records.
pub struct Telemetry {
    records: SyncSender<Vec<Record>>,
    /// Tells once, as the writer ends.
    ended: Receiver<Result<(), Failure>>,
    /// Records that were left out because the disk was slow.
    pub left_out: u64,
}

impl Telemetry {
    /// Starts to write to `file`, and to answer at `endpoint`, as far as they are given.
    ///
    /// # Errors
    /// If there can be no threads for it.
    pub fn start(file: Option<(File, &Path)>, endpoint: Option<Endpoint>) -> Result<Self, Failure> {
        let refused = |error| Failure(format!("no thread for the telemetry: {error}"));
        let (records, received) = sync_channel(WAITING);
        let (end, ended) = sync_channel(1);
        let pages = endpoint.map(server::serve).transpose().map_err(refused)?;
        let mut file = file.map(|(file, path)| (LineFile::new(file), path.to_owned()));
        let work = move || {
            let written = write(&received, pages.as_deref(), |line| match &mut file {
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
            records,
            ended,
            left_out: 0,
        })
    }

    /// Passes records to the writer, without waiting.
    pub fn record(&mut self, records: Vec<Record>) {
        if let Err(TrySendError::Full(_)) = self.records.try_send(records) {
            self.left_out += 1;
        }
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// If the file could not be written, or not in time.
    pub fn finish(self) -> Result<(), Failure> {
        drop(self.records);
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
    received: &Receiver<Vec<Record>>,
    pages: Option<&Mutex<Pages>>,
    mut to_file: impl FnMut(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut earlier: Vec<Record> = Vec::new();
    let mut written = Ok(());
    for records in received {
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
        if let Some(pages) = pages {
            *pages.lock().expect("nobody panics with it") = Pages {
                metrics: prometheus::page(&records),
                records: lines,
            };
        }
        earlier = records;
    }
    written
}
