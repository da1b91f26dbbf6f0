//! Reports while the router runs: a JSON line for each link and interval, and the counts in
//! Prometheus' text format. A thread of its own writes them, so that no file delays a packet.

use std::{
    fs::File,
    io::Write,
    path::Path,
    sync::{
        Mutex,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

use crate::{
    Failure,
    endpoint::{Endpoint, Pages},
    prometheus,
    router::Snapshot,
    say,
};

/// Records that may wait for the disk; further ones are left out until the disk catches up.
pub const WAITING: usize = 64;

/// Name and state of a link.
#[derive(Clone, Debug)]
pub struct Record {
    /// `forward` or `reverse`.
    pub link: &'static str,
    /// The kernel's monotonic clock at that moment, ns.
    pub clock_ns: u64,
    /// Its state.
    pub snapshot: Snapshot,
}

impl Record {
    /// Returns everything that is counted as JSON, times in ms.
    pub fn json(&self) -> Value {
        let Snapshot {
            qdisc,
            settings,
            shares,
            measures,
            live,
            losses,
            kernel,
            queue,
            aqm,
        } = &self.snapshot;
        let mut json = measures.json();
        json["link"] = json!(self.link);
        json["rate_bps"] = json!(settings.rate_bps);
        json["overhead_bytes"] = json!(settings.overhead_bytes);
        json["limit"] = json!(settings.buffer.limit);
        json["limit_bytes"] = json!(settings.buffer.limit_bytes);
        json["qdisc"] = json!(qdisc);
        json["discipline"] = json!(settings.discipline.name());
        json["flows"] = shares[0].json();
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
        json["kernel_held"] = json!(kernel.held);
        json["kernel_queue_drops"] = json!(kernel.queue_drops);
        json["kernel_buffer_drops"] = json!(kernel.buffer_drops);
        json
    }
}

/// Takes the router's records.
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
        let pages = endpoint.map(Endpoint::serve);
        let file = file.map(|(file, path)| (file, path.to_owned()));
        let writer = thread::spawn(move || {
            let mut file = file;
            let mut bytes = 0;
            write(&received, pages.as_deref(), |line| match &mut file {
                Some((file, path)) => match file.write_all(line.as_bytes()) {
                    Ok(()) => {
                        bytes += line.len() as u64;
                        Ok(())
                    }
                    Err(error) => {
                        // remove an incomplete line; this fails harmlessly if it is no regular file
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

    /// Passes records to the writer, without waiting.
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
            let mut json = record.json();
            let Snapshot { measures, live, .. } = &record.snapshot;
            let (interval, lateness) = match earlier.get(place) {
                Some(Record { snapshot, .. }) => (
                    measures.since(&snapshot.measures),
                    live.lateness.since(&snapshot.live.lateness),
                ),
                None => (measures.clone(), live.lateness.clone()),
            };
            json["interval"] = interval.json();
            json["interval"]["lateness_ms"] = lateness.json();
            json["interval"]["flows"] = record.snapshot.shares[1].json();
            for (name, pairs) in interval.distributions() {
                json["interval"][name] = pairs;
            }
            json["interval"]["lateness_distribution_ns"] = json!(lateness.counts());
            lines += &format!("{json}\n");
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
