//! The part of `tc` that is needed here: root qdiscs of interfaces (linux/rtnetlink.h,
//! linux/pkt_sched.h).

use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};
use sluice_kernel::Device;

use crate::machine::netlink::{attribute, attributes};

/// Bytes of `nlmsghdr`, and of the `tcmsg` after it.
const HEADER: usize = 16;
const TC_HEADER: usize = 20;
/// The parent of a root qdisc.
const ROOT: u32 = u32::MAX;
/// The attribute that names a qdisc's kind.
const KIND: i32 = 1;
/// Largest answer, bytes.
const MOST_BYTES: usize = 1 << 15;

/// Root qdiscs of a namespace's interfaces.
pub struct Tc {
    socket: OwnedFd,
}

/// A root qdisc.
#[derive(Debug, PartialEq, Eq)]
pub struct Root {
    /// Its kind.
    pub kind: String,
    /// True if someone has set it; false if the kernel has.
    pub is_set: bool,
}

impl Tc {
    /// Opens a socket in the namespace of a device.
    ///
    /// # Errors
    /// If the namespace cannot be entered.
    pub fn of(device: &Device) -> io::Result<Self> {
        let socket = device.within(|| {
            let flags = SockFlag::SOCK_CLOEXEC;
            let route = SockProtocol::NetlinkRoute;
            Ok(socket(AddressFamily::Netlink, SockType::Raw, flags, route)?)
        })?;
        Ok(Self { socket })
    }

    /// Sets a qdisc at an interface that has only the kernel's own.
    ///
    /// # Errors
    /// `AlreadyExists` if someone has set another one, or the kernel's error.
    pub fn add(&self, index: i32, kind: &str) -> io::Result<()> {
        // the kernel itself would replace the other one
        if self.root(index)?.is_some_and(|root| root.is_set) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.ask(libc::RTM_NEWQDISC, flags, index, Some(kind))
            .map(drop)
    }

    /// Removes the qdisc.
    ///
    /// # Errors
    /// The kernel's error: there is another qdisc, or the interface does not exist any more.
    pub fn remove(&self, index: i32, kind: &str) -> io::Result<()> {
        self.ask(libc::RTM_DELQDISC, 0, index, Some(kind)).map(drop)
    }

    /// Returns the root qdisc of an interface.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn root(&self, index: i32) -> io::Result<Option<Root>> {
        // without this flag the kernel sends the answer to all others, but not here
        let answer = self.ask(libc::RTM_GETQDISC, libc::NLM_F_ECHO, index, None)?;
        let Some(rest) = answer.get(HEADER + TC_HEADER..) else {
            return Ok(None);
        };
        let handle = &answer[HEADER + 8..HEADER + 12];
        let kind = attributes(rest).find(|(kind, _)| *kind == KIND);
        let kind = kind.and_then(|(_, name)| CStr::from_bytes_until_nul(name).ok()?.to_str().ok());
        Ok(kind.map(|kind| Root {
            kind: kind.to_owned(),
            is_set: handle != [0; 4],
        }))
    }

    /// Asks the kernel, and returns its answer; it is empty if the kernel only acknowledges.
    fn ask(&self, what: u16, flags: i32, index: i32, kind: Option<&str>) -> io::Result<Vec<u8>> {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut message = Vec::new();
        // the length is set later; sequence number and port are not used
        message.extend([0; 4]);
        message.extend(what.to_ne_bytes());
        message.extend(flags.to_ne_bytes());
        message.extend([0; 8]);
        message.extend([0; 4]);
        message.extend(index.to_ne_bytes());
        for word in [0, ROOT, 0] {
            message.extend(word.to_ne_bytes());
        }
        if let Some(kind) = kind {
            attribute(&mut message, KIND, &[kind.as_bytes(), &[0]].concat());
        }
        let length = message.len() as u32;
        message[..4].copy_from_slice(&length.to_ne_bytes());
        send(self.socket.as_raw_fd(), &message, MsgFlags::empty())?;
        self.answer()
    }

    fn answer(&self) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        loop {
            let mut bytes = vec![0; MOST_BYTES];
            let length = recv(self.socket.as_raw_fd(), &mut bytes, MsgFlags::empty())?;
            bytes.truncate(length);
            if i32::from(u16::from_ne_bytes([bytes[4], bytes[5]])) != libc::NLMSG_ERROR {
                found = bytes;
                continue;
            }
            let code = bytes[HEADER..HEADER + 4].try_into().expect("four bytes");
            return match i32::from_ne_bytes(code) {
                0 => Ok(found),
                code => Err(io::Error::from_raw_os_error(-code)),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_qdisc_of_loopback_is_the_kernels_and_an_interface_that_is_not_there_is_told() {
        let lo: Device = "lo".parse().unwrap();
        let tc = Tc::of(&lo).unwrap();
        let root = tc.root(lo.index().unwrap()).unwrap().unwrap();
        assert!(!root.kind.is_empty() && !root.is_set, "{root:?}");
        let lost = tc.root(i32::MAX).unwrap_err();
        assert_eq!(lost.raw_os_error(), Some(libc::ENODEV));
    }
}
