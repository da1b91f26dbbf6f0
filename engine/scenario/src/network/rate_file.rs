//! Files of rates in time, the same for all worlds and for `sluiced`: CSV, or a trace of Mahimahi.

use std::{
    fmt::Write,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use sha2::{Digest, Sha256};
use sluice_link::{Service, Step};

use crate::{
    describe::ValueKind,
    field::Field,
    file::without_number,
    limits::{Limits, fewest},
    network::rate::{RATE, TIME},
    ns,
    reader::Reader,
    value::Value,
};

/// Greatest number of steps or opportunities.
pub(super) const MOST_STEPS: usize = 10_000_000;
/// Greatest size of a file, bytes.
const MOST_BYTES: u64 = 256_000_000;
/// First line of a CSV file.
const HEADER: &str = "time_s,rate_bps";
const NS_PER_MS: u64 = 1_000_000;

/// A file of rates in time; it is read when they are first needed.
#[derive(Clone, Debug)]
pub struct Varying {
    path: PathBuf,
    service: OnceLock<Service>,
}

impl PartialEq for Varying {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Varying {
    /// Returns the file at a path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            service: OnceLock::new(),
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how a link sends that follows it.
    ///
    /// # Errors
    /// If the file cannot be read, or if a line is wrong: with its number.
    pub fn service(&self) -> Result<&Service, String> {
        if let Some(service) = self.service.get() {
            return Ok(service);
        }
        let read = || parse(&text(&self.path)?);
        let service = read().map_err(|what| format!("{}: {what}", self.path.display()))?;
        Ok(self.service.get_or_init(|| service))
    }
}

impl Field for Varying {
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

fn text(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let kind = fs::metadata(path).map_err(|error| without_number(&error))?;
    // opening a pipe waits for its writer, and it cannot be read again after a reload
    if !kind.is_file() {
        return Err("it must be a file, not a folder, a pipe or a device".into());
    }
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| without_number(&error))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("it must have at most {MOST_BYTES} bytes"));
    }
    Ok(text)
}

/// Returns how a link sends that follows the lines of a file.
fn parse(text: &str) -> Result<Service, String> {
    // some editors write a byte order mark first
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines.filter(|(_, line)| !line.is_empty()).peekable();
    let Some((_, first)) = lines.peek() else {
        return Err("it is empty".into());
    };
    if without_spaces(first) == HEADER {
        let steps = lines.skip(1).map(|(number, line)| step(number, line));
        return Service::steps(few(steps)?);
    }
    if first.parse::<u64>().is_err() {
        return Err(format!(
            "line 1 must be {HEADER}, or a whole number of ms as in a trace of Mahimahi"
        ));
    }
    Service::opportunities(few(lines.map(|(number, line)| opportunity(number, line)))?)
}

fn without_spaces(line: &str) -> String {
    line.split_whitespace().collect()
}

fn few<T>(rows: impl Iterator<Item = Result<T, String>>) -> Result<Vec<T>, String> {
    let found: Vec<T> = rows.take(MOST_STEPS + 1).collect::<Result<_, _>>()?;
    match found.len() > MOST_STEPS {
        true => Err(format!("it must have at most {MOST_STEPS} rows")),
        false => Ok(found),
    }
}

fn step(number: usize, line: &str) -> Result<Step, String> {
    let row: Vec<&str> = line.split(',').map(str::trim).collect();
    let [time_s, rate_bps] = row[..] else {
        return Err(format!("line {number} must have two numbers: {HEADER}"));
    };
    let read = |name: &str, text: &str, limits: Limits| {
        let value = text
            .parse()
            .map_err(|_| format!("must be a number ({})", limits.unit));
        let checked = value.and_then(|value: f64| limits.number(value).map(|()| value));
        checked.map_err(|must| {
            let shown = Value::Text(text.into()).shown();
            format!("line {number}: {name} = {shown} {must}")
        })
    };
    Ok(Step {
        from_ns: ns(read("time_s", time_s, TIME)?),
        rate_bps: read("rate_bps", rate_bps, RATE)?.round_ties_even() as u64,
    })
}

fn opportunity(number: usize, line: &str) -> Result<u64, String> {
    let time_ms: Option<u64> = line.parse().ok();
    let time_ns = time_ms.and_then(|ms| ms.checked_mul(NS_PER_MS));
    time_ns.ok_or_else(|| {
        let shown = Value::Text(line.into()).shown();
        format!("line {number} = {shown} must be a whole number (ms)")
    })
}

/// Returns a hash: services with the same hash are the same.
pub fn fingerprint(service: &Service) -> String {
    let mut hash = Sha256::new();
    match service {
        Service::Steps(steps) => {
            for step in &**steps {
                hash.update(step.from_ns.to_le_bytes());
                hash.update(step.rate_bps.to_le_bytes());
            }
        }
        Service::Opportunities { times_ns, .. } => {
            hash.update("opportunities");
            for time_ns in &**times_ns {
                hash.update(time_ns.to_le_bytes());
            }
        }
        Service::Wifi(_) | Service::Docsis(_) => hash.update(format!("{service:?}")),
    }
    hash.finalize()
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a text takes everything");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_a_trace_are_told_apart_by_their_first_line() {
        let table = parse("time_s, rate_bps\n0,10e6\n1.5, 0\n\n2.5,2e6\n").unwrap();
        let Service::Steps(steps) = table else {
            panic!("{table:?} has no steps");
        };
        let found = steps.iter().map(|step| (step.from_ns, step.rate_bps));
        let wanted = [
            (0, 10_000_000),
            (1_500_000_000, 0),
            (2_500_000_000, 2_000_000),
        ];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
        let trace = parse("0\n3\n3\n7\n").unwrap();
        let times = [0, 3_000_000, 3_000_000, 7_000_000];
        assert_eq!(trace, Service::opportunities(times.to_vec()).unwrap());
    }

    #[test]
    fn wrong_files_say_what_is_wrong_and_where() {
        let header = "line 1 must be time_s,rate_bps, or a whole number of ms as in a trace of \
                      Mahimahi";
        for (text, told) in [
            ("", "it is empty"),
            ("\n \n", "it is empty"),
            ("time,rate\n", header),
            ("-3\n", header),
            ("time_s,rate_bps\n", "there must be at least one rate"),
            (
                "time_s,rate_bps\n0,1e6\n1,0\n",
                "the last rate, from 1 s on, must be above 0: it stays for ever",
            ),
            (
                "time_s,rate_bps\n1,1e6\n1,2e6\n",
                "times must rise, and 1 s does not come after 1 s",
            ),
            (
                "time_s,rate_bps\n0,1e6,3\n",
                "line 2 must have two numbers: time_s,rate_bps",
            ),
            (
                "time_s,rate_bps\n0,fast\n",
                "line 2: rate_bps = 'fast' must be a number (bits/s)",
            ),
            (
                "time_s,rate_bps\n\n0,-1\n",
                "line 3: rate_bps = '-1' must be at least 0 (bits/s)",
            ),
            (
                "0\n",
                "the last opportunity must be after 0: there the trace repeats",
            ),
            (
                "5\n3\n",
                "times must not fall, and 0.003 s comes after 0.005 s",
            ),
            ("5\n7.5\n", "line 2 = '7.5' must be a whole number (ms)"),
        ] {
            assert_eq!(parse(text).unwrap_err(), told, "{text:?}");
        }
    }
}
