//! Another discipline for a link at work, for who knows a token: from the endpoint to the daemon.

use std::{
    fs,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::fs::MetadataExt,
    },
    path::Path,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
};

use crate::{
    Failure,
    machine::wake::{self, Wake, Woken},
    router::snapshot::NAMES,
    settings::{self, ConfiguredDiscipline},
};

/// Least length of a token, bytes.
const LEAST_BYTES: usize = 16;
/// Changes that may wait.
const WAITING: usize = 4;

/// A link's next discipline.
pub struct Switch {
    /// Place of the link.
    pub link: usize,
    /// What it comes under.
    pub discipline: ConfiguredDiscipline,
}

/// Where the endpoint passes changes on.
pub struct Switcher {
    token: String,
    to: SyncSender<Switch>,
    wake: Wake,
}

/// Where the daemon takes them; readable while there may be some.
pub struct Switches {
    received: Receiver<Switch>,
    woken: Woken,
}

/// Why a change is not passed on.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The token is another one.
    Token,
    /// What is wrong with the discipline or the link.
    Wrong(String),
    /// Others wait.
    Busy,
}

/// Reads the token from a file, and opens the way from the endpoint to the daemon.
///
/// # Errors
/// If it cannot be read, if others may read it, too, or if it is too short.
pub fn open(path: &Path) -> Result<(Switcher, Switches), Failure> {
    let wrong = |what: &str| Failure(format!("--token {}: {what}", path.display()));
    let mode = fs::metadata(path)
        .map_err(|error| wrong(&error.to_string()))?
        .mode();
    if mode & 0o077 != 0 {
        return Err(wrong("only its owner may have access to it: chmod 600"));
    }
    let text = fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    let token = text.trim();
    if token.len() < LEAST_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(
            "a token has 16 or more letters and digits, such as openssl rand -hex 16 makes",
        ));
    }
    way(token).map_err(|error| wrong(&error.to_string()))
}

fn way(token: &str) -> std::io::Result<(Switcher, Switches)> {
    let (to, received) = sync_channel(WAITING);
    let (wake, woken) = wake::pair()?;
    let token = token.to_owned();
    Ok((Switcher { token, to, wake }, Switches { received, woken }))
}

impl Switcher {
    /// Passes on a change of the discipline of a link.
    ///
    /// # Errors
    /// See [`Refused`].
    pub fn switch(&self, token: &str, link: &str, discipline: &str) -> Result<(), Refused> {
        if !is_same(token.as_bytes(), self.token.as_bytes()) {
            return Err(Refused::Token);
        }
        let Some(link) = NAMES.iter().position(|name| *name == link) else {
            return Err(Refused::Wrong(format!(
                "link must be one of: {}",
                NAMES.join(", ")
            )));
        };
        // a header would be compiled, and its code be run
        let name = discipline.split(':').next().unwrap_or_default().trim();
        if !name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(Refused::Wrong(
                "a page chooses among the AQMs of aqm/: see sluice aqms".into(),
            ));
        }
        let discipline = settings::named("discipline:", discipline)
            .map_err(|error| Refused::Wrong(error.to_string()))?;
        let switch = Switch { link, discipline };
        self.to.try_send(switch).map_err(|_| Refused::Busy)?;
        self.wake.wake();
        Ok(())
    }
}

impl Switches {
    /// Returns the next change, if there is one. Never waits.
    pub fn take(&mut self) -> Option<Switch> {
        self.woken.sleep();
        self.received.try_recv().ok()
    }
}

impl AsFd for Switches {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

/// Compares in a time that does not tell how much is the same.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_change_takes_the_token_and_an_aqm_of_ours() {
        let (switcher, mut switches) = way("0123456789abcdef").unwrap();
        let ask = |token, link, aqm| switcher.switch(token, link, aqm);
        let right = "0123456789abcdef";
        for wrong in ["", "0123456789abcdeF", "0123456789abcdef0"] {
            assert_eq!(ask(wrong, "forward", "pie"), Err(Refused::Token));
        }
        for (link, aqm, told) in [
            ("sideways", "pie", "link must be one of: forward, reverse"),
            ("forward", "nothing", "nothing"),
            ("forward", "pie:target=-1", "target"),
            (
                "forward",
                "/tmp/own.h",
                "a page chooses among the AQMs of aqm/",
            ),
        ] {
            let Err(Refused::Wrong(what)) = ask(right, link, aqm) else {
                panic!("{aqm}");
            };
            assert!(what.contains(told), "{what}");
        }
        assert!(switches.take().is_none());
        for _ in 0..WAITING {
            ask(right, "reverse", "codel:target=0.01").unwrap();
        }
        assert_eq!(ask(right, "forward", "pie"), Err(Refused::Busy));
        let first = switches.take().unwrap();
        assert_eq!(first.link, 1);
        assert_eq!(first.discipline.spec.name(), "codel target=0.01");
    }

    #[test]
    fn a_token_is_long_and_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        for (text, mode, told) in [
            ("0123456789abcdef\n", 0o644, "chmod 600"),
            ("0123456789\n", 0o600, "16 or more"),
            ("0123456789 abcdef\n", 0o600, "16 or more"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let Err(Failure(what)) = open(&path) else {
                panic!("{text}");
            };
            assert!(what.contains(told), "{what}");
        }
        fs::write(&path, "0123456789abcdef\n").unwrap();
        assert!(open(&path).is_ok());
        assert!(open(&folder.path().join("none")).is_err());
    }
}
