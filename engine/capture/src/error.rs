//! Errors of reading a capture.

use std::path::PathBuf;

/// Why a capture was refused. Packets are counted from 1, all frames included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The operating system reported an error.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file has no bytes.
    #[error("{} is empty, not a capture", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The first bytes are neither pcap's nor pcapng's.
    #[error("{} is not a capture: it starts with {head}, not with the mark of pcap or pcapng", path.display())]
    NotACapture {
        /// The file.
        path: PathBuf,
        /// Its first bytes, in hexadecimal.
        head: String,
    },
    /// The header before the first packet is cut off or invalid.
    #[error("{}: the file header is cut off or corrupt", path.display())]
    FileHeader {
        /// The file.
        path: PathBuf,
    },
    /// The file ends within a record.
    #[error("{}: packet {packet} is cut off (the file ends {bytes} bytes into its record)", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
        /// Number of the packet.
        packet: u64,
        /// Bytes of the record that are present.
        bytes: usize,
    },
    /// A record contradicts itself.
    #[error("{}: packet {packet} is corrupt: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Number of the packet.
        packet: u64,
        /// Why this is impossible.
        reason: String,
    },
    /// A compressed file expands further than packets do.
    #[error(
        "{} expands too far to be a capture: {how}; if you trust it, decompress it and read the \
         result",
        path.display()
    )]
    Expands {
        /// The file.
        path: PathBuf,
        /// How far it expands, and the limit.
        how: String,
    },
    /// The packets do not fit into memory.
    #[error(
        "{}: not enough memory for more than {packets} packets; each needs up to 80 bytes while the \
         file is read",
        path.display()
    )]
    Memory {
        /// The file.
        path: PathBuf,
        /// Packets that were read before.
        packets: usize,
    },
    /// The frames have a link type in which this crate does not look for IP.
    #[error(
        "{}: packet {packet} has link type {link_type}; supported are Ethernet (1), raw IP (12, \
         101, 228, 229), Linux cooked (113, 276) and loopback (0, 108)",
        path.display()
    )]
    LinkType {
        /// The file.
        path: PathBuf,
        /// Number of the packet.
        packet: u64,
        /// Its LINKTYPE number.
        link_type: i32,
    },
    /// The file holds no IP packet.
    #[error("{} holds no IP packet; other frames: {others}", path.display())]
    NoIp {
        /// The file.
        path: PathBuf,
        /// The frames that are not IP, by their kind.
        others: String,
    },
}
