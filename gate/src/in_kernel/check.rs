//! `sluiced check --backend kernel`: what a qdisc of the kernel takes, and what is left of one.

use std::fs;

use caps::{CapSet, Capability};
use sluice_kernel::{Device, Kind, check_kernel};

use super::{ready::device, tc::Tc};
use crate::{
    Failure,
    check::{Found, lacking, missing, tell},
    cli::CheckOptions,
};

/// Prints what was found. Gives whether nothing is missing.
///
/// # Errors
/// If the interface is none.
pub fn look(options: &CheckOptions) -> Result<bool, Failure> {
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
    let left: Vec<(String, Found)> = Kind::all()
        .iter()
        .map(|kind| (format!("kind {}", kind.name()), kept(kind, device.as_ref())))
        .collect();
    checks.extend(
        left.iter()
            .map(|(name, found)| (name.as_str(), found.clone())),
    );
    Ok(tell(checks))
}

/// Refuses to start where a daemon that was killed has left its qdisc.
///
/// # Errors
/// Then, with how to remove it.
pub fn refuse_what_is_left(kind: &Kind, device: &Device) -> Result<(), Failure> {
    if !Kind::all().iter().any(|each| each.name() == kind.name()) {
        return Ok(());
    }
    match kept(kind, Some(device)) {
        Ok(how) => Err(Failure(format!(
            "{}: {how}: --kind gives another name",
            kind.name()
        ))),
        Err(left) => Err(Failure(format!(
            "{}: {}: {}",
            kind.name(),
            left.what,
            left.mend
        ))),
    }
}

/// Whose a kind is, and how it goes away if its owner has.
fn kept(kind: &Kind, device: Option<&Device>) -> Found {
    let name = kind.name();
    let owner = match kind.owner() {
        0 => return Ok("installed to stay, by sluiced qdisc install".into()),
        owner if is_running(owner) => return Ok(format!("of sluiced, process {owner}")),
        owner => owner,
    };
    let places = before(name, device);
    let stands: Vec<String> = places.iter().map(Device::to_string).collect();
    let mut words: Vec<String> = places
        .iter()
        .map(|place| format!("{} qdisc del dev {} root", place.tc(), place.name))
        .collect();
    words.push(format!("sluiced qdisc remove {name}"));
    missing(
        match stands.as_slice() {
            [] => format!("left by process {owner}, which was killed"),
            stands => format!(
                "left by process {owner}, which was killed; it goes on before {}",
                stands.join(", ")
            ),
        },
        words.join(" && "),
    )
}

fn is_running(process: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{process}/comm"));
    name.is_ok_and(|name| name.trim_end() == "sluiced")
}

/// The interfaces before which a kind stands: of this namespace, and the one that is asked for.
fn before(kind: &str, device: Option<&Device>) -> Vec<Device> {
    let here = nix::net::if_::if_nameindex();
    let names: Vec<String> = here
        .iter()
        .flatten()
        .filter_map(|interface| Some(interface.name().to_str().ok()?.to_owned()))
        .collect();
    let mut devices: Vec<Device> = names.iter().filter_map(|name| name.parse().ok()).collect();
    devices.extend(device.filter(|device| !devices.contains(device)).cloned());
    devices.retain(|device| root(device).as_deref() == Some(kind));
    devices
}

/// The kind that somebody has put before an interface.
fn root(device: &Device) -> Option<String> {
    let root = Tc::of(device).ok()?.root(device.index().ok()?).ok()??;
    root.is_set.then_some(root.kind)
}

fn capabilities() -> Found {
    let lacks = [Capability::CAP_NET_ADMIN, Capability::CAP_BPF]
        .into_iter()
        .filter(|each| !caps::has_cap(None, CapSet::Effective, *each).unwrap_or(false));
    let lacks: Vec<String> = lacks.map(|each| each.to_string()).collect();
    match lacks.as_slice() {
        [] => Ok("CAP_NET_ADMIN and CAP_BPF".into()),
        lacks => missing(format!("without {}", lacks.join(" and ")), "run it as root"),
    }
}

fn kernel() -> Found {
    match check_kernel() {
        Ok(()) => Ok("there".into()),
        Err(error) => missing(
            error.to_string(),
            "a newer kernel (Debian: linux-image-amd64 of trixie-backports), or sluice lab",
        ),
    }
}

fn file_system() -> Found {
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

fn compiler() -> Found {
    sluice_kernel::compiler()
        .map(str::to_owned)
        .or_else(|error| {
            lacking(
                format!("{error}; or --object, which sluiced qdisc compile makes elsewhere"),
                "apt install clang-19",
            )
        })
}

fn interface(device: Option<&Device>) -> Found {
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
        Some(kind) => missing(
            format!("{device} has a qdisc, {kind}"),
            format!("{} qdisc del dev {} root", device.tc(), device.name),
        ),
    }
}
