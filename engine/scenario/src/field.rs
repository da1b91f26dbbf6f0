//! Types of fields: how their values are read, written and described.

use crate::{
    describe::ValueKind,
    limits::Limits,
    quantity::quantity,
    reader::Reader,
    value::{Fields, Value},
};

/// A type that a field may have.
pub trait Field: Sized {
    /// Returns the kind of its values within these limits.
    fn kind(limits: Limits) -> ValueKind;

    /// Reads a value; if it is wrong, reports this to the reader and returns `None`.
    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self>;

    /// Returns the value as a user would write it.
    fn write(&self) -> Value;

    /// Returns the value of a field that is not given and has no default; `None` if it must be
    /// given.
    fn absent() -> Option<Self> {
        None
    }
}

impl Field for bool {
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Switch
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        if let Value::Switch(on) = value {
            return Some(*on);
        }
        reader.refuse(value, "must be true or false");
        None
    }

    fn write(&self) -> Value {
        Value::Switch(*self)
    }
}

/// Returns a value as a whole number: users write numbers of slots as 1e8.
fn whole(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) if number.fract() == 0.0 => Some(
            // larger numbers may not fit into 128 bits
            match number.abs() < 2_f64.powi(126) {
                true => Value::Whole(*number as i128),
                false => Value::Huge(format!("{number}")),
            },
        ),
        Value::Whole(_) | Value::Huge(_) => Some(value.clone()),
        _ => None,
    }
}

fn read_whole(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<i128> {
    let checked = match whole(value) {
        Some(Value::Whole(whole)) => limits.whole(whole).map(|()| whole),
        Some(Value::Huge(digits)) => {
            let far = if digits.starts_with('-') {
                i128::MIN
            } else {
                i128::MAX
            };
            limits.whole(far).map(|()| far)
        }
        _ => Err(format!("must be a whole number{}", limits.behind())),
    };
    checked.map_err(|must| reader.refuse(value, must)).ok()
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn kind(limits: Limits) -> ValueKind {
                ValueKind::Whole(limits)
            }

            fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
                let whole = read_whole(value, limits, reader)?;
                Some(whole.try_into().expect("the limits of a field fit its type"))
            }

            fn write(&self) -> Value {
                Value::Whole(i128::from(*self))
            }
        }
    )*};
}

whole!(u16, u32, u64);

impl Field for f64 {
    fn kind(limits: Limits) -> ValueKind {
        ValueKind::Number(limits)
    }

    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
        let number = match value {
            Value::Number(number) => Ok(*number),
            Value::Whole(whole) => Ok(*whole as f64),
            Value::Huge(digits) => Ok(digits.parse().unwrap_or(f64::NAN)),
            Value::Text(text) => quantity(text, limits.unit).ok_or_else(|| limits.no_number()),
            _ => Err(limits.no_number()),
        };
        number
            .and_then(|number| limits.number(number).map(|()| number))
            .map_err(|must| reader.refuse(value, must))
            .ok()
    }

    fn write(&self) -> Value {
        Value::Number(*self)
    }
}

/// True if a text can be shown and written to a file.
fn printable(text: &str) -> bool {
    let blank = !text.is_empty() && text.chars().all(char::is_whitespace);
    let mut others = text.chars().filter(|each| !['\n', '\t'].contains(each));
    !blank && !others.any(|each| each.is_control() || crate::show::active_list_text(each))
}

impl Field for String {
    fn kind(limits: Limits) -> ValueKind {
        ValueKind::Text(limits)
    }

    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
        let characters = match value {
            Value::Text(text) => text.chars().count(),
            _ => 0,
        };
        if characters > limits.most {
            let most = limits.most;
            reader.wrong(format!("has {characters} characters: at most {most}"));
            return None;
        }
        let must = match value {
            Value::Text(text) if text.len() < limits.fewest => "must not be empty",
            Value::Text(text) if printable(text) => return Some(text.clone()),
            Value::Text(_) | Value::Unprintable(_) => "must be printable text",
            _ => "must be text",
        };
        reader.refuse(value, must);
        None
    }

    fn write(&self) -> Value {
        Value::Text(self.clone())
    }
}

