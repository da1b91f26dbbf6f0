//! A cable between two TUN devices (linux/if_tun.h), without netfilter.
//!
//! Packets that the kernel sends by one device are read here, whole. When they are let go, they are
//! written to the other device, by which they enter. A read returns one packet: only segmentation
//! offload would return several, merged. It is off, so the kernel cuts segments and completes
//! checksums.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Seek, Write},
    mem,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::fs::OpenOptionsExt,
    },
    path::Path,
};

use caps::Capability;
use nix::{
    errno::Errno,
    sys::socket::{AddressFamily, SockFlag, SockType, socket},
};

use crate::{
    Failure,
    backends::{Backend, Counts, Fate, Incoming, Losses, SPARE_PACKETS},
    machine::privileges,
};

/// The file that opens TUN devices.
pub const CLONE: &str = "/dev/net/tun";
/// Packets read from a device before it is the turn of the other one.
const BATCH: usize = 64;
/// Length of the largest packet, bytes.
pub const MOST_BYTES: usize = 65_536;
/// Where the kernel counts the packets of a namespace's interfaces, one line each.
const TABLE: &str = "/proc/net/dev";
/// Indices in such a line: packets that were read from the device, and packets that had no room.
const READ: usize = 9;
const NOT_SENT: usize = 11;

/// One end of the cable.
struct Device {
    name: String,
    file: File,
}

/// Returns a request to the kernel that names an interface.
fn request(name: &str) -> libc::ifreq {
    // SAFETY: a request of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request
}

impl Device {
    /// Opens the device of that name; creates it if there is none.
    fn open(name: &str) -> Result<Self, Failure> {
        let mut options = OpenOptions::new();
        options
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK);
        let file = options
            .open(CLONE)
            .map_err(|error| Failure(format!("{CLONE}: {error}: see sluiced check --tun")))?;
        let mut wanted = request(name);
        wanted.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as i16;
        // SAFETY: the request outlives the call.
        let done = unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut wanted) };
        Errno::result(done).map_err(|error| refused(name, error))?;
        Ok(Self {
            name: name.to_owned(),
            file,
        })
    }

    /// Asks the kernel to keep `SPARE_PACKETS` for the reader, which needs CAP_NET_ADMIN in the
    /// initial namespace. Returns true if it does.
    fn lengthen(&self) -> bool {
        let socket = socket(
            AddressFamily::Inet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            None,
        );
        socket.is_ok_and(|socket| {
            let mut wanted = request(&self.name);
            wanted.ifr_ifru.ifru_metric = SPARE_PACKETS as i32;
            // SAFETY: the request outlives the calls; both use only the name and the number.
            unsafe {
                libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFTXQLEN, &raw mut wanted);
                libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFTXQLEN, &raw mut wanted) == 0
                    && wanted.ifr_ifru.ifru_metric >= SPARE_PACKETS as i32
            }
        })
    }
}

/// Explains why a device could not be opened.
fn refused(name: &str, error: Errno) -> Failure {
    Failure(match error {
        Errno::EBUSY => format!(
            "the device {name} is taken by another program: stop that one, or name another device"
        ),
        Errno::EINVAL => format!("{name} is an interface, but no TUN device: name another one"),
        Errno::EPERM => format!(
            "the device {name}: not permitted: it takes CAP_NET_ADMIN, or a device of your own: \
             sudo ip tuntap add mode tun user $USER name {name}"
        ),
        error => format!("the device {name}: {}", error.desc()),
    })
}

/// Packets that are held, by their numbers. Numbers and memory are used again.
#[derive(Default)]
struct Packets {
    places: Vec<Vec<u8>>,
    free: Vec<u32>,
}

impl Packets {
    fn put(&mut self, packet: &[u8]) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.places.push(Vec::new());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[id as usize];
        place.clear();
        place.reserve_exact(packet.len());
        place.extend(packet);
        id
    }

    fn take(&mut self, id: u32) -> &[u8] {
        self.free.push(id);
        &self.places[id as usize]
    }
}

/// The cable; link 0 leads from the first device to the second, link 1 back.
pub struct Tun {
    devices: [Device; 2],
    /// Number of links that hold packets; packets of the other direction go on at once.
    links: usize,
    buffer: Vec<u8>,
    /// Packets and losses by link.
    held: [Packets; 2],
    losses: [Losses; 2],
    /// `TABLE`, kept open, because it may not be opened later.
    table: Option<File>,
    /// Packets not sent at the start, by device.
    not_sent: [Option<u64>; 2],
    /// True if the kernel keeps `SPARE_PACKETS` of each device.
    pub is_long: bool,
}

impl Tun {
    /// Opens the devices for one link or two.
    ///
    /// # Errors
    /// If the kernel refuses, with the reason.
    pub fn open(names: [&str; 2], links: usize) -> Result<Self, Failure> {
        let [a, b] = names;
        if a == b {
            return Err(Failure(format!("--tun {a} {b}: the devices must be two")));
        }
        let devices = [Device::open(a)?, Device::open(b)?];
        let is_long = devices.iter().all(Device::lengthen);
        let mut tun = Self {
            table: File::open(TABLE).ok(),
            is_long,
            ..Self::between(devices, links)
        };
        tun.not_sent = [tun.not_sent(0), tun.not_sent(1)];
        Ok(tun)
    }

