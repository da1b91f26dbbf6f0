//! AQMs with their parameters set, and their instances, which judge the packets of a queue.

use std::{
    fmt, ptr, slice,
    sync::{Arc, OnceLock},
};

use crate::{
    class::Class,
    faults::{changes_view, no_verdict},
    ffi::{Decide, Verdict, View},
    guard::Guard,
    params::{ONE, ParamError, Value},
    sealed::Sealed,
};

/// An instance of an AQM. The ones of `aqm/` are [`Running`]; others, such as Python classes,
/// implement this trait.
pub trait Aqm {
    /// Returns the verdict for an arriving packet, including overflow and marking.
    fn arrive(&mut self, view: &View) -> Verdict;

    /// True if `depart` may drop or mark.
    fn watches_departures(&self) -> bool {
        false
    }

    /// Returns the verdict for a packet that leaves the queue: admit, mark or drop.
    fn depart(&mut self, _view: &View) -> Verdict {
        Verdict::Admit
    }

    /// True if the view of an arrival shall show a waiting packet that is drawn at random.
    fn wants_candidate(&self) -> bool {
        false
    }

    /// True if `occupancy` must be called.
    fn watches_occupancy(&self) -> bool {
        false
    }

    /// Called when a packet joins the waiting packets (`change` = 1) or leaves them (-1), for any
    /// reason. The view has the packet's size and flow, and the queue without this packet.
    fn occupancy(&mut self, _view: &View, _change: i64) {}

    /// Returns the time between two calls of `tick`, ns; `None`: `tick` is never called.
    fn tick_interval_ns(&self) -> Option<u64> {
        None
    }

    /// Called every `tick_interval_ns`.
    fn tick(&mut self, _view: &View) {}

    /// Returns the average queue that it keeps, packets; `None` if it keeps none.
    fn average(&self) -> Option<f64> {
        None
    }

    /// Returns the present drop probability; `None` if it has none.
    fn probability(&self) -> Option<f64> {
        None
    }

    /// Adds overflow and marking to an AQM's verdict for an arrival.
    fn settle(verdict: Verdict, view: &View) -> Verdict
    where
        Self: Sized,
    {
        settle(verdict, view)
    }
}

unsafe extern "C" {
    fn aqm_settled(verdict: u32, view: *const View) -> u32;
}

/// Calls `aqm_settle` of `aqm/aqm.h`, which decides overflow and marking.
fn settle(verdict: Verdict, view: &View) -> Verdict {
    // SAFETY: the C function only reads the view.
    let settled = Verdict::from_code(unsafe { aqm_settled(verdict as u32, view) });
    settled.expect("a verdict is settled to a verdict")
}

/// A call of an AQM's function; `enum asked` of `judge.bpf.c`.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Asked {
    /// `X_arrive`: a packet arrives.
    Arrive,
    /// `X_depart`: a packet leaves the queue.
    Depart,
    /// `X_tick`: an interval is over.
    Tick,
    /// `X_occupancy(+1)`: a packet joins the waiting packets.
    Join,
    /// `X_occupancy(-1)`: a packet leaves the waiting packets.
    Leave,
}

/// An AQM of `aqm/` (or of a user's header) with its parameters set. Cheap to clone.
#[derive(Clone)]
pub struct Configured(Arc<Inner>);

struct Inner {
    class: &'static Class,
    values: Vec<f64>,
    config: Sealed,
    /// The first returned number that was no verdict: which function, and the number.
    wrong: OnceLock<(&'static str, u32)>,
}

/// Zeroed memory for a C struct, aligned for any of its fields.
#[derive(Clone)]
pub(crate) struct Memory(Box<[u64]>);

impl Memory {
    pub fn zeroed(bytes: u64) -> Self {
        Self(vec![0; bytes.div_ceil(8).max(1) as usize].into())
    }

    pub fn words(&mut self) -> &mut [u64] {
        &mut self.0
    }

    pub fn as_mut_ptr(&mut self) -> *mut u64 {
        self.0.as_mut_ptr()
    }

    pub fn as_ptr(&self) -> *const u64 {
        self.0.as_ptr()
    }

