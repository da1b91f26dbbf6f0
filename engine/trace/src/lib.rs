//! Reads 12-field trace files of ns-2, written by ns-2 or another program, in one pass: what
//! happened to each flow, and to each link and its queue. Memory holds the packets on their way. It
//! does not grow with the file, unless packets leave their sources and the trace never shows where
//! they end.

mod error;
mod figures;
mod line;
mod number;
mod piece;
mod separators;
mod series;
mod summary;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rayon::prelude::*;

pub use error::TraceError;
pub use line::Address;
pub use summary::{Flow, Link, Summary};

use piece::Piece;
use summary::Reader;

/// Bytes that one core parses at a time.
const PIECE: usize = 256 << 10;
/// Pieces that are read together, and parsed in parallel by all cores.
const PIECES: usize = 8;

/// Reads a trace. A last line without its newline was cut off and does not count.
///
/// # Errors
/// If the file cannot be read, has no whole line, or has a line that ns-2 would not write.
pub fn read(path: impl Into<PathBuf>) -> Result<Summary, TraceError> {
    let path = path.into();
    let io = |source| TraceError::Io {
        path: path.clone(),
        source,
    };
    let mut file = File::open(&path).map_err(io)?;
    let mut reader = Reader::default();
    let mut rest = Vec::new();
    let mut pieces: [Vec<Piece>; 2] = std::array::from_fn(|_| Vec::new());
    pieces
        .iter_mut()
        .for_each(|block| block.resize_with(PIECES, Piece::default));
    let [mut parsed, mut next] = pieces;
    loop {
        // one block is summarised while the next one is read and parsed
        let (taken, more) = rayon::join(
            || take(&mut reader, &mut parsed, &path),
            || next_block(&mut file, &mut rest, &mut next),
        );
        taken?;
        if !more.map_err(io)? {
            break;
        }
        std::mem::swap(&mut parsed, &mut next);
    }
    if reader.lines() == 0 {
        return Err(TraceError::Empty { path });
    }
    Ok(reader.finish(!rest.is_empty()))
}

/// Reads and parses a block; `rest` holds the incomplete last line of the block before. Returns
/// false at the end of the file.
fn next_block(file: &mut File, rest: &mut Vec<u8>, block: &mut [Piece]) -> io::Result<bool> {
    const MOST: usize = PIECES * PIECE;
    let before = rest.len();
    if file.take(MOST as u64).read_to_end(rest)? == 0 {
        return Ok(false);
    }
    let end = match memchr::memrchr(b'\n', &rest[before..]) {
        Some(at) => before + at + 1,
        // so many bytes without a newline are no trace: they are refused as a line
        None if rest.len() >= MOST => rest.len(),
        None => 0,
    };
    block
        .par_iter_mut()
        .zip(pieces(&rest[..end]))
        .for_each(|(piece, text)| piece.read(text));
    rest.drain(..end);
    Ok(true)
}

fn take(reader: &mut Reader, block: &mut [Piece], path: &Path) -> Result<(), TraceError> {
    for piece in block {
        reader.take(piece).map_err(|what| TraceError::Line {
            path: path.into(),
            line: reader.lines() + 1,
            what,
        })?;
    }
    Ok(())
}

/// Splits a block into [`PIECES`] pieces of whole lines; the last ones may be empty.
fn pieces(mut block: &[u8]) -> Vec<&[u8]> {
    let size = block.len().div_ceil(PIECES);
    let mut pieces = Vec::new();
    while pieces.len() < PIECES {
        let most = size.min(block.len());
        let end = memchr::memchr(b'\n', &block[most.saturating_sub(1)..])
            .map_or(block.len(), |at| most + at);
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    pieces
}

#[cfg(test)]
mod tests;
