//! How packets are spread over queues: FIFO, or a scheduler of `aqm/`, whose parameters are the
//! fields.

use std::sync::OnceLock;

use sluice_aqm::{Class, Configured, Param, Scale, Value as Setting, find_scheduler, schedulers};

use crate::{
    describe::{Default, Description, FieldDescription, ValueKind},
    field::{Field, fields, word},
    limits::{Limits, at_least},
    reader::{Given, Reader},
    service::BY_CLASSES,
    table::{kind_of, union},
    value::{Fields, Value},
};

const FIFO: &str = "fifo";

/// A scheduler with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler(Option<Configured>);

impl Scheduler {
    /// One queue, first in, first out.
    pub const FIFO: Self = Self(None);

    /// Returns the scheduler of `aqm/` with its parameters; `None` for a FIFO.
    pub fn configured(&self) -> Option<&Configured> {
        self.0.as_ref()
    }

    /// Returns its `kind`.
    pub fn kind(&self) -> &'static str {
        self.configured()
            .map_or(FIFO, |configured| &configured.class().name)
    }

    /// Reads the fields of a table of this kind.
    fn read_of(kind: &'static str, value: &Value, reader: &mut Reader) -> Option<Self> {
        let before = reader.problems();
        let mut given = Given::new(fields(value, reader)?);
        crate::table::check_kind(kind, &mut given, reader);
        let Some(class) = find_scheduler(kind) else {
            given.refuse_others(reader);
            return Some(Self::FIFO);
        };
        let mut settings = Vec::new();
        for param in own_params(class) {
            if let Some(value) = given.take(&param.name) {
                let setting = reader.within(&param.name, |reader| read(param, value, reader));
                settings.extend(setting.map(|setting| (param.name.clone(), setting)));
            }
        }
        given.refuse_others(reader);
        if reader.problems() > before {
            return None;
        }
        match Configured::new(class, &settings) {
            Ok(configured) => Some(Self(Some(configured))),
            Err(broken) => {
                reader.say(broken);
                None
            }
        }
    }
}

impl Field for Scheduler {
    fn kind(_: Limits) -> ValueKind {
        const HELP: &[&str] = &["How packets are spread over queues, and which queue sends next."];
        union("Scheduler", HELP, descriptions().to_vec())
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        let kinds: Vec<_> = descriptions()
            .iter()
            .filter_map(|table| table.kind)
            .collect();
        let kind = kinds[kind_of(value, &kinds, reader)?];
        Self::read_of(kind, value, reader)
    }

    fn write(&self) -> Value {
        let kind = self.kind();
        let mut rows = vec![("kind".to_owned(), Value::Text(kind.into()))];
        if let Some(configured) = self.configured() {
            let params = &configured.class().params;
            let values = configured.values().zip(params);
            rows.extend(
                values
                    .filter(|(_, param)| param.when != BY_CLASSES)
                    .map(|((name, value), param)| (name.to_owned(), written(param, &value))),
            );
        }
        let of = descriptions()
            .iter()
            .find(|table| table.kind == Some(kind))
            .map_or("", |table| table.name);
        Value::Table(Fields { of, rows })
    }
}

/// Returns the parameters that are fields: those that a table of classes makes are not.
fn own_params(class: &'static Class) -> impl Iterator<Item = &'static Param> {
    (class.params.iter()).filter(|param| param.when != BY_CLASSES)
}

/// Reads a parameter; if it is wrong, reports this to the reader and returns `None`.
fn read(param: &'static Param, value: &Value, reader: &mut Reader) -> Option<Setting> {
    let limits = limits(param);
    match &param.scale {
        Scale::Switch => bool::read(value, &limits, reader).map(Setting::Switch),
        Scale::Choice(words) => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let place = word(value, &words, &[], reader)?;
            Some(Setting::Word(words[place].to_owned()))
        }
        Scale::Count | Scale::Bytes => {
            u64::read(value, &limits, reader).map(|whole| Setting::Number(whole as f64))
        }
        scale => {
            let number = f64::read(value, &limits, reader)?;
            // a shorter time would be rounded to none, which may have another meaning
            if *scale == Scale::Seconds && number > 0.0 && number < 1e-9 {
                reader.refuse(value, "must be 0 or at least 1e-09 (s)");
                return None;
            }
            Some(Setting::Number(number))
        }
    }
}

/// Returns a parameter's value as a scenario has it.
fn written(param: &Param, value: &Setting) -> Value {
    match (value, &param.scale) {
        (Setting::Number(number), Scale::Count | Scale::Bytes) => Value::Whole(*number as i128),
        (Setting::Number(number), _) => Value::Number(*number),
        (Setting::Word(word), _) => Value::Text(word.clone()),
        (Setting::Switch(on), _) => Value::Switch(*on),
    }
}

fn limits(param: &Param) -> Limits {
    at_least(param.least)
        .at_most(param.greatest)
        .unit(param.scale.unit())
}

/// Returns the tables of all schedulers, FIFO first.
fn descriptions() -> &'static [Description] {
    static ALL: OnceLock<Vec<Description>> = OnceLock::new();
    ALL.get_or_init(|| {
        let fifo = Description {
            name: "Fifo",
            help: &["One queue, first in, first out."],
            kind: Some(FIFO),
            fields: Vec::new(),
            complete,
        };
        let others = schedulers().iter().map(described);
        std::iter::once(fifo).chain(others).collect()
    })
}

fn complete(of: &Description, value: &Value, reader: &mut Reader) -> Option<Value> {
    let kind = of.kind.expect("every scheduler has a kind");
    Scheduler::read_of(kind, value, reader).map(|read| read.write())
}

/// Returns the table of a scheduler, as its header describes it.
fn described(class: &'static Class) -> Description {
    // the first sentence of the summary is in the first paragraph, the rest is the second one
    let help = format!("{} ({}). {}", class.title, class.source, class.summary);
    let start = help.len() - class.summary.len();
    let end = class
        .summary
        .find(". ")
        .map_or(help.len(), |at| start + at + 1);
    let (first, rest) = help.split_at(end);
    let mut help = vec![leak(first.to_owned())];
    if !rest.is_empty() {
        help.extend(["", leak(rest.trim_start().to_owned())]);
    }
    let fields = own_params(class).map(|param| FieldDescription {
        name: &param.name,
        help: lines(format!("{}.", capital(&param.help))),
        kind: match &param.scale {
            Scale::Switch => ValueKind::Switch,
            Scale::Count | Scale::Bytes => ValueKind::Whole(limits(param)),
            Scale::Choice(words) => {
                let words = words.iter().map(String::as_str).collect();
                ValueKind::Word(leak(camel(&param.name)), Vec::leak(words))
            }
            _ => ValueKind::Number(limits(param)),
        },
        default: Default::Is(written(param, &param.show(param.initial))),
    });
    Description {
        name: leak(camel(&class.name)),
        help: Vec::leak(help),
        kind: Some(&class.name),
        fields: fields.collect(),
        complete,
    }
}

/// Returns a text that lives as long as the program: there are few, and they are made once.
fn leak(text: String) -> &'static str {
    text.leak()
}

fn lines(text: String) -> &'static [&'static str] {
    Vec::leak(vec![leak(text)])
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Returns the name of the class of a kind: `fq_pie` is `FqPie`.
fn camel(kind: &str) -> String {
    kind.split('_').map(capital).collect()
}
