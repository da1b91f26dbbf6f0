//! For the same arrivals and the same random words, a qdisc of the kernel asks its AQMs the same as
//! the engine's queue, and acts the same.
//!
//! `tests/test_lab_log.py` gets logs from the laboratory, and runs this with `SLUICE_LOGS`, a
//! folder with pairs of files: `NAME.csv`, the output of `sluiced qdisc log`, and `NAME.link`, the
//! discipline, rate, limit and limit in bytes, one line each. In place of a discipline with classes of
//! service, there is the name of a scenario in the folder.

mod acks;

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    env, fs,
    iter::once,
    path::Path,
};

use sluice_aqm::{Running, Verdict, Victim, View};
use sluice_ecn::Ecn;
use sluice_gate::{cli::LinkOptions, packet::Held, settings::Settings};
use sluice_queue::{AckFacts, Event, Observer, Queue};

/// A line of the log.
#[derive(Clone, Debug)]
struct Line {
    event: String,
    queue: usize,
    packet: u32,
    verdict: Option<Verdict>,
    view: View,
    index: usize,
}

/// Reads a log, by link: a kind of qdisc may serve several.
fn read(path: &Path) -> BTreeMap<usize, Vec<Line>> {
    let text = fs::read_to_string(path).unwrap();
    let (columns, lines) = text.split_once('\n').unwrap();
    assert_eq!(columns, format!("{},index", sluice_queue::columns()));
    let shown = View::names().count() - 1;
    let mut links: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
    for line in lines.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |place: usize| fields[place].parse::<u64>().unwrap();
        let verdict = Verdict::NAMES.iter().position(|name| *name == fields[6]);
        links.entry(number(2) as usize).or_default().push(Line {
            event: fields[4].into(),
            queue: number(3) as usize,
            packet: number(5) as u32,
            verdict: verdict.and_then(|code| Verdict::from_code(code as u32)),
            view: View::of(once(number(1)).chain((7..7 + shown).map(number))),
            index: number(7 + shown) as usize,
        });
    }
    links
}

