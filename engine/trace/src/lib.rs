//! Reads ns-2's 12-field trace files, ns-2's own or any other's, in one pass: what became of each
//! flow, and of each link and its queue. Memory does not grow with the file.

mod error;
mod line;
mod series;
mod summary;

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use rayon::prelude::*;

pub use error::TraceError;
pub use line::Address;
pub use summary::{Flow, Link, Summary};

use line::Line;
use summary::Reader;

/// Bytes read at once, and parsed by all cores together.
const BLOCK: usize = 2 << 20;
/// Bytes that one core parses at a time.
const PIECE: usize = 64 << 10;
/// Bytes of a line that is rather short.
const SHORT_LINE: usize = 40;

/// Reads a trace. A last line without its newline was cut off; it does not count.
///
/// # Errors
/// If the file cannot be read, has no whole line, or has one that ns-2 does not write.
pub fn read(path: impl Into<PathBuf>) -> Result<Summary, TraceError> {
    let path = path.into();
    let io = |source| TraceError::Io {
        path: path.clone(),
        source,
    };
    let mut file = File::open(&path).map_err(io)?;
    let mut reader = Reader::default();
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        let before = block.len();
        let size = (&mut file)
            .take(BLOCK as u64)
            .read_to_end(&mut block)
            .map_err(io)?;
        let end = memchr::memrchr(b'\n', &block[before..]).map_or(0, |at| before + at + 1);
        take_block(&mut reader, &block[..end], &path)?;
        block.drain(..end);
        if size == 0 {
            break;
        }
    }
    if reader.lines() == 0 {
        return Err(TraceError::Empty { path });
    }
    Ok(reader.finish(!block.is_empty()))
}

fn take_block(reader: &mut Reader, block: &[u8], path: &Path) -> Result<(), TraceError> {
    let parsed: Vec<_> = pieces(block).into_par_iter().map(parse).collect();
    for (lines, wrong) in parsed {
        for line in lines {
            reader
                .take(&line)
                .map_err(|what| refused(reader, path, what))?;
        }
        if let Some(what) = wrong {
            return Err(refused(reader, path, what));
        }
    }
    Ok(())
}

fn refused(reader: &Reader, path: &Path, what: String) -> TraceError {
    TraceError::Line {
        path: path.into(),
        line: reader.lines() + 1,
        what,
    }
}

/// The lines of a piece up to the first that is wrong, and what is wrong with that one.
fn parse(piece: &[u8]) -> (Vec<Line<'_>>, Option<String>) {
    let mut lines = Vec::with_capacity(piece.len() / SHORT_LINE);
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', piece) {
        let text = &piece[start..end];
        match Line::parse(text) {
            Ok(line) => lines.push(line),
            Err(wrong) => return (lines, Some(wrong.explain(text))),
        }
        start = end + 1;
    }
    (lines, None)
}

/// Pieces of whole lines.
fn pieces(mut block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !block.is_empty() {
        let most = PIECE.min(block.len());
        let end = memchr::memchr(b'\n', &block[most - 1..]).map_or(block.len(), |at| most + at);
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    pieces
}

#[cfg(test)]
mod tests;
