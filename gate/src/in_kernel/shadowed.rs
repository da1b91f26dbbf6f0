//! The arrivals at a qdisc, passed on to a shadow: another discipline that decides about them, too.

use std::io;

use crate::{
    Failure,
    daemon::clock_ns,
    packet::Held,
    router::feed::Feed,
    settings::Settings,
    shadow::{self, Shadows},
};

/// Why a shadow removes no ACKs.
const NO_ACK_FILTER: &str = "a sample of the qdisc does not say what an ACK acknowledges";
/// Longest time between two checks of the arrivals for a shadow, ns: room for a million packets a second.
const CHECK_NS: u64 = 10_000_000;

/// Returns the shadow, if one is asked for.
///
/// # Errors
/// If its discipline is wrong or removes ACKs.
pub fn shadow_of(
    text: Option<&str>,
    settings: &Settings,
) -> Result<Option<(Feed, Shadows)>, Failure> {
    let asked = shadow::asked_for(text, settings)?;
    for link in asked.iter().flat_map(|(_, shadows)| shadows.links()) {
        let without = link.discipline.without_ack_filter(NO_ACK_FILTER);
        without.map_err(|error| Failure(format!("--shadow: {error}")))?;
    }
    Ok(asked)
}

/// The way of arrivals to a shadow, and how far they are.
pub struct Shadowed {
    /// Where they are passed on.
    pub feed: Feed,
    /// The daemon's start by the kernel's monotonic clock, ns; `None`: not known yet.
    origin_ns: Option<u64>,
    /// When they were last looked for, and the time up to which all is passed on, ns.
    checked_ns: u64,
    passed_ns: u64,
    unsampled: u64,
}

impl Shadowed {
    /// Returns the way to a shadow that nothing has come to yet.
    pub fn new(feed: Feed) -> Self {
        Self {
            feed,
            origin_ns: None,
            checked_ns: 0,
            passed_ns: 0,
            unsampled: 0,
        }
    }

    /// When arrivals must be looked for next, ns.
    pub fn due_ns(&self) -> u64 {
        self.checked_ns + CHECK_NS
    }

    /// True if arrivals must be looked for now, ns from the daemon's start on.
    pub fn is_due(&mut self, now_ns: u64) -> io::Result<bool> {
        if self.origin_ns.is_none() {
            let clock_ns = clock_ns().map_err(|failure| io::Error::other(failure.0))?;
            self.origin_ns = Some(clock_ns - now_ns);
        }
        let is_due = now_ns >= self.due_ns();
        if is_due {
            self.checked_ns = now_ns;
        }
        Ok(is_due)
    }

    /// Passes on a packet that arrived at a time of the kernel's monotonic clock, ns.
    pub fn arrive(&mut self, clock_ns: u64, packet: Held) {
        let origin_ns = self.origin_ns.unwrap_or(clock_ns);
        // what came before the daemon began, comes as it begins
        let now_ns = self.reach(clock_ns.saturating_sub(origin_ns));
        self.feed.arrive(0, now_ns, packet);
    }

    /// Returns the time up to which all is passed on, ns: this one, or a later one that was said before.
    pub fn reach(&mut self, now_ns: u64) -> u64 {
        self.passed_ns = self.passed_ns.max(now_ns);
        self.passed_ns
    }

    /// Says how many arrivals the kernel had no room for, since the start.
    pub fn leave_out(&mut self, unsampled: u64) {
        let new = unsampled - std::mem::replace(&mut self.unsampled, unsampled);
        self.feed.leave_out(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::LinkOptions, in_kernel::read};

    #[test]
    fn a_shadow_of_a_qdisc_removes_no_acks() {
        let settings = read(&LinkOptions {
            aqm: Some("red".into()),
            rate: Some("10e6".into()),
            ..LinkOptions::default()
        });
        let settings = settings.unwrap();
        let asked = |text| shadow_of(text, &settings).map(|asked| asked.is_some());
        assert!(!asked(None).unwrap());
        assert!(asked(Some("cake:ecn=true")).unwrap());
        for text in [
            "cake:ecn=true,ack_filter=on",
            "cake:ecn=true,ack_filter=aggressive",
        ] {
            let Failure(what) = asked(Some(text)).unwrap_err();
            assert!(
                what.starts_with("--shadow: cake.ack_filter must be off"),
                "{what}"
            );
        }
    }
}
