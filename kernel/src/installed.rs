//! A kind of qdisc that this process has loaded: its settings can be changed and its maps read.

use std::cell::Cell;

use libbpf_rs::{Map, MapCore, MapFlags, Object as Loaded, RingBufferBuilder};
use sluice_aqm::{Configured, Running};

use crate::{
    Counts, Fixed, KernelError, Settings,
    classes::{classes_of, configs},
    compile::Program,
    counts::Instance,
    made_of::MadeOf,
    refusal::{lost, verified_instructions},
    shared::{Checks, Layout, layout, read},
};

/// Names of `enum times` of `stats.bpf.h`: the histograms of each instance.
const TIMES_IN_C: [&str; 3] = ["SOJOURNS", "DELAYS", "LATENESSES"];
pub(crate) const TIMES: usize = TIMES_IN_C.len();
/// Log2 of a histogram's steps per power of 2: `STEPS_LOG2` of `stats.bpf.h`.
const STEPS_LOG2: usize = 7;
/// Values of a map that are read at a time.
const BATCH: u32 = 4096;
/// Bytes of a word of `struct params`.
const WORD: usize = size_of::<u64>();

/// `struct sample`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CSample {
    now_ns: u64,
    bytes: u32,
    ip_bytes: u32,
    data: [u8; 64],
}

impl CSample {
    pub fn layout() -> Layout {
        layout!(
            sample = CSample {
                now_ns,
                bytes,
                ip_bytes,
                data
            }
        )
    }
}

/// `struct marked`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CMarked {
    set: u64,
    unmarkable: u64,
}

impl CMarked {
    pub fn layout() -> Layout {
        layout!(marked = CMarked { set, unmarkable })
    }
}

/// Compares the numbers of the histograms.
pub(crate) fn check(checks: &mut Checks) {
    checks.each("", TIMES_IN_C, "TIMES");
    checks.equal("STEPS_LOG2", STEPS_LOG2);
}

/// A kind that this process has loaded into the kernel.
pub struct Installed {
    pub(crate) loaded: Loaded,
    program: Program,
    made_of: MadeOf,
    fixed: Fixed,
    /// The AQM of its one queue, or of all; not used where classes have theirs.
    aqm: Option<Configured>,
    edition: Cell<u64>,
}

/// What is known of an instance at one moment.
pub struct Snapshot {
    /// What it has counted.
    pub counts: Counts,
    /// True if an interface uses it.
    pub is_used: bool,
    /// Its AQM. `None` with a scheduler: there each lane has an AQM of its own.
    pub aqm: Option<Running>,
    /// Histograms of sojourn, delay and lateness: pairs of ns and packets.
    pub times: [Vec<(u64, u64)>; TIMES],
    /// Element k: time in which k packets waited, ns.
    pub lengths_ns: Vec<u64>,
}

/// A packet that arrived: `struct sample` of `stats.bpf.h`.
pub struct Sample<'a> {
    /// When it arrived, by the kernel's monotonic clock, ns.
    pub now_ns: u64,
    /// Its bytes, as the link counts them.
    pub bytes: u32,
    /// Length of the IP packet, bytes.
    pub ip_bytes: u32,
    /// The first bytes of the IP packet.
    pub data: &'a [u8],
}

impl Installed {
    pub(crate) fn new(loaded: Loaded, program: Program, made_of: MadeOf, fixed: &Fixed) -> Self {
        Self {
            loaded,
            program,
            made_of,
            fixed: fixed.clone(),
            aqm: None,
            edition: Cell::new(0),
        }
    }