impl<T: Field> Field for Option<T> {
    fn kind(limits: Limits) -> ValueKind {
        T::kind(limits)
    }

    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
        match value {
            Value::Nothing => Some(None),
            value => T::read(value, limits, reader).map(Some),
        }
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Nothing, T::write)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Field> Field for Vec<T> {
    fn kind(limits: Limits) -> ValueKind {
        ValueKind::List(Box::new(T::kind(limits)), limits)
    }

    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
        let Value::List(items) = value else {
            reader.refuse(value, "must be a list");
            return None;
        };
        if items.len() < limits.fewest {
            reader.refuse(value, format!("must have at least {}", limits.fewest));
        }
        if items.len() > limits.most {
            reader.refuse(value, format!("must have at most {}", limits.most));
        }
        let read = |(place, item): (usize, &Value)| {
            reader.within(place, |reader| T::read(item, limits, reader))
        };
        let found: Vec<Option<T>> = items.iter().enumerate().map(read).collect();
        found.into_iter().collect()
    }

    fn write(&self) -> Value {
        Value::List(self.iter().map(T::write).collect())
    }
}

/// Values by their names, in the order in which they were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Field> Field for Named<T> {
    fn kind(limits: Limits) -> ValueKind {
        ValueKind::Named(Box::new(T::kind(limits)))
    }

    fn read(value: &Value, limits: &Limits, reader: &mut Reader) -> Option<Self> {
        let rows = &fields(value, reader)?.rows;
        let read = |(name, value): &(String, Value)| {
            let found = reader.within(in_quotes(name), |reader| T::read(value, limits, reader));
            found.map(|found| (name.clone(), found))
        };
        let found: Vec<Option<(String, T)>> = rows.iter().map(read).collect();
        found.into_iter().collect::<Option<_>>().map(Self)
    }

    fn write(&self) -> Value {
        let rows = self.0.iter().map(|(name, of)| (name.clone(), of.write()));
        Value::Table(Fields {
            of: "",
            rows: rows.collect(),
        })
    }
}

/// Returns a name as a step of a path: in the quotation marks that TOML wants.
pub(crate) fn in_quotes(name: &str) -> String {
    let shown = crate::show::quoted(name);
    format!("\"{}\"", &shown[1..shown.len() - 1])
}

/// Returns the fields of a table; `None`, with a report, if the value is no table.
pub(crate) fn fields<'a>(value: &'a Value, reader: &mut Reader) -> Option<&'a Fields> {
    if let Value::Table(fields) = value {
        return Some(fields);
    }
    reader.refuse(value, "must be a table");
    None
}

/// Returns the index of a word among those that a field takes; `None`, with a report, if it is none
/// of them.
pub(crate) fn word(
    value: &Value,
    words: &[&str],
    hints: &[(&str, &str)],
    reader: &mut Reader,
) -> Option<usize> {
    let given = match value {
        Value::Text(text) => text.as_str(),
        _ => "",
    };
    let found = words.iter().position(|word| *word == given);
    if found.is_none() {
        let hint = match hints.iter().find(|(word, _)| *word == given) {
            Some((_, hint)) => format!(": {hint}"),
            None => crate::reader::meant(given, words),
        };
        reader.refuse(value, format!("must be {}{hint}", one_of(words)));
    }
    found
}

/// Returns the words as the end of a sentence: `one of 'tail', 'front' or 'random'`.
fn one_of(words: &[&str]) -> String {
    match words {
        [] => "left out".into(),
        [word] => format!("'{word}'"),
        [first @ .., last] => format!("one of '{}' or '{last}'", first.join("', '")),
    }
}
