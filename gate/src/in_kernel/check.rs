//! `sluiced check --backend kernel`: what a qdisc of the kernel needs, and what earlier qdiscs left
//! behind.

use std::fs;

use caps::{CapSet, Capability};
use sluice_kernel::{Device, Owner, QdiscKind, check_kernel};

use super::{ready::device, tc::Tc};
use crate::{
    Failure,
    cli::CheckOptions,
    findings::{Finding, lacking, missing, print_findings},
};

/// Prints the results. Returns true if nothing is missing.
///
/// # Errors
/// If the interface's name is invalid.
pub fn check(options: &CheckOptions) -> Result<bool, Failure> {
    let device = options.interface.as_deref().map(device).transpose()?;
    let mut checks =
        vec![
        ("capabilities", capabilities()),
        ("BPF qdiscs", kernel()),
        ("BPF's file system", file_system()),
        ("compiler", compiler()),
        ("interface", interface(device.as_ref())),
        (
            "large packets",
            Ok("count as one each; ip link set dev NAME gso_max_segs 1 gro_max_size 1600 where \
                they come from keeps them small"
                .into()),
        ),
    ];
    let left: Vec<(String, Finding)> = QdiscKind::all()
        .iter()
        .map(|kind| (format!("kind {}", kind.name()), kept(kind)))
        .collect();
    checks.extend(
        left.iter()
            .map(|(name, found)| (name.as_str(), found.clone())),
    );
    print_findings(checks, options.json)
}

/// Returns an error if a kind of that name exists.
///
/// # Errors
/// If it exists; with the command that removes it, if a daemon that was killed left it.
pub fn refuse_what_is_left(kind: &QdiscKind) -> Result<(), Failure> {
    if !QdiscKind::all()
        .iter()
        .any(|each| each.name() == kind.name())
    {
        return Ok(());
    }
    Err(Failure(match kept(kind) {
        Ok(how) => format!("{}: {how}: --kind gives another name", kind.name()),
        Err(left) => format!("{}: {}: {}", kind.name(), left.what, left.remedy),
    }))
}

/// Returns an error if someone has set a qdisc at the interface.
///
/// # Errors
/// If there is one; with the command that removes it, unless a process uses it.
pub fn refuse_what_stands(device: &Device) -> Result<(), Failure> {
    let Some(kind) = root(device) else {
        return Ok(());
    };
    Err(Failure(match stands(device, &kind) {
        Ok(how) => how,
        Err(other) => format!("{}: {}", other.what, other.remedy),
    }))
}

/// Returns who owns the qdisc of an interface, and how to remove it if nobody uses it.
fn stands(device: &Device, kind: &str) -> Finding {
    let here = format!("{device} has a qdisc, {kind}");
    // an installed one was set with tc, like the qdiscs of others
    let is_owned = |each: &&QdiscKind| each.name() == kind && each.owner() != Owner::Nobody;
    match QdiscKind::all().iter().find(is_owned).map(kept) {
        Some(Ok(how)) => Ok(format!("{here}, {how}")),
        Some(Err(left)) => missing(format!("{here}, {}", left.what), left.remedy),
        None => missing(
            here,
            format!("{} qdisc del dev {} root", device.tc(), device.name),
        ),
    }
}

/// Returns who owns a kind, and how to remove it if its owner has ended.
fn kept(kind: &QdiscKind) -> Finding {
    let left = match kind.owner() {
        Owner::Nobody => return Ok("installed to stay, by sluiced qdisc install".into()),
        Owner::Process(owner) if is_running(owner) => {
            return Ok(format!("in use by process {owner}"));
        }
        Owner::Process(owner) => format!("left by process {owner}, which was killed"),
        Owner::Unknown => "left by a process that was killed".into(),
    };
    let places = before(kind.name());
    let mut stands: Vec<String> = places.iter().map(Device::to_string).collect();
    let counts = kind.counts().unwrap_or_default();
    match counts.len().saturating_sub(places.len()) {
        0 => {}
        others => stands.push(format!(
            "{others} in namespaces that ip netns does not know"
        )),
    }
    let mut words: Vec<String> = places
        .iter()
        .map(|place| format!("{} qdisc del dev {} root", place.tc(), place.name))
        .collect();
    words.push(format!("sluiced qdisc remove {}", kind.name()));
    missing(
        match stands.as_slice() {
            [] => left,
            stands => format!("{left}; it goes on before {}", stands.join(", ")),
        },
        words.join(" && "),
    )
}

fn is_running(process: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm"));
    name.is_ok_and(|name| name.trim_end() == "sluiced")
}

/// Returns the interfaces that have a qdisc of this kind.
fn before(kind: &str) -> Vec<Device> {
    let mut devices = Device::all();
    devices.retain(|device| root(device).as_deref() == Some(kind));
    devices
}

/// Returns the kind of the qdisc that someone has set at an interface.
fn root(device: &Device) -> Option<String> {
    let root = Tc::of(device).ok()?.root(device.index().ok()?).ok()??;
    root.is_set.then_some(root.kind)
}

fn capabilities() -> Finding {
    let lacks = [Capability::CAP_NET_ADMIN, Capability::CAP_BPF]
        .into_iter()
        .filter(|each| !caps::has_cap(None, CapSet::Effective, *each).unwrap_or(false));
    let lacks: Vec<String> = lacks.map(|each| each.to_string()).collect();
    match lacks.as_slice() {
        [] => Ok("CAP_NET_ADMIN and CAP_BPF".into()),
        lacks => missing(format!("without {}", lacks.join(" and ")), "run it as root"),
    }
}

fn kernel() -> Finding {
    match check_kernel() {
        Ok(()) => Ok("there".into()),
        Err(error) => missing(
            error.to_string(),
            "a newer kernel (Debian: linux-image-amd64 of trixie-backports), or sluice lab",
        ),
    }
}

fn file_system() -> Finding {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    if mounts
        .lines()
        .any(|line| line.contains(" /sys/fs/bpf bpf "))
    {
        return Ok("/sys/fs/bpf".into());
    }
    missing(
        "nothing is mounted at /sys/fs/bpf (ip netns exec hides it: name the interface as \
         NAMESPACE/NAME in place of that)",
        "mount -t bpf bpf /sys/fs/bpf",
    )
}

fn compiler() -> Finding {
    sluice_kernel::compiler()
        .map(str::to_owned)
        .or_else(|error| {
            lacking(
                format!("{error}; or --object, which sluiced qdisc compile makes elsewhere"),
                "apt install clang-19",
            )
        })
}

fn interface(device: Option<&Device>) -> Finding {
    let Some(device) = device else {
        return lacking(
            "not looked for",
            "sluiced check --backend kernel --interface NAME",
        );
    };
    if let Err(error) = device.index() {
        return missing(
            format!("{device}: {error}"),
            "ip link   (shows those that there are)",
        );
    }
    match root(device) {
        None => Ok(format!("{device} is there, with the kernel's own qdisc")),
        Some(kind) => stands(device, &kind),
    }
}
