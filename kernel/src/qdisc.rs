//! An AQM as a kind of qdisc, which `tc` sets on interfaces.

use std::{
    ffi::OsStr,
    fs,
    hash::{BuildHasher, RandomState},
    io,
    mem::offset_of,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process,
};

use libbpf_rs::{MapCore, MapFlags, MapHandle, Object as Loaded, OpenObject};
use memchr::memmem;
use sluice_aqm::Configured;

use crate::{
    Counts, Fixed, Happened, Installed, KernelError, Settings,
    classes::classes_of,
    compile::Object,
    counts::Instance,
    installed::TIMES,
    logged, made_of,
    marks::{self, MARKS},
    memory,
    refusal::{load, lost, open},
    settings::CSettings,
};

/// Folder of the kinds in BPF's file system: there they stay when their loader ends.
pub const KINDS: &str = "/sys/fs/bpf/sluice";
/// Files in a kind's folder: a symbolic link to the number of the process that owns the kind, and
/// the pinned BPF link that registers it.
const OWNER: &str = "owner";
const LINK: &str = "link";
/// Its settings, and the number that changes with them; only of a kind that stays and whose rate
/// varies: nobody else may write them.
const PARAMS: &str = "params";
const EDITION: &str = "edition";
/// Marks of each band: 16 words for each instance; only of a kind whose scheduler has bands.
const BANDS: &str = "bands";
/// `id` of Linux's `struct Qdisc_ops`, with a zero at its end.
const NAME_BYTES: usize = 16;

/// Returns a random number: the key of a hash is one that the system has drawn.
fn secret() -> u64 {
    RandomState::new().hash_one(())
}

/// Owner of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// None: the kind stays until somebody removes it.
    Nobody,
    /// This process is making the kind, or removes it at its end.
    Process(u32),
    /// Making or removing the kind was interrupted.
    Unknown,
}

/// A kind of qdisc that the kernel has.
pub struct QdiscKind {
    folder: PathBuf,
}

impl QdiscKind {
    /// Returns the kind of that name, whether it exists or not.
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

    /// Returns all kinds that exist, sorted by name.
    pub fn all() -> Vec<Self> {
        let folders = fs::read_dir(KINDS).into_iter().flatten().flatten();
        let mut kinds: Vec<Self> = folders
            .filter_map(|folder| Self::named(folder.file_name().to_str()?).ok())
            .collect();
        kinds.sort_by(|one, other| one.name().cmp(other.name()));
        kinds
    }

    /// Its name.
    pub fn name(&self) -> &str {
        let name = self.folder.file_name().and_then(OsStr::to_str);
        name.expect("checked when it was given")
    }

    /// Returns the bytes of the maps that [`QdiscKind::install`] would create.
    ///
    /// # Errors
    /// If the object is no BPF object, or none of this AQM.
    pub fn maps_bytes(
        &self,
        object: &Object,
        aqms: &[Configured],
        fixed: &Fixed,
    ) -> Result<u64, KernelError> {
        made_of::check(object, &classes_of(aqms))?;
        let open = open(&object.bytes, |open| self.make_ready(open, fixed)).map_err(lost)?;
        Ok(memory::maps_bytes(&open))
    }

    /// Loads an AQM, or one for each class of service, into the kernel, and registers it as this kind. It stays until
    /// [`QdiscKind::remove`], even when this process ends.
    ///
    /// # Errors
    /// If there is a kind of that name, if the object is none of this AQM, if the kernel has no BPF
    /// qdiscs, or if its verifier refuses the AQM.
    pub fn install(
        &self,
        object: &Object,
        aqms: &[Configured],
        scheduler: Option<&Configured>,
        settings: &Settings,
        fixed: &Fixed,
    ) -> Result<Installed, KernelError> {
        if self.folder.exists() {
            return Err(self.is_there());
        }
        let made_of = made_of::check(object, &classes_of(aqms))?;
        let loaded = load(&object.name, &object.bytes, |open| {
            self.make_ready(open, fixed)
        });
        // to look for BPF qdiscs in all the kernel's types takes a while
        let loaded = loaded.or_else(|error| check_kernel().and(Err(error)))?;
        let mut installed = Installed::new(loaded, object.program, made_of, fixed);
        installed.set(aqms, scheduler, settings)?;
        self.claim()?;
        if let Err(error) = self.attach(&mut installed.loaded, fixed) {
            // removes what was made so far; an error here would hide the first one
            self.remove().ok();
            return Err(error);
        }
        Ok(installed)
    }

