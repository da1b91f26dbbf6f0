//! Compares AVQ with the token bucket of its paper in floating point, and tests the paper's claim.

use sluice_aqm::{Aqm, Running, Verdict, View};

use crate::common::{
    configured,
    link::{Event, LINK, Link, MIXED, in_unit},
    number, value, word,
};

/// Kunniyur & Srikant 2001, section 3, "the AVQ algorithm"; where packets are dropped, the input
/// is the accepted rate.
struct Model {
    capacity: f64,
    buffer: f64,
    alpha: f64,
    gamma: f64,
    virtual_capacity: f64,
    virtual_queue: f64,
    arrived: f64,
    adapted: f64,
}

impl Model {
    /// Returns how much longer the virtual queue would be than its buffer, packets of mean size.
    fn excess(&mut self, now: f64, weight: f64) -> f64 {
        let sent = self.virtual_capacity * (now - self.arrived);
        self.virtual_queue = (self.virtual_queue - sent).max(0.0);
        self.arrived = now;
        self.virtual_queue + weight - self.buffer
    }

    fn follow(&mut self, now: f64, weight: f64, dropped: bool, marked: bool) {
        if !dropped && !marked {
            self.virtual_queue += weight;
        }
        if !dropped {
            let filled = self.virtual_capacity
                + self.alpha * self.gamma * self.capacity * (now - self.adapted);
            self.virtual_capacity = (filled.min(self.capacity) - self.alpha * weight).max(0.0);
            self.adapted = now;
        }
    }
}

fn follow(link: &Link, unit: &str, gamma: f64, alpha: f64, virtual_buffer: f64) {
    let configured = configured(
        "avq",
        &[
            ("gamma", number(gamma)),
            ("alpha", number(alpha)),
            ("virtual_buffer", number(virtual_buffer)),
            ("unit", word(unit)),
        ],
    );
    let mean = value(&configured, "mean_packet_bytes");
    let capacity = link.rate_bps as f64 / 8.0 / mean;
    let mut model = Model {
        capacity,
        buffer: virtual_buffer * f64::from(link.limit),
        alpha,
        gamma,
        virtual_capacity: capacity,
        virtual_queue: 0.0,
        arrived: 0.0,
        adapted: 0.0,
    };
    let (mut dropped, mut marked, mut open) = (0, 0, 0);
    link.drive(&configured, 60_000, |event, view, verdict, _| {
        if event != Event::Arrive {
            return;
        }
        let (now, (_, weight)) = (view.now_ns as f64 / 1e9, in_unit(view, unit, mean));
        let excess = model.excess(now, weight);
        let overflows = if excess.abs() < 1e-4 {
            open += 1;
            matches!(verdict, Verdict::DropEarly | Verdict::Mark)
        } else {
            excess > 0.0
        };
        let said = if overflows {
            Verdict::DropEarly
        } else {
            Verdict::Admit
        };
        assert_eq!(verdict, Running::settle(said, view), "{excess} {view:?}");
        let marks = overflows && view.ecn_capable == 1;
        dropped += usize::from(overflows && !marks);
        marked += usize::from(marks);
        model.follow(now, weight, overflows && !marks, marks);
    });
    assert!(
        dropped > 500 && (marked > 500) == link.ecn,
        "{dropped} {marked}"
    );
    assert!(open < 30, "{open}");
}

#[test]
fn avq_follows_the_oracle() {
    follow(&LINK, "packets", 0.98, 0.15, 1.0);
    follow(&LINK, "packets", 0.8, 2.0, 0.5);
    follow(&MIXED, "packets", 0.98, 0.15, 1.0);
    follow(&MIXED, "bytes", 0.9, 0.5, 0.3);
}

/// The paper's claim: under a constant overload the accepted packets give the utilisation gamma,
/// for any buffer.
#[test]
fn the_accepted_rate_becomes_gamma_times_the_capacity() {
    for gamma in [0.98, 0.7] {
        let mut running = configured("avq", &[("gamma", number(gamma))]).start();
        // packets of 500 bytes at twice the rate of an 8 Mbit/s link; marking is off
        let mut arrive = |packet: u64| {
            let view = View {
                now_ns: packet * 250_000,
                rate_bps: 8_000_000,
                limit_packets: 100,
                packet_bytes: 500,
                ..View::default()
            };
            running.arrive(&view) == Verdict::Admit
        };
        let accepted = (1..400_000)
            .map(&mut arrive)
            .skip(200_000)
            .filter(|a| *a)
            .count();
        let utilisation = 2.0 * accepted as f64 / 199_999.0;
        assert!(
            (utilisation - gamma).abs() < 0.002,
            "{utilisation}, not {gamma}"
        );
    }
}
