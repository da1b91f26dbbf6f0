//! Notifies a service manager (systemd) that the gate is ready, that it is alive, and that it ends.
//! Without a service manager nothing happens.

use sd_notify::NotifyState;

use crate::say;

/// The daemon as a service.
pub struct Service {
    /// Time between two signs of life, ns; `None` without a watchdog.
    period_ns: Option<u64>,
    next_ns: u64,
}

impl Default for Service {
    fn default() -> Self {
        // twice as often as is asked for, as sd_watchdog_enabled(3) advises
        let period = sd_notify::watchdog_enabled().map(|period| period / 2);
        Self {
            period_ns: period.map(|period| period.as_nanos() as u64),
            next_ns: 0,
        }
    }
}

impl Service {
    /// Notifies that packets are routed from now on.
    pub fn ready(&self) {
        notify(NotifyState::Ready);
    }

    /// Sets what `systemctl status` shows. A status is one line: only the first line of `text` is
    /// sent.
    pub fn status(&self, text: &str) {
        notify(NotifyState::Status(text.lines().next().unwrap_or_default()));
    }

    /// Called in each turn of the router: sends a sign of life if one is due. A router that hangs
    /// does not get here, and is restarted.
    pub fn alive(&mut self, now_ns: u64) {
        if let Some(period_ns) = self.period_ns
            && now_ns >= self.next_ns
        {
            notify(NotifyState::Watchdog);
            self.next_ns = now_ns + period_ns;
        }
    }

    /// Returns when the next sign of life is due, ns; `u64::MAX` without a watchdog.
    pub fn due_ns(&self) -> u64 {
        self.period_ns.map_or(u64::MAX, |_| self.next_ns)
    }

    /// Notifies that the gate ends because it was told to.
    pub fn ends(&self) {
        notify(NotifyState::Stopping);
    }
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        say(&format!("the service manager cannot be told: {error}"));
    }
}
