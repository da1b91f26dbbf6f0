//! The kernel as the data plane.

use std::{
    io,
    os::fd::BorrowedFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use caps::Capability;
use sluice_aqm::{Aqm, Scheduler};
use sluice_kernel::{Counts, Device, Installed, KINDS, KernelError, QdiscKind, SAMPLED};

use super::{
    check, read,
    ready::{Ready, aqm_of, device, words},
    tc::Tc,
};
use crate::{
    Failure,
    backends::{Counts as KernelCounts, Losses},
    cli::RunOptions,
    daemon::{Needs, clock_ns, route},
    machine::privileges,
    measures::{Measures, Times},
    memory,
    packet::flows::Flows,
    router::{
        data_plane::DataPlane,
        snapshot::{Live, Snapshot},
    },
    settings::Settings,
};

/// Rate of a qdisc that is about to be removed, bits/s.
const AT_ONCE_BPS: u64 = 1 << 62;
/// Longest wait until such a qdisc is empty.
const PATIENCE: Duration = Duration::from_secs(1);

/// Runs the command.
///
/// # Errors
/// If the settings are refused, if something that it needs is missing, or if someone else removes
/// the qdisc.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let settings = read(&options.link)?;
    let name = options.kernel.interface.as_deref();
    let device = device(name.expect("clap asks for it"))?;
    let kind = QdiscKind::named(&options.kernel.kind)?;
    check::refuse_what_is_left(&kind)?;
    check::refuse_what_stands(&device)?;
    let ready = Ready::new(&settings, &options.kernel.object, None)?;
    let maps_bytes = kind.maps_bytes(&ready.object, &ready.aqm, &ready.fixed)?;
    let plane = InKernel::start(kind, device, &settings, &ready)?;
    let needs = Needs {
        capabilities: &[privileges::DECIDE, Capability::CAP_BPF],
        folder: Some(Path::new(KINDS)),
        read,
        memory: &|settings| memory::bound_in_kernel(settings, maps_bytes),
    };
    route(options, settings, (plane, None), &needs)
}

/// A qdisc of ours before an interface.
struct InKernel {
    kind: QdiscKind,
    installed: Installed,
    device: Device,
    index: i32,
    tc: Tc,
    settings: Settings,
    /// Start, by the kernel's monotonic clock.
    start_ns: u64,
    flows: Flows,
    unreadable: u64,
    has_ended: bool,
}

impl InKernel {
    /// Installs the kind in the kernel, and sets it at the interface.
    fn start(
        kind: QdiscKind,
        device: Device,
        settings: &Settings,
        ready: &Ready,
    ) -> Result<Self, Failure> {
        let lost = |error: io::Error| Failure(format!("{device}: {error}"));
        let index = device.index().map_err(lost)?;
        let tc = Tc::of(&device).map_err(lost)?;
        let start_ns = clock_ns()?;
        let installed = kind.install(
            &ready.object,
            &ready.aqm,
            ready.scheduler.as_ref(),
            &ready.settings,
            &ready.fixed,
        )?;
        if let Err(error) = tc.add(index, kind.name()) {
            kind.remove()?;
            return Err(Failure(match error.kind() {
                io::ErrorKind::AlreadyExists => format!("{device} has got a qdisc meanwhile"),
                _ => format!("no qdisc can be put before {device}: {error}"),
            }));
        }
        Ok(Self {
            kind,
            installed,
            index,
            tc,
            settings: settings.clone(),
            start_ns,
            flows: Flows::default(),
            unreadable: 0,
            has_ended: false,
            device,
        })
    }

