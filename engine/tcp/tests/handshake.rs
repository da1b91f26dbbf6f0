//! What both ends agree on about marks, and what a path that interferes does to it (RFC 9768,
//! sections 3.1 and 3.2.2; RFC 3168, section 6.1.1; Linux's `tcp_ecn.h`).

use sluice_ecn::Ecn;
use sluice_tcp::{
    Ack, Config, CongestionControl, GREEDY, Receiver, Segment, Sender, Server, Variant,
};

const MS: u64 = 1_000_000;

/// A path that lets the number of a SYN, a segment, or an ACK be changed; false: it is lost.
struct Path {
    there: fn(syns: u32, segment: &mut Segment) -> bool,
    back: fn(acks: u32, ack: &mut Ack) -> bool,
}

const CLEAN: Path = Path {
    there: |_, _| true,
    back: |_, _| true,
};

/// What a connection came to.
#[derive(Debug, PartialEq)]
struct Seen {
    /// Flags of each SYN, and of each answer that arrived.
    syns: Vec<u8>,
    answers: Vec<u8>,
    /// Codepoint of the first data packet, and of the tenth.
    data: [Ecn; 2],
    /// Whether the window went down when all ECN-capable packets of a window were marked.
    reduces: bool,
    /// Whether data said so (CWR).
    says_so: bool,
    timeouts: u32,
}

/// Runs a connection; ECN-capable packets are marked from the 40th to the 60th, behind the path.
fn connect(config: &Config, path: &Path) -> Seen {
    config.check().unwrap();
    let (mut sender, mut receiver) = (Sender::new(config, GREEDY, 0), Receiver::new());
    let mut seen = Seen {
        syns: vec![],
        answers: vec![],
        data: [Ecn::NotEct; 2],
        reduces: false,
        says_so: false,
        timeouts: 0,
    };
    let (mut now_ns, mut acks_seen, mut on_way) = (0, 0, vec![]);
    sender.start(config, now_ns, &mut |segment| on_way.push(segment));
    while sender.acknowledged() < 150 {
        let mut answers = vec![];
        for mut segment in on_way.drain(..) {
            if segment.syn {
                seen.syns.push(segment.ace);
            } else if let Some(place) = [1, 10].iter().position(|seq| *seq == segment.seq) {
                seen.data[place] = segment.ecn;
            }
            seen.says_so |= segment.cwr;
            if !(path.there)(seen.syns.len() as u32, &mut segment) {
                continue;
            }
            if segment.ecn.is_capable() && (40..60).contains(&segment.seq) {
                segment.ecn = Ecn::Ce;
            }
            receiver.on_segment(config, now_ns, &segment, &mut |ack| answers.push(ack));
        }
        now_ns += 20 * MS;
        for mut ack in answers {
            if !(path.back)(acks_seen, &mut ack) {
                continue;
            }
            acks_seen += 1;
            if sender.acknowledged() == 0 {
                seen.answers.push(ack.ace);
            }
            sender.on_ack(config, now_ns, &ack, &mut |segment| on_way.push(segment));
        }
        now_ns += 20 * MS;
        sender.on_release(config, now_ns, &mut |segment| on_way.push(segment));
        if let Some(ack) = receiver.on_timer(config, now_ns) {
            sender.on_ack(config, now_ns, &ack, &mut |segment| on_way.push(segment));
        }
        if on_way.is_empty() && sender.deadline().is_some_and(|due_ns| due_ns > now_ns) {
            let due_ns = sender.take_release().or(sender.deadline()).unwrap();
            now_ns = now_ns.max(due_ns);
        }
        sender.on_timer(config, now_ns, &mut |segment| on_way.push(segment));
    }
    seen.reduces = sender.ssthresh() < config.initial_ssthresh;
    seen.timeouts = sender.timeouts();
    seen
}

fn linux(control: CongestionControl, ecn: bool, accurate_ecn: bool) -> Config {
    Config {
        ecn,
        accurate_ecn,
        ..Config::linux(Variant::Rack)
    }
    .with(control)
}

