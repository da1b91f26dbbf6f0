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

/// Asks for the real-time scheduler for this thread and those that it starts, at a low priority.
///
/// # Errors
/// Without the capability CAP_SYS_NICE.
pub fn run_in_real_time() -> Result<(), Failure> {
    // one more than the lowest, which is that of `step_back`
    schedule(libc::SCHED_FIFO, 2).map_err(|error| {
        Failure(format!(
            "--timer: {}: realtime and spin take CAP_SYS_NICE, as the machine's root has it: see \
             sluiced check",
            error.desc()
        ))
    })
}

/// Puts this thread behind that of the packets, which may wait for it: it frees the memory of records,
/// and must not stand still over that while others use the processor.
pub fn step_back() {
    let mut now = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters outlive the calls; 0 is this thread.
    let is_real_time = unsafe {
        libc::sched_getparam(0, &raw mut now);
        libc::sched_getscheduler(0) == libc::SCHED_FIFO
    };
    if is_real_time && now.sched_priority > 1 {
        schedule(libc::SCHED_FIFO, now.sched_priority - 1).ok();
    }
}

/// Gives this thread the priority of an ordinary one: no packet waits for it.
pub fn give_way() {
    schedule(libc::SCHED_OTHER, 0).ok();
}

fn schedule(policy: i32, priority: i32) -> nix::Result<()> {
    let priority = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the parameters outlive the call; 0 is this thread.
    let done = unsafe { libc::sched_setscheduler(0, policy, &raw const priority) };
    nix::errno::Errno::result(done).map(drop)
}
