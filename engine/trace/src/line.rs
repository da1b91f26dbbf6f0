//! One line of a trace: event, time, link, packet.
//!
//! The 12 fields, as "The ns Manual" (chapter 26) gives them: event, time (s), the two nodes of the
//! link, type, size (bytes), flags, flow id, source and destination (node.port), sequence
//! number, packet id.

use std::fmt;

const FIELDS: usize = 12;

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It came to the queue in front of a link.
    Arrive,
    /// It left the queue.
    Depart,
    /// It came out of the link.
    Receive,
    /// The queue dropped it.
    Drop,
    /// The link corrupted it.
    Corrupt,
}

/// A node's port.
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

/// What tells flows apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FlowKey<'a> {
    pub kind: &'a [u8],
    pub id: u32,
    pub source: Address,
    pub destination: Address,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line<'a> {
    pub event: Event,
    pub time_s: f64,
    /// The nodes of the link.
    pub from: u32,
    pub to: u32,
    pub bytes: u32,
    pub flow: FlowKey<'a>,
    pub packet: u64,
}

/// What is wrong with a line; `explain` puts it into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// There are only so many fields.
    Short(usize),
    Long,
    /// This field is not what it should be.
    Field(usize),
}

/// Each field's name and what is right there.
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
    /// For the user; `text` is the line.
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

impl<'a> Line<'a> {
    /// Reads a line, without its newline.
    #[inline]
    pub fn parse(text: &'a [u8]) -> Result<Self, Wrong> {
        let mut cursor = Cursor {
            rest: text,
            field: 0,
        };
        let event = match cursor.word()? {
            b"+" => Event::Arrive,
            b"-" => Event::Depart,
            b"r" => Event::Receive,
            b"d" => Event::Drop,
            b"e" => Event::Corrupt,
            _ => return Err(Wrong::Field(0)),
        };
        let time_s = cursor.seconds()?;
        let (from, to) = (cursor.small()?, cursor.small()?);
        let kind = cursor.word()?;
        let bytes = cursor.small()?;
        let _flags = cursor.word()?;
        let id = cursor.small()?;
        let (source, destination) = (cursor.address()?, cursor.address()?);
        let _sequence_number = cursor.word()?;
        let packet = cursor.whole()?;
        if !cursor.rest.trim_ascii().is_empty() {
            return Err(Wrong::Long);
        }
        let flow = FlowKey {
            kind,
            id,
            source,
            destination,
        };
        Ok(Self {
            event,
            time_s,
            from,
            to,
            bytes,
            flow,
            packet,
        })
    }
}

/// The part of a line that is not read yet; digits are read as they are met, for speed.
struct Cursor<'a> {
    rest: &'a [u8],
    /// Fields before.
    field: usize,
}

impl<'a> Cursor<'a> {
    /// Goes to the start of the next field.
    #[inline(always)]
    fn start(&mut self) -> Result<(), Wrong> {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        match self.rest.first() {
            Some(byte) if !byte.is_ascii_whitespace() => Ok(()),
            _ => Err(Wrong::Short(self.field)),
        }
    }

    /// Ends a field, where one must end.
    #[inline(always)]
    fn end<T>(&mut self, value: T) -> Result<T, Wrong> {
        match self.rest.first() {
            Some(byte) if !byte.is_ascii_whitespace() => Err(Wrong::Field(self.field)),
            _ => {
                self.field += 1;
                Ok(value)
            }
        }
    }

    #[inline(always)]
    fn word(&mut self) -> Result<&'a [u8], Wrong> {
        self.start()?;
        let end = self
            .rest
            .iter()
            .position(u8::is_ascii_whitespace)
            .unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.rest = &self.rest[end..];
        self.end(word)
    }

    /// Digits, of which there must be 1 to `most`: their value and how many they are.
    #[inline(always)]
    fn digits(&mut self, most: usize) -> Result<(u64, usize), Wrong> {
        let (mut value, mut count) = (0, 0);
        while let Some(byte) = self.rest.get(count) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 || count == most {
                break;
            }
            value = value * 10 + u64::from(digit);
            count += 1;
        }
        self.rest = &self.rest[count..];
        if count == 0 {
            Err(Wrong::Field(self.field))
        } else {
            Ok((value, count))
        }
    }

    #[inline(always)]
    fn whole(&mut self) -> Result<u64, Wrong> {
        self.start()?;
        // 19 digits always fit
        let (value, _) = self.digits(19)?;
        self.end(value)
    }

    #[inline(always)]
    fn small(&mut self) -> Result<u32, Wrong> {
        let field = self.field;
        self.whole()?.try_into().map_err(|_| Wrong::Field(field))
    }

    #[inline(always)]
    fn address(&mut self) -> Result<Address, Wrong> {
        self.start()?;
        let wrong = Wrong::Field(self.field);
        let (node, _) = self.digits(9)?;
        let [b'.', rest @ ..] = self.rest else {
            return Err(wrong);
        };
        self.rest = rest;
        let (port, _) = self.digits(9)?;
        self.end(Address {
            node: node as u32,
            port: port as u32,
        })
    }

    /// A number of at most 15 digits is a whole number over a power of ten, both exact, so that
    /// one division rounds it correctly (Clinger 1990); the library reads all others.
    #[inline(always)]
    fn seconds(&mut self) -> Result<f64, Wrong> {
        self.start()?;
        let text = self.rest;
        let (units, count) = self.digits(15)?;
        if let [b'.', rest @ ..] = self.rest {
            self.rest = rest;
            if let Ok((parts, decimals)) = self.digits(15 - count)
                && let Some(b' ') = self.rest.first()
            {
                let power = POWERS[decimals];
                return self.end((units as f64 * power + parts as f64) / power);
            }
        } else if let Some(b' ') = self.rest.first() {
            return self.end(units as f64);
        }
        self.rest = text;
        let (field, word) = (self.field, self.word()?);
        let value = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.parse().ok());
        match value {
            Some(value) if f64::is_finite(value) && value >= 0.0 => Ok(value),
            _ => Err(Wrong::Field(field)),
        }
    }
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "r 0.080376 1 2 tcp 1040 ------- 7 3.0 2.1 1 42";

    #[test]
    fn a_line_of_the_manual() {
        let line = Line::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(line.event, Event::Receive);
        assert_eq!(
            (line.time_s, line.from, line.to, line.bytes),
            (0.080376, 1, 2, 1040)
        );
        assert_eq!(
            (line.flow.kind, line.flow.id, line.packet),
            (&b"tcp"[..], 7, 42)
        );
        assert_eq!(line.flow.source, Address { node: 3, port: 0 });
        assert_eq!(line.flow.destination, Address { node: 2, port: 1 });
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
            let wrong = Line::parse(line.as_bytes()).unwrap_err();
            assert_eq!(wrong.explain(line.as_bytes()), message, "{line}");
        }
    }

    proptest! {
        #[test]
        fn times_are_rounded_as_the_library_does(
            text in "[0-9]{1,8}(\\.[0-9]{1,15})?(e-[0-9])?"
        ) {
            let line = GOOD.replacen("0.080376", &text, 1);
            let time_s = Line::parse(line.as_bytes()).unwrap().time_s;
            prop_assert_eq!(time_s, text.parse().unwrap(), "{}", text);
        }

        #[test]
        fn nothing_panics(text in prop::collection::vec(any::<u8>(), 0..120)) {
            if let Err(wrong) = Line::parse(&text) {
                wrong.explain(&text);
            }
        }
    }
}
