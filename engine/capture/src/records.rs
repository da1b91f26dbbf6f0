//! Reads the records of a file: recognises pcap and pcapng, makes times absolute, reports damage.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::Path;

use pcap_parser::pcapng::Block;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{PcapBlockOwned, PcapError, PcapHeader, create_reader};

use crate::{
    CaptureError,
    compressed::{Expansion, Plain},
};

/// Packets are shorter: IP ends at 64 KiB, Linux's offloaded packets at 512 KiB.
const LARGEST_PACKET_BYTES: u32 = 1 << 20;
/// Room for the largest packet and the headers of its record.
const BUFFER_BYTES: usize = 2 * LARGEST_PACKET_BYTES as usize;
const NS_PER_S: u64 = 1_000_000_000;

/// One captured frame.
pub(crate) struct Record<'a> {
    /// Its number in the file, from 1.
    pub(crate) packet: u64,
    /// Time since 1970, ns.
    pub(crate) time_ns: u64,
    pub(crate) link_type: i32,
    /// Length of the frame on the wire, bytes.
    pub(crate) original_bytes: u32,
    /// The frame, or its beginning.
    pub(crate) data: &'a [u8],
}

/// Calls `visit` for each record of the capture at `path`; memory use does not grow with the file.
/// Returns the error that describes a last record that is cut off, if there is one.
pub(crate) fn for_each_record(
    path: &Path,
    mut visit: impl FnMut(&Record) -> Result<(), CaptureError>,
) -> Result<Option<CaptureError>, CaptureError> {
    let (mut reader, mut expansion) = open(path)?;
    let mut decoder = Decoder::default();
    loop {
        let damage = match reader.next() {
            Ok((length, block)) => {
                if let Some(expansion) = &mut expansion {
                    expansion.add(length).map_err(|how| CaptureError::Expands {
                        path: path.to_owned(),
                        how,
                    })?;
                }
                let record = decoder
                    .decode(block)
                    .map_err(|reason| CaptureError::Corrupt {
                        path: path.to_owned(),
                        packet: decoder.packets + 1,
                        reason,
                    })?;
                if let Some(record) = record {
                    visit(&record)?;
                    decoder.packets += 1;
                }
                reader.consume(length);
                continue;
            }
            Err(PcapError::Eof) => return Ok(None),
            Err(PcapError::Incomplete(_)) => None,
            Err(error) => Some(error.to_owned_vec()),
        };
        match damage {
            Some(damage) => {
                return match decoder.damaged(path, &damage, reader.data()) {
                    cut @ CaptureError::CutOff { .. } => Ok(Some(cut)),
                    error => Err(error),
                };
            }
            None => reader.refill().map_err(|_| unreadable(path))?,
        }
    }
}

type Blocks = Box<dyn PcapReaderIterator + Send>;

/// Returns a reader of the file's blocks and, if the file is compressed, the judge of its expansion.
fn open(path: &Path) -> Result<(Blocks, Option<Expansion>), CaptureError> {
    let io_error = |source| CaptureError::Io {
        path: path.to_owned(),
        source,
    };
    let mut plain = File::open(path).and_then(Plain::of).map_err(io_error)?;
    let mut head = Vec::new();
    plain
        .bytes
        .by_ref()
        .take(4)
        .read_to_end(&mut head)
        .map_err(io_error)?;
    let whole = Full(Cursor::new(head.clone()).chain(plain.bytes));
    let reader = create_reader(BUFFER_BYTES, whole).map_err(|error| match head.as_slice() {
        _ if matches!(error, PcapError::ReadError) => unreadable(path),
        [] => CaptureError::Empty {
            path: path.to_owned(),
        },
        [0xa1, 0xb2, 0xc3, 0xd4]
        | [0xd4, 0xc3, 0xb2, 0xa1]
        | [0xa1, 0xb2, 0x3c, 0x4d]
        | [0x4d, 0x3c, 0xb2, 0xa1]
        | [0x0a, 0x0d, 0x0d, 0x0a] => CaptureError::FileHeader {
            path: path.to_owned(),
        },
        other => CaptureError::NotACapture {
            path: path.to_owned(),
            head: other
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .join(" "),
        },
    })?;
    Ok((reader, plain.expansion))
}

/// Fills the buffer completely unless the file ends: the reader of a file's header calls `read`
/// only once.
struct Full<R>(R);

impl<R: Read> Read for Full<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

fn unreadable(path: &Path) -> CaptureError {
    let source = std::io::Error::other("the file could not be read to its end");
    CaptureError::Io {
        path: path.to_owned(),
        source,
    }
}

/// What a pcapng interface says about its packets.
struct Interface {
    link_type: i32,
    /// Ticks of its clock per second.
    resolution: u64,
    offset_s: i64,
}

impl Interface {
    /// Returns the time since 1970, ns, for a count of the clock, if it fits into 64 bits.
    fn time_ns(&self, ticks: u64) -> Option<u64> {
        let since_offset = i128::from(ticks) * i128::from(NS_PER_S) / i128::from(self.resolution);
        u64::try_from(since_offset + i128::from(self.offset_s) * i128::from(NS_PER_S)).ok()
    }
}

/// What the reader knows about the file so far.
#[derive(Default)]
struct Decoder {
    packets: u64,
    big_endian: bool,
    /// The file header of a pcap; `None` means pcapng.
    header: Option<PcapHeader>,
    interfaces: Vec<Interface>,
}

