//! An AQM as a kind of qdisc, which `tc` puts before interfaces.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapMut, ObjectBuilder, OpenMap, OpenObject, set_print,
};
use sluice_aqm::{Configured, Verdict, Victim};

use crate::{
    KernelError,
    compile::Object,
    refusal::{load, lost, verified_instructions},
};

/// Where kinds are kept in the file system of BPF: they stay when their loader ends.
const KINDS: &str = "/sys/fs/bpf/sluice";
/// `struct settings` of `qdisc.bpf.c`.
const SETTINGS_BYTES: usize = 40;
/// `id` of Linux's `struct Qdisc_ops`, with a zero at its end.
const NAME_BYTES: usize = 16;

/// What an instance of a kind is set to, besides its AQM.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Of the link, bits/s: what the AQM is shown.
    pub rate_bps: u64,
    /// Whether packets leave at that rate; else the interface sets the pace.
    pub is_shaped: bool,
    /// Packets that may wait.
    pub limit_packets: u32,
    /// Which packet goes.
    pub victim: Victim,
    /// Of the random words that the AQM is shown.
    pub seed: u64,
}

impl Settings {
    fn bytes(&self, instance: u32) -> Vec<u8> {
        let victim: u32 = match self.victim {
            Victim::Tail => 0,
            Victim::Front => 1,
            Victim::Random => 2,
        };
        let seed = self.seed.wrapping_add(instance.into());
        let wide = [self.rate_bps, spread(seed)].map(u64::to_ne_bytes);
        let places = self.places();
        let narrow = [
            self.limit_packets,
            victim,
            u32::from(self.is_shaped),
            instance * places,
            places,
            0,
        ];
        [wide.concat(), narrow.map(u32::to_ne_bytes).concat()].concat()
    }

    /// Places of an instance: a power of 2, with some to spare, as one from whose middle a packet
    /// has gone is free again only when all before it have.
    fn places(&self) -> u32 {
        (2 * self.limit_packets).next_power_of_two()
    }
}

/// Seeds that follow each other begin far apart: Steele et al. 2014, SplitMix64.
fn spread(seed: u64) -> u64 {
    let word = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// What an instance has counted.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
    /// Arrivals by verdict, and departures that were no admission.
    pub verdicts: [u64; Verdict::COUNT],
    /// Packets that left for the link.
    pub sent: u64,
    /// Mean of their sojourns.
    pub sojourn_mean_ns: u64,
    /// The longest of them.
    pub sojourn_max_ns: u64,
}

/// A kind of qdisc that the kernel has.
pub struct Kind {
    folder: PathBuf,
}

