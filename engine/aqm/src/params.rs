//! Parameters: turns the values that a user writes into the integers of `struct X_params`.

use std::fmt;

use thiserror::Error;

/// 1 in Q31.32.
pub const ONE: i64 = 1 << 32;

/// The kind of a parameter in its `P(...)` line, which fixes how its value becomes an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Q31.32 packets.
    Packets,
    /// Q31.32 without a unit.
    Ratio,
    /// Q1.62 without a unit.
    Gain,
    /// Seconds, held as integer nanoseconds.
    Seconds,
    /// Integer bits/s.
    Rate,
    /// A whole number.
    Count,
    /// Integer bytes.
    Bytes,
    /// On or off.
    Switch,
    /// One of these words.
    Choice(Vec<String>),
}

/// The kinds that a header may name.
pub(crate) const KINDS: &str =
    "there are PACKETS, RATIO, GAIN, SECONDS, RATE, COUNT, BYTES, SWITCH and CHOICE(a|b|c)";

impl Scale {
    pub(crate) fn parse(kind: &str) -> Option<Self> {
        Some(match kind {
            "PACKETS" => Self::Packets,
            "RATIO" => Self::Ratio,
            "GAIN" => Self::Gain,
            "SECONDS" => Self::Seconds,
            "RATE" => Self::Rate,
            "COUNT" => Self::Count,
            "BYTES" => Self::Bytes,
            "SWITCH" => Self::Switch,
            _ => {
                let words = kind.strip_prefix("CHOICE(")?.strip_suffix(')')?;
                Self::Choice(
                    words
                        .split('|')
                        .map(|word| word.trim().to_owned())
                        .collect(),
                )
            }
        })
    }

    /// Says how milliseconds are written, if a number of seconds looks as if it meant them.
    pub(crate) fn meant(&self, number: f64) -> Option<String> {
        (*self == Self::Seconds && (1.0..1e6).contains(&number))
            .then(|| format!("; {number} ms is {} or {number}ms", number / 1e3))
    }

    /// Returns the unit to print after a value; empty if there is none.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Seconds => "s",
            Self::Rate => "bits/s",
            Self::Bytes => "bytes",
            Self::Ratio | Self::Gain | Self::Count | Self::Switch | Self::Choice(_) => "",
        }
    }

    fn steps_per_unit(&self) -> f64 {
        match self {
            Self::Packets | Self::Ratio => ONE as f64,
            Self::Gain => (1_u64 << 62) as f64,
            Self::Seconds => 1e9,
            _ => 1.0,
        }
    }

    fn is_whole(&self) -> bool {
        !matches!(
            self,
            Self::Packets | Self::Ratio | Self::Gain | Self::Seconds
        )
    }
}

/// A value as a user writes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number in the parameter's unit.
    Number(f64),
    /// A word of a choice.
    Word(String),
    /// On or off.
    Switch(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => write!(f, "{word:?}"),
            Self::Switch(on) => write!(f, "{on}"),
        }
    }
}

/// The descriptor of one parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Name in the header and in a scenario.
    pub name: String,
    /// Kind and unit.
    pub scale: Scale,
    /// Default, in the unit; for a choice, the index of the word.
    pub initial: f64,
    /// Least allowed value.
    pub least: f64,
    /// Greatest allowed value.
    pub greatest: f64,
    /// Values of another parameter with which this one is used, such as
    /// `drop_function=gentle|cubic`, or empty.
    pub when: String,
    /// What it is, in one line.
    pub help: String,
    /// Paper or code that defines it.
    pub source: String,
}

/// The reason why parameters were refused, as a text for the user.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct ParamError(pub String);

impl Param {
    /// Returns the value as a user would write it.
    pub fn show(&self, number: f64) -> Value {
        match &self.scale {
            Scale::Switch => Value::Switch(number != 0.0),
            Scale::Choice(words) => Value::Word(words[number as usize].clone()),
            _ => Value::Number(number),
        }
    }

    /// Checks the descriptor itself: its integers must fit, and its default must be valid.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (least, greatest) = (self.least, self.greatest);
        let fits = match &self.scale {
            Scale::Switch => (least, greatest) == (0.0, 1.0),
            Scale::Choice(words) => (least, greatest) == (0.0, words.len() as f64 - 1.0),
            scale => {
                let reach = i64::MAX as f64 / scale.steps_per_unit();
                -reach <= least && greatest < reach
            }
        };
        if !fits {
            return Err(format!(
                "the range {least} to {greatest} does not suit its kind"
            ));
        }
        self.read_number(self.initial)
            .map(drop)
            .map_err(|what| format!("the default {} must {what}", self.initial))
    }

    /// Checks a user's value and returns it as a number, for a choice the index of the word.
    /// `owner` is the AQM's name, for the message.
    pub(crate) fn read(&self, owner: &str, value: &Value) -> Result<f64, ParamError> {
        let refuse = |what: String| {
            Err(ParamError(format!(
                "{owner}.{} = {value} must {what}",
                self.name
            )))
        };
        match (&self.scale, value) {
            (Scale::Switch, Value::Switch(on)) => Ok(f64::from(u8::from(*on))),
            (Scale::Switch, _) => refuse("be true or false".into()),
            (Scale::Choice(words), value) => {
                let Value::Word(word) = value else {
                    return refuse(format!("be one of {}", words.join(", ")));
                };
                match words.iter().position(|known| known == word) {
                    Some(index) => Ok(index as f64),
                    None => refuse(format!("be one of {}", words.join(", "))),
                }
            }
            (_, Value::Number(number)) => self.read_number(*number).or_else(refuse),
            _ => refuse("be a number".into()),
        }
    }

    fn read_number(&self, number: f64) -> Result<f64, String> {
        let unit = self.scale.unit();
        if !(self.least..=self.greatest).contains(&number) {
            let behind = if unit.is_empty() {
                String::new()
            } else {
                format!(" {unit}")
            };
            let meant = self.scale.meant(number).unwrap_or_default();
            return Err(format!(
                "lie between {} and {}{behind}{meant}",
                self.least, self.greatest
            ));
        }
        if self.scale.is_whole() && number.fract() != 0.0 {
            return Err("be a whole number".into());
        }
        Ok(number)
    }

    /// Returns the integer that C gets, rounded to the nearest step.
    pub(crate) fn scaled(&self, number: f64) -> i64 {
        (number * self.scale.steps_per_unit()).round() as i64
    }
}