    /// Returns the first `count` bytes; `count` is at most what was asked for.
    pub fn bytes(&self, count: u64) -> &[u8] {
        // SAFETY: the words hold at least as many bytes as were asked for.
        unsafe { slice::from_raw_parts(self.0.as_ptr().cast(), count as usize) }
    }
}

/// Equal if the code and the parameters are the same.
impl PartialEq for Configured {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.0.class, other.0.class) && self.0.values == other.0.values
    }
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.0.class.name, self.0.values)
    }
}

impl Configured {
    /// Returns the AQM with the given parameters, and the class's defaults for the rest.
    ///
    /// # Errors
    /// For an unknown name, a value out of range, or values that break a rule.
    pub fn new(class: &'static Class, given: &[(String, Value)]) -> Result<Self, ParamError> {
        let values = class.values(given)?;
        let scaled: Vec<i64> = class
            .params
            .iter()
            .zip(&values)
            .map(|(param, value)| param.scaled(*value))
            .collect();
        let configure = class.code.configure.expect("AQM_CLASS sets configure");
        let size = class.code.config_size as usize;
        // SAFETY: one integer per parameter, and config_size bytes to write to.
        let made = Sealed::new(size, |config| unsafe { configure(scaled.as_ptr(), config) });
        let (config, rule) = made.map_err(|error| {
            let name = &class.name;
            ParamError(format!(
                "{name}: there is no memory for its config: {error}"
            ))
        })?;
        if rule != 0 {
            return Err(class.broken(rule, &values));
        }
        Ok(Self(Arc::new(Inner {
            class,
            values,
            config,
            wrong: OnceLock::new(),
        })))
    }

    /// The class that is configured.
    pub fn class(&self) -> &'static Class {
        self.0.class
    }

    /// Returns name and value of every parameter, as a user would write them.
    pub fn values(&self) -> impl Iterator<Item = (&str, Value)> {
        let params = &self.0.class.params;
        params
            .iter()
            .zip(&self.0.values)
            .map(|(param, value)| (&*param.name, param.show(*value)))
    }

    /// Returns name and integer of every parameter, as in `struct X_params`.
    pub fn integers(&self) -> impl Iterator<Item = (&str, i64)> {
        let params = self.0.class.params.iter().zip(&self.0.values);
        params.map(|(param, value)| (&*param.name, param.scaled(*value)))
    }

    /// Returns the bytes of `struct X_config`.
    pub fn config(&self) -> &[u8] {
        self.0.config.bytes()
    }

    /// Returns the drop probability at an average queue of `average` packets; `None` if the AQM has
    /// no drop function.
    pub fn drop_probability(&self, average: f64) -> Option<f64> {
        let drop_function = self.0.class.code.drop_probability?;
        let average = (average * ONE as f64).round() as i64;
        // SAFETY: the config is this class's own.
        Some(unsafe { drop_function(self.0.config.as_ptr(), average) } as f64 / ONE as f64)
    }

    /// Returns the error of the first instance that returned a number that is no verdict, or that
    /// changed its view. The results of such a run are invalid.
    pub fn wrong(&self) -> Option<String> {
        let class = self.0.class;
        if let Some(function) = class.guard.as_ref().and_then(Guard::changed) {
            let name = &class.name;
            return Some(format!(
                "{name}.h: {}",
                changes_view(&format!("{name}_{function}"))
            ));
        }
        let (function, verdict) = self.0.wrong.get()?;
        let who = format!("{}_{function}", class.name);
        let file = if class.fingerprint.is_empty() {
            String::new()
        } else {
            format!("{}.h: ", class.name)
        };
        let may_drop_both = *function == "arrive" && class.functions().candidate;
        Some(file + &no_verdict(&who, *verdict, may_drop_both))
    }

    /// Returns an instance that continues from the bytes of a state; extra bytes are ignored.
    pub fn resume(&self, state: &[u8]) -> Running {
        let mut running = self.start();
        let words = state.chunks_exact(8).zip(&mut running.state.0);
        words.for_each(|(bytes, word)| {
            *word = u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
        });
        running
    }

    /// Returns an instance with a new state.
    pub fn start(&self) -> Running {
        let code = self.0.class.code;
        Running {
            arrive: code.arrive.expect("AQM_CLASS sets arrive"),
            state: Memory::zeroed(code.state_size),
            configured: self.clone(),
        }
    }
}

/// A configured AQM with its state.
pub struct Running {
    arrive: Decide,
    state: Memory,
    configured: Configured,
}

