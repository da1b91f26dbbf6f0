//! Privileges of the process: enough to decide on packets, and no more.

use std::thread;

use caps::{CapSet, Capability};

use crate::Failure;

/// The only capability that is needed all the time, to decide on packets of the kernel's queue.
pub const DECIDE: Capability = Capability::CAP_NET_ADMIN;

/// True if the process has a capability, perhaps only in a user namespace.
pub fn has(capability: Capability) -> bool {
    caps::has_cap(None, CapSet::Effective, capability).unwrap_or(false)
}

/// True if the process may administer the network.
pub fn may_decide() -> bool {
    has(DECIDE)
}

/// True if the real-time scheduler can be had: a thread that ends at once asks for it. A capability
/// alone does not tell: in a user namespace the kernel does not accept it.
pub fn may_run_in_real_time() -> bool {
    let asked = thread::spawn(|| run_in_real_time().is_ok()).join();
    asked.expect("it does not panic")
}

/// Gives up all capabilities but the needed ones, for this thread and everything that it starts
/// later.
///
/// # Errors
/// If the kernel refuses.
pub fn drop_all_but(needed: &[Capability]) -> Result<(), Failure> {
    let refuse = |what: &str| Failure(format!("cannot give up capabilities: {what}"));
    if has(Capability::CAP_SETPCAP) {
        for capability in caps::runtime::thread_all_supported() {
            if !needed.contains(&capability) {
                caps::drop(None, CapSet::Bounding, capability)
                    .map_err(|error| refuse(&error.to_string()))?;
            }
        }
    }
    let needed = needed.iter().copied().collect();
    caps::clear(None, CapSet::Ambient).map_err(|error| refuse(&error.to_string()))?;
    for set in [CapSet::Effective, CapSet::Permitted] {
        caps::set(None, set, &needed).map_err(|error| refuse(&error.to_string()))?;
    }
    caps::clear(None, CapSet::Inheritable).map_err(|error| refuse(&error.to_string()))?;
    nix::sys::prctl::set_no_new_privs().map_err(|error| refuse(error.desc()))
}

/// Asks for the real-time scheduler for this thread, at its lowest priority.
///
/// # Errors
/// Without the capability CAP_SYS_NICE.
pub fn run_in_real_time() -> Result<(), Failure> {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameters outlive the call; 0 is this thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) };
    nix::errno::Errno::result(done).map(drop).map_err(|error| {
        Failure(format!(
            "--timer: {}: realtime and spin take CAP_SYS_NICE, as the machine's root has it: see \
             sluiced check",
            error.desc()
        ))
    })
}
