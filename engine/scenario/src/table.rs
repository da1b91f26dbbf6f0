//! Tables: `table!` says each field once, and everything else is made from that.

use crate::{
    describe::{Default, Description, FieldDescription, Kind, Union},
    field::{Field, fields},
    limits::{ANY, Limits},
    reader::{Given, Reader},
    value::{Fields, Value},
};

/// A table of a scenario; `table!` makes it.
pub trait Table: Clone {
    /// What its class is called.
    const NAME: &'static str;
    /// What it is, line by line.
    const HELP: &'static [&'static str];
    /// The value of `kind` that tells it from others, if it has one.
    const KIND: Option<&'static str>;

    /// Appends what its fields are.
    fn describe(fields: &mut Vec<FieldDescription>);

    /// Its fields, if nothing is wrong with them.
    fn read_fields(given: &mut Given<'_>, reader: &mut Reader) -> Option<Self>;

    /// Appends its fields as they would be given.
    fn write_fields(&self, rows: &mut Vec<(String, Value)>);

    /// Tells the reader what is wrong with the fields together, each of which is right.
    fn check(&self, reader: &mut Reader);

    /// The table without any field given.
    ///
    /// # Panics
    /// If a field must be given.
    fn usual() -> Self {
        let nothing = Fields::default();
        Self::read_fields(&mut Given::new(&nothing), &mut Reader::default())
            .expect("every field may be left out")
    }

    /// What it is.
    fn description() -> Description {
        let mut fields = Vec::new();
        Self::describe(&mut fields);
        Description {
            name: Self::NAME,
            help: Self::HELP,
            kind: Self::KIND,
            fields,
            complete: |value, reader| Self::read(value, &ANY, reader).map(|table| table.write()),
        }
    }
}

impl<T: Table> Field for T {
    fn kind(_: Limits) -> Kind {
        Kind::Table(T::description())
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        let before = reader.problems();
        let mut given = Given::new(fields(value, reader)?);
        if let Some(kind) = T::KIND
            && let Some(said) = given.take("kind")
            && *said != Value::Text(kind.into())
        {
            reader.within("kind", |reader| {
                reader.refuse(said, format!("must be '{kind}'"));
            });
        }
        let found = T::read_fields(&mut given, reader);
        given.refuse_others(reader);
        // what is wrong with one field makes no second problem of the rules between fields
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

/// A field of a table, whether it is given or not.
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

/// What a field of a table is.
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

/// Reads a table as one of several.
pub(crate) type ReadTable<T> = fn(&Value, &mut Reader) -> Option<T>;

/// The one of several tables that a value's `kind` names; each has its kind and how it is read.
pub(crate) fn read_kind<T>(
    value: &Value,
    kinds: &[(&'static str, ReadTable<T>)],
    reader: &mut Reader,
) -> Option<T> {
    let words: Vec<_> = kinds.iter().map(|(kind, _)| *kind).collect();
    if let Value::Text(text) = value
        && words.contains(&text.as_str())
    {
        reader.refuse(value, format!("must be a table: {{ kind = \"{text}\" }}"));
        return None;
    }
    let fields = fields(value, reader)?;
    let place = reader.within("kind", |reader| match fields.get("kind") {
        Some(kind) => crate::field::word(kind, &words, &[], reader),
        None => {
            reader.wrong("is missing");
            None
        }
    });
    kinds[place?].1(value, reader)
}

pub(crate) fn union(
    name: &'static str,
    help: &'static [&'static str],
    tables: Vec<Description>,
) -> Kind {
    Kind::OneOf(Union { name, help, tables })
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
///         ..shared: Shared;                       // the fields of another table, first
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
                /// What it shares with others.
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

/// One of several tables, which their `kind` tells apart; each variant is named as its table.
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
            /// The word that tells it from the others.
            pub fn kind(&self) -> &'static str {
                let kind = match self {
                    $(Self::$table(_) => <$table as $crate::table::Table>::KIND,)*
                };
                kind.expect("one of several tables has a kind")
            }
        }

        impl $crate::field::Field for $name {
            fn kind(_: $crate::limits::Limits) -> $crate::describe::Kind {
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

/// One of several words; `not "word": "hint"` says what to write instead of a word of another time.
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

            /// As a scenario has it.
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }
        }

        impl $crate::field::Field for $name {
            fn kind(_: $crate::limits::Limits) -> $crate::describe::Kind {
                $crate::describe::Kind::Word(stringify!($name), Self::WORDS)
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
