//! A piece of a trace: some whole lines, read without a look at the rest.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::{
    line::{self, Event, FIELDS, Header, Line},
    number::{seconds, whole},
    separators::{BLOCK, separators},
};

/// Bytes of which the separators are found at a time; they stay in the nearest cache.
const WINDOW: usize = 4 << 10;
/// Bytes of a line that is rather short.
const SHORT_LINE: usize = 40;

/// Lines of a trace.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Each with the place of its header.
    pub lines: Vec<(Line, u32)>,
    pub headers: Vec<Header>,
    /// What is wrong with the line after these; it and what follows it was not read.
    pub wrong: Option<String>,
}

impl Piece {
    /// Reads whole lines.
    pub fn parse(text: &[u8]) -> Self {
        let mut piece = Self {
            lines: Vec::with_capacity(text.len() / SHORT_LINE),
            ..Self::default()
        };
        let mut known = HashMap::default();
        let mut room = [0; WINDOW + BLOCK];
        let mut start = 0;
        while start < text.len() && piece.wrong.is_none() {
            let window = &text[start..text.len().min(start + WINDOW)];
            let found = separators(window, &mut room);
            let read = piece.take_window(window, found, &mut known);
            // a line that is not as ns-2 writes it, or longer than the window
            start += match read {
                0 => piece.take_carefully(&text[start..]),
                _ => read,
            };
        }
        piece
    }

    /// Reads lines as long as they are as ns-2 writes them; says how many bytes they have.
    fn take_window<'a>(
        &mut self,
        text: &'a [u8],
        separators: &[u32],
        known: &mut HashMap<&'a [u8], u32, FxBuildHasher>,
    ) -> usize {
        let mut start = 0;
        let (lines, _) = separators.as_chunks::<FIELDS>();
        for ends in lines {
            let Some((header, line)) = split(text, start, ends) else {
                break;
            };
            let place = match known.get(header) {
                Some(place) => *place,
                None => {
                    let Some(parsed) = Header::parse(header) else {
                        break;
                    };
                    self.headers.push(parsed);
                    known.insert(header, self.headers.len() as u32 - 1);
                    self.headers.len() as u32 - 1
                }
            };
            self.lines.push((line, place));
            start = ends[FIELDS - 1] as usize + 1;
        }
        start
    }

    /// Reads any line; says how many bytes it has with its newline.
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

/// The header and the rest of a line of which all spaces are known, and its newline; `None` if it
/// is not as ns-2 writes it. Whether the header is, is not asked.
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
