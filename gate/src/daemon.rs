//! What every data plane has in common: it works until a signal, reports, and takes new settings.

use std::{
    fs::{self, File},
    io,
    os::fd::AsFd,
    path::Path,
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Instant,
};

use caps::Capability;
use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{prctl, signal::Signal, signalfd::SignalFd, time::TimeSpec},
    time::ClockId,
};

use crate::{
    Failure,
    cli::{Address, LinkOptions, RunOptions, Timer},
    machine::{fence, privileges, service::Service, signals::signals},
    memory::{self, Bound},
    print,
    router::{data_plane::DataPlane, feed::shadowed, snapshot::NAMES},
    say,
    settings::{Settings, SettingsError},
    shadow::Shadows,
    switch::{self, Switches},
    telemetry::{Telemetry, endpoint::Endpoint, record::Record, server, summary},
};

/// Longest wait between two checks for a finished reload, ns.
const CHECK_NS: u64 = 50_000_000;

/// Longest time to spin before a departure, ns.
const SPIN_NS: u64 = 60_000;

/// What routing needs from start to end.
pub(crate) struct Needs<'a> {
    /// Capabilities.
    pub capabilities: &'a [Capability],
    /// A folder that must stay writable.
    pub folder: Option<&'a Path>,
    /// Reads the settings again.
    pub read: fn(&LinkOptions) -> Result<Settings, SettingsError>,
    /// Returns the memory bound for some settings.
    pub memory: &'a dyn Fn(&Settings) -> Bound,
}

/// Routes packets until it is told to stop, with no more privileges than it needs.
pub(crate) fn route(
    options: &RunOptions,
    settings: Settings,
    (plane, shadows): (impl DataPlane, Option<Shadows>),
    needs: &Needs<'_>,
) -> Result<(), Failure> {
    let shadow = shadows.as_ref().map(|all| all.discipline().clone());
    let memory = |settings: &Settings| {
        let bound = (needs.memory)(settings);
        match &shadow {
            Some(discipline) => bound.with_shadow(&shadowed(settings, discipline)),
            None => bound,
        }
    };
    memory(&settings).fits()?;
    let signals = signals()?;
    if options.timer != Timer::Sleep {
        privileges::run_in_real_time()?;
    }
    let file = open(options.jsonl.as_deref())?;
    let summary_file = open(options.json.as_deref())?;
    let endpoint = options.metrics.as_ref().map(listen).transpose()?;
    let switcher = options.token.as_deref().map(switch::open).transpose()?;
    let (switcher, switches) = switcher.unzip();
    prctl::set_timerslack(1).map_err(|error| Failure(format!("timer slack: {error}")))?;
    privileges::drop_all_but(needs.capabilities)?;
    let fenced = fence::close(options.link.scenario.as_deref(), &settings, needs.folder)?;
    let start_clock_ns = clock_ns()?;
    let start = Instant::now();
    let refused = |error| Failure(format!("no thread for the endpoint: {error}"));
    let hub = endpoint.map(|endpoint| server::serve(endpoint, switcher, options.shadow.is_some()));
    let hub = hub.transpose().map_err(refused)?;
    if let (Some(shadows), Some(hub)) = (shadows, &hub) {
        let bound = memory::bound_of_shadow(shadows.links());
        announce(&format!("memory of the shadow: {bound}\n"));
        shadows
            .start(hub.clone(), start_clock_ns)
            .map_err(refused)?;
    }
    let telemetry = Telemetry::start(file, hub)?;
    let mut daemon = Daemon {
        plane,
        settings,
        options,
        signals,
        start,
        start_clock_ns,
        switches,
        reload: None,
        reload_again: false,
        read: needs.read,
        memory: &memory,
        telemetry,
        next_record_ns: 0,
        looked_ns: 0,
        rested_ns: 0,
        service: Service::default(),
        reported_wrong: None,
    };
    if !fenced {
        announce("this kernel has no Landlock: what files it opens is not restricted\n");
    }
    daemon.announce_start();
    let worked = daemon.work().map_err(gone);
    // report all counts so far, no matter what ended the router
    daemon.report_wrong();
    let records = match daemon.end().and_then(|()| daemon.records()) {
        Ok(records) => records,
        Err(error) => return worked.and(Err(gone(error))),
    };
    // as long as it owns the queue, packets arrive there that nobody handles
    drop(daemon.plane);
    daemon.telemetry.record(records.clone());
    let left_out = daemon.telemetry.left_out;
    let recorded = daemon.telemetry.finish();
    summary::report(&records, left_out, summary_file)?;
    worked.and(recorded)
}

