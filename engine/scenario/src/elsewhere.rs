//! Names that users know from elsewhere, and what takes their place here.

use sluice_aqm::find_scheduler;

use crate::network::tcp_names;

/// Congestion controls of Linux that the engine does not have.
const OF_THE_KERNEL: &[&str] = &[
    "bic",
    "cdg",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Returns what to do about the name of no AQM, as the part of a sentence after it; `None` if
/// nothing is known. `aqms` are the names of all AQMs.
pub fn in_place_of(name: &str, aqms: &[&str]) -> Option<String> {
    if tcp_names().contains(&name) {
        return Some(format!(
            " but a congestion control, which flows have: tcp = {{ congestion_control = \"{name}\" }}"
        ));
    }
    if is_of_the_kernel(name) {
        return Some(format!(
            " but a congestion control, of TCP and not of a queue: {}",
            with_the_kernels(name)
        ));
    }
    let (scheduler, inside) = name.split_once('_').unwrap_or((name, "drop_tail"));
    if find_scheduler(scheduler).is_none() || !aqms.contains(&inside) {
        return None;
    }
    let (option, field) = match inside {
        "codel" => ("victim=front,", ", victim = \"front\""),
        _ => ("", ""),
    };
    Some(format!(
        " but {inside} with a scheduler: --aqm {inside}:{option}scheduler={scheduler}, or aqm = \
         \"{inside}\"{field}, scheduler = {{ kind = \"{scheduler}\" }}"
    ))
}

/// True if Linux has a congestion control of that name, at least as a patch, and the engine has
/// none.
pub fn is_of_the_kernel(name: &str) -> bool {
    OF_THE_KERNEL.contains(&name) && !tcp_names().contains(&name)
}

/// Returns how to use a congestion control of the kernel.
pub fn with_the_kernels(name: &str) -> String {
    format!("sluice testbed --congestion-control {name} uses the kernel's, where it has it")
}
