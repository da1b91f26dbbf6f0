//! Captures that scenarios replay, each read once while anybody has it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, Weak},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use sluice_capture::Capture;

use crate::{
    describe::Kind,
    field::Field,
    limits::{Limits, fewest},
    reader::Reader,
    value::Value,
};

/// A capture that is named by its path, and read when its packets are first asked for.
#[derive(Clone, Debug)]
pub struct Recorded {
    path: PathBuf,
    packets: OnceLock<Arc<Capture>>,
}

impl PartialEq for Recorded {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Recorded {
    /// The capture at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            packets: OnceLock::new(),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its packets.
    ///
    /// # Errors
    /// If it cannot be read, or is no capture.
    pub fn packets(&self) -> Result<&Arc<Capture>, String> {
        if let Some(packets) = self.packets.get() {
            return Ok(packets);
        }
        let packets = read_once(&self.path)?;
        Ok(self.packets.get_or_init(|| packets))
    }
}

impl Field for Recorded {
    fn kind(_: Limits) -> Kind {
        Kind::Path
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        let path = String::read(value, &fewest(1), reader)?;
        Some(Self::at(reader.path(&path)))
    }

    fn write(&self) -> Value {
        Value::Text(self.path.display().to_string())
    }
}

/// A file, and which of its versions.
#[derive(PartialEq)]
struct Version {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

/// The packets at a path, shared with all who have the same version of the file.
fn read_once(path: &Path) -> Result<Arc<Capture>, String> {
    static KNOWN: Mutex<Vec<(Version, Weak<Capture>)>> = Mutex::new(Vec::new());
    let read = || {
        let capture = sluice_capture::read(path).map_err(|error| error.to_string())?;
        Ok(Arc::new(capture))
    };
    // what is no file, such as a pipe, has other packets each time
    let Some(file) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else {
        return read();
    };
    let version = Version {
        path: path.to_owned(),
        modified: file.modified().ok(),
        bytes: file.len(),
    };
    let mut known = KNOWN.lock().expect("reading a capture does not panic");
    known.retain(|(_, capture)| capture.strong_count() > 0);
    let found = known.iter().find(|(other, _)| *other == version);
    if let Some(capture) = found.and_then(|(_, capture)| capture.upgrade()) {
        return Ok(capture);
    }
    let capture = read()?;
    known.push((version, Arc::downgrade(&capture)));
    Ok(capture)
}

/// A hash of all packets: two captures with the same are replayed alike.
pub fn fingerprint(capture: &Capture) -> String {
    let mut hash = Sha256::new();
    for time_ns in &capture.time_ns {
        hash.update(time_ns.to_le_bytes());
    }
    for column in [&capture.bytes, &capture.flow] {
        for value in column {
            hash.update(value.to_le_bytes());
        }
    }
    for on in &capture.ecn_capable {
        hash.update([u8::from(*on)]);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
