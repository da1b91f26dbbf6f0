//! A piece of a trace: some whole lines, parsed independently of the rest.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::{
    line::{self, Event, FIELDS, Header, Line},
    number::{seconds, whole},
    separators::{BLOCK, separators},
};

/// Bytes whose separators are found together; they stay in the first-level cache.
const WINDOW: usize = 4 << 10;

/// Headers that are kept from one piece to the next. Most traces have fewer.
const MOST_HEADERS: usize = 1 << 13;

/// Parsed lines of a trace. Its memory is used again for the next piece.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Lines, each with the index of its header.
    pub lines: Vec<(Line, u32)>,
    /// Headers of these lines and of lines read before.
    pub headers: Vec<Header>,
    /// What is wrong with the line after these; the rest of the piece was not read.
    pub wrong: Option<String>,
    /// Where the summary keeps link and flow of each header.
    pub places: Vec<Place>,
    known: HashMap<Box<[u8]>, u32, FxBuildHasher>,
}

/// Indices of a header's link and flow in the summary, once they exist.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub link: Option<usize>,
    pub flow: Option<usize>,
}

impl Piece {
    /// Reads whole lines and replaces those read before.
    pub fn read(&mut self, text: &[u8]) {
        self.lines.clear();
        if self.headers.len() > MOST_HEADERS {
            self.headers.clear();
            self.places.clear();
            self.known.clear();
        }
        let mut room = [0; WINDOW + BLOCK];
        let mut start = 0;
        while start < text.len() && self.wrong.is_none() {
            let window = &text[start..text.len().min(start + WINDOW)];
            let found = separators(window, &mut room);
            // 0: a line that is not as ns-2 writes it, or longer than the window
            start += match self.take_window(window, found) {
                0 => self.take_carefully(&text[start..]),
                bytes => bytes,
            };
        }
        self.places.resize(self.headers.len(), Place::default());
    }

    /// Reads lines as long as they are as ns-2 writes them; returns how many bytes they have.
    fn take_window(&mut self, text: &[u8], separators: &[u32]) -> usize {
        let mut start = 0;
        let (lines, _) = separators.as_chunks::<FIELDS>();
        for ends in lines {
            let Some((header, line)) = split(text, start, ends) else {
                break;
            };
            let place = match self.known.get(header) {
                Some(place) => *place,
                None => {
                    let Some(parsed) = Header::parse(header) else {
                        break;
                    };
                    let place = self.headers.len() as u32;
                    self.headers.push(parsed);
                    self.known.insert(header.into(), place);
                    place
                }
            };
            self.lines.push((line, place));
            start = ends[FIELDS - 1] as usize + 1;
        }
        start
    }

    /// Reads any line; returns how many bytes it has with its newline.
    #[cold]
    fn take_carefully(&mut self, text: &[u8]) -> usize {
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        match line::parse(&text[..end]) {
            Ok((header, line)) => {
                self.lines.push((line, self.headers.len() as u32));
                self.headers.push(header);
            }
            Err(wrong) => self.wrong = Some(wrong.explain(&text[..end])),
        }
        end + 1
    }
}

/// Splits a line at its known spaces and its newline into the header and the rest; `None` if the
/// line is not as ns-2 writes it. The header itself is not checked.
#[inline(always)]
fn split<'a>(text: &'a [u8], start: usize, ends: &[u32; FIELDS]) -> Option<(&'a [u8], Line)> {
    let ends = ends.map(|end| end as usize);
    let [event, time, .., header, number, packet] = ends;
    let is = |end: usize, byte| text[end] == byte;
    let separate = is(event, b' ') & is(time, b' ') & is(header, b' ') & is(number, b' ');
    if !(separate & is(packet, b'\n') & (number > header + 1)) {
        return None;
    }
    let line = Line {
        event: Event::parse(&text[start..event])?,
        time_s: seconds(text, event + 1..time)?,
        packet: whole(text, number + 1..packet)?,
    };
    Some((&text[time + 1..header], line))
}
