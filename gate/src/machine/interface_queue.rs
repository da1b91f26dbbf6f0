//! The root queue of an interface, as `tc` reports it.

use std::time::Instant;

use serde_json::Value;

use crate::command;

/// The state of a root queue.
pub struct InterfaceQueue {
    at: Instant,
    /// Its kind of qdisc; `noqueue` reports 0 for everything.
    pub kind: String,
    /// Packets that wait.
    pub packets: f64,
    /// Packets sent since its start.
    pub sent_packets: f64,
    sent_bytes: f64,
}

impl InterfaceQueue {
    /// Asks tc for the root queue of NAME or NAMESPACE/NAME; `None` if there is no tc, or if the
    /// interface has no queue.
    pub fn of(interface: &str) -> Option<Self> {
        let mut tc = command("tc");
        let name = match interface.split_once('/') {
            Some((namespace, name)) => {
                tc.args(["-n", namespace]);
                name
            }
            None => interface,
        };
        tc.args(["-s", "-j", "qdisc", "show", "dev", name]);
        let queues: Vec<Value> = serde_json::from_slice(&tc.output().ok()?.stdout).ok()?;
        let root = queues.iter().find(|queue| queue["root"] == true)?;
        Some(Self {
            at: Instant::now(),
            kind: root["kind"].as_str()?.to_owned(),
            packets: root["qlen"].as_f64()?,
            sent_packets: root["packets"].as_f64()?,
            sent_bytes: root["bytes"].as_f64()?,
        })
    }

    /// Returns the rate at which it sent from the first to the last look, bits/s.
    pub fn sent_bps(samples: &[Self]) -> f64 {
        let (first, last) = (&samples[0], &samples[samples.len() - 1]);
        let time_s = (last.at - first.at).as_secs_f64().max(1e-9);
        8.0 * (last.sent_bytes - first.sent_bytes) / time_s
    }
}
