//! Schedulers of `aqm/`: they divide a queue into lanes, and choose the lane that sends next. Coupled
//! disciplines also judge the packets.

use crate::{
    discipline::{Configured, Memory},
    ffi::{CClass, CLanes, DecideAmong, LaneView, Verdict, View},
    params::ONE,
};

/// The numbers of no lane: `AQM_NO_LANE` and `AQM_NOT_YET`.
const NO_LANE: u32 = u32::MAX;
const NOT_YET: u32 = NO_LANE - 1;

/// Which lane may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The first packet of this one.
    Lane(usize),
    /// No packet waits; or the turns of a call were not enough.
    None,
    /// Packets wait, and none may be sent before this time, ns.
    NotBefore(u64),
}

/// When an ACK that waits is removed, as a newer one tells all that it would (`enum aqm_ack_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    /// Once two of a connection wait that may go.
    Careful,
    /// Once one does, if the newer one stands right behind it.
    Aggressive,
}

impl AckFilter {
    /// Returns that of a discipline; `None`: ACKs stay.
    pub fn of(configured: &Configured) -> Option<Self> {
        let ack_filter = configured.class().code.ack_filter?;
        // SAFETY: the config is this class's own.
        match unsafe { ack_filter(configured.config().as_ptr().cast()) } {
            0 => None,
            1 => Some(Self::Careful),
            _ => Some(Self::Aggressive),
        }
    }
}

/// A scheduler or a coupled discipline with its state and its lanes. `aqm/scheduler.h` says what each function does.
pub struct Scheduler {
    code: &'static CClass,
    configured: Configured,
    state: Memory,
    /// An array of `struct X_lane`.
    lanes: Memory,
    lane_words: usize,
    count: u32,
}

// SAFETY: the class is constant, and state and lanes are the scheduler's own.
unsafe impl Send for Scheduler {}

impl Scheduler {
    /// Returns a scheduler of empty lanes.
    ///
    /// # Panics
    /// If `configured` is an AQM.
    pub fn start(configured: &Configured) -> Self {
        let code = configured.class().code;
        let count = Self::lanes_of(configured);
        Self {
            code,
            configured: configured.clone(),
            state: Memory::zeroed(code.state_size),
            lanes: Memory::zeroed(u64::from(count) * code.lane_size),
            lane_words: code.lane_size as usize / size_of::<u64>(),
            count,
        }
    }

    /// Returns the number of lanes that a scheduler will have.
    ///
    /// # Panics
    /// If `configured` is an AQM.
    pub fn lanes_of(configured: &Configured) -> u32 {
        let lanes = configured.class().code.lanes.expect("a scheduler");
        // SAFETY: the config is this class's own.
        unsafe { lanes(configured.config().as_ptr().cast()) as u32 }
    }

    /// Returns the number of bands, parts of the queue that the scheduler tells apart, and of lanes in
    /// each, which follow each other. Lanes over which flows are spread by a hash are one band, so `sfq`,
    /// `drr` and `fq` have one: `None`.
    ///
    /// # Panics
    /// If `configured` is an AQM.
    pub fn bands_of(configured: &Configured) -> Option<(usize, usize)> {
        let mut values = configured.integers();
        let hashed = values.find(|(name, _)| *name == "queues");
        let lanes = hashed.map_or(1, |(_, queues)| queues as usize);
        let bands = Self::lanes_of(configured) as usize / lanes;
        (bands > 1).then_some((bands, lanes))
    }

    /// Returns the band of each traffic class (DSCP and ECN codepoint), if there are bands.
    ///
    /// # Panics
    /// If `configured` is an AQM.
    pub fn bands_of_traffic_classes(configured: &Configured) -> Option<[usize; 256]> {
        let (_, lanes) = Self::bands_of(configured)?;
        let mut scheduler = Self::start(configured);
        Some(std::array::from_fn(|traffic_class| {
            let view = View {
                traffic_class: traffic_class as u8,
                ..View::default()
            };
            scheduler.classify(view, &mut || 0) / lanes
        }))
    }

    /// True if a scheduler's state can go on with other parameters: it is the same scheduler, with as
    /// many lanes, and with the same `X_shape` if it has one.
    ///
    /// # Panics
    /// If one of them is an AQM.
    pub fn can_become(before: &Configured, after: &Configured) -> bool {
        let shape = |configured: &Configured| {
            let shape = configured.class().code.shape;
            // SAFETY: the config is this class's own.
            shape.map(|shape| unsafe { shape(configured.config().as_ptr().cast()) })
        };
        std::ptr::eq(before.class(), after.class())
            && Self::lanes_of(before) == Self::lanes_of(after)
            && shape(before) == shape(after)
    }

    /// Goes on with other parameters and the same state. Returns false, and changes nothing, if that
    /// cannot be; see [`Self::can_become`].
    ///
    /// # Panics
    /// If `configured` is an AQM.
    pub fn retune(&mut self, configured: &Configured) -> bool {
        let is_same = Self::can_become(&self.configured, configured);
        if is_same {
            self.configured = configured.clone();
        }
        is_same
    }

    /// Returns the number of lanes.
    pub fn lanes(&self) -> u32 {
        self.count
    }

    /// Sets what waits in a lane now. Must be called after each change, before other functions.
    #[inline]
    pub fn set_view(&mut self, lane: usize, view: LaneView) {
        let words = &mut self.lanes.words()[lane * self.lane_words..][..self.lane_words];
        // SAFETY: every `struct X_lane` begins with a `struct aqm_lane`, and words are aligned.
        unsafe { words.as_mut_ptr().cast::<LaneView>().write(view) };
    }

