//! Disciplines: an AQM with its parameters, and what the queue does with it.

use sluice_aqm::{AqmSource, Class, Configured, Scheduler as Lanes};

use crate::{
    aqm_name::AqmName,
    describe::ValueKind,
    field::{Field, fields},
    limits::{ANY, LONGEST_NAME, Limits},
    quantity::quantity,
    queue::{Queue, Victim},
    reader::Reader,
    scheduler::Scheduler,
    service::{self, ServiceClass},
    show::plain,
    table::table,
    value::{Fields, Value},
};

/// The given parameters of an AQM, in the order in which they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params(pub Vec<(String, Value)>);

impl Field for Params {
    fn kind(_: Limits) -> ValueKind {
        ValueKind::Params
    }

    fn read(value: &Value, _: &Limits, reader: &mut Reader) -> Option<Self> {
        Some(Self(fields(value, reader)?.rows.clone()))
    }

    fn write(&self) -> Value {
        let rows = self.0.clone();
        Value::Table(Fields { of: "", rows })
    }
}

/// Converts a value to a parameter of an AQM; `None` if no parameter takes such a value.
pub fn aqm_value(value: &Value) -> Option<sluice_aqm::Value> {
    use sluice_aqm::Value as Param;
    Some(match value {
        Value::Switch(on) => Param::Switch(*on),
        Value::Whole(whole) => Param::Number(*whole as f64),
        Value::Huge(digits) => Param::Number(digits.parse().unwrap_or(f64::NAN)),
        Value::Number(number) => Param::Number(*number),
        Value::Text(word) => Param::Word(word.clone()),
        _ => return None,
    })
}

/// Converts a number with a unit, as `5ms`, to a parameter in `unit`; `None` if it is none.
fn in_unit(value: &Value, unit: &str) -> Option<sluice_aqm::Value> {
    let Value::Text(text) = value else {
        return None;
    };
    quantity(text, unit).map(sluice_aqm::Value::Number)
}

impl Params {
    /// Returns the AQM with these parameters.
    ///
    /// # Errors
    /// All problems of the parameters, one line each.
    pub fn configure(&self, class: &'static Class) -> Result<Configured, Vec<String>> {
        let (mut given, mut wrong) = (Vec::new(), Vec::new());
        for (name, value) in &self.0 {
            let unit = class.params.iter().find(|param| param.name == *name);
            let unit = unit.map_or("", |param| param.scale.unit());
            match in_unit(value, unit).or_else(|| aqm_value(value)) {
                Some(value) => given.push((name.clone(), value)),
                None => wrong.push(format!(
                    "{}.{name} = {} must be a number, a word, true or false",
                    class.name,
                    value.shown()
                )),
            }
        }
        wrong.extend(class.problems(&given).iter().map(ToString::to_string));
        if !wrong.is_empty() {
            return Err(wrong);
        }
        Configured::new(class, &given).map_err(|error| vec![error.to_string()])
    }
}

table! {
    /// An AQM with its parameters, and what the queue does with it.
    ///
    /// With a scheduler that has several queues, each of them gets this AQM, unless `classes` says
    /// otherwise. `victim` and `ecn`, where given, replace those of the scenario's queue.
    pub struct Discipline checked by configurable {
        /// Name of an AQM, path of a C header, or path of a Python file: `mine.py`, or
        /// `mine.py:Class` where it has several.
        aqm: AqmName;
        /// The AQM's parameters that are not its defaults.
        params: Params = Params::default();
        /// Name in tables and plots; empty: the AQM's name with the given parameters.
        label: String = String::new(), ANY.longest(LONGEST_NAME);
        /// How packets are spread over queues.
        scheduler: Scheduler = Scheduler::FIFO;
        /// Classes of service, one for each queue of the schedulers `prio` and `ets`, the most
        /// important one first.
        classes: Vec<ServiceClass> = Vec::new();
        /// Which packet is lost when one must be dropped.
        victim: Option<Victim>;
        /// Whether early drops of packets that can be marked (ECN) become marks.
        ecn: Option<bool>;
    }
}