impl Running {
    /// Goes on with other parameters and the same state. Returns false, and changes nothing, if
    /// `configured` is another AQM.
    pub fn retune(&mut self, configured: &Configured) -> bool {
        let is_same = ptr::eq(self.configured.class(), configured.class());
        if is_same {
            self.configured = configured.clone();
        }
        is_same
    }

    /// Returns the bytes of `struct X_state`.
    pub fn state(&self) -> &[u8] {
        self.state.bytes(self.configured.0.class.code.state_size)
    }

    #[inline]
    fn decide<const ARRIVES: bool>(&mut self, decide: Decide, view: &View) -> Verdict {
        let config = self.configured.0.config.as_ptr();
        // SAFETY: state and config are this class's own; the view outlives the call.
        let code = unsafe { decide(self.state.0.as_mut_ptr().cast(), config, view) };
        Verdict::from_code(code).unwrap_or_else(|| self.note_wrong::<ARRIVES>(code, view))
    }

    /// Records a number that is no verdict; the queue goes on as if the packet was admitted.
    #[cold]
    #[inline(never)]
    fn note_wrong<const ARRIVES: bool>(&self, code: u32, view: &View) -> Verdict {
        let function = if ARRIVES { "arrive" } else { "depart" };
        self.configured.0.wrong.get_or_init(|| (function, code));
        settle(Verdict::Admit, view)
    }
}

impl Aqm for Running {
    #[inline]
    fn arrive(&mut self, view: &View) -> Verdict {
        self.decide::<true>(self.arrive, view)
    }

    fn watches_departures(&self) -> bool {
        self.configured.0.class.code.depart.is_some()
    }

    fn depart(&mut self, view: &View) -> Verdict {
        match self.configured.0.class.code.depart {
            Some(depart) => self.decide::<false>(depart, view),
            None => Verdict::Admit,
        }
    }

    fn wants_candidate(&self) -> bool {
        self.configured.0.class.code.wants_candidate != 0
    }

    fn watches_occupancy(&self) -> bool {
        self.configured.0.class.code.occupancy.is_some()
    }

    fn occupancy(&mut self, view: &View, change: i64) {
        if let Some(occupancy) = self.configured.0.class.code.occupancy {
            let config = self.configured.0.config.as_ptr();
            // SAFETY: as in `decide`.
            unsafe { occupancy(self.state.0.as_mut_ptr().cast(), config, view, change) }
        }
    }

    fn tick_interval_ns(&self) -> Option<u64> {
        let interval = self.configured.0.class.code.tick_interval_ns?;
        // SAFETY: the config is this class's own.
        let interval = unsafe { interval(self.configured.0.config.as_ptr()) };
        (interval > 0).then_some(interval)
    }

    fn average(&self) -> Option<f64> {
        let average = self.configured.0.class.code.average?;
        // SAFETY: the state is this class's own.
        Some(unsafe { average(self.state.0.as_ptr().cast()) } as f64 / ONE as f64)
    }

    fn probability(&self) -> Option<f64> {
        let probability = self.configured.0.class.code.probability?;
        let config = self.configured.0.config.as_ptr();
        // SAFETY: state and config are this class's own.
        Some(unsafe { probability(self.state.0.as_ptr().cast(), config) } as f64 / ONE as f64)
    }

    fn tick(&mut self, view: &View) {
        if let Some(tick) = self.configured.0.class.code.tick {
            let config = self.configured.0.config.as_ptr();
            // SAFETY: as in `decide`.
            unsafe {
                tick(
                    self.state.0.as_mut_ptr().cast(),
                    config,
                    ptr::from_ref(view),
                )
            }
        }
    }
}

/// The packet that is lost when the verdict is a drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The arriving packet.
    Tail,
    /// The packet at the head of the queue; the arriving one joins at the tail.
    Front,
    /// A waiting packet, each with the same probability; the arriving one joins at the tail.
    Random,
}

/// What the queue decides, with any AQM.
#[derive(Clone, Copy, Debug)]
pub struct BufferPolicy {
    /// Greatest number of waiting packets, at least 1.
    pub limit: u32,
    /// Greatest number of waiting bytes, if those are limited, too.
    pub limit_bytes: Option<u64>,
    /// The packet that is lost by a drop.
    pub victim: Victim,
    /// True if early drops of ECN-capable packets become marks.
    pub ecn: bool,
}
