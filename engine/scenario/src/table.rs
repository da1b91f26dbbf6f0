//! Tables: `table!` describes each field once, and everything else is made from this description.

use crate::{
    describe::{Default, Description, FieldDescription, Union, ValueKind},
    field::{Field, fields},
    limits::{ANY, Limits},
    reader::{Given, Reader},
    value::{Fields, Value},
};

/// A table of a scenario; `table!` makes it.
pub trait Table: Clone {
    /// Name of its class.
    const NAME: &'static str;
    /// Help text, line by line.
    const HELP: &'static [&'static str];
    /// Its `kind`, if it has one.
    const KIND: Option<&'static str>;

    /// Appends the descriptions of its fields.
    fn describe(fields: &mut Vec<FieldDescription>);

    /// Reads its fields; if one is wrong, reports this to the reader and returns `None`.
    fn read_fields(given: &mut Given<'_>, reader: &mut Reader) -> Option<Self>;

    /// Appends its fields as a user would write them.
    fn write_fields(&self, rows: &mut Vec<(String, Value)>);

    /// Reports broken rules between fields to the reader; each field by itself is right.
    fn check(&self, reader: &mut Reader);

    /// Returns the table with the defaults of all fields.
    ///
    /// # Panics
    /// If a field has no default.
    fn usual() -> Self {
        let nothing = Fields::default();
        Self::read_fields(&mut Given::new(&nothing), &mut Reader::default())
            .expect("every field may be left out")
    }

    /// Returns its description.
    fn description() -> Description {
        let mut fields = Vec::new();
        Self::describe(&mut fields);
        Description {
            name: Self::NAME,
            help: Self::HELP,
            kind: Self::KIND,
            fields,
            complete: |_, value, reader| Self::read(value, &ANY, reader).map(|table| table.write()),
        }
    }
}

impl<T: Table> Field for T {
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Table(T::description())
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        let before = reader.problems();
        let mut given = Given::new(fields(value, reader)?);
        if let Some(kind) = T::KIND {
            check_kind(kind, &mut given, reader);
        }
        let found = T::read_fields(&mut given, reader);
        given.refuse_others(reader);
        // if a field is wrong, rules between fields would only add problems
        if reader.problems() == before {
            found.as_ref()?.check(reader);
        }
        found
    }

    fn write(&self) -> Value {
        let mut rows = Vec::new();
        rows.extend(T::KIND.map(|kind| ("kind".into(), Value::Text(kind.into()))));
        self.write_fields(&mut rows);
        Value::Table(Fields { of: T::NAME, rows })
    }
}

/// Reports a `kind` that is not that of the table.
pub(crate) fn check_kind(kind: &str, given: &mut Given<'_>, reader: &mut Reader) {
    if let Some(said) = given.take("kind")
        && *said != Value::Text(kind.into())
    {
        reader.within("kind", |reader| {
            reader.refuse(said, format!("must be '{kind}'"));
        });
    }
}

/// Reads a field of a table; if it is not given, returns its default.
pub(crate) fn read_field<T: Field>(
    name: &'static str,
    limits: Limits,
    default: Option<T>,
    given: &mut Given<'_>,
    reader: &mut Reader,
) -> Option<T> {
    let value = given.take(name);
    reader.within(name, |reader| match value {
        Some(value) => T::read(value, &limits, reader),
        None => default.or_else(T::absent).or_else(|| {
            reader.wrong("is missing");
            None
        }),
    })
}

/// Returns the description of a field of a table.
pub(crate) fn describe_field<T: Field>(
    name: &'static str,
    help: &'static [&'static str],
    limits: Limits,
    default: Option<T>,
) -> FieldDescription {
    let default = match (default, T::absent()) {
        (Some(default), _) => Default::Is(default.write()),
        (None, Some(_)) => Default::Absent,
        (None, None) => Default::Required,
    };
    FieldDescription {
        name,
        help,
        kind: T::kind(limits),
        default,
    }
}

/// A function that reads one of several tables.
pub(crate) type ReadTable<T> = fn(&Value, &mut Reader) -> Option<T>;