impl Discipline {
    fn configurable(&self, reader: &mut Reader) {
        match self.configure() {
            Err(wrong) => wrong.into_iter().for_each(|what| reader.say(what)),
            Ok(Some(aqm)) if aqm.class().is_coupled() && self.scheduler != Scheduler::FIFO => {
                reader.say(format!(
                    "scheduler.kind = {} must be left out: {} has queues of its own",
                    self.scheduler.kind(),
                    aqm.class().name
                ));
            }
            Ok(_) => self.check_classes(reader),
        }
    }

    fn check_classes(&self, reader: &mut Reader) {
        let before = reader.problems();
        let scheduler = self.scheduler.configured().map(Configured::class);
        service::check(&self.classes, scheduler, self.scheduler.kind(), reader);
        let mut aqms = Vec::new();
        for number in 0..self.classes.len() {
            match self.of_class(number) {
                Ok(aqm) => aqms.push(aqm),
                Err(wrong) => reader.within("classes", |reader| {
                    reader.within(number, |reader| {
                        wrong.into_iter().for_each(|what| reader.say(what));
                    });
                }),
            }
        }
        if reader.problems() == before
            && let Some(what) = service::check_intervals(&aqms)
        {
            reader.say(what);
        }
    }

    /// Returns the AQM of a class of service.
    fn of_class(&self, number: usize) -> Result<Configured, Vec<String>> {
        let own = &self.classes[number];
        let aqm = own.aqm.as_ref().unwrap_or(&self.aqm);
        let inherits = own.aqm.is_none() && own.params.0.is_empty();
        let params = if inherits { &self.params } else { &own.params };
        let Some(class) = aqm.class().map_err(|error| vec![error])? else {
            return Err(vec![
                "a class of service takes no Python AQM: it must be a C header or an AQM's name"
                    .into(),
            ]);
        };
        if class.is_coupled() {
            return Err(vec![format!(
                "aqm = {} has queues of its own: a class of service has only one",
                class.name
            )]);
        }
        params.configure(class)
    }

    /// Returns the AQM of each class of service, for a discipline that was read.
    ///
    /// # Panics
    /// As [`Self::configured`].
    pub fn of_classes(&self) -> Vec<Configured> {
        let of_class = |number| self.of_class(number);
        let aqms: Result<_, _> = (0..self.classes.len()).map(of_class).collect();
        aqms.expect("a discipline is checked when it is read")
    }

    /// Returns what makes the AQM of each queue; `None` if it is a program's own.
    ///
    /// # Panics
    /// As [`Self::configured`].
    pub fn source(&self) -> Option<AqmSource> {
        if !self.classes.is_empty() {
            return Some(AqmSource::Classes(self.of_classes().into()));
        }
        self.configured().map(AqmSource::from)
    }

    /// Returns the AQM with its parameters set; `None` if it is a program's own.
    ///
    /// # Errors
    /// All problems, one line each. A discipline that was read has none, unless a header has
    /// changed since.
    pub fn configure(&self) -> Result<Option<Configured>, Vec<String>> {
        let class = self.aqm.class().map_err(|error| vec![error])?;
        match class {
            Some(class) => self.params.configure(class).map(Some),
            None if self.params.0.is_empty() => Ok(None),
            None => Err(vec![
                "a Python AQM takes its parameters itself; give none here".into(),
            ]),
        }
    }

    /// Like [`Self::configure`], for a discipline that was read.
    ///
    /// # Panics
    /// If the discipline was not read, and its parts do not suit each other.
    pub fn configured(&self) -> Option<Configured> {
        self.configure()
            .expect("a discipline is checked when it is read")
    }

