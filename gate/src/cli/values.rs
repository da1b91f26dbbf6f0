//! What the values of options mean.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

/// Default address.
pub const USUAL: &str = "127.0.0.1:8417";

/// An address on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A port on loopback.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let parsed = text.rsplit_once(':').and_then(|(host, port)| {
            let host: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
            Some(SocketAddr::new(host, port.parse().ok()?))
        });
        match parsed {
            Some(address) if address.ip().is_loopback() => Ok(Self::Tcp(address)),
            _ => Err(
                "must be 127.0.0.1:PORT, [::1]:PORT or unix:PATH: whoever reads it from \
                      elsewhere goes through a server that checks who asks"
                    .into(),
            ),
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(out, "{address}"),
            Self::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

/// What happens to packets while no program decides on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fail {
    /// They pass, unshaped.
    Open,
    /// They are dropped.
    Closed,
}

/// The program that sets rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Tool {
    /// nftables.
    Nft,
    /// iptables and ip6tables.
    Iptables,
}

/// How the router waits until a packet is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Timer {
    /// As other processes do: for tens of µs longer on an idle machine, for ms on a busy one.
    Sleep,
    /// Before all other processes (SCHED_FIFO).
    Realtime,
    /// Before all other processes, and awake for the last 60 µs before a departure: takes up to half
    /// of a processor.
    Spin,
}

/// Another back end than those that hand packets to the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// A qdisc of the kernel.
    Kernel,
}

/// Checks the name of an interface from the command line, and returns it; it is safe in a script.
///
/// # Errors
/// If no interface can have this name.
pub fn interface(name: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"\\;{}/".contains(&byte);
    // the kernel's names have 15 bytes at most
    if name.is_empty() || name.len() > 15 || !name.bytes().all(is_plain) {
        return Err("must be the name of a network interface: see ip link".into());
    }
    Ok(name.to_owned())
}

/// Checks the name of a TUN device, and returns it.
///
/// # Errors
/// If no interface can have this name.
pub fn tun_device(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"/%:".contains(&byte);
    if (1..libc::IFNAMSIZ).contains(&text.len()) && text.bytes().all(plain) {
        return Ok(text.to_owned());
    }
    Err("must be the name of an interface, of 1 to 15 characters".into())
}

pub(super) fn queue(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| *number < u16::MAX);
    number.ok_or_else(|| "must be a whole number from 0 to 65534".into())
}

pub(super) fn interval(text: &str) -> Result<f64, String> {
    seconds(text, 0.001)
}

pub(super) fn later(text: &str) -> Result<f64, String> {
    seconds(text, 0.0)
}

fn seconds(text: &str, least_s: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (least_s..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("must lie between {least_s} and 3600 (s)")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_this_machine() {
        for text in [USUAL, "[::1]:9100", "unix:/run/sluiced/metrics"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["192.168.1.1:9100", "9100", "localhost:9100", "unix:", ""] {
            let refused = text.parse::<Address>().unwrap_err();
            assert!(refused.starts_with("must be 127.0.0.1:PORT"), "{text}");
        }
    }

    #[test]
    fn an_interval_is_not_0_and_a_rate_may_begin_at_once() {
        assert_eq!((later("0"), later("3600")), (Ok(0.0), Ok(3600.0)));
        assert_eq!(interval("0.001"), Ok(0.001));
        for (refused, least) in [
            (interval("0"), "0.001"),
            (later("-1"), "0"),
            (later("NaN"), "0"),
        ] {
            let why = format!("must lie between {least} and 3600 (s)");
            assert_eq!(refused.unwrap_err(), why);
        }
    }

    #[test]
    fn names_are_those_of_interfaces() {
        assert_eq!(tun_device("tun0").as_deref(), Ok("tun0"));
        for wrong in ["", "a/b", "tun%d", "a b", "sixteen_letters_"] {
            assert!(tun_device(wrong).is_err(), "{wrong}");
        }
    }
}
