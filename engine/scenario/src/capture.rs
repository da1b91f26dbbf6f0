//! Captures that scenarios replay. A capture is read only once as long as it is in use.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, Weak},
    time::SystemTime,
};

use sha2::{Digest, Sha256};
use sluice_capture::Capture;
use sluice_ecn::Ecn;

use crate::{
    describe::ValueKind,
    field::Field,
    limits::{Limits, fewest},
    reader::Reader,
    value::Value,
};

/// A capture with its path; it is read when its packets are first needed.
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
    /// Returns the capture at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            packets: OnceLock::new(),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns its packets.
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
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Path
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        let path = String::read(value, &fewest(1), reader)?;
        Some(Self::at(reader.path(&path)))
    }

    fn write(&self) -> Value {
        Value::Text(self.path.display().to_string())
    }
}

/// One version of a file.
#[derive(PartialEq)]
struct Version {
    path: PathBuf,
    modified: Option<SystemTime>,
    bytes: u64,
}

/// Returns the packets of the file at a path; all users of the same version of the file share them.
fn read_once(path: &Path) -> Result<Arc<Capture>, String> {
    static KNOWN: Mutex<Vec<(Version, Weak<Capture>)>> = Mutex::new(Vec::new());
    let read = || {
        let capture = sluice_capture::read(path).map_err(|error| error.to_string())?;
        Ok(Arc::new(capture))
    };
    // a pipe, for example, is no file and has other packets each time
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

/// Returns a hash of all packets: captures with the same hash give the same replay.
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
    for ecn in &capture.ecn {
        hash.update([match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => 1,
            Ecn::Ect1 => 2,
            Ecn::Ce => 3,
        }]);
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