/// What an AQM was asked or told, and its verdict.
type Call = (&'static str, Option<Verdict>, View);

/// What the engine's queue did.
#[derive(Default)]
struct Heard {
    /// Calls by queue of the scheduler.
    calls: HashMap<usize, Vec<Call>>,
    lost: Vec<(u32, Verdict)>,
}

impl Observer<Held> for &mut Heard {
    fn lost(&mut self, packet: Held, verdict: Verdict) {
        self.lost.push((packet.id, verdict));
    }

    fn note(&mut self, _: u64, queue: usize, event: Event<'_>) {
        let call = match event {
            Event::Arrive(view, verdict) => ("arrive", Some(verdict), *view),
            Event::Depart(view, verdict) => ("depart", Some(verdict), *view),
            Event::Tick(view) => ("tick", None, *view),
            Event::Join(Some(view)) => ("join", None, *view),
            Event::Leave(_, Some(view)) => ("leave", None, *view),
            _ => return,
        };
        self.calls.entry(queue).or_default().push(call);
    }
}

/// Returns a random word from which `below` makes the index.
fn word_of(index: usize, count: usize) -> u64 {
    ((index as u128) << 64).div_ceil(count as u128) as u64
}

/// The engine's queue, called as the kernel's was.
struct Engine {
    queue: Queue<Held, Running>,
    heard: Heard,
    tick_ns: Option<u64>,
    /// When the link is free again.
    busy_until_ns: Option<u64>,
    words: VecDeque<u64>,
    /// Hashes of the hosts of the next arrival.
    hosts: [u32; 2],
    /// What the next arrival says, if it is an ACK.
    ack: Option<AckFacts>,
    /// Numbers of the waiting packets by queue, from the log.
    waiting: HashMap<usize, Vec<u32>>,
}

impl Engine {
    fn new(settings: &Settings, begin_ns: u64) -> Self {
        let queue = settings.forward.queue();
        Self {
            tick_ns: queue.tick_interval_ns().map(|ns| begin_ns + ns),
            queue,
            heard: Heard::default(),
            busy_until_ns: None,
            words: VecDeque::new(),
            hosts: [0; 2],
            ack: None,
            waiting: HashMap::new(),
        }
    }

    /// Processes what happens up to a time: ticks, and the link becoming idle.
    fn advance(&mut self, now_ns: u64) {
        loop {
            let is_empty = self.queue.packets() == 0;
            let idle_ns = self.busy_until_ns.filter(|ns| is_empty && *ns <= now_ns);
            let tick_ns = self.tick_ns.filter(|ns| *ns <= now_ns);
            match (idle_ns, tick_ns) {
                (Some(idle_ns), tick_ns) if tick_ns.is_none_or(|tick_ns| idle_ns <= tick_ns) => {
                    let none = self.queue.depart(idle_ns, &mut || 0, &mut &mut self.heard);
                    assert_eq!(none, None);
                    self.busy_until_ns = None;
                }
                (_, Some(tick_ns)) => {
                    self.queue.tick(tick_ns, &mut &mut self.heard);
                    let interval_ns = self.queue.tick_interval_ns();
                    self.tick_ns = Some(tick_ns + interval_ns.expect("it ticks"));
                }
                (_, None) => return,
            }
        }
    }

    /// Lets a packet arrive; the lines after it show what happened to it.
    fn arrive(&mut self, line: &Line, behind: &[Line], victim: Victim, wants_candidate: bool) {
        let now_ns = line.view.now_ns;
        self.advance(now_ns);
        self.words.push_back(line.view.random);
        let own = self.waiting.entry(line.queue).or_default().len();
        if wants_candidate && own > 0 {
            self.words.push_back(word_of(line.index, own));
        }
        let mut joins = true;
        for lost in behind.iter().filter(|line| line.event == "lost") {
            let waiting = self.waiting.get_mut(&lost.queue).unwrap();
            if lost.packet == line.packet {
                joins = false;
                // the engine also draws a victim from an empty queue, which has no effect
                let draws = victim == Victim::Random && lost.verdict != Some(Verdict::DropBoth);
                if draws && waiting.is_empty() {
                    self.words.push_back(0);
                }
                continue;
            }
            if victim == Victim::Random && lost.verdict != Some(Verdict::DropBoth) {
                self.words.push_back(word_of(lost.index, waiting.len()));
            }
            assert_eq!(waiting.remove(lost.index), lost.packet, "{lost:?}");
        }
        if joins {
            self.waiting.get_mut(&line.queue).unwrap().push(line.packet);
        }
        let packet = Held {
            id: line.packet,
            bytes: line.view.packet_bytes,
            flow_hash: line.view.flow_hash,
            hosts: self.hosts,
            ack: self.ack.take(),
            ecn: Ecn::from_bits(line.view.traffic_class),
            dscp: line.view.traffic_class >> 2,
            ..Held::default()
        };
        let words = &mut self.words;
        let mut random = || words.pop_front().expect("a word that the qdisc drew");
        let is_ack = packet.ack.is_some();
        self.queue
            .arrive(now_ns, packet, &mut random, &mut &mut self.heard);
        if is_ack && let Some(place) = self.queue.needless_ack(|packet| packet.ack) {
            self.queue.remove_ack(now_ns, place, &mut &mut self.heard);
        }
        assert!(self.words.is_empty(), "{line:?}");
    }

    /// Lets the link ask for a packet; the lines after it show which one it got.
    fn ask(&mut self, line: &Line, behind: &[Line]) {
        let now_ns = line.view.now_ns;
        self.advance(now_ns);
        for line in behind {
            match line.event.as_str() {
                "depart" => self.words.push_back(line.view.random),
                "lost" | "send" => {
                    let waiting = self.waiting.get_mut(&line.queue).unwrap();
                    assert_eq!(waiting.remove(0), line.packet, "{line:?}");
                }
                _ => {}
            }
        }
        let words = &mut self.words;
        let mut random = || words.pop_front().expect("a word that the qdisc drew");
        let head = self.queue.depart(now_ns, &mut random, &mut &mut self.heard);
        assert!(self.words.is_empty(), "{line:?}");
        let hold = behind.iter().find(|line| line.event == "hold");
        let until_ns = hold.map(|hold| hold.view.idle_since_ns);
        assert_eq!(self.queue.ready_ns(), until_ns, "{line:?}");
        let sent = behind.iter().find(|line| line.event == "send");
        assert_eq!(
            head.map(|head| head.packet.id),
            sent.map(|sent| sent.packet),
            "{line:?}"
        );
        self.busy_until_ns = match (sent, behind.iter().rfind(|line| line.event == "lost")) {
            (Some(sent), _) => Some(sent.view.idle_since_ns),
            (None, lost) => lost.map(|_| now_ns),
        };
    }
}

/// A link that was late makes up for at most this time: `CATCH_UP_NS` of `qdisc.bpf.c`.
const CATCH_UP_NS: u64 = 10_000_000;

/// Checks that each transmission begins at the end of the one before or at the packet's arrival,
/// whatever was dropped between them, and however late the link asked. Returns how many packets
/// were sent late after a drop at departure.
fn check_pace(name: &str, lines: &[Line], rate_bps: u64) -> usize {
    let (mut arrived, mut free_ns) = (HashMap::new(), lines[0].view.now_ns);
    let (mut has_dropped, mut late) = (false, 0);
    for line in lines {
        let now_ns = line.view.now_ns;
        match line.event.as_str() {
            "arrive" => {
                arrived.insert(line.packet, (now_ns, u64::from(line.view.packet_bytes)));
            }
            "ask" => has_dropped = false,
            "hold" => free_ns = line.view.idle_since_ns,
            "depart" => has_dropped |= line.verdict == Some(Verdict::DropEarly),
            "send" => {
                let (since_ns, bytes) = arrived[&line.packet];
                let ready_ns = free_ns.max(since_ns);
                late += usize::from(has_dropped && ready_ns < now_ns);
                let begin_ns = ready_ns.max(now_ns.saturating_sub(CATCH_UP_NS));
                free_ns = begin_ns + bytes * 8_000_000_000 / rate_bps;
                assert_eq!(line.view.idle_since_ns, free_ns, "{name}: {line:?}");
            }
            _ => {}
        }
    }
    late
}

/// True if the line is a call of an AQM.
fn has_view(line: &Line) -> bool {
    matches!(
        line.event.as_str(),
        "arrive" | "depart" | "tick" | "join" | "leave"
    )
}

/// Counts of what was compared.
#[derive(Debug, Default)]
struct Compared {
    calls: usize,
    decisions: usize,
    others: usize,
    sent: usize,
    holds: usize,
}

fn compare(name: &str, lines: &[Line], settings: &Settings) -> Compared {
    assert_eq!(lines[0].event, "begin", "{name}");
    let begin_ns = lines[0].view.now_ns;
    let mut engine = Engine::new(settings, begin_ns);
    let discipline = &settings.forward.discipline.spec;
    let victim: Victim = discipline.victim(&settings.forward.buffer).into();
    let configured = &settings.forward.discipline;
    let aqm_of = |queue: usize| configured.of_classes.get(queue).unwrap_or(&configured.aqm);
    let wants_candidate = |line: &Line| aqm_of(line.queue).class().functions().candidate;
    let is_start = |line: &Line| {
        matches!(
            line.event.as_str(),
            "arrive" | "ask" | "salt" | "hosts" | "ack"
        )
    };
    let mut calls: HashMap<usize, Vec<(&str, &Line)>> = HashMap::new();
    let (mut lost, mut found) = (Vec::new(), Compared::default());
    for (place, line) in lines.iter().enumerate().skip(1) {
        let behind = &lines[place + 1..];
        let end = behind.iter().position(is_start).unwrap_or(behind.len());
        match line.event.as_str() {
            "salt" => engine.words.push_back(line.view.random),
            "hosts" => engine.hosts = [line.view.source_hash, line.view.destination_hash],
            "ack" => engine.ack = Some(acks::of(&line.view)),
            "hold" => found.holds += 1,
            "arrive" => engine.arrive(line, &behind[..end], victim, wants_candidate(line)),
            "ask" => engine.ask(line, &behind[..end]),
            "lost" => lost.push((line.packet, line.verdict.unwrap())),
            "send" => found.sent += 1,
            _ => {}
        }
        if has_view(line) {
            let of_queue = calls.entry(line.queue).or_default();
            of_queue.push((line.event.as_str(), line));
        }
    }
    assert_eq!(engine.heard.lost, lost, "{name}");
    for (queue, calls) in calls {
        let heard = &engine.heard.calls[&queue];
        for (number, ((event, line), expected)) in calls.iter().zip(heard).enumerate() {
            let (mut expected, verdict) = (*expected, line.verdict);
            // an unused queue is idle since its beginning, which is 0 for the engine
            if expected.2.idle > 0 && expected.2.idle_since_ns == 0 {
                expected.2.idle_since_ns = begin_ns;
            }
            assert_eq!(
                (*event, verdict, line.view),
                expected,
                "{name}: call {number} of queue {queue}"
            );
            found.calls += 1;
            found.decisions += usize::from(verdict.is_some());
            found.others += usize::from(verdict.is_some_and(|verdict| verdict != Verdict::Admit));
        }
        // a queue in which nothing happens any more gets its ticks later
        assert!(heard.len() >= calls.len(), "{name}: queue {queue}");
        let more = &heard[calls.len()..];
        assert!(more.iter().all(|(event, ..)| *event == "tick"), "{name}");
    }
    found
}

#[test]
#[ignore = "needs logs of the laboratory: tests/test_lab_log.py runs it"]
fn a_qdisc_asks_and_does_what_the_engines_queue_does() {
    let folder = env::var("SLUICE_LOGS").expect("the folder of the logs");
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "csv"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let text = fs::read_to_string(path.with_extension("link")).unwrap();
        let words: Vec<&str> = text.lines().collect();
        let [aqm, rate, limit, limit_bytes] = words[..] else {
            panic!("{}: {text}", path.display());
        };
        let scenario = aqm.ends_with(".toml").then(|| path.with_file_name(aqm));
        let settings = Settings::read(&LinkOptions {
            aqm: scenario.is_none().then(|| aqm.into()),
            scenario,
            rate: Some(rate.into()),
            limit: Some(limit.into()),
            limit_bytes: (!limit_bytes.is_empty()).then(|| limit_bytes.into()),
            ..LinkOptions::default()
        });
        let settings = settings.unwrap();
        for (link, lines) in read(&path) {
            let name = format!("{aqm}, link {link}");
            let found = compare(&name, &lines, &settings);
            if let Some((acks, pure)) = acks::check(&path, &lines) {
                println!("{name}: {acks} ACKs read alike, {pure} of them pure");
            }
            let late = check_pace(&name, &lines, settings.forward.rate_bps);
            println!(
                "{name}: {} calls alike, {} of them decisions, {} no admission; {} packets sent alike, \
                 {late} of them late after a drop at departure; {} times held alike by a shaper",
                found.calls, found.decisions, found.others, found.sent, found.holds
            );
        }
    }
}
