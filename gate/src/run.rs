//! `sluiced run`: the router, from its start to its end.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsFd,
    path::Path,
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Instant,
};

use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        prctl,
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
        time::TimeSpec,
    },
    time::ClockId,
};
use serde_json::Value;

use crate::{
    Failure,
    backend::{Backend, Fate},
    cli::RunOptions,
    endpoint::{Address, Endpoint},
    fence, memory,
    nfqueue::{Counters, ENOUGH_BUFFER_BYTES, Fail, Nfqueue},
    privileges,
    router::Router,
    service::Service,
    settings::Settings,
    summary,
    telemetry::{Record, Telemetry},
};

/// What links are called, in their order.
pub const NAMES: [&str; 2] = ["forward", "reverse"];

/// How long a reload may be waited for without a look, ns.
const LOOK_NS: u64 = 50_000_000;

/// The command: routes until SIGINT or SIGTERM.
///
/// # Errors
/// If the settings are refused, if something is missing that it takes, or if the kernel gives no
/// more packets.
pub fn run(options: &RunOptions) -> Result<(), Failure> {
    let settings = Settings::read(&options.link)?;
    if !privileges::may_decide() {
        return Err(Failure(
            "sluiced run takes the capability CAP_NET_ADMIN: run it as root, or give it to the \
             program: setcap cap_net_admin+ep sluiced"
                .into(),
        ));
    }
    let signals = signals()?;
    let held: Vec<u32> = settings
        .links()
        .iter()
        .map(|link| link.buffer.limit)
        .collect();
    let nfqueue = Nfqueue::open(options.queue, &held, options.fail)?;
    if options.realtime {
        privileges::run_in_real_time()?;
    }
    let file = open(options.jsonl.as_deref())?;
    let summary_file = open(options.json.as_deref())?;
    let counters = Counters::open();
    let endpoint = options.metrics.as_ref().map(listen).transpose()?;
    prctl::set_timerslack(1).map_err(|error| Failure(format!("timer slack: {error}")))?;
    privileges::drop_all_but_needed()?;
    let fenced = fence::close(options.link.scenario.as_deref(), &settings)?;
    let telemetry = Telemetry::start(file, endpoint);
    let gone = |error: io::Error| Failure(format!("the kernel's queue: {error}"));
    let mut daemon = Daemon {
        router: Router::new(nfqueue, &settings).map_err(gone)?,
        settings,
        options,
        signals,
        start: Instant::now(),
        start_clock_ns: clock_ns()?,
        reload: None,
        telemetry,
        next_record_ns: 0,
        counters,
        service: Service::default(),
    };
    if !fenced {
        println!("this kernel has no Landlock: what files it opens is not restricted");
    }
    daemon.tell_start();
    daemon.work().map_err(gone)?;
    let records = daemon.records().map_err(gone)?;
    daemon.telemetry.record(records.clone());
    let left_out = daemon.telemetry.left_out;
    daemon.telemetry.finish()?;
    finish(&records, left_out, summary_file)
}

struct Daemon<'a> {
    router: Router<Nfqueue>,
    settings: Settings,
    options: &'a RunOptions,
    signals: SignalFd,
    start: Instant,
    /// The kernel's monotonic clock at the start.
    start_clock_ns: u64,
    /// Settings that are being read.
    reload: Option<Receiver<Result<Settings, String>>>,
    telemetry: Telemetry,
    next_record_ns: u64,
    counters: Counters,
    service: Service,
}

