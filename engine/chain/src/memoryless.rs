//! AQMs without a state: their drop probability at each size of the system, asked of their own code.

use sluice_aqm::{Aqm, Configured, Running, Verdict, View};

use crate::{
    drop_function::Chances,
    error::{ChainError, refuse},
};

/// Decisions follow from the upper half of the random word (`aqm_happens` of `aqm/aqm.h`), so there
/// are this many cases.
const WORDS: u64 = 1 << 32;

/// Cases beside those of the search in which a decision must be as found; a step of the golden
/// ratio spreads them evenly.
const PROBES: u64 = 48;
const GOLDEN: u64 = 0x9E37_79B1;

/// True if an AQM has no state and is asked at arrivals only: its decisions follow from the view.
pub(crate) fn is_memoryless(aqm: &Configured) -> bool {
    let functions = aqm.class().functions();
    let others = functions.depart || functions.tick || functions.occupancy || functions.candidate;
    !others && aqm.start().state().is_empty()
}

/// Returns why an AQM is not memoryless, in words.
pub(crate) fn remembers(aqm: &Configured) -> String {
    let functions = aqm.class().functions();
    let bytes = aqm.start().state().len();
    let state = format!("it has a state of {bytes} bytes beside the queue");
    let reasons = [
        (functions.tick, "a clock updates it between arrivals"),
        (
            functions.depart,
            "it judges packets as they leave, by how long they waited",
        ),
        (functions.occupancy, "it follows which packets wait"),
        (
            functions.candidate,
            "it compares flows of packets that wait",
        ),
        (bytes > 0, state.as_str()),
    ];
    let told: Vec<_> = (reasons.iter())
        .filter_map(|(is_so, why)| is_so.then_some(*why))
        .collect();
    told.join(", and ")
}

/// Returns the probabilities of the decisions of a memoryless AQM, by the size of the system that an
/// arrival finds (waiting packets and the one in service), before the limit is applied.
///
/// # Errors
/// If the decision depends on more than the queue, on its own limit and on whether the link is idle;
/// or if it is not one step in the random word.
pub(crate) fn chances(aqm: &Configured, limit: usize) -> Result<Vec<Chances>, ChainError> {
    let mut asked = Asked {
        name: &aqm.class().name,
        aqm: aqm.start(),
        limit,
    };
    let found = (0..limit + 2).map(|size| asked.chances(size)).collect();
    if let Some(wrong) = aqm.wrong() {
        refuse!("{wrong}");
    }
    found
}

struct Asked<'a> {
    name: &'a str,
    aqm: Running,
    limit: usize,
}

impl Asked<'_> {
    fn chances(&mut self, size: usize) -> Result<Chances, ChainError> {
        let first = self.verdict(size, 0)?;
        let last = self.verdict(size, WORDS - 1)?;
        let (mut low, mut high) = (0, WORDS - 1);
        while first != last && high - low > 1 {
            let middle = (low + high) / 2;
            if self.verdict(size, middle)? == first {
                low = middle;
            } else {
                high = middle;
            }
        }
        for probe in 0..PROBES {
            let word = (probe * GOLDEN) % WORDS;
            let expected = if word < high { first } else { last };
            if self.verdict(size, word)? != expected {
                self.refuse("its decision is not one step in the random word")?;
            }
        }
        let share = if first == last {
            1.0
        } else {
            high as f64 / WORDS as f64
        };
        let mut chances = Chances::default();
        for (verdict, share) in [(first, share), (last, 1.0 - share)] {
            match verdict {
                Verdict::DropEarly => chances.early += share,
                Verdict::DropForced => chances.forced += share,
                _ => {}
            }
        }
        Ok(chances)
    }

    /// Returns the decision about an arrival that finds `size` packets, overflow taken for an
    /// admission, if all that a header sees beside the queue does not change it.
    fn verdict(&mut self, size: usize, word: u64) -> Result<Verdict, ChainError> {
        let waiting = size.saturating_sub(1);
        let view = View {
            random: word << 32,
            rate_bps: 1_000_000,
            queue_bytes: 500 * waiting as u64,
            queue_packets: waiting as u32,
            limit_packets: self.limit as u32,
            packet_bytes: 500,
            idle: (size == 0).into(),
            full: (waiting >= self.limit).into(),
            ..View::default()
        };
        let other = View {
            random: view.random | (WORDS - 1),
            now_ns: 123_456_789_012,
            idle_since_ns: if size == 0 { 98_765 } else { 0 },
            rate_bps: 10_000_000_000,
            queue_bytes: 9000 * waiting as u64,
            packet_bytes: 9000,
            flow_hash: 0xDEAD_BEEF,
            ..view
        };
        let verdict = self.decide(&view);
        if verdict != self.decide(&other) {
            self.refuse("its decision depends on more than the queue")?;
        }
        Ok(verdict)
    }

    fn decide(&mut self, view: &View) -> Verdict {
        match self.aqm.arrive(view) {
            Verdict::DropOverflow => Verdict::Admit,
            verdict => verdict,
        }
    }

    fn refuse(&self, why: &str) -> Result<(), ChainError> {
        refuse!("{} has no exact chain: {why}", self.name)
    }
}
