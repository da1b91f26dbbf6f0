//! Reads a scenario and collects all that is wrong with it.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use thiserror::Error;

use crate::value::{Fields, Value};

/// Problems that are told; who has more will not read them.
const MOST_PROBLEMS: usize = 50;
/// From this likeness on a name may have been meant by another one; 1: they are the same.
const ALIKE: f64 = 0.6;

/// Letters from which on the start of a name stands for the name.
const LEAST_START: usize = 3;

/// Fields by names that they had once.
const RENAMED: &[(&str, &str)] = &[("way", "route")];

/// Why a scenario was refused: a line for each problem, with the path of its field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", .0.join("\n"))]
pub struct ScenarioError(Vec<String>);

impl ScenarioError {
    /// One problem.
    pub fn new(what: impl Into<String>) -> Self {
        Self(vec![what.into()])
    }

    /// The same with a place, such as a file's path, before each line.
    pub fn at(self, place: impl Display) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|line| format!("{place}: {line}"))
                .collect(),
        )
    }
}

/// Where a reader is in a scenario, and what it has found wrong so far.
#[derive(Debug, Default)]
pub struct Reader {
    folder: PathBuf,
    place: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    /// A reader for whom relative paths start at `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            ..Self::default()
        }
    }

    /// How many problems were found so far.
    pub fn problems(&self) -> usize {
        self.problems.len()
    }

    /// A path as the scenario means it.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Does something one step further down: in a field, or in an item of a list.
    pub fn within<T>(&mut self, step: impl Display, work: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(step.to_string());
        let done = work(self);
        self.place.pop();
        done
    }

    /// Notes what is wrong with the present field: `what` continues a sentence, as in
    /// `queue.limit is missing`.
    pub fn wrong(&mut self, what: impl Display) {
        let place = if self.place.is_empty() {
            "a scenario".into()
        } else {
            self.place.join(".")
        };
        self.note(format!("{place} {what}"));
    }

    /// Notes that the present field has a value that it must not have: `queue.limit = 0 must ...`.
    pub fn refuse(&mut self, value: &Value, must: impl Display) {
        self.wrong(format!("= {} {must}", value.shown()));
    }

    /// Notes what is wrong with the present table: `what` is a sentence of its own, as in
    /// `flows.0: stop_s = 0 must exceed start_s = 0`.
    pub fn say(&mut self, what: impl Display) {
        if self.place.is_empty() {
            self.note(what.to_string());
        } else {
            self.note(format!("{}: {what}", self.place.join(".")));
        }
    }

    fn note(&mut self, line: String) {
        if !self.problems.contains(&line) {
            self.problems.push(line);
        }
    }

    /// What was read, if nothing was wrong.
    ///
    /// # Errors
    /// All that was wrong.
    pub fn finish<T>(self, found: Option<T>) -> Result<T, ScenarioError> {
        match found {
            Some(found) if self.problems.is_empty() => Ok(found),
            _ => {
                let mut lines = self.problems;
                if let Some(more @ 1..) = lines.len().checked_sub(MOST_PROBLEMS) {
                    lines.truncate(MOST_PROBLEMS);
                    lines.push(format!("and {more} more problems"));
                }
                Err(ScenarioError(lines))
            }
        }
    }
}

/// The fields of a table that is being read, and which of them the table has.
#[derive(Debug)]
pub struct Given<'a> {
    fields: &'a Fields,
    known: Vec<&'static str>,
}

impl<'a> Given<'a> {
    /// Nothing was asked for yet.
    pub fn new(fields: &'a Fields) -> Self {
        Self {
            fields,
            known: Vec::new(),
        }
    }

    /// The value of a field that the table has.
    pub fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.fields.get(name)
    }

    /// Refuses what the table has not.
    pub fn refuse_others(&self, reader: &mut Reader) {
        for (name, _) in &self.fields.rows {
            if !self.known.contains(&name.as_str()) {
                let meant = match RENAMED.iter().find(|(old, _)| old == name) {
                    Some((_, new)) if self.known.contains(new) => format!("; it is called {new}"),
                    _ => meant(name, &self.known),
                };
                reader.within(name, |reader| {
                    reader.wrong(format!("is not a field{meant}"))
                });
            }
        }
    }
}

/// What a name that does not exist was meant to be, as the end of a sentence; empty if unknown.
pub fn meant(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}

/// The known name that is most alike, if one is alike at all.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    // names that nobody typed take long to compare
    if name.len() > 100 {
        return None;
    }
    let likeness = |other: &str| match name.len() >= LEAST_START && other.starts_with(name) {
        true => 1.0,
        false => strsim::normalized_damerau_levenshtein(name, other),
    };
    known
        .iter()
        .map(|other| (likeness(other), *other))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, other)| other)
}