#[test]
fn each_kind_of_client_meets_each_kind_of_server() {
    use CongestionControl::{Dctcp, Prague, Reno};
    let (ect0, ect1, not) = ([Ecn::Ect0; 2], [Ecn::Ect1; 2], [Ecn::NotEct; 2]);
    let accurate = linux(Reno, true, true);
    let classic = linux(Reno, true, false);
    let none = linux(Reno, false, false);
    let prague = linux(Prague, true, true);
    let dctcp = linux(Dctcp, true, false);
    for (config, server, syn, answer, data, cwr) in [
        (&accurate, Server::Accurate, 0b111, 0b010, ect0, false),
        (&accurate, Server::Classic, 0b111, 0b001, ect0, true),
        (&accurate, Server::Nonce, 0b111, 0b101, ect0, true),
        (&accurate, Server::None, 0b111, 0b000, not, false),
        (&accurate, Server::Broken, 0b111, 0b111, not, false),
        (&classic, Server::Accurate, 0b011, 0b001, ect0, true),
        (&classic, Server::Classic, 0b011, 0b001, ect0, true),
        (&classic, Server::None, 0b011, 0b000, not, false),
        (&classic, Server::Broken, 0b011, 0b011, not, false),
        (&none, Server::Accurate, 0b000, 0b000, not, false),
        // their SYNs are ECN-capable, and the answer tells that they arrived so
        (&prague, Server::Accurate, 0b111, 0b011, ect1, false),
        (&dctcp, Server::Accurate, 0b011, 0b001, ect0, true),
        // Reno takes their place
        (&prague, Server::Classic, 0b111, 0b001, ect0, true),
        (&prague, Server::None, 0b111, 0b000, not, false),
        (&dctcp, Server::None, 0b011, 0b000, not, false),
    ] {
        let config = Config {
            server: Some(server),
            ..config.clone()
        };
        let expected = Seen {
            syns: vec![syn],
            answers: vec![answer],
            data,
            reduces: data != not,
            says_so: cwr,
            timeouts: 0,
        };
        let name = config.congestion_control.name();
        assert_eq!(connect(&config, &CLEAN), expected, "{name}, {server:?}");
    }
}

#[test]
fn reserved_flags_in_the_answer_confirm_accurate_feedback_by_the_rfc() {
    let mut config = linux(CongestionControl::Reno, true, true);
    config.quirks.nonce_is_classic = false;
    let path = Path {
        back: |acks, ack| {
            ack.ace = if acks == 0 { 0b101 } else { ack.ace };
            true
        },
        ..CLEAN
    };
    let seen = connect(&config, &path);
    assert_eq!(
        (seen.data, seen.reduces, seen.says_so),
        ([Ecn::Ect0; 2], true, false)
    );
}

#[test]
fn a_syn_that_gets_no_answer_asks_for_less() {
    let loses_two = Path {
        there: |syns, segment| !segment.syn || syns > 2,
        ..CLEAN
    };
    let loses_one = Path {
        there: |syns, segment| !segment.syn || syns > 1,
        ..CLEAN
    };
    let accurate = linux(CongestionControl::Reno, true, true);
    let classic = linux(CongestionControl::Reno, true, false);
    // RFC 9768, section 3.1.4.1: once more, then no longer
    let seen = connect(&accurate, &loses_one);
    assert_eq!((seen.syns, seen.data), (vec![0b111, 0b111], [Ecn::Ect0; 2]));
    let seen = connect(&accurate, &loses_two);
    assert_eq!(
        (seen.syns, seen.data),
        (vec![0b111, 0b111, 0], [Ecn::NotEct; 2])
    );
    assert_eq!((seen.timeouts, seen.reduces), (2, false));
    // RFC 3168, section 6.1.1.1
    let seen = connect(&classic, &loses_one);
    assert_eq!((seen.syns, seen.data), (vec![0b011, 0], [Ecn::NotEct; 2]));
    let mut asks_again = classic.clone();
    asks_again.quirks.resent_syn_asks_no_more = false;
    let seen = connect(&asks_again, &loses_one);
    assert_eq!((seen.syns, seen.data), (vec![0b011, 0b011], [Ecn::Ect0; 2]));
}

