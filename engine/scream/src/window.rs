//! How many bytes may be in flight: the reference window (sections "Congestion Detection" and
//! "Reference Window Update").

use crate::Config;

/// Least window, bytes (`MIN_REF_WND`).
const LEAST: f64 = 3000.0;
/// Factors at a loss and at a classic mark (`BETA_LOSS`, `BETA_ECN`).
const AT_LOSS: f64 = 0.7;
const AT_MARK: f64 = 0.8;
/// Queue that it keeps at most, s (`QDELAY_TARGET_LO`).
const TARGET_S: f64 = 0.06;
/// Shorter round trips count as this one, s (`VIRTUAL_RTT`).
const VIRTUAL_RTT_S: f64 = 0.025;
/// Weights of the share of marked packets where it rises and where it falls (`L4S_AVG_G_UP`,
/// `L4S_AVG_G_DOWN`), and the longest time over which it is taken, s.
const SHARE_RISE: f64 = 1.0 / 8.0;
const SHARE_FALL: f64 = 1.0 / 128.0;
const SHARE_S: f64 = 0.01;
/// Growth a round trip in proportion to the window (`MUL_INCREASE_FACTOR`), and the round trips after
/// which it is back in full when there was congestion (`POST_CONGESTION_DELAY_RTT`).
const GROWTH: f64 = 0.02;
const CAUTIOUS_ROUNDS: f64 = 100.0;
/// Round trips without congestion after which a mark finds a window that may be far too large.
const LONG_ROUNDS: f64 = 100.0;
/// The window may exceed what was in flight by this factor (`BYTES_IN_FLIGHT_HEAD_ROOM`).
const HEAD_ROOM: f64 = 1.5;
/// Bytes in flight over the window at which nothing more leaves: `REF_WND_OVERHEAD_MAX`, as jitter is
/// not filtered.
const OVERHEAD: f64 = 3.0;

/// What one feedback says.
#[derive(Clone, Copy, Debug, Default)]
pub struct News {
    pub now_s: f64,
    /// Bytes up to the highest packet that arrived, new since the last feedback, and those marked.
    pub bytes: f64,
    pub marked_bytes: f64,
    /// Packets that arrived, and those marked.
    pub packets: u32,
    pub marked: u32,
    pub lost: bool,
    /// The queue on the path, now and on average.
    pub queue_s: f64,
    pub average_queue_s: f64,
    /// Smoothed round-trip time.
    pub rtt_s: f64,
    /// Bytes in flight before the feedback.
    pub in_flight: f64,
    /// The video has its greatest rate already.
    pub at_most: bool,
}

/// Why the window shrinks.
enum Cause {
    Loss,
    Mark,
    /// The queue is too long, with this share of a mark (`l4s_alpha_v`).
    Queue(f64),
}

/// The reference window. Times are in s, sizes in bytes.
#[derive(Clone, Debug)]
pub struct Window {
    l4s: bool,
    packet: f64,
    bytes: f64,
    /// The window at the last congestion (`ref_wnd_i`). It is noted again once the window has grown,
    /// as in the program and in the draft of 2026; until 2025 the draft had once in ten round trips.
    inflection: f64,
    grew: bool,
    /// Average share of marked packets (`l4s_alpha`), and the counts of the next.
    share: f64,
    share_at: f64,
    packets: u32,
    marked: u32,
    /// Lost or marked since the last reaction.
    lost: bool,
    has_marks: bool,
    congested_at: f64,
    reacted_at: f64,
    /// Most bytes in flight in this round trip and in the one before, and when this one began.
    most_in_flight: [f64; 2],
    round_at: f64,
}

impl Window {
    pub fn new(config: &Config) -> Self {
        Self {
            l4s: config.l4s,
            packet: f64::from(config.packet_bytes),
            bytes: LEAST,
            inflection: 1.0,
            grew: true,
            share: 0.0,
            share_at: 0.0,
            packets: 0,
            marked: 0,
            lost: false,
            has_marks: false,
            congested_at: f64::NEG_INFINITY,
            reacted_at: f64::NEG_INFINITY,
            most_in_flight: [0.0; 2],
            round_at: 0.0,
        }
    }

    /// Returns the window.
    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    /// Returns the size of a packet over the window, at most 1 (`ref_wnd_ratio`).
    pub fn ratio(&self) -> f64 {
        (self.packet / self.bytes).min(1.0)
    }

    /// True if a packet may leave with so many bytes in flight (`send_wnd`).
    pub fn allows(&self, in_flight: f64, packet: f64) -> bool {
        packet <= self.bytes * OVERHEAD - in_flight
    }