    /// Makes this process the owner of the name, before it makes anything that it could leave
    /// behind.
    fn claim(&self) -> Result<(), KernelError> {
        let claimed = fs::create_dir_all(KINDS)
            .and_then(|()| fs::create_dir(&self.folder))
            .and_then(|()| symlink(process::id().to_string(), self.folder.join(OWNER)));
        claimed.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => self.is_there(),
            _ => KernelError::Missing(format!(
                "{}: {error} (mount -t bpf bpf /sys/fs/bpf)",
                self.folder.display()
            )),
        })
    }

    /// Registers the kind, and pins its maps and links in its folder.
    fn attach(&self, loaded: &mut Loaded, fixed: &Fixed) -> Result<(), KernelError> {
        for (number, device) in fixed.marks_at.iter().enumerate() {
            let mut link = marks::attach(loaded, device)?;
            let pinned = self.folder.join(format!("marks{number}"));
            link.pin(pinned).map_err(lost)?;
        }
        let is_followed = fixed.stays && fixed.varies;
        for mut map in loaded.maps_mut() {
            match map.name().to_str() {
                Some(".data.instances") => map.pin(self.folder.join("instances")).map_err(lost)?,
                Some(".data.params") if is_followed => {
                    map.pin(self.folder.join(PARAMS)).map_err(lost)?;
                }
                Some(".data.edition") if is_followed => {
                    map.pin(self.folder.join(EDITION)).map_err(lost)?;
                }
                Some(".data.of_bands") if fixed.band_lanes > 0 => {
                    map.pin(self.folder.join(BANDS)).map_err(lost)?;
                }
                Some("happenings") if fixed.log_bytes > 0 => {
                    map.pin(self.folder.join("log")).map_err(lost)?;
                }
                Some("qdisc") => {
                    let link = map.attach_struct_ops();
                    let mut link = link.map_err(|error| {
                        KernelError::Missing(format!("{}: {error:#}", self.name()))
                    })?;
                    link.pin(self.folder.join(LINK)).map_err(lost)?;
                }
                _ => {}
            }
        }
        if fixed.stays {
            let disowned = fs::remove_file(self.folder.join(OWNER));
            disowned.map_err(|error| KernelError::Missing(format!("{}: {error}", self.name())))?;
        }
        Ok(())
    }

    fn is_there(&self) -> KernelError {
        KernelError::Missing(format!(
            "{}: there is a kind of that name: remove it first",
            self.name()
        ))
    }

    fn is_missing(&self) -> KernelError {
        KernelError::Missing(format!("{}: there is no kind of that name", self.name()))
    }

    fn make_ready(&self, open: &mut OpenObject, fixed: &Fixed) -> Result<(), libbpf_rs::Error> {
        let told = if fixed.sampled > 0 {
            fixed.instances
        } else {
            1
        };
        for mut map in open.maps_mut() {
            match map.name().to_str() {
                Some("places" | "acks") => {
                    map.set_max_entries(fixed.instances * fixed.places())?;
                }
                Some("lanes") => map.set_max_entries(fixed.instances * fixed.lanes)?,
                Some("happenings") if fixed.log_bytes > 0 => {
                    map.set_max_entries(fixed.log_bytes)?;
                }
                Some("times") => map.set_max_entries(told * TIMES as u32)?,
                Some("lengths") if fixed.sampled > 0 => {
                    map.set_max_entries(told * fixed.places())?
                }
                Some("to_mark") if !fixed.marks_at.is_empty() => map.set_max_entries(MARKS)?,
                Some(".rodata.fixed") => map.set_initial_value(&fixed.bytes())?,
                Some(".rodata.secret") => map.set_initial_value(&secret().to_ne_bytes())?,
                Some("qdisc") => {
                    let value = map.initial_value_mut().expect("a struct has a value");
                    value[..NAME_BYTES].fill(0);
                    value[..self.name().len()].copy_from_slice(self.name().as_bytes());
                }
                _ => {}
            }
        }
        for mut program in open.progs_mut() {
            if program.name() == marks::PROGRAM {
                program.set_autoload(!fixed.marks_at.is_empty());
            }
        }
        Ok(())
    }

    /// Sets the rate of all instances, bits/s; everything else stays.
    ///
    /// # Errors
    /// If the kernel has no such kind, if a process owns it, or if its rate is constant.
    pub fn set_rate(&self, rate_bps: u64) -> Result<(), KernelError> {
        self.check_followed()?;
        let [params, edition] = [PARAMS, EDITION].map(|name| self.pinned(name));
        let (params, edition) = (params?, edition?);
        let mut settings = value_of(&params)?;
        let rate = rate_bps.max(1).to_ne_bytes();
        let at = offset_of!(CSettings, rate_bps);
        settings[at..at + rate.len()].copy_from_slice(&rate);
        let before = u64::from_ne_bytes(value_of(&edition)?.try_into().expect("eight bytes"));
        let set = |map: &MapHandle, value: &[u8]| map.update(&[0; 4], value, MapFlags::ANY);
        // odd while the settings are being written: reload.bpf.h; and before, if the one who
        // wrote them last was killed
        let odd = before | 1;
        set(&edition, &odd.to_ne_bytes())
            .and_then(|()| set(&params, &settings))
            .and_then(|()| set(&edition, &(odd + 1).to_ne_bytes()))
            .map_err(lost)
    }

    /// Checks that its rate may be set from outside.
    fn check_followed(&self) -> Result<(), KernelError> {
        if let Owner::Process(process) = self.owner() {
            return Err(KernelError::Missing(format!(
                "{}: process {process} owns this kind and sets its rate: follow one of sluiced qdisc \
                 install",
                self.name()
            )));
        }
        if self.owner() == Owner::Unknown && self.folder.exists() {
            return Err(KernelError::Missing(format!(
                "{0}: making or removing it was interrupted: sluiced qdisc remove {0}",
                self.name()
            )));
        }
        if self.folder.exists() && !self.folder.join(EDITION).exists() {
            return Err(KernelError::Missing(format!(
                "{}: its rate is constant: install it with the rates that it is to follow",
                self.name()
            )));
        }
        Ok(())
    }

    fn pinned(&self, name: &str) -> Result<MapHandle, KernelError> {
        MapHandle::from_pinned_path(self.folder.join(name)).map_err(|_| self.is_missing())
    }

    /// Returns the counts of each instance that an interface uses.
    ///
    /// # Errors
    /// If the kernel has no such kind.
    pub fn counts(&self) -> Result<Vec<Counts>, KernelError> {
        let pinned = self.folder.join("instances");
        if self.folder.exists() && !pinned.exists() {
            return Err(KernelError::Missing(format!(
                "{0}: its map instances is missing: sluiced qdisc remove {0}",
                self.name()
            )));
        }
        let value = value_of(&self.pinned("instances")?)?;
        let used = Instance::all(&value).filter(Instance::is_used);
        Ok(used.map(|instance| instance.counts()).collect())
    }

    /// Takes all events since the last call out of the log of its decisions, in order.
    ///
    /// # Errors
    /// If the kernel has no such kind, or if the kind keeps no log.
    pub fn log(&self) -> Result<Vec<Happened>, KernelError> {
        let pinned = self.folder.join("log");
        if self.folder.exists() && !pinned.exists() {
            return Err(KernelError::Missing(format!(
                "{} keeps no log: it was installed without --log",
                self.name()
            )));
        }
        logged::take(&self.pinned("log")?)
    }

    /// Returns its owner.
    pub fn owner(&self) -> Owner {
        let told = fs::read_link(self.folder.join(OWNER)).ok();
        match told.and_then(|told| told.to_str()?.parse().ok()) {
            Some(process) => Owner::Process(process),
            None if self.folder.join(LINK).exists() => Owner::Nobody,
            None => Owner::Unknown,
        }
    }

    /// Removes the kind. Its qdiscs keep working until they are removed with `tc`.
    ///
    /// # Errors
    /// If the kernel has no such kind.
    pub fn remove(&self) -> Result<(), KernelError> {
        let files = fs::read_dir(&self.folder).map_err(|_| self.is_missing())?;
        let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        // the owner last: it must be known as long as anything is left
        paths.sort_by_key(|path| path.ends_with(OWNER));
        let removed = paths
            .iter()
            .try_for_each(fs::remove_file)
            .and_then(|()| fs::remove_dir(&self.folder));
        removed.map_err(|error| KernelError::Missing(format!("{}: {error}", self.name())))
    }
}

/// Returns the value of a map that has only one.
fn value_of(map: &MapHandle) -> Result<Vec<u8>, KernelError> {
    let value = map.lookup(&[0; 4], MapFlags::ANY).map_err(lost)?;
    Ok(value.expect("an array has all its values"))
}

/// Checks that the kernel has BPF qdiscs.
///
/// # Errors
/// If it has none, with what it lacks.
pub fn check_kernel() -> Result<(), KernelError> {
    let types = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    if memmem::find(&types, b"bpf_qdisc_skb_drop").is_some() {
        return Ok(());
    }
    Err(KernelError::Missing(
        "this kernel has no BPF qdiscs: they need Linux 6.16 or newer with CONFIG_NET_SCH_BPF and \
         CONFIG_DEBUG_INFO_BTF"
            .into(),
    ))
}