/// Reads the one of several tables that the value's `kind` names; `kinds` has a kind and a function
/// that reads it for each table.
pub(crate) fn read_kind<T>(
    value: &Value,
    kinds: &[(&'static str, ReadTable<T>)],
    reader: &mut Reader,
) -> Option<T> {
    let words: Vec<_> = kinds.iter().map(|(kind, _)| *kind).collect();
    kinds[kind_of(value, &words, reader)?].1(value, reader)
}

/// Returns which of several kinds a table names as its `kind`; `None`, with a report, if it names
/// none of them.
pub(crate) fn kind_of(value: &Value, words: &[&'static str], reader: &mut Reader) -> Option<usize> {
    if let Value::Text(text) = value
        && words.contains(&text.as_str())
    {
        reader.refuse(value, format!("must be a table: {{ kind = \"{text}\" }}"));
        return None;
    }
    let fields = fields(value, reader)?;
    reader.within("kind", |reader| match fields.get("kind") {
        Some(kind) => crate::field::word(kind, words, &[], reader),
        None => {
            reader.wrong("is missing");
            None
        }
    })
}

pub(crate) fn union(
    name: &'static str,
    help: &'static [&'static str],
    tables: Vec<Description>,
) -> ValueKind {
    ValueKind::OneOf(Union { name, help, tables })
}

pub(crate) const fn limits_or_any(limits: Option<Limits>) -> Limits {
    match limits {
        Some(limits) => limits,
        None => ANY,
    }
}

/// A table with typed fields.
///
/// ```ignore
/// table! {
///     /// What it is.
///     pub struct Name kind "word" checked by rule {
///         ..shared: Shared;                       // first, the fields of another table
///         /// What the field is.
///         field: u32 = 250, at_least(1.0).at_most(1e5).unit("packets");
///     }
/// }
/// ```
/// `kind`, `checked by`, `..`, the default and the limits may be left out. A field without a
/// default must be given, unless it is an `Option`. `rule` is a method `fn(&self, &mut Reader)`.
macro_rules! table {
    (
        $(#[doc = $help:literal])*
        pub struct $name:ident $(kind $kind:literal)? $(checked by $rule:ident)? {
            $(..$shared:ident: $shared_type:ty;)?
            $(
                $(#[doc = $field_help:literal])*
                $field:ident: $type:ty $(= $default:expr)? $(, $limits:expr)?;
            )*
        }
    ) => {
        $(#[doc = $help])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $(
                /// Fields that it shares with other tables.
                pub $shared: $shared_type,
            )?
            $(
                $(#[doc = $field_help])*
                pub $field: $type,
            )*
        }

        impl $crate::table::Table for $name {
            const NAME: &'static str = stringify!($name);
            const HELP: &'static [&'static str] = &[$($help),*];
            const KIND: Option<&'static str> = table!(@option $($kind)?);

            #[allow(unused_variables)]
            fn describe(fields: &mut Vec<$crate::describe::FieldDescription>) {
                $(<$shared_type>::describe(fields);)?
                $(fields.push($crate::table::describe_field::<$type>(
                    stringify!($field),
                    &[$($field_help),*],
                    $crate::table::limits_or_any(table!(@option $($limits)?)),
                    table!(@option $($default)?),
                ));)*
            }

            #[allow(unused_variables)]
            fn read_fields(
                given: &mut $crate::reader::Given<'_>,
                reader: &mut $crate::reader::Reader,
            ) -> Option<Self> {
                $(let $shared = <$shared_type>::read_fields(given, reader);)?
                $(let $field = $crate::table::read_field::<$type>(
                    stringify!($field),
                    $crate::table::limits_or_any(table!(@option $($limits)?)),
                    table!(@option $($default)?),
                    given,
                    reader,
                );)*
                Some(Self { $($shared: $shared?,)? $($field: $field?,)* })
            }

            #[allow(unused_variables)]
            fn write_fields(&self, rows: &mut Vec<(String, $crate::value::Value)>) {
                $(self.$shared.write_fields(rows);)?
                $(rows.push((
                    stringify!($field).to_owned(),
                    $crate::field::Field::write(&self.$field),
                ));)*
            }

            #[allow(unused_variables)]
            fn check(&self, reader: &mut $crate::reader::Reader) {
                $(self.$shared.check(reader);)?
                $(self.$rule(reader);)?
            }
        }
    };
    (@option) => { None };
    (@option $some:expr) => { Some($some) };
}

/// One of several tables, which differ by their `kind`; each variant has the name of its table.
macro_rules! kinds {
    (
        $(#[doc = $help:literal])*
        pub enum $name:ident { $($table:ident),* $(,)? }
    ) => {
        $(#[doc = $help])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $(
                #[doc = concat!("See [`", stringify!($table), "`].")]
                $table($table),
            )*
        }

        impl $name {
            /// Returns its `kind`.
            pub fn kind(&self) -> &'static str {
                let kind = match self {
                    $(Self::$table(_) => <$table as $crate::table::Table>::KIND,)*
                };
                kind.expect("one of several tables has a kind")
            }
        }

        impl $crate::field::Field for $name {
            fn kind(_: $crate::limits::Limits) -> $crate::describe::ValueKind {
                use $crate::table::Table;
                let tables = vec![$($table::description()),*];
                $crate::table::union(stringify!($name), &[$($help),*], tables)
            }

            fn read(
                value: &$crate::value::Value,
                _: &$crate::limits::Limits,
                reader: &mut $crate::reader::Reader,
            ) -> Option<Self> {
                use $crate::table::Table;
                $crate::table::read_kind(
                    value,
                    &[$((
                        $table::KIND.expect("one of several tables has a kind"),
                        |value, reader| {
                            let limits = &$crate::limits::ANY;
                            let read = <$table as $crate::field::Field>::read;
                            read(value, limits, reader).map(Self::$table)
                        },
                    )),*],
                    reader,
                )
            }

            fn write(&self) -> $crate::value::Value {
                match self {
                    $(Self::$table(table) => $crate::field::Field::write(table),)*
                }
            }
        }
    };
}

/// One of several words; `not "word": "hint"` is the hint for a word that is none of them.
macro_rules! words {
    (
        $(#[doc = $help:literal])*
        pub enum $name:ident {
            $($(#[doc = $variant_help:literal])* $variant:ident = $word:literal),* $(,)?
        }
        $(not $other:literal: $hint:literal)?
    ) => {
        $(#[doc = $help])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $variant_help])* $variant),*
        }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),*];

            /// Returns the word in a scenario.
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::field::Field for $name {
            fn kind(_: $crate::limits::Limits) -> $crate::describe::ValueKind {
                $crate::describe::ValueKind::Word(stringify!($name), Self::WORDS)
            }

            fn read(
                value: &$crate::value::Value,
                _: &$crate::limits::Limits,
                reader: &mut $crate::reader::Reader,
            ) -> Option<Self> {
                let hints: &[(&str, &str)] = &[$(($other, $hint))?];
                let place = $crate::field::word(value, Self::WORDS, hints, reader)?;
                Some([$(Self::$variant),*][place])
            }

            fn write(&self) -> $crate::value::Value {
                $crate::value::Value::Text(self.word().into())
            }
        }
    };
}

pub(crate) use {kinds, table, words};