/// RFC 9768, section 3.1.5: the first SYN settles it, and the client takes what the answer says.
#[test]
fn a_server_stays_with_what_the_first_syn_asked_for() {
    let mut config = linux(CongestionControl::Reno, true, false);
    for (accurate, syns, answer) in [
        (false, vec![0b011, 0], 0b001),
        (true, vec![0b111, 0b111], 0b010),
    ] {
        config.accurate_ecn = accurate;
        let (mut sender, mut receiver) = (Sender::new(&config, 20, 0), Receiver::new());
        let (mut sent, mut answers) = (vec![], vec![]);
        sender.start(&config, 0, &mut |segment| sent.push(segment));
        // the first answer is lost
        let due_ns = sender.deadline().unwrap();
        sender.on_timer(&config, due_ns, &mut |segment| sent.push(segment));
        for syn in &sent {
            receiver.on_segment(&config, due_ns, syn, &mut |ack| answers.push(ack));
        }
        assert_eq!(sent.iter().map(|syn| syn.ace).collect::<Vec<_>>(), syns);
        assert_eq!((answers[0].ace, answers[1].ace), (answer, answer));
        sender.on_ack(&config, due_ns + MS, &answers[1], &mut |segment| {
            sent.push(segment)
        });
        assert_eq!(sent.last().unwrap().ecn, Ecn::Ect0);
        // the answer that was late is no echo, and no count
        sender.on_ack(&config, due_ns + 2 * MS, &answers[0], &mut |_| {});
        assert_eq!(sender.ssthresh(), config.initial_ssthresh);
    }
}

#[test]
fn a_path_that_changes_codepoints_is_sent_none() {
    let marks = Path {
        there: |_, segment| {
            segment.ecn = Ecn::Ce;
            true
        },
        ..CLEAN
    };
    let accurate = linux(CongestionControl::Reno, true, true);
    let seen = connect(&accurate, &marks);
    assert_eq!((seen.answers, seen.data), (vec![0b110], [Ecn::NotEct; 2]));
    // RFC 9768, section 3.2.2.3: feedback still counts
    assert!(seen.reduces);
    let bleaches = Path {
        there: |_, segment| {
            segment.ecn = Ecn::NotEct;
            true
        },
        ..CLEAN
    };
    // a SYN that is Not-ECT shows nothing of it; one that is ECN-capable does
    let seen = connect(&accurate, &bleaches);
    assert_eq!(
        (seen.answers, seen.data, seen.reduces),
        (vec![0b010], [Ecn::Ect0; 2], false)
    );
    let prague = linux(CongestionControl::Prague, true, true);
    let seen = connect(&prague, &bleaches);
    assert_eq!(
        (seen.answers, seen.data, seen.reduces),
        (vec![0b010], [Ecn::NotEct; 2], false)
    );
}

#[test]
fn a_path_that_clears_the_count_is_not_believed() {
    let clears = Path {
        back: |acks, ack| {
            ack.ace = if acks == 0 { ack.ace } else { 0 };
            true
        },
        ..CLEAN
    };
    let seen = connect(&linux(CongestionControl::Reno, true, true), &clears);
    // the first window had left when the first count came (RFC 9768, section 3.2.2.4)
    assert_eq!((seen.data, seen.reduces), ([Ecn::Ect0; 2], false));
    let mut config = linux(CongestionControl::Reno, true, true);
    config.initial_window = 2.0;
    let seen = connect(&config, &clears);
    assert_eq!((seen.data, seen.reduces), ([Ecn::Ect0, Ecn::NotEct], false));
}

