//! What the kernel shows of its queues: who has one, and what it counts.

use std::io;

use nix::errno::Errno;

use crate::{
    netlink::{attribute, connect, write},
    nfqueue::Nfqueue,
};

/// Where the kernel shows its queues, a line each.
pub const TABLE: &str = "/proc/net/netfilter/nfnetlink_queue";

/// What the kernel shows of a queue, if someone has it: number, netlink port, packets held, copy
/// mode and range, packets that found it full, packets for which there was no receive buffer.
pub(crate) fn row(table: &str, queue: u16) -> Option<Vec<u64>> {
    table.lines().find_map(|line| {
        let fields = line.split_whitespace();
        let fields: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        (fields.len() > 6 && fields[0] == u64::from(queue)).then_some(fields)
    })
}

/// Who has a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// It is free.
    Nobody,
    /// Another program, by its netlink port if the kernel shows that.
    Another(Option<u64>),
    /// Only root may look.
    Unknown,
}

/// A netlink port in words behind a program.
pub fn told(port: Option<u64>) -> String {
    port.map_or_else(String::new, |port| {
        format!(" (netlink port {port}, usually its process id)")
    })
}

/// Who has a queue, by the kernel's table, which only root may read; else by what the kernel
/// answers, which it does with CAP_NET_ADMIN only.
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

/// Whether the kernel lets this process set queues: it has CAP_NET_ADMIN where the network is.
pub fn may_set() -> bool {
    // a command from before Linux 3.8, which does nothing any more, but for whoever may not give it
    let command = [libc::NFQNL_CFG_CMD_PF_BIND as u8, 0, 0, 0];
    let answer = asked(0, |out| attribute(out, libc::NFQA_CFG_CMD, &command));
    answer.is_ok_and(|answer| answer != Err(Errno::EPERM))
}

/// The kernel refuses to set nothing at all of a queue of another program (EPERM), or of nobody
/// (ENODEV). `None` if it refuses whatever is asked.
fn is_taken(queue: u16) -> Option<bool> {
    if !may_set() {
        return None;
    }
    let answer = asked(queue, |_| ());
    answer.ok().map(|answer| answer == Err(Errno::EPERM))
}

/// What the kernel answers to a setting of a queue; an error if it cannot be asked.
fn asked(queue: u16, attributes: impl FnOnce(&mut Vec<u8>)) -> Result<Result<(), Errno>, Errno> {
    let mut message = Vec::new();
    let kind = libc::NFQNL_MSG_CONFIG;
    write(&mut message, kind, queue, true, attributes);
    Ok(Nfqueue::on(connect()?, queue, 1).ask(&message))
}
