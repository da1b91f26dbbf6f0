//! The tables of AQMs and schedulers: those that are compiled in, and AQMs of a user.

use std::{
    ffi::{CStr, c_char},
    sync::OnceLock,
};

use thiserror::Error;

use crate::{
    ffi::CClass,
    guard::Guard,
    nearest::nearest,
    params::{KINDS, Param, ParamError, Scale, Value},
};

/// An AQM, a scheduler or a coupled discipline as its header describes it.
pub struct Class {
    /// The name in scenarios and on the command line.
    pub name: String,
    /// The full name, one line.
    pub title: String,
    /// The paper it comes from.
    pub source: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// Its parameters, with this class's own defaults.
    pub params: Vec<Param>,
    /// For a preset: name of the class whose defaults it changes.
    pub base: Option<String>,
    /// SHA-256 of a user's compiled code; empty for an AQM of this crate.
    pub fingerprint: String,
    /// Text of a user's header, if the class was compiled from one.
    pub header: Option<String>,
    /// What a user's library tells about its run.
    pub(crate) guard: Option<Guard>,
    /// A user's compiled code; empty for an AQM of this crate.
    pub library: Vec<u8>,
    rules: Vec<Rule>,
    pub(crate) code: &'static CClass,
}

/// Greatest size of a state or a config, bytes; each queue has a state of its own.
const MOST_BYTES: u64 = 1 << 24;

/// The optional functions of an AQM: true for each that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Functions {
    /// `X_depart`.
    pub depart: bool,
    /// `X_tick`.
    pub tick: bool,
    /// `X_occupancy`.
    pub occupancy: bool,
    /// `X_ready_ns`, of a scheduler or coupled discipline that shapes.
    pub ready: bool,
    /// `X_lost`, of one that is told of losses.
    pub lost: bool,
    /// `X_ack_filter` and `X_thinned`, of one that may have ACKs removed.
    pub ack_filter: bool,
    /// Not a function: the view of an arrival shows a candidate.
    pub candidate: bool,
}

struct Rule {
    left: String,
    says: String,
    right: String,
}

// SAFETY: the C table is constant and its functions are pure.
unsafe impl Send for Class {}
unsafe impl Sync for Class {}

/// The reason why a user's AQM could not be loaded.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

unsafe fn table<T>(pointer: *const T, count: u64) -> &'static [T] {
    if pointer.is_null() {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(pointer, count as usize) }
}

unsafe fn read_params(name: &str, entry: &CClass, code: &CClass) -> Result<Vec<Param>, LoadError> {
    let refuse = |param: &str, what: &str| LoadError(format!("{name}.{param}: {what}"));
    let mut params = Vec::new();
    unsafe {
        for row in table(code.params, code.params_count) {
            let (param, kind) = (text(row.name), text(row.kind));
            let scale = Scale::parse(&kind).ok_or_else(|| {
                refuse(
                    &param,
                    &format!("{kind} is not a kind of parameter: {KINDS}"),
                )
            })?;
            params.push(Param {
                name: param,
                scale,
                initial: row.initial,
                least: row.least,
                greatest: row.greatest,
                when: text(row.when),
                help: text(row.help),
                source: text(row.source),
            });
        }
        for row in table(entry.defaults, entry.defaults_count) {
            let wanted = text(row.name);
            let param = params.iter_mut().find(|param| param.name == wanted);
            param
                .ok_or_else(|| refuse(&wanted, "a default for no parameter"))?
                .initial = row.value;
        }
    }
    for param in &params {
        param.check().map_err(|what| refuse(&param.name, &what))?;
    }
    Ok(params)
}

unsafe fn read_rules(name: &str, code: &CClass, params: &[Param]) -> Result<Vec<Rule>, LoadError> {
    let mut rules = Vec::new();
    for row in unsafe { table(code.rules, code.rules_count) } {
        let [left, says, right] = [row.left, row.says, row.right].map(|word| unsafe { text(word) });
        for named in [&left, &right] {
            if !named.is_empty() && params.iter().all(|param| param.name != *named) {
                let what = format!("{name}: a rule names {named}, which is no parameter");
                return Err(LoadError(what));
            }
        }
        rules.push(Rule { left, says, right });
    }
    Ok(rules)
}

impl Class {
    /// # Safety
    /// `entry` must be a table entry made by `AQM_CLASS` or `AQM_PRESET` that is never freed.
    pub(crate) unsafe fn read(entry: &'static CClass) -> Result<Self, LoadError> {
        unsafe {
            let name = text(entry.name);
            let code = entry.base.as_ref().unwrap_or(entry);
            for (what, bytes) in [("state", code.state_size), ("config", code.config_size)] {
                if bytes > MOST_BYTES {
                    return Err(LoadError(format!(
                        "struct {name}_{what} takes {bytes} bytes and must take at most {MOST_BYTES}"
                    )));
                }
            }
            let params = read_params(&name, entry, code)?;
            Ok(Self {
                title: text(entry.title),
                source: text(entry.source),
                summary: text(entry.summary),
                base: entry.base.as_ref().map(|base| text(base.name)),
                fingerprint: String::new(),
                header: None,
                guard: None,
                library: Vec::new(),
                rules: read_rules(&name, code, &params)?,
                params,
                name,
                code,
            })
        }
    }

    /// Returns a function of a user's AQM in which a thread is now, as in `red_arrive`.
    pub fn inside(&self) -> Option<String> {
        let function = self.guard.as_ref()?.inside()?;
        Some(format!("{}_{function}", self.name))
    }

    /// True for a coupled discipline: it has lanes of its own and judges their packets.
    pub fn is_coupled(&self) -> bool {
        self.code.arrive_among.is_some()
    }