/// RFC 9768, table 2 and section 3.2.2.2: the answer tells of the mark, no counter counts it, and the
/// client responds.
#[test]
fn a_syn_that_arrives_marked_opens_with_one_packet() {
    for (spares_window_of_marked_syn, window) in [(false, 1), (true, 10)] {
        let mut config = linux(CongestionControl::Prague, true, true);
        config.quirks.spares_window_of_marked_syn = spares_window_of_marked_syn;
        let (mut sender, mut receiver) = (Sender::new(&config, GREEDY, 0), Receiver::new());
        let (mut sent, mut answers) = (vec![], vec![]);
        sender.start(&config, 0, &mut |segment| sent.push(segment));
        let mut syn = sent.pop().unwrap();
        assert_eq!(syn.ecn, Ecn::Ect1);
        syn.ecn = Ecn::Ce;
        receiver.on_segment(&config, 10 * MS, &syn, &mut |ack| answers.push(ack));
        assert_eq!(answers[0].ace, 0b110);
        sender.on_ack(&config, 20 * MS, &answers[0], &mut |segment| {
            sent.push(segment)
        });
        assert_eq!(sent.len(), window);
        assert_eq!(sent[0].ecn, Ecn::Ect1);
        receiver.on_segment(&config, 30 * MS, &sent[0], &mut |ack| answers.push(ack));
        assert_eq!(answers[1].ace, 5);
        sender.on_ack(&config, 40 * MS, &answers[1], &mut |_| {});
        assert_eq!(sender.ssthresh(), config.initial_ssthresh);
    }
}

/// What happens to the first packet of a round.
#[derive(Clone, Copy, PartialEq)]
enum First {
    Marked,
    Unmarked(usize),
    Lost(usize),
}

/// Returns in which round trip the first packet leaves Not-ECT, of 20, and the last window; all
/// packets that can be are marked but, in one round, the first.
fn round_without_ecn(config: &Config, first: First) -> (Option<usize>, f64) {
    let (mut sender, mut receiver) = (Sender::new(config, GREEDY, 0), Receiver::new());
    let (mut sent, mut found) = (vec![], None);
    sender.start(config, 0, &mut |segment| sent.push(segment));
    for round in 0..20 {
        let now_ns = 100 * MS * round as u64;
        let mut answers = vec![];
        for (place, mut segment) in sent.drain(..).enumerate() {
            if !segment.ecn.is_capable() && !segment.syn && !segment.retransmitted {
                found = found.or(Some(round));
            }
            if first == First::Lost(round) && place == 0 {
                continue;
            }
            if segment.ecn.is_capable() && (first != First::Unmarked(round) || place > 0) {
                segment.ecn = Ecn::Ce;
            }
            receiver.on_segment(config, now_ns, &segment, &mut |ack| answers.push(ack));
        }
        answers.extend(receiver.on_timer(config, now_ns + 40 * MS));
        for ack in answers {
            sender.on_ack(config, now_ns + 50 * MS, &ack, &mut |segment| {
                sent.push(segment);
            });
        }
        if sent.is_empty() {
            let due_ns = sender.deadline().unwrap();
            sender.on_timer(config, due_ns, &mut |segment| sent.push(segment));
        }
    }
    (found, sender.cwnd())
}

/// RFC 9768, section 3.2.2.3: "for the first three or four rounds"; then Not-ECT, and no response.
#[test]
fn marks_without_end_are_not_believed() {
    let base = Config {
        ecn: true,
        accurate_ecn: true,
        delayed_ack_ns: None,
        ..Config::rfc(Variant::Rack)
    };
    let (round, window) = round_without_ecn(&base, First::Marked);
    assert_eq!(round, Some(5));
    assert!(window > 10.0, "{window}");
    // one packet without a mark shows that they have an end
    for unmarked in [0, 3] {
        let (round, window) = round_without_ecn(&base, First::Unmarked(unmarked));
        assert_eq!(round, None);
        assert!(window <= 2.0, "{window}");
    }
    // one that is lost does not: it leaves again Not-ECT, and cannot be marked
    for variant in [Variant::NewReno, Variant::Sack, Variant::Rack] {
        let config = Config {
            variant,
            ..base.clone()
        };
        let (round, _) = round_without_ecn(&config, First::Lost(1));
        assert!(
            round.is_some_and(|round| (5..10).contains(&round)),
            "{variant:?} {round:?}"
        );
    }
    let (round, _) = round_without_ecn(&linux(CongestionControl::Reno, true, true), First::Marked);
    assert_eq!(round, None);
}
