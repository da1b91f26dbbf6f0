//! Network interfaces, also those in other network namespaces.

use std::{
    ffi::CString,
    fmt,
    fs::{self, File},
    io, iter,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::MetadataExt,
    },
    path::Path,
    str::FromStr,
};

use nix::net::if_::if_nameindex;

/// Folder in which `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";
/// The namespace of this thread.
const OWN_NAMESPACE: &str = "/proc/thread-self/ns/net";

/// An interface: `NAME`, or `NAMESPACE/NAME` in a namespace of `ip netns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    namespace: Option<String>,
    /// Its name in its namespace.
    pub name: String,
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let is_name = |word: &str| !word.is_empty() && !word.contains('/') && word != "..";
        if !is_name(name) || !namespace.is_none_or(is_name) {
            return Err("must be NAME, or NAMESPACE/NAME for one of ip netns".into());
        }
        Ok(Self {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(out, "{namespace}/{}", self.name),
            None => write!(out, "{}", self.name),
        }
    }
}

impl Device {
    /// Returns the interfaces of this namespace, and of the namespaces of `ip netns` that can be
    /// entered.
    pub fn all() -> Vec<Self> {
        let here = fs::metadata(OWN_NAMESPACE).map(|file| (file.dev(), file.ino()));
        let others = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
        let others = others.filter_map(|file| {
            let there = fs::metadata(file.path()).ok()?;
            let is_other = here.as_ref().ok() != Some(&(there.dev(), there.ino()));
            is_other.then_some(file.file_name().into_string().ok()?)
        });
        let mut names: Vec<String> = others.collect();
        names.sort();
        let namespaces = iter::once(None).chain(names.into_iter().map(Some));
        namespaces.flat_map(Self::all_of).collect()
    }

    fn all_of(namespace: Option<String>) -> Vec<Self> {
        let named = |name| Self {
            namespace: namespace.clone(),
            name,
        };
        // `lo` stands for any interface: each namespace has it
        let names = named("lo".into()).within(|| Ok(if_nameindex()?));
        let names = names.iter().flatten();
        names
            .filter_map(|each| Some(named(each.name().to_str().ok()?.to_owned())))
            .collect()
    }

    /// Returns the `tc` command for its namespace, as a user would write it.
    pub fn tc(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("tc -n {namespace}"),
            None => "tc".into(),
        }
    }

    /// Returns its index in its namespace.
    ///
    /// # Errors
    /// If it does not exist, or if its namespace cannot be entered.
    pub fn index(&self) -> io::Result<i32> {
        let name = CString::new(self.name.as_str())?;
        self.within(|| {
            // SAFETY: the name ends with a zero and outlives the call.
            match unsafe { libc::if_nametoindex(name.as_ptr()) } {
                0 => Err(io::Error::last_os_error()),
                index => Ok(index as i32),
            }
        })
    }

    /// Runs `work` in its namespace, on this thread. Sockets opened there stay in that namespace.
    ///
    /// # Errors
    /// If the namespace cannot be entered or left, or the error of `work`.
    pub fn within<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let Some(namespace) = &self.namespace else {
            return work();
        };
        let there = File::open(Path::new(NAMESPACES).join(namespace))?;
        let here = File::open(OWN_NAMESPACE)?;
        enter(&there)?;
        let done = work();
        enter(&here)?;
        done
    }
}

fn enter(namespace: &impl AsFd) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::setns(namespace.as_fd().as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_written_as_it_is_read() {
        for text in ["eth0", "router/out", "eth0.10"] {
            assert_eq!(text.parse::<Device>().unwrap().to_string(), text);
        }
        for text in ["", "/out", "router/", "a/b/c", "../eth0"] {
            assert!(text.parse::<Device>().is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_exists_and_a_missing_namespace_is_reported() {
        assert_eq!("lo".parse::<Device>().unwrap().index().unwrap(), 1);
        let lost = "no-such-namespace/lo".parse::<Device>().unwrap().index();
        assert_eq!(lost.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
