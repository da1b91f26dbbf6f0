//! The kernel's packet queue, NFQUEUE (linux/netfilter/nfnetlink_queue.h).
//!
//! Packets are read in batches, and decisions are sent in batches. Segmentation offload may stay
//! on: the kernel segments packets before it queues them, and completes checksums.

use std::{
    fs::File,
    io::{self, Read, Seek},
    mem,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    ptr, thread,
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::socket::{MsgFlags, getsockopt, recv, send, setsockopt, sockopt},
};

use crate::{
    Failure,
    backends::{
        Backend, Counts, Fate, Incoming, Losses, SPARE_PACKETS,
        own_rules::OwnRules,
        queue_table::{Owner, TABLE, describe_port, owner, row},
    },
    cli::Fail,
    machine::netlink::{Message, attribute, attributes, connect, messages, write},
};

/// Messages read in one call; `MESSAGE_BYTES` is the room for each: the largest packet with its
/// attributes.
pub const BATCH: usize = 64;
/// See `BATCH`.
pub const MESSAGE_BYTES: usize = 65_536 + 1024;
/// Decisions are sent once they have this many bytes.
const MOST_DECIDED: usize = 64 << 10;
/// How often decisions are sent while the kernel has no memory for them, and the time between.
const ATTEMPTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(1);
/// First bytes of a packet that are enough to identify its flow.
const HEADERS_ONLY: u32 = 128;
/// Size of the receive buffer that is requested; from `ENOUGH_BUFFER_BYTES` on a burst is not lost.
pub const BUFFER_BYTES: usize = 32 << 20;
/// See `BUFFER_BYTES`.
pub const ENOUGH_BUFFER_BYTES: usize = 8 << 20;

/// One queue of the kernel for each link.
pub struct Nfqueue {
    socket: OwnedFd,
    /// Number of the first link's queue; the next link has the next number.
    first: u16,
    buffers: Vec<u8>,
    /// Messages with packets that arrived while an answer was awaited.
    early: Vec<Vec<u8>>,
    decided: Vec<u8>,
    /// Losses by link.
    losses: Vec<Losses>,
    next_ids: Vec<u32>,
    /// `TABLE`, kept open, because it may not be opened later.
    table: Option<File>,
    /// Rules that hand packets to the queues and vanish with them.
    rules: Option<OwnRules>,
    /// Size of the receive buffer that the kernel granted.
    pub buffer_bytes: usize,
}

