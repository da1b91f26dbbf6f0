//! Captures compressed by gzip or Zstandard.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// So many expanded bytes are read from any file: short captures that a program made may repeat
/// themselves without end.
const FREE_BYTES: u64 = 16 << 20;
/// Greatest number of records per compressed byte. The clock alone takes more than a byte: time
/// goes on from record to record.
const MOST_RECORDS: u64 = 1;
/// Greatest number of expanded bytes per compressed byte. Packets of 64 KB (segmentation offload)
/// full of zeros need about 20 bytes each. gzip ends at 1032.
const MOST_BYTES: u64 = 4096;

/// The uncompressed bytes of a file, which may be compressed or not.
pub(crate) struct Plain {
    pub(crate) bytes: Box<dyn Read + Send>,
    /// Judges how far a compressed file expands.
    pub(crate) expansion: Option<Expansion>,
}

impl Plain {
    /// Recognises the compression of a file.
    pub(crate) fn of(mut file: impl Read + Send + 'static) -> io::Result<Self> {
        let mut head = Vec::new();
        file.by_ref().take(4).read_to_end(&mut head)?;
        let is = |mark: &[u8]| head.starts_with(mark);
        let (gzip, zstandard) = (is(&GZIP), is(&ZSTANDARD));
        let compressed = Arc::default();
        let whole = Counted {
            source: Cursor::new(head).chain(file),
            bytes: Arc::clone(&compressed),
        };
        let bytes: Box<dyn Read + Send> = if gzip {
            Box::new(MultiGzDecoder::new(whole))
        } else if zstandard {
            Box::new(Frames::new(BufReader::new(whole))?)
        } else {
            Box::new(whole)
        };
        let expansion = (gzip || zstandard).then(|| Expansion::of(compressed));
        Ok(Self { bytes, expansion })
    }
}

/// How far a compressed file has expanded.
pub(crate) struct Expansion {
    /// Compressed bytes that were read.
    compressed: Arc<AtomicU64>,
    /// Bytes and records that came out of them.
    bytes: u64,
    records: u64,
}

impl Expansion {
    fn of(compressed: Arc<AtomicU64>) -> Self {
        Self {
            compressed,
            bytes: 0,
            records: 0,
        }
    }

    /// Adds a record, or another block of the file; the error says what no capture does.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes += bytes as u64;
        self.records += 1;
        if self.bytes <= FREE_BYTES {
            return Ok(());
        }
        let compressed = self.compressed.load(Ordering::Relaxed);
        let (found, most, unit) = if self.records > compressed * MOST_RECORDS {
            (self.records, MOST_RECORDS, "records")
        } else if self.bytes > compressed * MOST_BYTES {
            (self.bytes, MOST_BYTES, "bytes")
        } else {
            return Ok(());
        };
        Err(format!(
            "its first {compressed} bytes hold {found} {unit}, and a capture has at most {most} per \
             compressed byte"
        ))
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    source: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The frames of a Zstandard file, one after the other.
struct Frames<R: Read>(Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>);

impl<R: BufRead> Frames<R> {
    fn new(source: R) -> io::Result<Self> {
        let decoder = StreamingDecoder::new(source).map_err(io::Error::other)?;
        Ok(Self(Some(decoder)))
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.0 {
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let mut source = self.0.take().expect("it was there").into_inner();
            if !source.fill_buf()?.is_empty() {
                *self = Self::new(source)?;
            }
        }
        Ok(0)
    }
}
