//! `sluiced check`: what is missing on this machine, and the command that fixes it.

mod bottleneck;
mod place;

use std::fs;

use caps::Capability;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use crate::{
    Failure,
    backends::{
        nfqueue::ENOUGH_BUFFER_BYTES,
        queue_table::{self, Owner, TABLE},
        rules::Rules,
        tun,
    },
    cli::{Backend, CheckOptions, Tool},
    findings::{Finding, lacking, missing, print_findings, unknown},
    in_kernel,
    machine::privileges,
    program,
};

/// Runs the command. Returns true if nothing is missing that the gate needs or, if it watches a
/// daemon, if the queue builds there.
///
/// # Errors
/// If there is no daemon to watch, if it is not the one that the options describe, or if options
/// contradict each other.
pub fn run(options: &CheckOptions) -> Result<bool, Failure> {
    match (options.watch, &options.tun, &options.interface) {
        (Some(for_s), ..) => bottleneck::watch(options, for_s),
        (None, Some(names), Some(interface)) => Err(Failure(format!(
            "--interface {interface}: a cable takes nothing of the interface behind it: leave it out, \
             or watch a daemon: --tun {} --interface {interface} --watch 10",
            names.join(" ")
        ))),
        _ if options.backend == Some(Backend::Kernel) => in_kernel::check(options),
        _ => check(options),
    }
}

fn check(options: &CheckOptions) -> Result<bool, Failure> {
    match &options.tun {
        Some(names) => print_findings(
            vec![
                (tun::CLONE, tun_devices()),
                (&names[0], device(&names[0])),
                (&names[1], device(&names[1])),
                ("forwarding", forwarding()),
                ("real time", real_time()),
                (
                    "offloads",
                    Ok(
                        "a TUN device has none: the kernel cuts segments before it sends them"
                            .into(),
                    ),
                ),
            ],
            options.json,
        ),
        None => check_nfqueue(options),
    }
}

fn check_nfqueue(options: &CheckOptions) -> Result<bool, Failure> {
    let rules = options.interface.as_ref().map(|interface| Rules {
        interface: interface.clone(),
        queue: options.queue,
        both_ways: options.both_ways,
        fail: options.fail,
    });
    print_findings(
        vec![
            ("capability", capability()),
            ("kernel's queue", kernel()),
            ("queue number", queue(options)),
            ("interface", interface(options.interface.as_deref())),
            ("rules can be set", tool(rules.as_ref())),
            ("rules", installed(rules.as_ref())),
            ("receive buffer", buffer()),
            ("forwarding", forwarding()),
            ("real time", real_time()),
            (
                "offloads",
                Ok("may stay on: the kernel segments packets before it queues them".into()),
            ),
        ],
        options.json,
    )
}

fn capability() -> Finding {
    if privileges::may_decide() && queue_table::may_set() {
        return Ok("CAP_NET_ADMIN".into());
    }
    missing(
        "CAP_NET_ADMIN is needed to decide on packets",
        format!(
            "sudo setcap cap_net_admin+ep {}   (or run it as root, or try it in a namespace: \
             unshare -Urnm)",
            program()
        ),
    )
}

fn tun_devices() -> Finding {
    tun::probe()
        .map(|()| "it can be opened".into())
        .or_else(|(what, remedy)| missing(what, remedy))
}

fn device(name: &str) -> Finding {
    if tun::is_another(name) {
        return missing("is an interface, but no TUN device", "name another one");
    }
    if nix::net::if_::if_nametoindex(name).is_ok() {
        return Ok("there; sluiced run says if it may not have it".into());
    }
    if privileges::may_decide() {
        return Ok("sluiced run makes it".into());
    }
    missing(
        "there is none, and without CAP_NET_ADMIN none can be made",
        format!("sudo ip tuntap add mode tun user $USER name {name}"),
    )
}

fn kernel() -> Finding {
    if fs::exists(TABLE).unwrap_or(false) {
        return Ok("there".into());
    }
    missing("the kernel has no NFQUEUE", "sudo modprobe nfnetlink_queue")
}