impl Nfqueue {
    /// Binds the queues from number `first` on, one for each link; `held` is the number of packets
    /// that the gate may hold for each link.
    ///
    /// # Errors
    /// If the kernel refuses, with the reason.
    pub fn open(first: u16, held: &[u64], fail: Fail) -> Result<Self, Failure> {
        let refuse = |error| Failure(format!("no netlink socket: {error}"));
        let socket = connect().map_err(refuse)?;
        if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
            setsockopt(&socket, sockopt::RcvBuf, &BUFFER_BYTES).map_err(refuse)?;
        }
        let buffer_bytes = getsockopt(&socket, sockopt::RcvBuf).map_err(refuse)?;
        let mut nfqueue = Self {
            table: File::open(TABLE).ok(),
            buffer_bytes,
            ..Self::on(socket, first, held.len())
        };
        for (link, held) in held.iter().enumerate() {
            nfqueue.bind(first + link as u16, *held, fail)?;
        }
        Ok(nfqueue)
    }

    /// Keeps rules that hand packets to these queues, so that they vanish with the queues.
    pub fn keep(&mut self, rules: OwnRules) {
        self.rules = Some(rules);
    }

    /// True if the kernel shows how many packets it holds and drops; it shows this only to root.
    pub fn shows_counts(&self) -> bool {
        self.table.is_some()
    }

    /// Receives from a socket for `links` links.
    pub fn on(socket: OwnedFd, first: u16, links: usize) -> Self {
        Self {
            socket,
            first,
            buffers: vec![0; BATCH * MESSAGE_BYTES],
            early: Vec::new(),
            decided: Vec::new(),
            losses: vec![Losses::default(); links],
            // the kernel numbers packets from 1
            next_ids: vec![1; links],
            table: None,
            rules: None,
            buffer_bytes: 0,
        }
    }

    /// Binds a queue, with all its settings from the first packet on.
    fn bind(&mut self, queue: u16, held: u64, fail: Fail) -> Result<(), Failure> {
        let bind = [libc::NFQNL_CFG_CMD_BIND as u8, 0, 0, 0];
        let mask = libc::NFQA_CFG_F_FAIL_OPEN as u32;
        let flags = if fail == Fail::Open { mask } else { 0 };
        let mut message = Vec::new();
        write(&mut message, libc::NFQNL_MSG_CONFIG, queue, true, |out| {
            attribute(out, libc::NFQA_CFG_CMD, &bind);
            attribute(out, libc::NFQA_CFG_PARAMS, &params(true));
            attribute(out, libc::NFQA_CFG_QUEUE_MAXLEN, &most(held));
            attribute(out, libc::NFQA_CFG_MASK, &mask.to_be_bytes());
            attribute(out, libc::NFQA_CFG_FLAGS, &flags.to_be_bytes());
        });
        self.ask(&message).map_err(|error| taken(queue, error))
    }

    /// Sends a message and waits for the answer.
    pub(crate) fn ask(&mut self, message: &[u8]) -> Result<(), Errno> {
        let socket = self.socket.as_raw_fd();
        send(socket, message, MsgFlags::empty())?;
        loop {
            let length = recv(socket, &mut self.buffers, MsgFlags::empty())?;
            let received = &self.buffers[..length];
            for message in messages(received) {
                match message {
                    Message::Answer(0, _) => return Ok(()),
                    Message::Answer(error, _) => return Err(Errno::from_raw(error)),
                    Message::Queue(..) => self.early.push(received.to_vec()),
                }
            }
        }
    }

    /// Reads up to a batch of messages; returns the length of each, bytes.
    fn read(&mut self) -> io::Result<Vec<usize>> {
        let mut pieces: Vec<libc::iovec> = self
            .buffers
            .chunks_mut(MESSAGE_BYTES)
            .map(|buffer| libc::iovec {
                iov_base: buffer.as_mut_ptr().cast(),
                iov_len: buffer.len(),
            })
            .collect();
        let mut headers: Vec<libc::mmsghdr> = pieces
            .iter_mut()
            .map(|piece| {
                // SAFETY: a header of zeros is a valid one.
                let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
                header.msg_hdr.msg_iov = piece;
                header.msg_hdr.msg_iovlen = 1;
                header
            })
            .collect();
        // SAFETY: each header points to its piece, which points to its part of the buffers; all
        // outlive the call.
        let count = unsafe {
            libc::recvmmsg(
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as u32,
                libc::MSG_DONTWAIT,
                ptr::null_mut(),
            )
        };
        let count = Errno::result(count)? as usize;
        let lengths = headers[..count]
            .iter()
            .map(|header| header.msg_len as usize);
        Ok(lengths.collect())
    }

    fn take_messages(&mut self, received: &[u8], take: &mut dyn FnMut(Incoming<'_>)) {
        for message in messages(received) {
            match message {
                Message::Answer(0, _) => {}
                Message::Answer(_, queue) => {
                    let link = queue.unwrap_or(self.first).wrapping_sub(self.first);
                    if let Some(losses) = self.losses.get_mut(usize::from(link)) {
                        losses.refused += 1;
                    }
                }
                Message::Queue(kind, queue, rest) => {
                    if i32::from(kind) == libc::NFQNL_MSG_PACKET
                        && let Some(incoming) = incoming(self.first, queue, rest)
                        && incoming.link < self.losses.len()
                    {
                        self.note_gap(incoming.link, incoming.id);
                        take(incoming);
                    }
                }
            }
        }
    }

    fn note_gap(&mut self, link: usize, id: u32) {
        let gap = id.wrapping_sub(self.next_ids[link]);
        // a larger difference is a packet that came late
        if gap < 1 << 31 {
            self.losses[link].id_gaps += u64::from(gap);
            self.next_ids[link] = id.wrapping_add(1);
        }
    }
}

/// Returns the limit of the kernel's queue, of whose packets the gate holds `held`.
fn most(held: u64) -> [u8; 4] {
    let most = held.saturating_add(SPARE_PACKETS.into());
    u32::try_from(most).unwrap_or(u32::MAX).to_be_bytes()
}

/// Returns the parameters for copying packets: whole, or their first bytes.
fn params(whole: bool) -> [u8; 5] {
    let range = if whole {
        u32::from(u16::MAX)
    } else {
        HEADERS_ONLY
    };
    let [a, b, c, d] = range.to_be_bytes();
    [a, b, c, d, libc::NFQNL_COPY_PACKET as u8]
}

/// Explains why a queue could not be bound.
fn taken(queue: u16, error: Errno) -> Failure {
    Failure(match owner(queue) {
        Owner::Another(port) => format!(
            "queue {queue} is taken by another program{}: stop that one, or take another queue with \
             --queue",
            describe_port(port)
        ),
        Owner::Nobody | Owner::Unknown => format!(
            "queue {queue}: {}: it takes CAP_NET_ADMIN, and a kernel with NFQUEUE; see sluiced check",
            error.desc()
        ),
    })
}

