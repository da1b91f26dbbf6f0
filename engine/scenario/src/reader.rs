//! Reads a scenario and collects all its problems.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use sluice_aqm::nearest;
use thiserror::Error;

use crate::value::{Fields, Value};

/// Greatest number of problems in an error.
const MOST_PROBLEMS: usize = 50;

/// Former names of fields, with the present ones.
const RENAMED: &[(&str, &str)] = &[("way", "route")];

/// The reasons why a scenario was refused: a line for each problem, with the path of its field.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}", .0.join("\n"))]
pub struct ScenarioError(Vec<String>);

impl ScenarioError {
    /// Returns an error with one problem.
    pub fn new(what: impl Into<String>) -> Self {
        Self(vec![what.into()])
    }

    /// Adds a place, such as a file's path, before each line.
    pub fn at(self, place: impl Display) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|line| format!("{place}: {line}"))
                .collect(),
        )
    }
}

/// The place of a reader in a scenario, and the problems that it found so far.
#[derive(Debug, Default)]
pub struct Reader {
    folder: PathBuf,
    place: Vec<String>,
    problems: Vec<String>,
}

impl Reader {
    /// Returns a reader for which relative paths start at `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            ..Self::default()
        }
    }

    /// Returns the number of problems so far.
    pub fn problems(&self) -> usize {
        self.problems.len()
    }

    /// Returns a path of the scenario, relative to its folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Calls `work` one step deeper: in a field, or in an item of a list.
    pub fn within<T>(&mut self, step: impl Display, work: impl FnOnce(&mut Self) -> T) -> T {
        self.place.push(step.to_string());
        let done = work(self);
        self.place.pop();
        done
    }

    /// Adds a problem of the present field: `what` continues a sentence, as in
    /// `queue.limit is missing`.
    pub fn wrong(&mut self, what: impl Display) {
        let place = if self.place.is_empty() {
            "a scenario".into()
        } else {
            self.place.join(".")
        };
        self.note(format!("{place} {what}"));
    }

    /// Adds the problem that the present field has a wrong value: `queue.limit = 0 must ...`.
    pub fn refuse(&mut self, value: &Value, must: impl Display) {
        self.wrong(format!("= {} {must}", value.shown()));
    }

    /// Adds a problem of the present table: `what` is a sentence of its own, as in
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

    /// Returns what was read, if there were no problems.
    ///
    /// # Errors
    /// All problems, at most 50.
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

/// The given fields of a table that is being read, and the fields that this table can have.
#[derive(Debug)]
pub struct Given<'a> {
    fields: &'a Fields,
    known: Vec<&'static str>,
}

impl<'a> Given<'a> {
    /// Starts to read the given fields.
    pub fn new(fields: &'a Fields) -> Self {
        Self {
            fields,
            known: Vec::new(),
        }
    }

    /// Returns the value of a field, if it was given, and notes that the table can have it.
    pub fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.fields.get(name)
    }

    /// Returns what an unknown name may mean, and all fields that the table can have, as the end
    /// of a sentence.
    fn meant(&self, name: &str) -> String {
        let near = nearest(name, &self.known)
            .map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        match self.known.len() {
            0 => "; there are none".to_owned(),
            _ => format!("{near}; there are {}", self.known.join(", ")),
        }
    }

    /// Adds a problem for each given field that was not taken.
    pub fn refuse_others(&self, reader: &mut Reader) {
        for (name, _) in &self.fields.rows {
            if !self.known.contains(&name.as_str()) {
                let meant = match RENAMED.iter().find(|(old, _)| old == name) {
                    Some((_, new)) if self.known.contains(new) => format!("; it is called {new}"),
                    _ => self.meant(name),
                };
                reader.within(name, |reader| {
                    reader.wrong(format!("is not a field{meant}"))
                });
            }
        }
    }
}

/// Returns a hint to what an unknown name means, as the end of a sentence; empty if there is none.
pub fn meant(name: &str, known: &[&str]) -> String {
    nearest(name, known).map_or_else(String::new, |near| format!("; did you mean {near}?"))
}
