//! What the kernel shows about its queues: their owners and their counts.

use std::io;

use nix::errno::Errno;

use crate::{
    backends::nfqueue::Nfqueue,
    machine::netlink::{attribute, connect, write},
};

/// The file in which the kernel shows its queues, one line each.
pub const TABLE: &str = "/proc/net/netfilter/nfnetlink_queue";

/// Returns what the kernel shows about a queue, if a program owns it: number, netlink port, packets
/// held, copy mode and range, packets that found it full, packets for which there was no receive
/// buffer.
pub(crate) fn row(table: &str, queue: u16) -> Option<Vec<u64>> {
    table.lines().find_map(|line| {
        let fields = line.split_whitespace();
        let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        (fields.len() > 6 && fields[0] == u64::from(queue)).then_some(fields)
    })
}

/// The owner of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is free.
    Nobody,
    /// Another program, by its netlink port if the kernel shows that.
    Another(Option<u64>),
    /// It is unknown: only root may look.
    Unknown,
}

/// Describes a netlink port, as an addition to a sentence.
pub fn describe_port(port: Option<u64>) -> String {
    port.map_or_else(String::new, |port| {
        format!(" (netlink port {port}, usually its process id)")
    })
}

/// Returns the owner of a queue: from the kernel's table, which only root may read, or else from
/// the kernel's answer to a request, which needs CAP_NET_ADMIN.
pub fn owner(queue: u16) -> Owner {
    let owned = match std::fs::read_to_string(TABLE) {
        Ok(table) => row(&table, queue).map(|fields| Some(fields[1])),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(_) => match is_taken(queue) {
            Some(is_taken) => is_taken.then_some(None),
            None => return Owner::Unknown,
        },
    };
    owned.map_or(Owner::Nobody, Owner::Another)
}

/// True if the kernel lets this process set queues: it has CAP_NET_ADMIN in the namespace of the
/// network.
pub fn may_set() -> bool {
    // a command that has no effect since Linux 3.8, but that is still refused without the
    // capability
    let command = [libc::NFQNL_CFG_CMD_PF_BIND as u8, 0, 0, 0];
    let answer = asked(0, |out| attribute(out, libc::NFQA_CFG_CMD, &command));
    answer.is_ok_and(|answer| answer != Err(Errno::EPERM))
}

/// True if another program owns the queue. The kernel refuses an empty setting of a queue of
/// another program (EPERM) or of a free queue (ENODEV). `None` if the kernel refuses every request.
fn is_taken(queue: u16) -> Option<bool> {
    if !may_set() {
        return None;
    }
    let answer = asked(queue, |_| ());
    answer.ok().map(|answer| answer == Err(Errno::EPERM))
}

/// Returns the kernel's answer to a setting of a queue; an error if the kernel cannot be asked.
fn asked(queue: u16, attributes: impl FnOnce(&mut Vec<u8>)) -> Result<Result<(), Errno>, Errno> {
    let mut message = Vec::new();
    let kind = libc::NFQNL_MSG_CONFIG;
    write(&mut message, kind, queue, true, attributes);
    Ok(Nfqueue::on(connect()?, queue, 1).ask(&message))
}
