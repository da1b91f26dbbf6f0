//! One line of a trace: event, time, link, packet.
//!
//! The 12 fields, as listed in "The ns Manual" (chapter 26): event, time (s), the two nodes of the
//! link, type, size (bytes), flags, flow id, source and destination (node.port), sequence number,
//! packet id. The eight fields from the link to the destination are its [`Header`], which is the
//! same for many lines.

use std::fmt;

use crate::number::{seconds, whole};

pub(crate) const FIELDS: usize = 12;
/// Fields of a header.
const COMMON: usize = 8;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It arrived at the queue in front of a link.
    Arrive,
    /// It left the queue.
    Depart,
    /// It arrived at the end of the link.
    Receive,
    /// The queue dropped it.
    Drop,
    /// The link corrupted it.
    Corrupt,
}

/// A node and one of its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Number of the node.
    pub node: u32,
    /// Number of the port.
    pub port: u32,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.port)
    }
}

/// What identifies a flow.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey {
    pub kind: String,
    pub id: u32,
    pub source: Address,
    pub destination: Address,
}

/// The fields that all lines of a flow have in common on a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    /// The nodes of the link.
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
    pub flow: FlowKey,
}

/// The fields of a line except the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub event: Event,
    pub time_s: f64,
    pub packet: u64,
}

/// What is wrong with a line; `explain` puts it into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The line has only this many fields.
    Short(usize),
    Long,
    /// This field is wrong; its index counts from 0.
    Field(usize),
}

/// Name of each field, and what is expected there.
const RIGHT: [(&str, &str); FIELDS] = [
    ("event", "one of + - r d e"),
    ("time", "a number of seconds"),
    ("from", "a node's number"),
    ("to", "a node's number"),
    ("type", "a word"),
    ("size", "a number of bytes"),
    ("flags", "a word"),
    ("flow id", "a number"),
    ("source", "node.port"),
    ("destination", "node.port"),
    ("sequence number", "a word"),
    ("packet id", "a number"),
];

impl Wrong {
    /// Returns the message for the user; `text` is the line.
    pub fn explain(self, text: &[u8]) -> String {
        match self {
            Self::Short(fields) => format!("{fields} of {FIELDS} fields"),
            Self::Long => format!("more than {FIELDS} fields"),
            Self::Field(index) => {
                let text = String::from_utf8_lossy(text);
                let field: String = text
                    .split_ascii_whitespace()
                    .nth(index)
                    .map_or_else(String::new, |field| field.chars().take(40).collect());
                let (name, right) = RIGHT[index];
                format!(
                    "field {} ({name}) is {field:?} and must be {right}",
                    index + 1
                )
            }
        }
    }
}

/// Reads any line, without its newline.
pub(crate) fn parse(text: &[u8]) -> Result<(Header, Line), Wrong> {
    let mut words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    // check the event first: a line without one is no trace, rather than a short line
    let event = words.next().ok_or(Wrong::Short(0))?;
    let event = Event::parse(event).ok_or(Wrong::Field(0))?;
    let mut fields = [&text[..0]; FIELDS - 1];
    for (count, field) in fields.iter_mut().enumerate() {
        *field = words.next().ok_or(Wrong::Short(count + 1))?;
    }
    if words.next().is_some() {
        return Err(Wrong::Long);
    }
    let [time, header @ .., _sequence_number, packet] = fields;
    let line = Line {
        event,
        time_s: seconds(time, 0..time.len()).ok_or(Wrong::Field(1))?,
        packet: whole(packet, 0..packet.len()).ok_or(Wrong::Field(11))?,
    };
    // the header starts with the third field
    let header = Header::from_fields(header).map_err(|index| Wrong::Field(2 + index))?;
    Ok((header, line))
}

impl Event {
    /// Reads an event's letter.
    #[inline(always)]
    pub fn parse(field: &[u8]) -> Option<Self> {
        match field {
            b"+" => Some(Self::Arrive),
            b"-" => Some(Self::Depart),
            b"r" => Some(Self::Receive),
            b"d" => Some(Self::Drop),
            b"e" => Some(Self::Corrupt),
            _ => None,
        }
    }
}

impl Header {
    /// Reads a header with one space between its fields, as ns-2 writes it.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut words = text.split(|byte| *byte == b' ');
        let mut fields = [&text[..0]; COMMON];
        for field in &mut fields {
            *field = words.next().filter(|word| !word.is_empty())?;
        }
        let wrong = words.next().is_some() || text.contains(&b'\n');
        Self::from_fields(fields).ok().filter(|_| !wrong)
    }

    /// Reads the fields; `Err` is the index of the wrong one.
    fn from_fields(fields: [&[u8]; COMMON]) -> Result<Self, usize> {
        let [from, to, kind, bytes, _flags, id, source, destination] = fields;
        Ok(Self {
            from: small(from).ok_or(0_usize)?,
            to: small(to).ok_or(1_usize)?,
            bytes: small(bytes).ok_or(3_usize)?,
            flow: FlowKey {
                kind: String::from_utf8_lossy(kind).into_owned(),
                id: small(id).ok_or(5_usize)?,
                source: address(source).ok_or(6_usize)?,
                destination: address(destination).ok_or(7_usize)?,
            },
        })
    }
}

fn small(field: &[u8]) -> Option<u32> {
    whole(field, 0..field.len())?.try_into().ok()
}

fn address(field: &[u8]) -> Option<Address> {
    let point = field.iter().position(|byte| *byte == b'.')?;
    Some(Address {
        node: small(&field[..point])?,
        port: small(&field[point + 1..])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "r 0.080376 1 2 tcp 1040 ------- 7 3.0 2.1 1 42";

    #[test]
    fn a_line_of_the_manual() {
        let (header, line) = parse(GOOD.as_bytes()).unwrap();
        assert_eq!(
            (line.event, line.time_s, line.packet),
            (Event::Receive, 0.080376, 42)
        );
        assert_eq!((header.from, header.to, header.bytes), (1, 2, 1040));
        let flow = header.flow;
        assert_eq!((flow.kind.as_str(), flow.id), ("tcp", 7));
        assert_eq!(flow.source, Address { node: 3, port: 0 });
        assert_eq!(flow.destination, Address { node: 2, port: 1 });
    }

    #[test]
    fn what_is_no_line_is_named() {
        for (from, to, message) in [
            (GOOD, "", "0 of 12 fields"),
            (" 42", "", "11 of 12 fields"),
            (" 42", " 42 1", "more than 12 fields"),
            (
                "r ",
                "x ",
                "field 1 (event) is \"x\" and must be one of + - r d e",
            ),
            (
                "0.080376",
                "-1",
                "field 2 (time) is \"-1\" and must be a number of seconds",
            ),
            (
                "0.080376",
                "inf",
                "field 2 (time) is \"inf\" and must be a number of seconds",
            ),
            (
                "1040",
                "1e3",
                "field 6 (size) is \"1e3\" and must be a number of bytes",
            ),
            (
                "3.0",
                "3",
                "field 9 (source) is \"3\" and must be node.port",
            ),
            (
                "42",
                "99999999999999999999",
                "field 12 (packet id) is \"99999999999999999999\" and must be a number",
            ),
        ] {
            let line = GOOD.replacen(from, to, 1);
            let wrong = parse(line.as_bytes()).unwrap_err();
            assert_eq!(wrong.explain(line.as_bytes()), message, "{line}");
        }
    }
}