impl Daemon<'_> {
    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn tell_start(&self) {
        for (place, link) in self.settings.links().into_iter().enumerate() {
            let queue = usize::from(self.options.queue) + place;
            println!("{}, queue {queue}: {}", NAMES[place], link.describe());
        }
        let bytes = self.router.backend().buffer_bytes;
        if bytes < ENOUGH_BUFFER_BYTES {
            println!(
                "the receive buffer has {bytes} bytes: a burst may be lost, which is counted; \
                 sluiced check says how to get more"
            );
        }
        println!("memory: {}", memory::bound(&self.settings));
        println!("ready");
        self.service.ready();
        // who waits for this line may read it through a pipe
        io::stdout().flush().ok();
    }

    /// Routes until it is told to end.
    fn work(&mut self) -> io::Result<()> {
        loop {
            let start = self.start;
            let more = self.router.turn(|| start.elapsed().as_nanos() as u64)?;
            let now_ns = self.now_ns();
            if now_ns >= self.next_record_ns {
                let records = self.records()?;
                self.telemetry.record(records);
                let interval_ns = (self.options.interval * 1e9) as u64;
                self.next_record_ns = now_ns - now_ns % interval_ns + interval_ns;
            }
            self.service.alive(now_ns);
            self.take_reload()?;
            while let Some(signal) = self.signals.read_signal()? {
                match Signal::try_from(signal.ssi_signo as i32)? {
                    Signal::SIGHUP => self.start_reload(),
                    _ => {
                        self.service.ends();
                        return self.end();
                    }
                }
            }
            if !more {
                self.wait()?;
            }
        }
    }

    fn end(&mut self) -> io::Result<()> {
        let fate = match self.options.fail {
            Fail::Open => Fate::Accept,
            Fail::Closed => Fate::Drop,
        };
        let now_ns = self.now_ns();
        self.router.end(now_ns, fate)
    }

    /// Sleeps until a packet or a signal comes, or something is due.
    fn wait(&self) -> io::Result<()> {
        let mut due_ns = self
            .next_record_ns
            .min(self.service.due_ns())
            .min(self.router.due_ns().unwrap_or(u64::MAX));
        let now_ns = self.now_ns();
        if self.reload.is_some() {
            due_ns = due_ns.min(now_ns + LOOK_NS);
        }
        let Some(ns @ 1..) = due_ns.checked_sub(now_ns) else {
            return Ok(());
        };
        let mut watched = [self.router.backend().descriptor(), self.signals.as_fd()]
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
        let timeout = TimeSpec::new((ns / 1_000_000_000) as i64, (ns % 1_000_000_000) as i64);
        match ppoll(&mut watched, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn records(&mut self) -> io::Result<Vec<Record>> {
        let now_ns = self.now_ns();
        let standings = self.router.standings(now_ns)?.into_iter().enumerate();
        let records = standings
            .map(|(link, standing)| {
                let clock_ns = self.start_clock_ns + now_ns;
                let queue = self.options.queue + link as u16;
                Record {
                    link: NAMES[link],
                    clock_ns,
                    kernel: self.counters.of(queue),
                    standing,
                }
            })
            .collect();
        Ok(records)
    }

    /// Reads the settings again, on a thread of its own: an AQM may have to be compiled.
    fn start_reload(&mut self) {
        if self.options.link.scenario.is_none() {
            eprintln!("sluiced: nothing to reload: it was started without --scenario");
            return;
        }
        let (sender, receiver) = channel();
        let link = self.options.link.clone();
        thread::spawn(move || {
            let read = Settings::read(&link).map_err(|error| error.to_string());
            // nobody waits if the daemon has ended
            sender.send(read).ok();
        });
        self.reload = Some(receiver);
    }

    /// Takes settings that have been read, if there are some and they are right.
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
        let refused = match settings {
            Err(what) => what,
            Ok(settings) if settings.links().len() != self.settings.links().len() => {
                "the number of directions cannot change while it runs".to_owned()
            }
            Ok(settings) => {
                let now_ns = self.now_ns();
                self.router.change(now_ns, &settings)?;
                self.settings = settings;
                for (name, link) in NAMES.iter().zip(self.settings.links()) {
                    eprintln!("sluiced: reloaded: {name}: {}", link.describe());
                }
                return Ok(());
            }
        };
        eprintln!("sluiced: the old settings stay in force: {refused}");
        Ok(())
    }
}

/// The kernel's monotonic clock, which other programs read as well.
fn clock_ns() -> Result<u64, Failure> {
    let now = ClockId::CLOCK_MONOTONIC.now();
    let now = now.map_err(|error| Failure(format!("no clock: {error}")))?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// The signals that end it or reload its settings, to be read.
pub fn signals() -> Result<SignalFd, Failure> {
    let mut mask = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        mask.add(signal);
    }
    let read = mask
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC));
    read.map_err(|error| Failure(format!("no signals: {error}")))
}

fn open(path: Option<&Path>) -> Result<Option<(File, &Path)>, Failure> {
    path.map(|path| {
        let file = File::create(path).map_err(|error| Failure::writing(path, &error))?;
        Ok((file, path))
    })
    .transpose()
}

fn listen(address: &Address) -> Result<Endpoint, Failure> {
    Endpoint::open(address).map_err(|error| Failure(format!("--metrics {address}: {error}")))
}

fn finish(records: &[Record], left_out: u64, file: Option<(File, &Path)>) -> Result<(), Failure> {
    for record in records {
        println!("\n{}", record.link);
        print!("{}", summary::live_table(record));
    }
    if left_out > 0 {
        println!("\n{left_out} records were left out: the disk was too slow");
    }
    if let Some((mut file, path)) = file {
        let links: Value = records.iter().map(Record::json).collect();
        writeln!(file, "{links:#}").map_err(|error| Failure::writing(path, &error))?;
    }
    Ok(())
}
