//! The kernel as the data plane.

use std::{
    io,
    os::fd::BorrowedFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use caps::Capability;
use sluice_aqm::Aqm;
use sluice_kernel::{Counts, Device, Installed, KINDS, KernelError, QdiscKind};

use super::{
    change, check, read,
    ready::{Ready, aqms, device, words},
    shadowed::{Shadowed, shadow_of},
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
    packet::{Held, flows::Flows},
    router::{
        data_plane::DataPlane,
        feed::Feed,
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
    let (feed, shadows) = shadow_of(options.shadow.as_deref(), &settings)?.unzip();
    let name = options.kernel.interface.as_deref();
    let device = device(name.expect("clap asks for it"))?;
    let kind = QdiscKind::named(&options.kernel.kind)?;
    check::refuse_what_is_left(&kind)?;
    check::refuse_what_stands(&device)?;
    let mut ready = Ready::new(&settings, &options.kernel.object, None)?;
    if feed.is_some() {
        // a shadow sees every packet
        ready.fixed.sampled = 1;
    }
    let maps_bytes = kind.maps_bytes(&ready.object, &ready.aqms, &ready.fixed)?;
    let plane = InKernel::start(kind, device, &settings, &ready)?.with_shadow(feed);
    let needs = Needs {
        capabilities: &[privileges::DECIDE, Capability::CAP_BPF],
        folder: Some(Path::new(KINDS)),
        read,
        memory: &|settings| memory::bound_in_kernel(settings, maps_bytes),
    };
    route(options, settings, (plane, shadows), &needs)
}

/// A qdisc of ours before an interface.
struct InKernel {
    kind: QdiscKind,
    installed: Installed,
    device: Device,
    index: i32,
    tc: Tc,
    settings: Settings,
    /// Whether the program can change the rate.
    varies: bool,
    /// The present rate, bits/s, and when it changes next, ns from the daemon's start on.
    rate_bps: u64,
    change_ns: Option<u64>,
    /// Start, by the kernel's monotonic clock.
    start_ns: u64,
    /// Packets that each sample stands for.
    sampled: u32,
    flows: Flows,
    /// Flows since the last query of the state.
    new_flows: Flows,
    unreadable: u64,
    shadow: Option<Shadowed>,
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
            &ready.aqms,
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
            rate_bps: settings.forward.rate_bps,
            varies: settings.forward.varying.is_some(),
            change_ns: settings.forward.service().map(|_| 0),
            start_ns,
            sampled: ready.fixed.sampled,
            flows: Flows::default(),
            new_flows: Flows::default(),
            unreadable: 0,
            shadow: None,
            has_ended: false,
            device,
        })
    }

    /// Passes the arrivals on to another discipline, too.
    fn with_shadow(mut self, feed: Option<Feed>) -> Self {
        self.shadow = feed.map(Shadowed::new);
        self
    }

    /// Releases all waiting packets at once, as far as the interface takes them.
    fn empty(&mut self) -> Result<(), KernelError> {
        let settings = words(&self.settings, AT_ONCE_BPS);
        let link = &self.settings.forward;
        self.installed
            .set(&aqms(link), link.in_lanes(), &settings)?;
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
        let mut ended = Ok(());
        if self.is_root() {
            ended = self.empty().map_err(io::Error::other);
            let removed = self.tc.remove(self.index, self.kind.name());
            // its interface may have gone meanwhile, and it with it
            if self.is_root() {
                ended = ended.and(removed);
            }
        }
        // the kind must go, whatever happened to the qdisc
        ended.and(self.kind.remove().map_err(io::Error::other))
    }

    /// True if the qdisc is at its interface, as far as the kernel says.
    fn is_root(&self) -> bool {
        let root = self.tc.root(self.index);
        root.is_ok_and(|root| root.is_some_and(|root| root.kind == self.kind.name()))
    }

    /// Gives the qdisc settings, with the rate at this time.
    fn set(&mut self, now_ns: u64, settings: &Settings) -> Result<(), KernelError> {
        let link = &settings.forward;
        let service = link.service();
        let rate_bps = service.map_or(link.rate_bps, |of| of.rate_bps(now_ns, link.rate_bps));
        let words = words(settings, rate_bps);
        self.installed.set(&aqms(link), link.in_lanes(), &words)?;
        self.rate_bps = rate_bps;
        self.change_ns = service.and_then(|of| of.next_change_ns(now_ns));
        self.settings = settings.clone();
        Ok(())
    }

    /// Takes the packets that were sampled since the last call: counts their flows, and passes them on to
    /// the shadow.
    fn take_samples(&mut self) -> Result<(), KernelError> {
        let Self {
            installed,
            sampled,
            new_flows,
            unreadable,
            shadow,
            ..
        } = self;
        installed.samples(|sample| {
            let read = sluice_capture::ip_packet(sample.data, sample.ip_bytes);
            if let Some(shadow) = shadow {
                shadow.arrive(
                    sample.now_ns,
                    Held::arriving(0, sample.bytes, read.as_ref()),
                );
            }
            match read {
                Some(mut packet) => {
                    packet.bytes = packet.bytes.saturating_mul(*sampled);
                    new_flows.add(&packet);
                }
                None => *unreadable += u64::from(*sampled),
            }
        })?;
        if let Some(shadow) = shadow {
            shadow.leave_out(installed.unsampled()?);
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<Snapshot, KernelError> {
        self.take_samples()?;
        let new_flows = std::mem::take(&mut self.new_flows);
        self.flows.merge(&new_flows);
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
            rate_bps: self.rate_bps,
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
            bands: None,
            wire: None,
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
        let shadow = self.shadow.as_ref();
        let shadow_ns = shadow.map(Shadowed::due_ns);
        shadow_ns.into_iter().chain(self.change_ns).min()
    }

    fn turn(&mut self, now_ns: impl Fn() -> u64) -> io::Result<bool> {
        let now_ns = now_ns();
        if self.change_ns.is_some_and(|due_ns| due_ns <= now_ns) {
            let settings = self.settings.clone();
            self.set(now_ns, &settings).map_err(io::Error::other)?;
        }
        if let Some(shadow) = &mut self.shadow
            && shadow.is_due(now_ns)?
        {
            self.take_samples().map_err(io::Error::other)?;
        }
        Ok(false)
    }

    fn change(&mut self, now_ns: u64, settings: &Settings) -> io::Result<Result<(), String>> {
        if let Err(what) = change::refuse(&self.settings.forward, &settings.forward, self.varies) {
            return Ok(Err(what));
        }
        let done = self.set(now_ns, settings);
        if done.is_ok() {
            self.take_samples().map_err(io::Error::other)?;
            if let Some(shadow) = &mut self.shadow {
                let now_ns = shadow.reach(now_ns);
                shadow.feed.change(now_ns, settings);
            }
        }
        Ok(done.map_err(|error| error.to_string()))
    }

    fn end(&mut self, _now_ns: u64) -> io::Result<()> {
        self.take_away()
    }

    fn snapshots(&mut self, now_ns: u64) -> io::Result<Vec<Snapshot>> {
        let snapshot = self.snapshot().map_err(io::Error::other)?;
        if let Some(shadow) = &mut self.shadow {
            let now_ns = shadow.reach(now_ns);
            shadow.feed.until(now_ns);
        }
        Ok(vec![snapshot])
    }
}

impl Drop for InKernel {
    /// Removes the qdisc, no matter what ended the gate.
    fn drop(&mut self) {
        self.take_away().ok();
    }
}
