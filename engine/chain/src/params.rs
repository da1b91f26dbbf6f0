//! The parameters of a configured AQM, by name.

use sluice_aqm::{Configured, Value};

pub(crate) struct Params<'a> {
    pub owner: &'a str,
    values: Vec<(&'a str, Value)>,
}

impl<'a> Params<'a> {
    pub fn of(aqm: &'a Configured) -> Self {
        Self {
            owner: aqm.class().name.as_str(),
            values: aqm.values().collect(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        let mut values = self.values.iter();
        values
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Returns a number that every member of the RED family has.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Some(Value::Number(number)) => *number,
            _ => unreachable!("{}.{name} is a number of the RED family", self.owner),
        }
    }

    pub fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.get(name), Some(Value::Word(known)) if known == word)
    }
}