    fn between(devices: [Device; 2], links: usize) -> Self {
        Self {
            devices,
            links,
            buffer: vec![0; MOST_BYTES],
            held: Default::default(),
            losses: Default::default(),
            table: None,
            not_sent: [None; 2],
            is_long: false,
        }
    }

    /// Returns how many packets a device had no room for; `None` if it is not listed, as it may be
    /// in another namespace.
    fn not_sent(&self, device: usize) -> Option<u64> {
        let mut table = String::new();
        let mut file = self.table.as_ref()?;
        file.rewind().ok()?;
        file.read_to_string(&mut table).ok()?;
        counted(&table, &self.devices[device].name, NOT_SENT)
    }
}

fn counted(table: &str, name: &str, place: usize) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.split_once(':'));
    let (_, numbers) = lines.find(|(found, _)| found.trim() == name)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

/// True if there is an interface of that name that is no TUN device.
pub fn is_another(name: &str) -> bool {
    let kept = Path::new("/sys/class/net").join(name);
    kept.exists() && !kept.join("tun_flags").exists()
}

/// Returns how many packets left a device since it was created: they were read, or it had no room
/// for them. `None` if it is not in this namespace.
pub fn gone(name: &str) -> Option<u64> {
    let table = fs::read_to_string(TABLE).ok()?;
    Some(counted(&table, name, READ)? + counted(&table, name, NOT_SENT)?)
}

impl Backend for Tun {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.devices.iter().map(|each| each.file.as_fd()).collect()
    }

    fn source(&self, link: usize) -> String {
        let [from, to] = [link, 1 - link].map(|place| &self.devices[place].name);
        format!("{from} to {to}")
    }

    fn receive(&mut self, take: &mut dyn FnMut(Incoming<'_>)) -> io::Result<bool> {
        let mut more = false;
        for from in 0..2 {
            for number in 1..=BATCH {
                let length = match self.devices[from].file.read(&mut self.buffer) {
                    Ok(length) => length,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => {
                        let name = &self.devices[from].name;
                        return Err(io::Error::other(format!("{name}: {error}")));
                    }
                };
                let packet = &self.buffer[..length];
                if from < self.links {
                    take(Incoming {
                        link: from,
                        id: self.held[from].put(packet),
                        bytes: length as u32,
                        data: packet,
                    });
                } else {
                    // the other device itself counts packets that it does not take
                    self.devices[1 - from].file.write_all(packet).ok();
                }
                more |= number == BATCH;
            }
        }
        Ok(more)
    }

    fn decide(&mut self, link: usize, id: u32, fate: Fate<'_>) -> io::Result<()> {
        let held = self.held[link].take(id);
        let packet = match fate {
            Fate::Drop => return Ok(()),
            Fate::Accept => held,
            Fate::Replace(packet) => packet,
        };
        if self.devices[1 - link].file.write_all(packet).is_err() {
            self.losses[link].refused += 1;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set(&mut self, _: usize, _: bool, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn losses(&self, link: usize) -> Losses {
        self.losses[link]
    }

    fn counts(&self, link: usize) -> Counts {
        let since = |before| Some(self.not_sent(link)?.saturating_sub(before));
        Counts {
            queue_drops: self.not_sent[link].and_then(since),
            // there is no receive buffer
            buffer_drops: Some(0),
            held: None,
        }
    }
}

/// Checks that a device can be opened.
///
/// # Errors
/// What is missing, and the command that provides it.
pub fn probe() -> Result<(), (String, &'static str)> {
    if !Path::new(CLONE).exists() {
        return Err((format!("there is no {CLONE}"), "sudo modprobe tun"));
    }
    let opened = OpenOptions::new().read(true).write(true).open(CLONE);
    opened.map(drop).map_err(|error| {
        let mend = match privileges::has(Capability::CAP_DAC_OVERRIDE) {
            true => "outside of this namespace: sudo chmod 666 /dev/net/tun   (as it is on most systems)",
            false => "sudo chmod 666 /dev/net/tun   (as it is on most systems; or run it as root)",
        };
        (format!("{CLONE}: {error}"), mend)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::fd::OwnedFd;

    use super::*;

    /// Returns a cable between two sockets, on which each message is a packet.
    pub(crate) fn between(ends: [OwnedFd; 2], links: usize) -> Tun {
        let device = |end: OwnedFd| Device {
            name: String::new(),
            file: end.into(),
        };
        Tun::between(ends.map(device), links)
    }

    #[test]
    fn places_are_used_again() {
        let mut packets = Packets::default();
        assert_eq!([packets.put(b"long"), packets.put(b"b")], [0, 1]);
        assert_eq!(packets.take(0), b"long");
        assert_eq!(packets.put(b"c"), 0);
        assert_eq!(packets.take(0), b"c");
        assert_eq!(packets.places.len(), 2);
    }

    #[test]
    fn packets_are_found_by_the_interfaces_name() {
        let table = "Inter-|   Receive        |  Transmit\n face |bytes ...|bytes ...\n \
                     a: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n ba:0 0 0 0 0 0 0 0 0 0 0 7 0 0 0 0\n";
        assert_eq!(counted(table, "a", NOT_SENT), Some(12));
        assert_eq!(counted(table, "a", READ), Some(10));
        assert_eq!(counted(table, "ba", NOT_SENT), Some(7));
        assert_eq!(counted(table, "b", NOT_SENT), None);
    }
}
