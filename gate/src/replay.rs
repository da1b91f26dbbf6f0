//! `sluiced replay`: sends a capture through the queue, in virtual time.
//!
//! It makes the same decisions as the network world for the same packets: link, random streams and
//! hashes of flows are the same.

use std::{fs::File, path::Path};

use sluice_aqm::Verdict;
use sluice_capture::Capture;
use sluice_link::Clock;
use sluice_queue::{DecisionLog, Event, LineFile, Observer};

use crate::{
    Failure,
    cli::ReplayOptions,
    measures::Measures,
    packet::Held,
    print,
    router::{
        bands::Band,
        link::{Link, Outlet},
    },
    say,
    settings::Settings,
    telemetry::summary,
    write_whole,
};

/// Bits of the clock's times: as many as the network world has for one link.
const ROOM: u32 = 63;

/// An observer of a replay; released packets are ignored.
pub struct Watch<O>(pub O);

impl<O: Observer<Held>> Observer<Held> for Watch<O> {
    fn lost(&mut self, packet: Held, verdict: Verdict) {
        self.0.lost(packet, verdict);
    }

    fn note(&mut self, now_ns: u64, queue: usize, event: Event<'_>) {
        self.0.note(now_ns, queue, event);
    }
}

impl<O: Observer<Held>> Outlet<Held> for Watch<O> {
    fn released(&mut self, _: u64, _: Held) {}

    fn lost_on_wire(&mut self, _: Held) {}
}

/// Sends a capture through the forward link and shows `watch` every decision. Returns what was counted, also
/// of each band.
///
/// # Errors
/// If the capture is too long for the clock, or the link too slow.
pub fn replay(
    capture: &Capture,
    settings: &Settings,
    watch: &mut impl Outlet<Held>,
) -> Result<(Measures, Option<Vec<Band>>), Failure> {
    let last_ns = capture.time_ns.last().copied().unwrap_or_default();
    let clock = Clock::new(last_ns, ROOM).ok_or_else(|| {
        Failure(format!(
            "a capture of {} s is too long",
            last_ns / 1_000_000_000
        ))
    })?;
    let [random, on_wire] = settings.randoms(0);
    let mut link = Link::new(settings.forward.clone(), clock, random).with_wire(on_wire);
    for (id, packet) in packets(capture).enumerate() {
        link.arrive(capture.time_ns[id], packet, watch);
    }
    let mut now_ns = last_ns;
    while link.is_busy() {
        now_ns = link.due_ns().ok_or_else(|| {
            Failure(format!(
                "{} bits/s are too few: the last packets would leave after the clock's end, {} s \
                 after the first",
                settings.forward.rate_bps,
                clock.ns(u64::MAX) / 1_000_000_000
            ))
        })?;
        link.advance(now_ns, watch);
    }
    Ok((link.measures(now_ns), link.bands(now_ns)))
}

/// Returns the packets of a capture, with their flows hashed like the datagrams of the network
/// world.
fn packets(capture: &Capture) -> impl Iterator<Item = Held> {
    let rows = capture.flow_numbers().into_iter().enumerate();
    rows.map(|(id, flow)| Held {
        id: id as u32,
        bytes: capture.bytes[id],
        flow_hash: sluice_queue::datagram_flow_hash(flow),
        hosts: [0, 0],
        ecn: capture.ecn[id],
        dscp: capture.dscp[id],
        ..Held::default()
    })
}

/// Runs the command.
///
/// # Errors
/// If the settings or the capture are refused, or if a file cannot be written.
pub fn run(options: &ReplayOptions) -> Result<(), Failure> {
    if options.link.two_way || options.link.reverse_delay.is_some() {
        return Err(Failure(
            "a replay has one direction: --two-way and --reverse-delay do nothing, leave them out"
                .into(),
        ));
    }
    let settings = Settings::read(&options.link)?;
    settings
        .forward
        .discipline
        .without_ack_filter("the packets of a replay are datagrams, as in the network world")?;
    let capture = sluice_capture::read(&options.capture)?;
    for note in &capture.notes {
        say(&format!("{}: {note}", options.capture.display()));
    }
    let ((measures, _), logged) = match &options.decisions {
        None => (replay(&capture, &settings, &mut Watch(()))?, Ok(())),
        Some(path) => {
            let mut log = DecisionLog::new(LineFile::new(create(path)?));
            let measures = replay(&capture, &settings, &mut Watch(&mut log))?;
            (measures, end(log, path))
        }
    };
    if let Some(wrong) = settings.wrong() {
        return Err(Failure(wrong));
    }
    let written = options.json.as_ref().map_or(Ok(()), |path| {
        let text = serde_json::to_string_pretty(&measures.figures()).expect("numbers");
        write_whole(&create(path)?, path, format!("{text}\n").as_bytes())
    });
    let printed = print(&format!(
        "{}\n{}",
        settings.forward.describe(),
        summary::table(&measures)
    ));
    // each is tried, whatever became of the others
    logged.and(written).and(printed)
}

fn create(path: &Path) -> Result<File, Failure> {
    File::create(path).map_err(|error| Failure::writing(path, &error))
}

/// Ends a decision log.
fn end(log: DecisionLog<LineFile>, path: &Path) -> Result<(), Failure> {
    log.finish().map(drop).map_err(|error| {
        let Failure(what) = Failure::writing(path, &error);
        Failure(format!(
            "{what}: the decision log is incomplete, it ends early (with a whole line)"
        ))
    })
}