impl Kind {
    /// A kind of that name, there or not.
    ///
    /// # Errors
    /// If no kind can have the name.
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let usual = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || name.len() >= NAME_BYTES || !name.bytes().all(usual) {
            return Err(KernelError::Missing(format!(
                "{name}: the name of a kind of qdisc has 1 to 15 letters, digits or underscores"
            )));
        }
        Ok(Self {
            folder: Path::new(KINDS).join(name),
        })
    }

    fn name(&self) -> &str {
        let name = self.folder.file_name().and_then(OsStr::to_str);
        name.expect("checked when it was given")
    }

    /// Gives an AQM to the kernel, which has it as this kind from then on, until [`Kind::remove`]:
    /// also when this process ends. Gives the instructions that the verifier looked at.
    ///
    /// # Errors
    /// If the kernel has a kind of that name, or no BPF qdiscs, or if its verifier refuses the AQM.
    pub fn install(
        &self,
        object: &Object,
        aqm: &Configured,
        settings: &Settings,
    ) -> Result<u32, KernelError> {
        if self.folder.exists() {
            return Err(KernelError::Missing(format!(
                "{}: there is a kind of that name: remove it first",
                self.name()
            )));
        }
        check_kernel()?;
        check_object(object, aqm)?;
        let mut loaded = load(object, |open| self.make_ready(open, settings))?;
        let verified = verified_instructions(&loaded)?;
        for mut map in loaded.maps_mut() {
            match map.name().to_str() {
                Some("instances") => fill(&mut map, aqm, settings)?,
                Some("qdisc") => {
                    let link = map.attach_struct_ops().map_err(|error| {
                        KernelError::Missing(format!("{}: {error:#}", self.name()))
                    })?;
                    self.keep(link)?;
                }
                _ => {}
            }
        }
        let instances = loaded.maps_mut().find(|map| map.name() == "instances");
        let kept = instances
            .expect("a map of qdisc.bpf.c")
            .pin(self.folder.join("instances"));
        kept.map_err(lost)?;
        Ok(verified)
    }

    fn is_missing(&self) -> KernelError {
        KernelError::Missing(format!("{}: there is no kind of that name", self.name()))
    }

    fn make_ready(
        &self,
        open: &mut OpenObject,
        settings: &Settings,
    ) -> Result<(), libbpf_rs::Error> {
        for mut map in open.maps_mut() {
            match map.name().to_str() {
                Some("ring") => {
                    let instances = map.max_entries();
                    map.set_max_entries(instances * settings.places())?;
                }
                Some("qdisc") => {
                    let value = map.initial_value_mut().expect("a struct has a value");
                    value[..NAME_BYTES].fill(0);
                    value[..self.name().len()].copy_from_slice(self.name().as_bytes());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn keep(&self, mut link: Link) -> Result<(), KernelError> {
        fs::create_dir_all(&self.folder).map_err(|error| {
            KernelError::Missing(format!(
                "{}: {error} (mount -t bpf bpf /sys/fs/bpf)",
                self.folder.display()
            ))
        })?;
        link.pin(self.folder.join("link")).map_err(lost)
    }

    /// What each instance that stands before an interface has counted.
    ///
    /// # Errors
    /// If the kernel has no such kind.
    pub fn counts(&self) -> Result<Vec<Counts>, KernelError> {
        let map = MapHandle::from_pinned_path(self.folder.join("instances"))
            .map_err(|_| self.is_missing())?;
        let mut counts = Vec::new();
        for number in 0..map.max_entries() {
            let value = map.lookup(&number.to_ne_bytes(), MapFlags::ANY);
            let value = value.map_err(lost)?.expect("an array has all its values");
            counts.extend(read(&value));
        }
        Ok(counts)
    }

    /// Takes the kind away. Qdiscs of it go on until they are taken away with `tc`.
    ///
    /// # Errors
    /// If the kernel has no such kind.
    pub fn remove(&self) -> Result<(), KernelError> {
        if !self.folder.exists() {
            return Err(self.is_missing());
        }
        fs::remove_file(self.folder.join("link"))
            .and_then(|()| fs::remove_file(self.folder.join("instances")))
            .and_then(|()| fs::remove_dir(&self.folder))
            .map_err(|error| KernelError::Missing(format!("{}: {error}", self.name())))
    }
}

fn check_kernel() -> Result<(), KernelError> {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let function = b"bpf_qdisc_skb_drop";
    if types
        .windows(function.len())
        .any(|window| window == function)
    {
        return Ok(());
    }
    Err(KernelError::Missing(
        "this kernel has no BPF qdiscs: they need Linux 6.16 or newer with CONFIG_NET_SCH_BPF and \
         CONFIG_DEBUG_INFO_BTF"
            .into(),
    ))
}

/// Whether an object is one of the AQM: of another one, the config would be read wrongly.
fn check_object(object: &Object, aqm: &Configured) -> Result<(), KernelError> {
    let functions = aqm.class().base.as_ref().unwrap_or(&aqm.class().name);
    let refuse = |what: &str| {
        Err(KernelError::Missing(format!(
            "the object is {what}, not {functions} compiled as a qdisc"
        )))
    };
    set_print(None);
    let Ok(open) = ObjectBuilder::default().open_memory(&object.bytes) else {
        return refuse("no object");
    };
    let names = open.maps().find(|map| map.name() == ".rodata.aqm");
    let bytes = names.as_ref().and_then(OpenMap::initial_value);
    let name = bytes.and_then(|bytes| bytes.split(|byte| *byte == 0).next());
    match name {
        Some(name) if name == functions.as_bytes() => Ok(()),
        Some(name) => refuse(&String::from_utf8_lossy(name)),
        None => refuse("something else"),
    }
}

/// Sets all instances that there can be.
fn fill(map: &mut MapMut<'_>, aqm: &Configured, settings: &Settings) -> Result<(), KernelError> {
    for number in 0..map.max_entries() {
        let mut value = vec![0; map.value_size() as usize];
        let config = SETTINGS_BYTES..SETTINGS_BYTES + aqm.config().len();
        value[..SETTINGS_BYTES].copy_from_slice(&settings.bytes(number));
        value[config].copy_from_slice(aqm.config());
        map.update(&number.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(lost)?;
    }
    Ok(())
}

/// The end of `struct instance`: verdicts, sent, sojourns; then head, tail, holes, is_used.
fn read(value: &[u8]) -> Option<Counts> {
    let words: Vec<u64> = value
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let (counted, places) = words.split_at(words.len() - 2);
    let (before, sojourns) = counted.split_at(counted.len() - 3);
    let verdicts = before[before.len() - Verdict::COUNT..].try_into();
    let is_used = places[1] >> 32 != 0;
    is_used.then(|| Counts {
        verdicts: verdicts.expect("as many as there are"),
        sent: sojourns[0],
        sojourn_mean_ns: sojourns[1] / sojourns[0].max(1),
        sojourn_max_ns: sojourns[2],
    })
}