impl Decoder {
    /// Returns the record in `block`, if it holds one; an error says what is impossible.
    fn decode<'a>(&mut self, block: PcapBlockOwned<'a>) -> Result<Option<Record<'a>>, String> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.big_endian = header.is_bigendian();
                self.header = Some(header);
                Ok(None)
            }
            PcapBlockOwned::Legacy(frame) => {
                let header = self
                    .header
                    .as_ref()
                    .expect("the reader gives the header first");
                let (ticks, unit) = if header.is_nanosecond_precision() {
                    (1, "ns")
                } else {
                    (1000, "µs")
                };
                let fraction_ns = u64::from(frame.ts_usec) * ticks;
                if fraction_ns >= NS_PER_S {
                    return Err(format!("its time has {} {unit} in a second", frame.ts_usec));
                }
                check_lengths(frame.caplen, frame.origlen)?;
                Ok(Some(Record {
                    packet: self.packets + 1,
                    time_ns: u64::from(frame.ts_sec) * NS_PER_S + fraction_ns,
                    // The upper bits describe a frame check sequence.
                    link_type: header.network.0 & 0x03ff_ffff,
                    original_bytes: frame.origlen,
                    data: frame.data,
                }))
            }
            PcapBlockOwned::NG(block) => self.decode_ng(block),
        }
    }

    fn decode_ng<'a>(&mut self, block: Block<'a>) -> Result<Option<Record<'a>>, String> {
        match block {
            Block::SectionHeader(section) => {
                self.big_endian = section.big_endian();
                self.interfaces.clear();
                Ok(None)
            }
            Block::InterfaceDescription(interface) => {
                let resolution = ticks_per_second(interface.if_tsresol).ok_or_else(|| {
                    format!(
                        "its interface has time resolution {:#04x}",
                        interface.if_tsresol
                    )
                })?;
                let offset_s = interface.if_tsoffset;
                self.interfaces.push(Interface {
                    link_type: interface.linktype.0,
                    resolution,
                    // The parser always reads this option as little-endian.
                    offset_s: if self.big_endian {
                        offset_s.swap_bytes()
                    } else {
                        offset_s
                    },
                });
                Ok(None)
            }
            Block::EnhancedPacket(frame) => {
                let interface = self.interfaces.get(frame.if_id as usize).ok_or_else(|| {
                    let known = self.interfaces.len();
                    format!("it came in on interface {} of {known}", frame.if_id)
                })?;
                check_lengths(frame.caplen, frame.origlen)?;
                let ticks = (u64::from(frame.ts_high) << 32) | u64::from(frame.ts_low);
                Ok(Some(Record {
                    packet: self.packets + 1,
                    time_ns: interface
                        .time_ns(ticks)
                        .ok_or("its time lies outside 1970 to 2554")?,
                    link_type: interface.link_type,
                    original_bytes: frame.origlen,
                    data: &frame.data[..frame.caplen as usize],
                }))
            }
            Block::SimplePacket(_) => Err("it has no time (a simple packet block)".to_owned()),
            _ => Ok(None),
        }
    }

    /// Returns the length, bytes, that the record at the start of `data` claims, if `data` contains
    /// that field.
    fn record_bytes(&self, data: &[u8]) -> Option<u64> {
        let at = if self.header.is_some() { 8 } else { 4 };
        let field: [u8; 4] = data.get(at..at + 4)?.try_into().ok()?;
        let length = if self.big_endian {
            u32::from_be_bytes(field)
        } else {
            u32::from_le_bytes(field)
        };
        Some(u64::from(length) + if self.header.is_some() { 16 } else { 0 })
    }

    /// Returns the error for a record at the start of `data` that the parser refused.
    fn damaged(&self, path: &Path, damage: &PcapError<&[u8]>, data: &[u8]) -> CaptureError {
        let claimed = self.record_bytes(data);
        let is_complete = claimed.is_some_and(|bytes| bytes <= data.len() as u64);
        let path = path.to_owned();
        let packet = self.packets + 1;
        match damage {
            PcapError::ReadError => unreadable(&path),
            PcapError::UnexpectedEof if !is_complete => CaptureError::CutOff {
                path,
                packet,
                bytes: data.len(),
            },
            _ => CaptureError::Corrupt {
                path,
                packet,
                reason: complaint(claimed),
            },
        }
    }
}

/// Says why a record of `claimed` bytes is impossible.
fn complaint(claimed: Option<u64>) -> String {
    match claimed {
        Some(bytes) if bytes > u64::from(LARGEST_PACKET_BYTES) => {
            format!("its record claims {bytes} bytes; no packet has over {LARGEST_PACKET_BYTES}")
        }
        _ => "the lengths in its record contradict each other".to_owned(),
    }
}

fn check_lengths(captured: u32, original: u32) -> Result<(), String> {
    if captured > original {
        return Err(format!("{captured} bytes captured of {original}"));
    }
    if original > LARGEST_PACKET_BYTES {
        return Err(format!(
            "it claims {original} bytes; no packet has over {LARGEST_PACKET_BYTES}"
        ));
    }
    Ok(())
}

/// Ticks per second of pcapng's `if_tsresol`: 10^-n, or 2^-n if the top bit is set.
fn ticks_per_second(resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 {
        10u64.checked_pow(exponent)
    } else {
        1u64.checked_shl(exponent)
    }
}
