//! Limits and unit of a field's value.

use crate::{quantity::example, show::rounded};

/// The bounds of a number, or of each number of a list, and of a list's or a text's length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Lower bound of a number.
    pub least: Option<Bound>,
    /// Upper bound of a number.
    pub greatest: Option<Bound>,
    /// Below this value a number must be whole.
    pub whole_below: f64,
    /// The unit to print after a number; empty if there is none.
    pub unit: &'static str,
    /// Least length of a list or a text.
    pub fewest: usize,
    /// Greatest length of a list, or of a text in characters.
    pub most: usize,
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Value of the end.
    pub at: f64,
    /// True if this value belongs to the range.
    pub included: bool,
}

/// Any value.
pub const ANY: Limits = Limits {
    least: None,
    greatest: None,
    whole_below: f64::NEG_INFINITY,
    unit: "",
    fewest: 0,
    most: usize::MAX,
};

/// Numbers from `at` on.
pub const fn at_least(at: f64) -> Limits {
    let least = Some(Bound { at, included: true });
    Limits { least, ..ANY }
}

/// Numbers above `at`.
pub const fn above(at: f64) -> Limits {
    let least = Some(Bound {
        at,
        included: false,
    });
    Limits { least, ..ANY }
}

/// Greatest length of a name, in characters: enough for every parameter of an AQM in words, and it
/// leaves room for the columns beside it.
pub const LONGEST_NAME: usize = 200;

/// Lists or texts with at least this many items or bytes.
pub const fn fewest(fewest: usize) -> Limits {
    Limits { fewest, ..ANY }
}

impl Limits {
    /// Sets the greatest length of a text, in characters.
    pub const fn longest(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Adds an upper bound, which is included.
    pub const fn at_most(self, at: f64) -> Self {
        let greatest = Some(Bound { at, included: true });
        Self { greatest, ..self }
    }

    /// Adds an upper bound, which is excluded.
    pub const fn below(self, at: f64) -> Self {
        let greatest = Some(Bound {
            at,
            included: false,
        });
        Self { greatest, ..self }
    }

    /// Sets the unit.
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// Numbers below this value must be whole.
    pub const fn whole_below(self, whole_below: f64) -> Self {
        Self {
            whole_below,
            ..self
        }
    }

    /// Sets the least and the greatest length of a list; the other limits apply to its items.
    pub const fn items(self, fewest: usize, most: usize) -> Self {
        Self {
            fewest,
            most,
            ..self
        }
    }

    /// Checks a number; the error says what it must be.
    pub(crate) fn number(&self, number: f64) -> Result<(), String> {
        if number.is_nan() {
            return Err(format!("must be a number{}", self.behind()));
        }
        if let Some(Bound { at, included }) = self.least
            && (number < at || number == at && !included)
        {
            return Err(self.too_small(at, included));
        }
        if let Some(Bound { at, included }) = self.greatest
            && (number > at || number == at && !included)
        {
            return Err(self.too_large(at, included));
        }
        if number.is_infinite() {
            return Err("must be finite".into());
        }
        if number < self.whole_below && number.fract() != 0.0 {
            return Err(format!(
                "must be whole, as all below {}{}",
                rounded(self.whole_below),
                self.behind()
            ));
        }
        Ok(())
    }

    /// Checks a whole number, whose bounds are whole; the error says what it must be.
    pub(crate) fn whole(&self, whole: i128) -> Result<(), String> {
        if let Some(Bound { at, included }) = self.least
            && (whole < at as i128 || whole == at as i128 && !included)
        {
            return Err(self.too_small(at, included));
        }
        if let Some(Bound { at, included }) = self.greatest
            && (whole > at as i128 || whole == at as i128 && !included)
        {
            return Err(self.too_large(at, included));
        }
        Ok(())
    }

    fn too_small(&self, at: f64, included: bool) -> String {
        let words = if included { "at least" } else { "above" };
        format!("must be {words} {}{}", rounded(at), self.behind())
    }

    fn too_large(&self, at: f64, included: bool) -> String {
        let words = if included { "at most" } else { "below" };
        format!("must be {words} {}{}", rounded(at), self.behind())
    }

    /// Returns what a value that is no number must be.
    pub(crate) fn no_number(&self) -> String {
        let with_unit =
            example(self.unit).map(|example| format!(", or have a unit as '{example}'"));
        format!(
            "must be a number{}{}",
            self.behind(),
            with_unit.unwrap_or_default()
        )
    }

    pub(crate) fn behind(&self) -> String {
        match self.unit {
            "" => String::new(),
            unit => format!(" ({unit})"),
        }
    }
}