struct Daemon<'a, P> {
    plane: P,
    settings: Settings,
    options: &'a RunOptions,
    signals: SignalFd,
    start: Instant,
    /// The kernel's monotonic clock at the start, ns.
    start_clock_ns: u64,
    /// Changes that somebody who knows the token asks for.
    switches: Option<Switches>,
    /// Settings that another thread is reading.
    reload: Option<Receiver<Result<Settings, String>>>,
    /// True if they must be read once more, because they may have changed meanwhile.
    reload_again: bool,
    read: fn(&LinkOptions) -> Result<Settings, SettingsError>,
    /// Returns the memory bound for some settings.
    memory: &'a dyn Fn(&Settings) -> Bound,
    telemetry: Telemetry,
    next_record_ns: u64,
    /// When it last decided whether to wait, ns; and the time that it has slept and may still spin,
    /// ns.
    looked_ns: u64,
    rested_ns: u64,
    service: Service,
    /// What a user's AQM was last told to do wrong.
    reported_wrong: Option<String>,
}

impl<P: DataPlane> Daemon<'_, P> {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn announce_start(&self) {
        for (place, link) in self.settings.links().into_iter().enumerate() {
            let source = self.plane.source(place);
            announce(&format!(
                "{}, {source}: {}\n",
                NAMES[place],
                link.describe()
            ));
        }
        let memory = (self.memory)(&self.settings);
        if let Some(Address::Tcp(address)) = &self.options.metrics {
            announce(&format!("live page: http://{address}/\n"));
        }
        announce(&format!("memory: {memory}\nready\n"));
        self.service.ready();
    }

    /// Routes until a signal tells it to stop.
    fn work(&mut self) -> io::Result<()> {
        loop {
            let start = self.start;
            let more = self.plane.turn(|| start.elapsed().as_nanos() as u64)?;
            let now_ns = self.now_ns();
            if now_ns >= self.next_record_ns {
                let records = self.records()?;
                self.telemetry.record(records);
                self.report_wrong();
                let interval_ns = (self.options.interval * 1e9) as u64;
                self.next_record_ns = now_ns - now_ns % interval_ns + interval_ns;
            }
            self.service.alive(now_ns);
            self.take_reload()?;
            self.take_switch()?;
            while let Some(signal) = self.signals.read_signal()? {
                match Signal::try_from(signal.ssi_signo as i32)? {
                    Signal::SIGHUP => self.start_reload(),
                    _ => return Ok(()),
                }
            }
            if !more {
                self.wait()?;
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.service.ends();
        let now_ns = self.now_ns();
        self.plane.end(now_ns)
    }

    /// Sleeps until a packet or a signal arrives, or until something is due.
    fn wait(&mut self) -> io::Result<()> {
        let mut due_ns = self
            .next_record_ns
            .min(self.service.due_ns())
            .min(self.plane.due_ns().unwrap_or(u64::MAX));
        let now_ns = self.now_ns();
        if self.reload.is_some() {
            due_ns = due_ns.min(now_ns + CHECK_NS);
        }
        let Some(mut ns @ 1..) = due_ns.checked_sub(now_ns) else {
            return Ok(());
        };
        if self.options.timer == Timer::Spin {
            if self.may_spin(now_ns, ns) {
                return Ok(());
            }
            ns = ns.checked_sub(SPIN_NS).filter(|ns| *ns > 0).unwrap_or(ns);
        }
        let mut descriptors = self.plane.descriptors();
        descriptors.push(self.signals.as_fd());
        descriptors.extend(self.switches.as_ref().map(AsFd::as_fd));
        let mut watched: Vec<PollFd<'_>> = descriptors
            .into_iter()
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .collect();
        let timeout = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        match ppoll(&mut watched, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.looked_ns = self.now_ns();
        self.rested_ns = SPIN_NS.min(self.rested_ns + self.looked_ns - now_ns);
        Ok(())
    }

    /// True if it may spin until the next event, `ns` from now. It spins no longer than it has
    /// slept before: the kernel stops a real-time process that never sleeps, for tens of ms.
    fn may_spin(&mut self, now_ns: u64, ns: u64) -> bool {
        let since_ns = now_ns - std::mem::replace(&mut self.looked_ns, now_ns);
        if ns > SPIN_NS || self.rested_ns == 0 {
            return false;
        }
        self.rested_ns = self.rested_ns.saturating_sub(since_ns);
        true
    }

    /// Tells what a user's AQM does wrong, once. Packets are not harmed: it sees a copy of its view,
    /// and what is no verdict admits the packet.
    fn report_wrong(&mut self) {
        let wrong = self.settings.wrong();
        if let Some(what) = wrong.as_ref().filter(|_| wrong != self.reported_wrong) {
            let told = format!("{what}; other worlds refuse such a run");
            say(&told);
            self.service.status(&told);
            self.reported_wrong = wrong;
        }
    }

    fn records(&mut self) -> io::Result<Vec<Record>> {
        let now_ns = self.now_ns();
        let snapshots = self.plane.snapshots(now_ns)?.into_iter().enumerate();
        let records = snapshots
            .map(|(link, snapshot)| Record {
                link: NAMES[link],
                clock_ns: self.start_clock_ns + now_ns,
                snapshot,
            })
            .collect();
        Ok(records)
    }

    /// Reads the settings again in another thread, because an AQM may have to be compiled. There is
    /// only one such thread, however often it is asked for.
    fn start_reload(&mut self) {
        let Some(scenario) = self.options.link.scenario.clone() else {
            say("nothing to reload: it was started without --scenario, and options take a restart");
            return;
        };
        if self.reload.is_some() {
            self.reload_again = true;
            return;
        }
        let (sender, receiver) = channel();
        let link = self.options.link.clone();
        let read = self.read;
        let work = move || {
            // a compiler inherits it, too
            privileges::give_way();
            let read = refuse_pipe(&scenario)
                .and_then(|()| read(&link))
                .map_err(|error| error.to_string());
            // nobody receives it if the daemon has ended
            sender.send(read).ok();
        };
        match thread::Builder::new().spawn(work) {
            Ok(_) => self.reload = Some(receiver),
            Err(error) => self.keep_settings(&format!("no thread to read others: {error}")),
        }
    }

    /// Applies settings that have been read, if there are any and they are valid.
    fn take_reload(&mut self) -> io::Result<()> {
        let Some(receiver) = &self.reload else {
            return Ok(());
        };
        let settings = match receiver.try_recv() {
            Err(TryRecvError::Empty) => return Ok(()),
            Err(TryRecvError::Disconnected) => Err("reading them failed".to_owned()),
            Ok(read) => read,
        };
        self.reload = None;
        if std::mem::take(&mut self.reload_again) {
            self.start_reload();
        }
        let refused = match settings {
            Err(what) => what,
            Ok(settings) => {
                let now_ns = self.now_ns();
                let may_become = self.settings.can_become(&settings).map_err(str::to_owned);
                let changed = match may_become.and_then(|()| self.fits(&settings)) {
                    Err(what) => Err(what),
                    Ok(()) => self.plane.change(now_ns, &settings)?,
                };
                match changed {
                    Err(what) => what,
                    Ok(()) => {
                        self.settings = settings;
                        for (name, link) in NAMES.iter().zip(self.settings.links()) {
                            say(&format!("reloaded: {name}: {}", link.describe()));
                        }
                        self.service.status("reloaded");
                        let memory = (self.memory)(&self.settings);
                        say(&format!(
                            "memory: {memory}, besides the packets that waited as it was reloaded"
                        ));
                        return Ok(());
                    }
                }
            }
        };
        self.keep_settings(&refused);
        Ok(())
    }

    /// Refuses settings for which there is too little memory.
    fn fits(&self, settings: &Settings) -> Result<(), String> {
        (self.memory)(settings).fits().map_err(|Failure(what)| what)
    }

    /// Puts a link under the discipline that somebody chose on the live page. The next reload puts it
    /// under that of the scenario again.
    fn take_switch(&mut self) -> io::Result<()> {
        while let Some(switch) = self.switches.as_mut().and_then(Switches::take) {
            let name = NAMES[switch.link];
            let settings = self.settings.with(switch.link, switch.discipline);
            let fits = |settings| self.fits(&settings).map(|()| settings);
            let changed = match settings.and_then(fits) {
                Err(what) => Err(what),
                Ok(settings) => {
                    let changed = self.plane.change(self.now_ns(), &settings)?;
                    changed.map(|()| self.settings = settings)
                }
            };
            let told = match changed {
                Ok(()) => format!("{name}: {}", self.settings.links()[switch.link].describe()),
                Err(what) => format!("{name}: the old discipline stays in force: {what}"),
            };
            say(&format!("by the live page: {told}"));
            self.service.status(&told);
            self.telemetry.show(&told);
        }
        Ok(())
    }

    fn keep_settings(&self, why: &str) {
        let told = format!("the old settings stay in force: {why}");
        say(&told);
        self.service.status(&told);
    }
}

/// Refuses a scenario that is a pipe or a device: nobody may ever write to it.
fn refuse_pipe(scenario: &Path) -> Result<(), SettingsError> {
    match fs::metadata(scenario) {
        Ok(file) if !file.is_file() => Err(SettingsError(format!(
            "{}: must be a regular file to be read again",
            scenario.display()
        ))),
        // that it is not there is told by whoever reads it
        _ => Ok(()),
    }
}

/// Prints on stdout. An error is ignored: a full disk is no reason to route no packets.
pub(crate) fn announce(text: &str) {
    print(text).ok();
}

/// Returns the kernel's monotonic clock, ns, which other programs read as well.
pub(crate) fn clock_ns() -> Result<u64, Failure> {
    let now = ClockId::CLOCK_MONOTONIC.now();
    let now = now.map_err(|error| Failure(format!("no clock: {error}")))?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn open(path: Option<&Path>) -> Result<Option<(File, &Path)>, Failure> {
    path.map(|path| {
        let file = File::create(path).map_err(|error| Failure::writing(path, &error))?;
        Ok((file, path))
    })
    .transpose()
}

pub(crate) fn gone(error: io::Error) -> Failure {
    Failure(format!("no more packets can come: {error}"))
}

fn listen(address: &Address) -> Result<Endpoint, Failure> {
    Endpoint::open(address).map_err(|error| Failure(format!("--metrics {address}: {error}")))
}