    /// Returns the lane that a packet joins; `view` has the time and what is known of the packet.
    /// `random` returns 64 fresh random bits.
    pub fn classify(&mut self, mut view: View, random: &mut impl FnMut() -> u64) -> usize {
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        let wants_random = self.code.wants_random.expect("AQM_SCHEDULER sets it");
        let classify = self.code.classify.expect("AQM_SCHEDULER sets it");
        // SAFETY: state and config are this class's own.
        let lane = unsafe {
            if wants_random(state, config, &raw const view) != 0 {
                view.random = random();
            }
            classify(state, config, &mut self.all(), &raw const view)
        };
        lane as usize
    }

    /// Notes that a packet has joined a lane.
    pub fn joined(&mut self, lane: usize) {
        let joined = self.code.joined.expect("AQM_SCHEDULER sets it");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        unsafe { joined(state, config, &mut self.all(), lane as u32) }
    }

    /// Returns the lane whose first packet is sent next.
    pub fn next(&mut self, now_ns: u64) -> Next {
        let next = self.code.next.expect("AQM_SCHEDULER sets it");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        match unsafe { next(state, config, &mut self.all(), now_ns) } {
            NO_LANE => Next::None,
            NOT_YET => {
                let ready_ns = self.code.ready_ns.expect("AQM_WAITS sets it");
                // SAFETY: the state is this class's own.
                Next::NotBefore(unsafe { ready_ns(state) })
            }
            lane => Next::Lane(lane as usize),
        }
    }

    /// Notes that the first packet of the lane that [`Self::next`] returned was sent.
    pub fn sent(&mut self, lane: usize, bytes: u32) {
        let sent = self.code.sent.expect("AQM_SCHEDULER sets it");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        unsafe { sent(state, config, &mut self.all(), lane as u32, bytes) }
    }

    /// Returns the lane that loses a packet for an arrival of `bytes` at lane `own`.
    pub fn victim(&mut self, own: usize, bytes: u32) -> usize {
        let victim = self.code.victim.expect("AQM_SCHEDULER sets it");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        unsafe { victim(state, config, &mut self.all(), own as u32, bytes) as usize }
    }

    /// Notes that the view's packet, which waited in the view's lane, was lost in place of an arrival.
    #[inline]
    pub fn lost(&mut self, view: &View) {
        if let Some(lost) = self.code.lost {
            let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
            // SAFETY: state, config and lanes are this class's own.
            unsafe { lost(state, config, &mut self.all(), view) }
        }
    }

    /// Returns how ACKs that wait are removed; `None`: they stay.
    pub fn ack_filter(&self) -> Option<AckFilter> {
        AckFilter::of(&self.configured)
    }

    /// Notes that the view's packet, an ACK that waited in the view's lane, was removed as a newer one
    /// tells all that it would.
    pub fn thinned(&mut self, view: &View) {
        if let Some(thinned) = self.code.thinned {
            let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
            // SAFETY: state, config and lanes are this class's own.
            unsafe { thinned(state, config, &mut self.all(), view) }
        }
    }

    /// True if it is told of what is lost.
    pub fn watches_losses(&self) -> bool {
        self.code.lost.is_some()
    }

    /// True if it judges the packets itself, as a coupled discipline; only then may the functions
    /// below be called.
    pub fn judges(&self) -> bool {
        self.code.arrive_among.is_some()
    }

    /// Returns the verdict for an arriving packet, including overflow and marking.
    pub fn arrive(&mut self, view: &View) -> Verdict {
        self.decide(self.code.arrive_among, view)
    }

    /// Returns the verdict for a packet that leaves the queue: admit, mark or drop.
    pub fn depart(&mut self, view: &View) -> Verdict {
        self.decide(self.code.depart_among, view)
    }

    fn decide(&mut self, decide: Option<DecideAmong>, view: &View) -> Verdict {
        let decide = decide.expect("a coupled discipline");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        let code = unsafe { decide(state, config, &mut self.all(), view) };
        Verdict::from_code(code).expect("a verdict of enum aqm_verdict")
    }

    /// Called every [`Self::tick_interval_ns`].
    pub fn tick(&mut self, view: &View) {
        let tick = self.code.tick_among.expect("a coupled discipline");
        let (state, config) = (self.state.as_mut_ptr().cast(), self.config());
        // SAFETY: state, config and lanes are this class's own.
        unsafe { tick(state, config, &mut self.all(), view) }
    }

    /// Returns the time between two ticks, ns; `None` if it has none.
    pub fn tick_interval_ns(&self) -> Option<u64> {
        let interval = self.code.tick_interval_ns?;
        // SAFETY: the config is this class's own.
        let interval = unsafe { interval(self.config()) };
        (interval > 0).then_some(interval)
    }

    /// Returns its present drop probability; `None` if it has no such function.
    pub fn probability(&self) -> Option<f64> {
        let probability = self.code.probability?;
        // SAFETY: state and config are this class's own.
        Some(unsafe { probability(self.state.as_ptr().cast(), self.config()) } as f64 / ONE as f64)
    }

    /// Returns the bytes of `struct X_state`.
    pub fn state(&self) -> &[u8] {
        self.state.bytes(self.code.state_size)
    }

    fn config(&self) -> *const std::ffi::c_void {
        self.configured.config().as_ptr().cast()
    }

    fn all(&mut self) -> CLanes {
        CLanes {
            first: self.lanes.as_mut_ptr().cast(),
            size: self.code.lane_size,
            count: self.count,
        }
    }
}

/// Returns the greatest common divisor of two numbers; that of 0 and another is the other.
pub fn greatest_divisor(one: u64, other: u64) -> u64 {
    match other {
        0 => one,
        other => greatest_divisor(other, one % other),
    }
}