    /// Releases all waiting packets at once, as far as the interface takes them.
    fn empty(&mut self) -> Result<(), KernelError> {
        let mut settings = words(&self.settings);
        settings.rate_bps = AT_ONCE_BPS;
        let link = &self.settings.forward;
        self.installed
            .set(&link.under.aqm, link.in_lanes(), &settings)?;
        let begin = Instant::now();
        loop {
            let snapshot = self.installed.snapshot(0)?;
            let is_empty = snapshot.counts.waiting().0 == 0;
            if is_empty || !snapshot.is_used || begin.elapsed() > PATIENCE {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Removes the qdisc and its kind.
    fn take_away(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        // it is no further error if the qdisc or its interface is already gone
        if self
            .tc
            .root(self.index)
            .is_ok_and(|root| root.is_some_and(|root| root.kind == self.kind.name()))
        {
            self.empty().map_err(io::Error::other)?;
            self.tc.remove(self.index, self.kind.name())?;
        }
        self.kind.remove().map_err(io::Error::other)
    }

    /// Counts flows from samples, each of which represents `SAMPLED` packets. Returns the counts
    /// since the last call.
    fn new_flows(&mut self) -> Result<Flows, KernelError> {
        let (mut flows, mut unreadable) = (Flows::default(), 0);
        self.installed
            .samples(|bytes, data| match sluice_capture::ip_packet(data, bytes) {
                Some(mut packet) => {
                    packet.bytes = packet.bytes.saturating_mul(SAMPLED);
                    flows.add(&packet);
                }
                None => unreadable += u64::from(SAMPLED),
            })?;
        self.unreadable += unreadable;
        self.flows.merge(&flows);
        Ok(flows)
    }

    fn snapshot(&mut self) -> Result<Snapshot, KernelError> {
        let new_flows = self.new_flows()?;
        let now = clock_ns().map_err(|failure| KernelError::Missing(failure.0))?;
        let found = self.installed.snapshot(0)?;
        if !found.is_used && !self.has_ended {
            return Err(KernelError::Missing(format!(
                "the qdisc before {} has been taken away, or the interface has",
                self.device
            )));
        }
        let counts = &found.counts;
        let [sojourns, delays, latenesses] = &found.times;
        let (waiting, waiting_bytes) = counts.waiting();
        let mut measures = Measures {
            sojourn: Times::of(sojourns, counts.sojourn_ns),
            delay: Times::of(delays, counts.delay_ns),
            ..self.measures(counts, found.lengths_ns)
        };
        measures.hold(
            (now - self.start_ns).max(measures.until_ns),
            waiting as usize,
        );
        Ok(Snapshot {
            qdisc: Some(self.kind.name().to_owned()),
            rate_bps: self.settings.forward.rate_bps,
            settings: self.settings.forward.clone(),
            shares: [self.flows.shares(), new_flows.shares()],
            live: Live {
                lateness: Times::of(latenesses, counts.lateness_ns),
                released: counts.sent,
                unreadable: self.unreadable,
                unmarkable: self.installed.marked()?.1,
                left_at_end: counts.left,
                ..Live::default()
            },
            measures,
            losses: Losses::default(),
            // no packet is handed over to the gate, so none is lost on the way
            kernel: KernelCounts {
                held: None,
                queue_drops: Some(0),
                buffer_drops: Some(0),
            },
            queue: (waiting as usize, waiting_bytes),
            aqm: found
                .aqm
                .map_or((None, None), |aqm| (aqm.average(), aqm.probability())),
        })
    }

    /// Returns the counts, without times. Before the qdisc existed no packet waited.
    fn measures(&self, counts: &Counts, lengths_ns: Vec<u64>) -> Measures {
        let mut queue_ns = lengths_ns;
        let before_ns = counts.begun_ns - self.start_ns;
        queue_ns[0] += before_ns;
        Measures {
            until_ns: queue_ns.iter().sum(),
            arrivals: counts.arrivals,
            arrived_bytes: counts.arrived_bytes,
            sent: counts.sent,
            sent_bytes: counts.sent_bytes,
            verdicts: counts.verdicts,
            queue_max: queue_ns.iter().rposition(|ns| *ns > 0).unwrap_or(0) as u64,
            queue_ns,
            ..Measures::default()
        }
    }
}

impl DataPlane for InKernel {
    fn source(&self, _link: usize) -> String {
        format!("qdisc {} before {}", self.kind.name(), self.device)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn due_ns(&self) -> Option<u64> {
        None
    }

    fn turn(&mut self, _now_ns: impl Fn() -> u64) -> io::Result<bool> {
        Ok(false)
    }

    fn change(&mut self, _now_ns: u64, settings: &Settings) -> io::Result<Result<(), String>> {
        let (old, new) = (&self.settings.forward, &settings.forward);
        if aqm_of(old) != aqm_of(new) {
            return Ok(Err(format!(
                "the AQM cannot change while its qdisc is at work: it is {}, and end sluiced before \
                 it is {}",
                aqm_of(old),
                aqm_of(new)
            )));
        }
        let scheduler = new.in_lanes();
        let [was, would_be] = [old.in_lanes(), scheduler]
            .map(|of| of.map(|of| (&of.class().name, Scheduler::lanes_of(of))));
        if was != would_be {
            return Ok(Err(
                "the scheduler and the number of its queues cannot change while its qdisc is at work"
                    .into(),
            ));
        }
        let done = self
            .installed
            .set(&new.under.aqm, scheduler, &words(settings));
        if done.is_ok() {
            self.settings = settings.clone();
        }
        Ok(done.map_err(|error| error.to_string()))
    }

    fn end(&mut self, _now_ns: u64) -> io::Result<()> {
        self.take_away()
    }

    fn snapshots(&mut self, _now_ns: u64) -> io::Result<Vec<Snapshot>> {
        Ok(vec![self.snapshot().map_err(io::Error::other)?])
    }
}

impl Drop for InKernel {
    /// Removes the qdisc, no matter what ended the gate.
    fn drop(&mut self) {
        self.take_away().ok();
    }
}
