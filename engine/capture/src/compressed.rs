//! Captures compressed by gzip or Zstandard.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the uncompressed bytes of a file, which may be compressed or not.
pub(crate) fn plain(mut file: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    file.by_ref().take(4).read_to_end(&mut head)?;
    let is = |mark: &[u8]| head.starts_with(mark);
    let (gzip, zstandard) = (is(&GZIP), is(&ZSTANDARD));
    let whole = Cursor::new(head).chain(file);
    Ok(if gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if zstandard {
        Box::new(Frames::new(BufReader::new(whole))?)
    } else {
        Box::new(whole)
    })
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