    /// Returns the bytes of the state that each queue has, and of the config that all share.
    pub fn bytes(&self) -> (u64, u64) {
        (self.code.state_size, self.code.config_size)
    }

    /// Returns which of the optional functions it has.
    pub fn functions(&self) -> Functions {
        Functions {
            depart: self.code.depart.is_some() || self.is_coupled(),
            tick: self.code.tick.is_some() || self.is_coupled(),
            occupancy: self.code.occupancy.is_some(),
            ready: self.code.ready_ns.is_some(),
            lost: self.code.lost.is_some(),
            ack_filter: self.code.ack_filter.is_some(),
            candidate: self.code.wants_candidate != 0,
        }
    }

    /// Returns an error for each given parameter that is wrong by itself: an unknown name, or a
    /// value out of range. Rules between parameters are not checked.
    pub fn problems(&self, given: &[(String, Value)]) -> Vec<ParamError> {
        given
            .iter()
            .filter_map(|each| self.values(std::slice::from_ref(each)).err())
            .collect()
    }

    /// Returns the value of every parameter: the given ones, checked, and defaults for the rest.
    pub(crate) fn values(&self, given: &[(String, Value)]) -> Result<Vec<f64>, ParamError> {
        let mut values: Vec<f64> = self.params.iter().map(|param| param.initial).collect();
        for (name, value) in given {
            let Some(index) = self.params.iter().position(|param| param.name == *name) else {
                return Err(ParamError(self.unknown(name)));
            };
            values[index] = self.params[index].read(&self.name, value)?;
        }
        Ok(values)
    }

    fn unknown(&self, name: &str) -> String {
        let own = &self.name;
        if self.params.is_empty() {
            return format!("{own}.{name}: {own} has no parameters");
        }
        let known: Vec<&str> = self
            .params
            .iter()
            .map(|param| param.name.as_str())
            .collect();
        let meant = nearest(name, &known)
            .map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        format!(
            "{own}.{name}: no such parameter{meant}; {own} has {}",
            known.join(", ")
        )
    }

    /// Returns the message for the rule (counted from 1) that the values break.
    pub(crate) fn broken(&self, rule: u32, values: &[f64]) -> ParamError {
        let Some(rule) = self.rules.get(rule as usize - 1) else {
            return ParamError(format!("{}: parameters refused by rule {rule}", self.name));
        };
        let show = |name: &str| {
            let index = self.params.iter().position(|param| param.name == name)?;
            let param = &self.params[index];
            let shown = match param.show(values[index]) {
                Value::Word(word) => word,
                value => value.to_string(),
            };
            Some((
                format!("{}.{name} = {shown}", self.name),
                param.scale.unit(),
                param.scale.meant(values[index]),
            ))
        };
        let (left, unit, mut meant) = show(&rule.left).unwrap_or_default();
        let mut message = format!("{left} {}", rule.says);
        if let Some((right, _, of_right)) = show(&rule.right) {
            message += &format!(" {right}");
            meant = meant.or(of_right);
        }
        let meant = meant.unwrap_or_default();
        if !unit.is_empty() {
            message += &format!(" ({unit}{meant})");
        }
        ParamError(message)
    }
}

unsafe extern "C" {
    static aqm_classes_count: u64;
    static aqm_classes: [*const CClass; 0];
    static aqm_schedulers_count: u64;
    static aqm_schedulers: [*const CClass; 0];
    static aqm_coupled_count: u64;
    static aqm_coupled: [*const CClass; 0];
}

/// # Safety
/// `entries` must be an array of `count` pointers to constant table entries.
unsafe fn read_all(entries: *const *const CClass, count: u64) -> Vec<Class> {
    let entries = unsafe { std::slice::from_raw_parts(entries, count as usize) };
    entries
        .iter()
        .map(|entry| unsafe { Class::read(&**entry) }.expect("a header of aqm/"))
        .collect()
}

/// Returns every AQM of `aqm/registry.h`, in its order.
pub fn all() -> &'static [Class] {
    static ALL: OnceLock<Vec<Class>> = OnceLock::new();
    // SAFETY: build.rs writes the array and its length.
    ALL.get_or_init(|| unsafe { read_all(aqm_classes.as_ptr(), aqm_classes_count) })
}

/// Returns every scheduler of `aqm/schedulers.h`, in its order.
pub fn schedulers() -> &'static [Class] {
    static ALL: OnceLock<Vec<Class>> = OnceLock::new();
    // SAFETY: build.rs writes the array and its length.
    ALL.get_or_init(|| unsafe { read_all(aqm_schedulers.as_ptr(), aqm_schedulers_count) })
}

/// Returns every coupled discipline of `aqm/coupled.h`, in its order.
pub fn coupled() -> &'static [Class] {
    static ALL: OnceLock<Vec<Class>> = OnceLock::new();
    // SAFETY: build.rs writes the array and its length.
    ALL.get_or_init(|| unsafe { read_all(aqm_coupled.as_ptr(), aqm_coupled_count) })
}

/// Returns all that a scenario may name as its AQM: AQMs, then coupled disciplines.
pub fn disciplines() -> impl Iterator<Item = &'static Class> {
    all().iter().chain(coupled())
}

/// Returns the AQM of `aqm/registry.h` with this name.
pub fn find(name: &str) -> Option<&'static Class> {
    all().iter().find(|class| class.name == name)
}

/// Returns the scheduler of `aqm/schedulers.h` with this name.
pub fn find_scheduler(name: &str) -> Option<&'static Class> {
    schedulers().iter().find(|class| class.name == name)
}
