//! Reads ns-2's 12-field trace files, ns-2's own or any other's, in one pass: what became of each
//! flow, and of each link and its queue. Memory does not grow with the file.

mod error;
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

/// Bytes read at once, and parsed by all cores together.
const BLOCK: usize = 2 << 20;
/// Bytes that one core parses at a time.
const PIECE: usize = 256 << 10;

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
    let mut rest = Vec::new();
    let mut pieces = Vec::new();
    loop {
        // one block is taken in while the next is parsed
        let (taken, next) = rayon::join(
            || take(&mut reader, &pieces, &path),
            || next_block(&mut file, &mut rest),
        );
        taken?;
        match next.map_err(io)? {
            Some(next) => pieces = next,
            None => break,
        }
    }
    if reader.lines() == 0 {
        return Err(TraceError::Empty { path });
    }
    Ok(reader.finish(!rest.is_empty()))
}

/// Reads and parses a block; `rest` is what the last one ended within. `None`: the file is at its
/// end.
fn next_block(file: &mut File, rest: &mut Vec<u8>) -> io::Result<Option<Vec<Piece>>> {
    let before = rest.len();
    if file.take(BLOCK as u64).read_to_end(rest)? == 0 {
        return Ok(None);
    }
    let end = memchr::memrchr(b'\n', &rest[before..]).map_or(0, |at| before + at + 1);
    let parsed = pieces(&rest[..end])
        .into_par_iter()
        .map(Piece::parse)
        .collect();
    rest.drain(..end);
    Ok(Some(parsed))
}

fn take(reader: &mut Reader, pieces: &[Piece], path: &Path) -> Result<(), TraceError> {
    for piece in pieces {
        reader.take(piece).map_err(|what| TraceError::Line {
            path: path.into(),
            line: reader.lines() + 1,
            what,
        })?;
    }
    Ok(())
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
