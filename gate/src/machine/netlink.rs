//! Writes and reads messages of netfilter's netlink (linux/netfilter/nfnetlink.h).

use std::os::fd::{AsRawFd, OwnedFd};

use libc::{NFNL_SUBSYS_QUEUE, NLM_F_ACK, NLM_F_REQUEST};
use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket},
};

/// Bytes of `nlmsghdr`, and of both headers with the `nfgenmsg` after it.
const HEADER: usize = 16;
const HEADERS: usize = HEADER + 4;
const ATTRIBUTE: usize = 4;
/// Bits of an attribute's type field that hold the type.
const TYPE: u16 = 0x3fff;

/// A message that was received.
pub enum Message<'a> {
    /// An answer: 0 if all is well, or the number of an error; and the number of the queue, because
    /// the kernel sends back the message that it refuses.
    Answer(i32, Option<u16>),
    /// A message about a queue: its kind, the queue's number, its attributes.
    Queue(u8, u16, &'a [u8]),
}

/// Opens a socket to the kernel's netfilter.
///
/// # Errors
/// If the kernel refuses.
pub fn connect() -> Result<OwnedFd, Errno> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkNetFilter,
    )?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    Ok(socket)
}

/// Appends a message about a queue to `out`; `attributes` writes the rest.
pub fn write(
    out: &mut Vec<u8>,
    kind: i32,
    queue: u16,
    wants_answer: bool,
    attributes: impl FnOnce(&mut Vec<u8>),
) {
    let kind = NFNL_SUBSYS_QUEUE << 8 | kind;
    let flags = if wants_answer { NLM_F_ACK } else { 0 };
    message(out, kind, flags, libc::NFPROTO_UNSPEC, queue, attributes);
}

/// Appends a message of a kind (its subsystem in the upper byte) for a protocol family. `what` is
/// the number of a queue, or of a subsystem.
pub fn message(
    out: &mut Vec<u8>,
    kind: i32,
    flags: i32,
    family: i32,
    what: u16,
    attributes: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend([0; 4]);
    out.extend((kind as u16).to_ne_bytes());
    out.extend(((NLM_F_REQUEST | flags) as u16).to_ne_bytes());
    // sequence number and port: not used
    out.extend([0; 8]);
    // version 0
    out.extend([family as u8, 0]);
    out.extend(what.to_be_bytes());
    attributes(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_ne_bytes());
}

/// Appends an attribute; what follows it starts at a multiple of four bytes.
pub fn attribute(out: &mut Vec<u8>, kind: i32, value: &[u8]) {
    out.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
    out.extend((kind as u16).to_ne_bytes());
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

/// Appends an attribute that contains other attributes.
pub fn nested(out: &mut Vec<u8>, kind: i32, attributes: impl FnOnce(&mut Vec<u8>)) {
    let mut inside = Vec::new();
    attributes(&mut inside);
    attribute(out, libc::NLA_F_NESTED | kind, &inside);
}

/// Returns the messages in received bytes; a rest that is no message is left out.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        loop {
            let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
            let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
            let message = bytes.get(..length.max(HEADER))?;
            bytes = bytes
                .get(length.max(HEADER).next_multiple_of(4)..)
                .unwrap_or_default();
            if i32::from(kind) == libc::NLMSG_ERROR {
                let code = i32::from_ne_bytes(message.get(HEADER..HEADERS)?.try_into().ok()?);
                let asked = message.get(HEADERS + HEADER + 2..HEADERS + HEADERS);
                let queue = asked.and_then(|queue| queue.try_into().ok().map(u16::from_be_bytes));
                return Some(Message::Answer(code.saturating_neg(), queue));
            }
            if i32::from(kind >> 8) == NFNL_SUBSYS_QUEUE && message.len() >= HEADERS {
                let queue = u16::from_be_bytes([message[HEADER + 2], message[HEADER + 3]]);
                return Some(Message::Queue(kind as u8, queue, &message[HEADERS..]));
            }
        }
    })
}

/// Returns the attributes of a message: kinds and values.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (i32, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(ATTRIBUTE..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((i32::from(kind & TYPE), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        write(&mut out, 1, 7, false, |out| attribute(out, 10, b"packet"));
        write(&mut out, 2, 8, true, |out| {
            attribute(out, 1, &[1]);
            attribute(out, 3, &[]);
        });
        let found: Vec<_> = messages(&out)
            .map(|message| match message {
                Message::Queue(kind, queue, rest) => (kind, queue, attributes(rest).collect()),
                Message::Answer(..) => (0, 0, Vec::new()),
            })
            .collect();
        let first: Vec<(i32, &[u8])> = vec![(10, b"packet")];
        let second: Vec<(i32, &[u8])> = vec![(1, &[1]), (3, &[])];
        assert_eq!(found, [(1, 7, first), (2, 8, second)]);
    }

    #[test]
    fn what_is_cut_off_is_left_out() {
        let mut out = Vec::new();
        write(&mut out, 1, 7, false, |out| attribute(out, 10, b"packet"));
        for length in 0..out.len() {
            assert_eq!(messages(&out[..length]).count(), 0, "{length}");
            attributes(&out[..length]).for_each(drop);
        }
    }
}
