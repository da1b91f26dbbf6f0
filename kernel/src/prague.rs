//! Prague as a congestion control of this kernel's TCP: `prague.bpf.c`.

use std::{fs, io, path::Path};

use libbpf_rs::MapCore;
use tempfile::tempdir;

use crate::{
    KernelError,
    compile::{FLAGS, missing, run},
    refusal::{load, lost},
};

const SOURCE: (&str, &str) = ("prague.bpf.c", include_str!("prague.bpf.c"));
/// The link that registers it: there it stays when its loader ends.
const LINK: &str = "/sys/fs/bpf/sluice_prague";

/// Compiles it for BPF, for [`install`] on a machine without clang.
///
/// # Errors
/// If clang is missing or too old.
pub fn compile() -> Result<Vec<u8>, KernelError> {
    let folder = tempdir().map_err(|error| missing(&error))?;
    let (name, text) = SOURCE;
    fs::write(folder.path().join(name), text).map_err(|error| missing(&error))?;
    let flags: Vec<String> = FLAGS
        .into_iter()
        .chain(["-c", name, "-o", "program.o"])
        .map(str::to_owned)
        .collect();
    run(folder.path(), &flags, name)?;
    fs::read(folder.path().join("program.o")).map_err(|error| missing(&error))
}

/// Gives it to the kernel, whose sockets can then ask for `prague`. It stays until [`remove`], even
/// when this process ends.
///
/// # Errors
/// If it is there already, if the object is another, or if the kernel refuses it: it needs accurate
/// ECN, which came with Linux 7.0.
pub fn install(object: &[u8]) -> Result<(), KernelError> {
    if Path::new(LINK).exists() {
        return Err(KernelError::Missing(
            "prague is there already: sluiced prague remove".into(),
        ));
    }
    let mut loaded = load(SOURCE.0, object, |_| Ok(()))?;
    let mut map = loaded
        .maps_mut()
        .find(|map| map.name() == "prague")
        .ok_or_else(|| KernelError::Missing("the object is no Prague".into()))?;
    let mut link = map.attach_struct_ops().map_err(|error| {
        KernelError::Missing(format!(
            "the kernel takes no Prague: {error:#} (it needs Linux 7.0 or newer, and no other \
             congestion control of that name)"
        ))
    })?;
    link.pin(LINK).map_err(lost)
}

/// Takes it from the kernel; connections that have it keep it.
///
/// # Errors
/// If it is not there.
pub fn remove() -> Result<(), KernelError> {
    fs::remove_file(LINK).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            KernelError::Missing("prague was not installed by sluiced".into())
        }
        _ => KernelError::Missing(format!("{LINK}: {error}")),
    })
}