    /// Takes a feedback.
    pub fn on_feedback(&mut self, news: &News) {
        self.note_flight(news);
        self.note_marks(news);
        let closeness = self.closeness();
        if let Some(cause) = self.congestion(news) {
            self.shrink(&cause, closeness, news);
        }
        self.grow(closeness, news);
    }

    fn note_flight(&mut self, news: &News) {
        if news.now_s - self.round_at >= news.rtt_s {
            self.round_at = news.now_s;
            self.most_in_flight = [0.0, self.most_in_flight[0]];
        }
        self.most_in_flight[0] = self.most_in_flight[0].max(news.in_flight);
    }

    fn note_marks(&mut self, news: &News) {
        self.lost |= news.lost;
        self.has_marks |= news.marked > 0;
        if news.lost || news.marked > 0 {
            self.congested_at = news.now_s;
        }
        self.packets += news.packets;
        self.marked += news.marked;
        if news.now_s - self.share_at >= news.rtt_s.min(SHARE_S) && self.packets > 0 {
            let share = f64::from(self.marked) / f64::from(self.packets);
            self.share = if share >= self.share {
                SHARE_RISE * share + (1.0 - SHARE_RISE) * self.share
            } else {
                (1.0 - SHARE_FALL) * self.share
            };
            (self.share_at, self.packets, self.marked) = (news.now_s, 0, 0);
        }
    }

    /// Returns how far the window is from where there was congestion last (`scl_t`): from 0.1 to 1.
    fn closeness(&self) -> f64 {
        let distance = 8.0 * (self.bytes - self.inflection) / self.inflection;
        (distance * distance).clamp(0.1, 1.0)
    }

    fn congestion(&self, news: &News) -> Option<Cause> {
        if news.now_s - self.reacted_at < news.rtt_s.min(VIRTUAL_RTT_S) {
            return None;
        }
        let half_s = TARGET_S / 2.0;
        if self.lost {
            Some(Cause::Loss)
        } else if self.has_marks {
            Some(Cause::Mark)
        } else if news.average_queue_s > half_s {
            let share = (news.average_queue_s - half_s) / half_s;
            Some(Cause::Queue(share.clamp(0.0, 1.0)))
        } else {
            None
        }
    }

    /// "Reference Window Reduction".
    fn shrink(&mut self, cause: &Cause, closeness: f64, news: &News) {
        if self.grew {
            (self.inflection, self.grew) = (self.bytes, false);
        }
        // with a long round trip it shrinks several times in each
        let rounds = (news.rtt_s / VIRTUAL_RTT_S).max(1.0);
        let factor = match cause {
            Cause::Loss => AT_LOSS,
            Cause::Mark if !self.l4s => AT_MARK,
            Cause::Mark => {
                let mut less = self.share / 2.0 / rounds;
                if news.queue_s < TARGET_S / 4.0 {
                    less *= closeness.max(0.25);
                }
                let long_s = LONG_ROUNDS * news.rtt_s.max(VIRTUAL_RTT_S);
                if news.now_s - self.reacted_at > long_s {
                    self.bytes = self.bytes.min(self.most_in_flight[1]);
                }
                1.0 - less
            }
            Cause::Queue(share) => 1.0 - share / 2.0 / rounds,
        };
        self.bytes = (self.bytes * factor).max(LEAST);
        self.reacted_at = news.now_s;
        (self.lost, self.has_marks) = (false, false);
    }

