//! Writes what happens to the packets of a network run to a file during the run: as a trace of ns-2
//! with every packet on every link, or as a pcapng capture of the links that have a discipline.
//! Memory holds only the packets on their way.

mod flows;
mod frame;
mod ns2;
mod pcapng;
mod sorter;

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use sluice_network::{Event, Monitor, NetworkError, Plan, Replication, Trace, simulate_traced};

use flows::Flows;
use ns2::Ns2;
use pcapng::Pcapng;
use sorter::Sorter;

/// Why no trace was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TapError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] NetworkError),
    /// The file's suffix is not a known one.
    #[error("{} must end with .tr (ns-2's trace) or .pcapng", .0.display())]
    Suffix(PathBuf),
    /// The operating system reported an error.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// A file format.
trait Format: Sized {
    /// Writes the beginning of the file.
    fn begin(plan: &Plan, out: &mut impl Write) -> io::Result<Self>;

    /// True if the format records this event.
    fn wants(&self, event: &Event) -> bool;

    /// Writes an event; the times of events never decrease.
    fn write(&mut self, flows: &Flows, event: &Event, out: &mut impl Write) -> io::Result<()>;
}

/// Runs the first replication of `plan` and writes its packets to a file whose suffix, `.tr` or
/// `.pcapng`, gives the format. Returns `None` if the run was cancelled; the file then ends there.
///
/// # Errors
/// If the plan is invalid, or the file cannot be written; the run then ends at once.
pub fn record(
    plan: &Plan,
    path: &Path,
    control: &Monitor,
) -> Result<Option<Replication>, TapError> {
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("tr") => run::<Ns2>(plan, path, control),
        Some("pcapng") => run::<Pcapng>(plan, path, control),
        _ => Err(TapError::Suffix(path.into())),
    }
}

fn run<F: Format>(
    plan: &Plan,
    path: &Path,
    control: &Monitor,
) -> Result<Option<Replication>, TapError> {
    let mut tap = Tap::<F> {
        plan,
        path,
        control,
        order: Sorter::default(),
        file: None,
        failed: None,
    };
    let outcome = simulate_traced(plan, control, &mut tap)?;
    let end_ns = outcome.as_ref().map_or(0, |_| plan.duration_ns);
    tap.finish(end_ns).map_err(|source| TapError::Io {
        path: path.into(),
        source,
    })?;
    Ok(outcome)
}

/// Receives the events of the run.
struct Tap<'a, F> {
    plan: &'a Plan,
    path: &'a Path,
    control: &'a Monitor,
    order: Sorter,
    /// Set once the run has begun.
    file: Option<Open<F>>,
    failed: Option<io::Error>,
}

/// A file being written.
struct Open<F> {
    format: F,
    flows: Flows,
    out: BufWriter<File>,
}

impl<F: Format> Tap<'_, F> {
    /// Writes the events before `end_ns`.
    fn write_before(&mut self, end_ns: u64) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        while let Some(event) = self.order.next_before(end_ns) {
            file.format.write(&file.flows, &event, &mut file.out)?;
        }
        Ok(())
    }

    fn finish(mut self, end_ns: u64) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.write_before(end_ns)?;
        self.file.map_or(Ok(()), |mut file| file.out.flush())
    }

    /// Ends the run at the first error.
    fn check(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.failed = Some(error);
            self.file = None;
            self.control.cancel();
        }
    }
}

impl<F: Format> Trace for Tap<'_, F> {
    fn begin(&mut self, tcp_groups: &[u32], datagram_groups: &[u32]) {
        let open = || {
            let mut out = BufWriter::new(File::create(self.path)?);
            Ok(Open {
                format: F::begin(self.plan, &mut out)?,
                flows: Flows::new(self.plan, tcp_groups, datagram_groups),
                out,
            })
        };
        let opened = open().map(|file| self.file = Some(file));
        self.check(opened);
    }

    fn note(&mut self, now_ns: u64, event: Event) {
        if self
            .file
            .as_ref()
            .is_some_and(|file| file.format.wants(&event))
        {
            let written = self.write_before(now_ns);
            self.check(written);
            self.order.add(event);
        }
    }
}
