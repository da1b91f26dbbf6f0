//! What a service manager (systemd) is told: that the gate is ready, that it is alive, that it ends.
//! Where there is none, nobody is told.

use sd_notify::NotifyState;

use crate::say;

/// The daemon as a service.
pub struct Service {
    /// Time between two signs of life, ns; `None` if nobody watches.
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
    /// Packets are routed from now on.
    pub fn ready(&self) {
        tell(NotifyState::Ready);
    }

    /// What `systemctl status` shows of it. A message ends with its line: of several the first is told.
    pub fn status(&self, text: &str) {
        tell(NotifyState::Status(text.lines().next().unwrap_or_default()));
    }

    /// The router has gone round once more. A hung one does not come here, and is restarted.
    pub fn alive(&mut self, now_ns: u64) {
        if let Some(period_ns) = self.period_ns
            && now_ns >= self.next_ns
        {
            tell(NotifyState::Watchdog);
            self.next_ns = now_ns + period_ns;
        }
    }

    /// When the next sign of life is due; the end of time if nobody watches.
    pub fn due_ns(&self) -> u64 {
        self.period_ns.map_or(u64::MAX, |_| self.next_ns)
    }

    /// It ends because it was told to.
    pub fn ends(&self) {
        tell(NotifyState::Stopping);
    }
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        say(&format!("the service manager cannot be told: {error}"));
    }
}