fn queue(options: &CheckOptions) -> Finding {
    let last = options.queue + u16::from(options.both_ways);
    for number in options.queue..=last {
        match queue_table::owner(number) {
            Owner::Nobody => {}
            Owner::Another(port) => {
                return missing(
                    format!(
                        "{number} is taken by another program{}",
                        queue_table::describe_port(port)
                    ),
                    format!(
                        "stop that program, or take another queue: --queue {}",
                        last.saturating_add(1)
                    ),
                );
            }
            Owner::Unknown => {
                return unknown(format!("whether {number} is free is shown to root only"));
            }
        }
    }
    Ok(match options.both_ways {
        true => format!("{} and {last} are free", options.queue),
        false => format!("{last} is free"),
    })
}

fn interface(name: Option<&str>) -> Finding {
    match name {
        None => lacking("not looked for", "sluiced check --interface NAME"),
        Some(name) if nix::net::if_::if_nametoindex(name).is_ok() => Ok(format!("{name} is there")),
        Some(name) => missing(
            format!("there is no {name}"),
            "ip link   (shows the interfaces that there are)",
        ),
    }
}

fn tool(rules: Option<&Rules>) -> Finding {
    let Some(rules) = rules else {
        return lacking("not tried", "sluiced check --interface NAME");
    };
    match rules.find_tool() {
        Ok(Some(Tool::Nft)) => Ok("by nft".into()),
        Ok(Some(Tool::Iptables)) => Ok("by iptables".into()),
        Ok(None) => unknown("whether nft can set them is told to root only"),
        Err(failure) => missing(failure.0, "sudo apt install nftables iptables"),
    }
}

fn installed(rules: Option<&Rules>) -> Finding {
    match rules {
        None => lacking("not looked for", "sluiced check --interface NAME"),
        Some(rules) => match rules.are_installed() {
            Some(true) => Ok(format!("packets of {} go to the queue", rules.interface)),
            Some(false) => missing(
                format!("no rule hands packets of {} to the queue", rules.interface),
                rules.command("--install"),
            ),
            None => unknown(format!(
                "whether packets of {} go to the queue is told to root only",
                rules.interface
            )),
        },
    }
}

fn buffer() -> Finding {
    let forced = socket(
        AddressFamily::Unix,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .is_ok_and(|socket| setsockopt(&socket, sockopt::RcvBufForce, &ENOUGH_BUFFER_BYTES).is_ok());
    if forced {
        return Ok(format!("{ENOUGH_BUFFER_BYTES} bytes or more"));
    }
    let most = number("/proc/sys/net/core/rmem_max").unwrap_or_default();
    if most >= ENOUGH_BUFFER_BYTES as u64 {
        return Ok(format!("up to {most} bytes"));
    }
    lacking(
        format!("{most} bytes at most: a burst of packets may be lost, which is counted"),
        format!(
            "sudo sysctl -w net.core.rmem_max={}",
            4 * ENOUGH_BUFFER_BYTES
        ),
    )
}

/// Protocol, the file that shows whether the kernel forwards it, and the setting that switches it
/// on.
const FORWARDING: [(&str, &str, &str); 2] = [
    (
        "IPv4",
        "/proc/sys/net/ipv4/ip_forward",
        "net.ipv4.ip_forward=1",
    ),
    (
        "IPv6",
        "/proc/sys/net/ipv6/conf/all/forwarding",
        "net.ipv6.conf.all.forwarding=1   (if its own routes come by router advertisements, first \
         net.ipv6.conf.NAME.accept_ra=2)",
    ),
];

fn forwarding() -> Finding {
    let off: Vec<_> = FORWARDING
        .into_iter()
        // a kernel without IPv6 has no such file
        .filter(|(_, path, _)| number(path) == Some(0))
        .collect();
    if off.is_empty() {
        return Ok("on".into());
    }
    let kinds: Vec<&str> = off.iter().map(|(kind, ..)| *kind).collect();
    let remedies: Vec<&str> = off.iter().map(|(.., remedy)| *remedy).collect();
    lacking(
        format!(
            "this machine forwards no {}; its own packets are shaped",
            kinds.join(" and no ")
        ),
        format!("sudo sysctl -w {}", remedies.join(" ")),
    )
}

fn real_time() -> Finding {
    if privileges::may_run_in_real_time() {
        return Ok("--timer realtime and spin can be had".into());
    }
    let remedy = match privileges::has(Capability::CAP_SYS_NICE) {
        true => "run it outside of this namespace, as the machine's root".into(),
        false => format!("sudo setcap cap_net_admin,cap_sys_nice+ep {}", program()),
    };
    lacking(
        "--timer realtime and spin are refused; departures are tens of microseconds later",
        remedy,
    )
}

fn number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
