//! Attaches the program that sets congestion experienced (CE) behind a qdisc: `marks.bpf.h`.

use std::{io, os::raw::c_int, ptr, ptr::NonNull};

use libbpf_rs::{
    AsRawLibbpf, Link, Object as Loaded,
    libbpf_sys::{bpf_program, bpf_program__attach_tcx},
};

use crate::{Device, KernelError};

/// The program's name.
pub(crate) const PROGRAM: &str = "set_ce";

/// Marked packets that may be between the qdisc and the program.
pub(crate) const MARKS: u32 = 8192;

/// Attaches the program to the ingress of a device.
pub(crate) fn attach(loaded: &Loaded, device: &Device) -> Result<Link, KernelError> {
    let index = device.index().map_err(|error| lost(device, &error))?;
    let program = loaded.progs().find(|program| program.name() == PROGRAM);
    let program = program.expect("a program of marks.bpf.h");
    let raw: *const bpf_program = program.as_libbpf_object().as_ptr();
    let link = device.within(|| attach_tcx(raw, index));
    link.map_err(|error| lost(device, &error))
}

fn attach_tcx(program: *const bpf_program, index: c_int) -> io::Result<Link> {
    // SAFETY: the program is loaded; a null pointer to options means the defaults.
    let link = unsafe { bpf_program__attach_tcx(program, index, ptr::null()) };
    // SAFETY: the link is ours, and nothing else uses it.
    NonNull::new(link)
        .map(|link| unsafe { Link::from_ptr(link) })
        .ok_or_else(io::Error::last_os_error)
}

fn lost(device: &Device, error: &io::Error) -> KernelError {
    KernelError::Missing(format!("marks cannot be set at {device}: {error}"))
}
