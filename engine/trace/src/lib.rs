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
const BLOCK: usize = 8 << 20;
/// Bytes that one core parses at a time.
const PIECE: usize = 128 << 10;

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
    let parsed: Vec<Vec<_>> = pieces(block)
        .into_par_iter()
        .map(|piece| {
            piece
                .split_inclusive(|byte| *byte == b'\n')
                .map(parse)
                .collect()
        })
        .collect();
    for line in parsed.into_iter().flatten() {
        line.and_then(|line| reader.take(&line))
            .map_err(|what| TraceError::Line {
                path: path.into(),
                line: reader.lines() + 1,
                what,
            })?;
    }
    Ok(())
}

fn parse(line: &[u8]) -> Result<Line<'_>, String> {
    Line::parse(&line[..line.len() - 1])
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