    /// Returns the number of instructions that the verifier followed.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn verified_instructions(&self) -> Result<u32, KernelError> {
        verified_instructions(&self.loaded)
    }

    /// Changes the settings of all instances, each from its next packet on. Waiting packets stay, and
    /// so do the states of AQM and scheduler.
    ///
    /// # Errors
    /// If it is another AQM or scheduler, if its text has changed, if the limit exceeds half of the places, if
    /// `ecn` is set and no program sets marks, or if the kernel does not accept the settings.
    pub fn set(
        &mut self,
        aqms: &[Configured],
        scheduler: Option<&Configured>,
        settings: &Settings,
    ) -> Result<(), KernelError> {
        let must = MadeOf::new(self.program, &classes_of(aqms));
        if must != self.made_of {
            return Err(KernelError::Missing(format!(
                "the qdisc at work was compiled from another text than that of {}: end sluiced, and \
                 start it again to have this one",
                must.name
            )));
        }
        let most = self.fixed.places() / 2;
        if settings.limit_packets > most {
            return Err(KernelError::Missing(format!(
                "limit = {} must not exceed {most} (packets) while the qdisc is at work",
                settings.limit_packets
            )));
        }
        if settings.ecn && self.fixed.marks_at.is_empty() {
            return Err(KernelError::Missing(
                "ecn must be false where no program sets marks behind the qdisc".into(),
            ));
        }
        let params = self.map(".data.params");
        let mut value = settings.bytes();
        let mut append = |config: &[u8]| {
            value.extend(config);
            // each is in a union with a word, which gives it the size and alignment of words
            let room = config.len().next_multiple_of(WORD).max(WORD);
            value.resize(value.len() + room - config.len(), 0);
        };
        match self.program.has_classes() {
            true => append(&configs(aqms)),
            false => append(aqms[0].config()),
        }
        if let Some(scheduler) = scheduler {
            append(scheduler.config());
        }
        value.resize(params.value_size() as usize, 0);
        // odd while the settings are being written: reload.bpf.h
        self.turn_edition()?;
        let written = params.update(&[0; 4], &value, MapFlags::ANY);
        self.turn_edition()?;
        self.aqm = aqms.first().cloned();
        written.map_err(lost)
    }

    fn turn_edition(&self) -> Result<(), KernelError> {
        self.edition.set(self.edition.get() + 1);
        let edition = self.edition.get().to_ne_bytes();
        let map = self.map(".data.edition");
        map.update(&[0; 4], &edition, MapFlags::ANY).map_err(lost)
    }

    fn has_scheduler(&self) -> bool {
        matches!(
            self.program,
            Program::Qdisc {
                scheduler: Some(_),
                ..
            }
        )
    }

    /// Returns counts, AQM, histograms and queue lengths of an instance.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn snapshot(&self, number: u32) -> Result<Snapshot, KernelError> {
        let aqm = self.aqm.as_ref().expect("it is set as it is installed");
        let instances = self.read(".data.instances", 0)?;
        let instance = Instance::all(&instances).nth(number as usize);
        let instance = instance.expect("as many as a kind may have");
        let mut times: [Vec<(u64, u64)>; TIMES] = Default::default();
        let mut lengths_ns = Vec::new();
        if self.fixed.sampled > 0 {
            for (place, times) in times.iter_mut().enumerate() {
                let histogram = self.read("times", number * TIMES as u32 + place as u32)?;
                *times = steps(&histogram);
            }
            lengths_ns = self.lengths(number)?;
        }
        Ok(Snapshot {
            counts: instance.counts(),
            is_used: instance.is_used(),
            aqm: (!self.has_scheduler()).then(|| aqm.resume(instance.state(aqm.config().len()))),
            times,
            lengths_ns,
        })
    }

    fn lengths(&self, number: u32) -> Result<Vec<u64>, KernelError> {
        let places = self.fixed.places();
        let map = self.map("lengths");
        let batches = map.lookup_batch(BATCH.min(map.max_entries()), MapFlags::ANY, MapFlags::ANY);
        let own = batches
            .map_err(lost)?
            .skip((number * places) as usize)
            .take(places as usize);
        Ok(own.map(|(_, ns)| word(&ns)).collect())
    }

    /// Returns the packets that were marked behind the qdisc, and those that were to be marked but
    /// had no header for it.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn marked(&self) -> Result<(u64, u64), KernelError> {
        // SAFETY: it is `repr(C)`, and has numbers only.
        let CMarked { set, unmarkable } = unsafe { read(&self.read(".data.marked", 0)?) };
        Ok((set, unmarkable))
    }

    /// Takes the packets that were sampled since the last call, in the order of arrival.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn samples(&self, mut take: impl FnMut(Sample<'_>)) -> Result<(), KernelError> {
        let map = self.map("samples");
        let mut buffer = RingBufferBuilder::new();
        let read = |sample: &[u8]| {
            // SAFETY: it is `repr(C)`, and has numbers only.
            let sample: CSample = unsafe { read(sample) };
            take(Sample {
                now_ns: sample.now_ns,
                bytes: sample.bytes,
                ip_bytes: sample.ip_bytes,
                data: &sample.data,
            });
            0
        };
        buffer.add(&map, read).map_err(lost)?;
        let buffer = buffer.build().map_err(lost)?;
        buffer.consume().map_err(lost)
    }

    /// Returns the packets that were to be sampled since the start, but found no room.
    ///
    /// # Errors
    /// If the kernel does not give them.
    pub fn unsampled(&self) -> Result<u64, KernelError> {
        Ok(word(&self.read(".data.unsampled", 0)?))
    }

    fn map(&self, name: &str) -> Map<'_> {
        let map = self.loaded.maps().find(|map| map.name() == name);
        map.expect("a map of qdisc.bpf.c")
    }

    fn read(&self, map: &str, number: u32) -> Result<Vec<u8>, KernelError> {
        let value = self.map(map).lookup(&number.to_ne_bytes(), MapFlags::ANY);
        Ok(value.map_err(lost)?.expect("an array has all its values"))
    }
}

fn word(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
}

/// Returns the least time of each step that is not empty, ns, and its count: the inverse of
/// `step_of` in `stats.bpf.h`.
fn steps(histogram: &[u8]) -> Vec<(u64, u64)> {
    let counts = histogram.chunks_exact(8).map(word).enumerate();
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(step, count)| {
            let shift = (step >> STEPS_LOG2).saturating_sub(1);
            let rest = step - (shift << STEPS_LOG2);
            ((rest << shift) as u64, count)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `step_of` of `stats.bpf.h`, computed in another way.
    fn step_of(ns: u64) -> usize {
        let shift = (64 - ns.leading_zeros() as usize).saturating_sub(STEPS_LOG2 + 1);
        (shift << STEPS_LOG2) + (ns >> shift) as usize
    }

    #[test]
    fn a_step_holds_times_that_differ_by_less_than_a_hundredth() {
        let later = (12..42).flat_map(|log| [1 << log, (3 << (log - 1)) + 1, (2 << log) - 1]);
        for ns in (0..1 << 12).chain(later) {
            let step = step_of(ns);
            let mut histogram = vec![0; 8 * (step + 1)];
            histogram[8 * step] = 7;
            let [(least, 7)] = steps(&histogram)[..] else {
                panic!("{ns}");
            };
            assert!(least <= ns && ns - least <= ns / 128, "{ns}: {least}");
        }
    }
}