/// Returns the packet in a message.
pub(crate) fn incoming(first: u16, queue: u16, rest: &[u8]) -> Option<Incoming<'_>> {
    let (mut id, mut data, mut bytes) = (None, &[][..], None);
    for (kind, value) in attributes(rest) {
        match kind {
            libc::NFQA_PACKET_HDR => id = value.first_chunk().copied().map(u32::from_be_bytes),
            libc::NFQA_PAYLOAD => data = value,
            libc::NFQA_CAP_LEN => bytes = value.first_chunk().copied().map(u32::from_be_bytes),
            _ => {}
        }
    }
    Some(Incoming {
        link: usize::from(queue.checked_sub(first)?),
        id: id?,
        bytes: bytes.unwrap_or(data.len() as u32),
        data,
    })
}

impl Backend for Nfqueue {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    fn source(&self, link: usize) -> String {
        format!("queue {}", usize::from(self.first) + link)
    }

    fn receive(&mut self, take: &mut dyn FnMut(Incoming<'_>)) -> io::Result<bool> {
        for early in mem::take(&mut self.early) {
            self.take_messages(&early, take);
        }
        let lengths = match self.read() {
            Ok(lengths) => lengths,
            Err(error) => match Errno::try_from(error)? {
                Errno::EAGAIN | Errno::EINTR => return Ok(false),
                Errno::ENOBUFS => {
                    // the gaps in the numbers show whose packets they were
                    self.losses[0].overruns += 1;
                    return Ok(true);
                }
                error => return Err(error.into()),
            },
        };
        let buffers = mem::take(&mut self.buffers);
        for (buffer, length) in buffers.chunks(MESSAGE_BYTES).zip(&lengths) {
            self.take_messages(&buffer[..*length], take);
        }
        self.buffers = buffers;
        Ok(lengths.len() == BATCH)
    }

    fn decide(&mut self, link: usize, id: u32, fate: Fate<'_>) -> io::Result<()> {
        let verdict = match fate {
            Fate::Drop => libc::NF_DROP,
            Fate::Accept | Fate::Replace(_) => libc::NF_ACCEPT,
        };
        let queue = self.first + link as u16;
        let kind = libc::NFQNL_MSG_VERDICT;
        write(&mut self.decided, kind, queue, false, |out| {
            let mut header = [0; 8];
            header[..4].copy_from_slice(&(verdict as u32).to_be_bytes());
            header[4..].copy_from_slice(&id.to_be_bytes());
            attribute(out, libc::NFQA_VERDICT_HDR, &header);
            if let Fate::Replace(packet) = fate {
                attribute(out, libc::NFQA_PAYLOAD, packet);
            }
        });
        if self.decided.len() < MOST_DECIDED {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.decided.is_empty() {
            return Ok(());
        }
        let socket = self.socket.as_raw_fd();
        let mut attempts = 1;
        while let Err(error) = send(socket, &self.decided, MsgFlags::empty()) {
            if error != Errno::ENOBUFS || attempts == ATTEMPTS {
                return Err(error.into());
            }
            attempts += 1;
            thread::sleep(PAUSE);
        }
        self.decided.clear();
        Ok(())
    }

    fn set(&mut self, link: usize, whole: bool, held: u64) -> io::Result<()> {
        let queue = self.first + link as u16;
        let kind = libc::NFQNL_MSG_CONFIG;
        // an answer is not requested, because it would arrive among packets
        write(&mut self.decided, kind, queue, false, |out| {
            attribute(out, libc::NFQA_CFG_PARAMS, &params(whole));
            attribute(out, libc::NFQA_CFG_QUEUE_MAXLEN, &most(held));
        });
        self.flush()
    }

    fn close(&mut self) -> io::Result<bool> {
        let Some(rules) = &self.rules else {
            return Ok(false);
        };
        rules.empty()?;
        Ok(true)
    }

    fn losses(&self, link: usize) -> Losses {
        self.losses[link]
    }

    fn counts(&self, link: usize) -> Counts {
        let mut table = String::new();
        let read = self.table.as_ref().map(|mut file| {
            file.rewind()?;
            file.read_to_string(&mut table)
        });
        match row(&table, self.first + link as u16) {
            Some(fields) if matches!(read, Some(Ok(_))) => Counts {
                held: Some(fields[2]),
                queue_drops: Some(fields[5]),
                buffer_drops: Some(fields[6]),
            },
            _ => Counts::default(),
        }
    }
}