    /// "Reference Window Increase".
    fn grow(&mut self, closeness: f64, news: &News) {
        let rounds =
            (news.now_s - self.congested_at) / (CAUTIOUS_ROUNDS * news.rtt_s.max(VIRTUAL_RTT_S));
        let proportion = GROWTH * self.bytes / self.packet * rounds.clamp(0.0, 1.0) * closeness;
        let more = (news.bytes - news.marked_bytes)
            * self.ratio()
            * (news.rtt_s / VIRTUAL_RTT_S).min(1.0)
            * closeness.max(0.25)
            * (1.0 + proportion);
        let [now, before] = self.most_in_flight;
        let most = self.packet + HEAD_ROOM * now.max(before);
        if more > 0.0 && self.bytes + more <= most && !news.at_most {
            self.bytes += more;
            self.grew = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: f64 = 1000.0;
    const BEFORE: f64 = 100_000.0;

    /// A window of 100 packets, with as much in flight, and feedback at 10 s on a path of 50 ms.
    fn window(l4s: bool) -> (Window, News) {
        let config = Config {
            least_bps: 1e5,
            most_bps: 1e8,
            frame_ns: 20_000_000,
            packet_bytes: PACKET as u16,
            l4s,
        };
        let mut window = Window::new(&config);
        window.bytes = BEFORE;
        window.reacted_at = 9.0;
        let news = News {
            now_s: 10.0,
            packets: 10,
            rtt_s: 0.05,
            in_flight: BEFORE,
            ..News::default()
        };
        (window, news)
    }

    fn after(l4s: bool, change: impl Fn(&mut News)) -> f64 {
        let (mut window, mut news) = window(l4s);
        change(&mut news);
        window.on_feedback(&news);
        window.bytes() / BEFORE
    }

    #[test]
    fn each_kind_of_congestion_has_its_factor() {
        let lost = |news: &mut News| news.lost = true;
        let marked = |news: &mut News| (news.marked, news.queue_s) = (5, 0.02);
        let late = |queue_s: f64| move |news: &mut News| news.average_queue_s = queue_s;
        for (found, expected) in [
            (after(false, lost), 0.7),
            (after(true, lost), 0.7),
            (after(false, marked), 0.8),
            // half of the packets, of weight 1/8; half of that, in two parts a round trip
            (after(true, marked), 1.0 - 0.5 / 8.0 / 2.0 / 2.0),
            (after(false, late(0.029)), 1.0),
            (after(false, late(0.045)), 1.0 - 0.5 / 2.0 / 2.0),
            (after(true, late(0.1)), 1.0 - 1.0 / 2.0 / 2.0),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn after_a_long_time_a_mark_finds_what_was_in_flight() {
        let (mut window, mut news) = window(true);
        window.reacted_at = 4.0;
        window.most_in_flight = [BEFORE / 4.0, 0.0];
        (news.marked, news.queue_s) = (5, 0.02);
        window.on_feedback(&news);
        let expected = BEFORE / 4.0 * (1.0 - 0.5 / 8.0 / 2.0 / 2.0);
        assert!((window.bytes() - expected).abs() < 1e-9);
    }

    #[test]
    fn it_shrinks_once_in_25_ms() {
        let (mut window, mut news) = window(false);
        news.lost = true;
        window.on_feedback(&news);
        news.now_s = 10.02;
        window.on_feedback(&news);
        assert_eq!(window.bytes(), 0.7 * BEFORE);
        // what was lost meanwhile counts
        (news.now_s, news.lost) = (10.026, false);
        window.on_feedback(&news);
        assert!((window.bytes() - 0.49 * BEFORE).abs() < 1e-6);
        // never below three packets of a kilobyte
        for step in 0..100 {
            (news.now_s, news.lost) = (11.0 + f64::from(step), true);
            window.on_feedback(&news);
        }
        assert_eq!(window.bytes(), 3000.0);
    }

    #[test]
    fn where_it_was_at_congestion_is_noted_again_once_it_has_grown() {
        let (mut window, mut news) = window(false);
        for (step, inflection) in [BEFORE, BEFORE, 0.49 * BEFORE + PACKET]
            .into_iter()
            .enumerate()
        {
            (news.lost, news.bytes) = (true, 0.0);
            window.on_feedback(&news);
            assert!(
                (window.inflection / inflection - 1.0).abs() < 1e-3,
                "{step}"
            );
            news.now_s += 0.02;
            if step == 1 {
                // by a packet and little more, as it is far from where it was
                (news.lost, news.bytes) = (false, window.bytes());
                window.on_feedback(&news);
            }
            news.now_s += 0.02;
        }
    }

    #[test]
    fn a_round_trip_without_congestion_adds_a_packet_and_a_fiftieth() {
        let (mut window, mut news) = window(false);
        for _ in 0..10 {
            // all that is in flight is acknowledged
            (news.bytes, news.in_flight) = (window.bytes(), window.bytes());
            let expected = window.bytes() + PACKET + 0.02 * window.bytes();
            window.on_feedback(&news);
            assert!((window.bytes() - expected).abs() < 1e-6);
            news.now_s += 0.05;
        }
        // just after congestion by a packet, near the window of then by a quarter of one
        news.lost = true;
        window.on_feedback(&news);
        let reduced = window.bytes();
        (news.lost, news.bytes, news.in_flight) = (false, reduced, reduced);
        news.now_s += 0.02;
        window.on_feedback(&news);
        let grown = window.bytes() - reduced;
        assert!((PACKET..1.1 * PACKET).contains(&grown), "{grown}");
        window.bytes = window.inflection;
        news.bytes = window.bytes;
        news.in_flight = window.bytes;
        window.on_feedback(&news);
        let grown = window.bytes() - window.inflection;
        assert!((0.25 * PACKET..0.27 * PACKET).contains(&grown), "{grown}");
        // and not at all at the greatest rate, or with little in flight
        for (at_most, in_flight) in [(true, window.bytes()), (false, 0.0)] {
            let (mut still, quiet) = (window.clone(), news);
            still.most_in_flight = [0.0; 2];
            still.on_feedback(&News {
                at_most,
                in_flight,
                ..quiet
            });
            assert_eq!(still.bytes(), window.bytes());
        }
    }
}