    /// Returns what divides the queue into lanes: the scheduler, or a coupled discipline; `None`: there
    /// is one queue, first in, first out.
    pub fn in_lanes(&self) -> Option<Configured> {
        let coupled = self.configured().filter(|aqm| aqm.class().is_coupled());
        coupled.or_else(|| self.scheduler_of_classes())
    }

    fn scheduler_of_classes(&self) -> Option<Configured> {
        let scheduler = self.scheduler.configured()?;
        if self.classes.is_empty() {
            return Some(scheduler.clone());
        }
        Some(service::configured(scheduler.class(), &self.classes))
    }

    /// Returns what is wrong with classes of service or a coupled discipline in a buffer: one problem
    /// at most.
    pub fn unfit(&self, queue: &Queue) -> Option<String> {
        let classes = self.classes.len();
        if (queue.limit as usize) < classes {
            return Some(format!(
                "limit = {} must be at least {classes}, the number of classes (packets)",
                queue.limit
            ));
        }
        let coupled = self.configured().filter(|aqm| aqm.class().is_coupled())?;
        let (name, lanes) = (&coupled.class().name, Lanes::lanes_of(&coupled));
        // queues that flows are spread over by a hash are never all in use
        let is_hashed = (coupled.class().params.iter()).any(|param| param.name == "queues");
        if queue.limit < lanes && !is_hashed {
            return Some(format!(
                "limit = {} must be at least {lanes}, the number of queues of {name} (packets)",
                queue.limit
            ));
        }
        (!self.ecn(queue)).then(|| {
            format!(
                "ecn must be true (--aqm {name}:ecn=true): {name} marks, and would drop all that it \
                 cannot mark"
            )
        })
    }

    /// Returns the label, or, without one, the AQM's name with the given fields.
    pub fn name(&self) -> String {
        if !self.label.is_empty() {
            return self.label.clone();
        }
        let name = match &self.aqm {
            AqmName::Named(name) => name.clone(),
            AqmName::Header(path) => path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default(),
            AqmName::Foreign(foreign) | AqmName::Python(_, foreign) => foreign.name.clone(),
        };
        let mut given: Vec<String> = self
            .params
            .0
            .iter()
            .map(|(name, value)| format!("{name}={}", as_given(value)))
            .collect();
        if self.scheduler != Scheduler::FIFO {
            given.push(self.scheduler.kind().into());
        }
        given.extend(
            self.victim
                .map(|victim| format!("drop from {}", victim.word())),
        );
        given.extend((self.ecn == Some(true)).then(|| "ECN".into()));
        format!("{name} {}", given.join(", ")).trim_end().to_owned()
    }

    /// Returns limits, victim and marking with the scenario's queue.
    pub fn on(&self, queue: &Queue) -> sluice_aqm::BufferPolicy {
        sluice_aqm::BufferPolicy {
            limit: queue.limit,
            limit_bytes: queue.limit_bytes,
            victim: self.victim(queue).into(),
            ecn: self.ecn(queue),
        }
    }

    /// Returns the victim with the scenario's queue.
    pub fn victim(&self, queue: &Queue) -> Victim {
        self.victim.unwrap_or(queue.victim)
    }

    /// True if early drops become marks with the scenario's queue.
    pub fn ecn(&self, queue: &Queue) -> bool {
        self.ecn.unwrap_or(queue.ecn)
    }
}

/// Returns a parameter as text, without quotation marks.
fn as_given(value: &Value) -> String {
    match value {
        Value::Number(number) => plain(*number),
        Value::Text(text) => text.clone(),
        value => value.shown(),
    }
}

/// Reports disciplines with the same name to the reader.
pub(crate) fn check_names(disciplines: &[Discipline], reader: &mut Reader) {
    let names: Vec<String> = disciplines.iter().map(Discipline::name).collect();
    for (place, name) in names.iter().enumerate() {
        if names[..place].contains(name) {
            let what = format!("two are called '{name}'; give each a label");
            reader.within("disciplines", |reader| reader.say(what));
        }
    }
}
