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

impl<'a> Line<'a> {
    /// Reads a line, without its newline; `Err` says what is wrong with it.
    pub fn parse(text: &'a [u8]) -> Result<Self, String> {
        let mut fields = Fields {
            rest: text,
            number: 0,
        };
        let event = match fields.take()? {
            b"+" => Event::Arrive,
            b"-" => Event::Depart,
            b"r" => Event::Receive,
            b"d" => Event::Drop,
            b"e" => Event::Corrupt,
            other => return fields.refuse(other, "event", "one of + - r d e"),
        };
        let line = Self {
            event,
            time_s: fields.read("time", "a number of seconds", seconds)?,
            from: fields.read("from", "a node's number", node)?,
            to: fields.read("to", "a node's number", node)?,
            flow: FlowKey {
                kind: fields.take()?,
                id: 0,
                source: Address { node: 0, port: 0 },
                destination: Address { node: 0, port: 0 },
            },
            bytes: fields.read("size", "a number of bytes", node)?,
            packet: 0,
        };
        fields.take()?; // flags
        let flow = FlowKey {
            id: fields.read("flow id", "a number", node)?,
            source: fields.read("source", "node.port", address)?,
            destination: fields.read("destination", "node.port", address)?,
            ..line.flow
        };
        fields.take()?; // sequence number
        let packet = fields.read("packet id", "a number", whole)?;
        match fields.rest.iter().all(u8::is_ascii_whitespace) {
            true => Ok(Self {
                flow,
                packet,
                ..line
            }),
            false => Err(format!("more than {FIELDS} fields")),
        }
    }
}

struct Fields<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Fields<'a> {
    #[inline]
    fn take(&mut self) -> Result<&'a [u8], String> {
        let start = self.rest.iter().take_while(|byte| **byte == b' ').count();
        let rest = &self.rest[start..];
        let end = rest
            .iter()
            .position(|byte| byte.is_ascii_whitespace())
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(format!("{} of {FIELDS} fields", self.number));
        }
        self.rest = &rest[end..];
        self.number += 1;
        Ok(&rest[..end])
    }

    #[inline]
    fn read<T>(
        &mut self,
        name: &str,
        right: &str,
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<T, String> {
        let field = self.take()?;
        match read(field) {
            Some(value) => Ok(value),
            None => self.refuse(field, name, right),
        }
    }

    #[cold]
    fn refuse<T>(&self, field: &[u8], name: &str, right: &str) -> Result<T, String> {
        let field: String = String::from_utf8_lossy(field).chars().take(40).collect();
        Err(format!(
            "field {} ({name}) is {field:?} and must be {right}",
            self.number
        ))
    }
}

#[inline]
fn whole(field: &[u8]) -> Option<u64> {
    // 19 digits always fit
    if field.is_empty() || field.len() > 19 {
        return None;
    }
    field.iter().try_fold(0, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit <= 9).then(|| value * 10 + u64::from(digit))
    })
}

#[inline]
fn node(field: &[u8]) -> Option<u32> {
    whole(field)?.try_into().ok()
}

#[inline]
fn address(field: &[u8]) -> Option<Address> {
    let dot = field.iter().position(|byte| *byte == b'.')?;
    Some(Address {
        node: node(&field[..dot])?,
        port: node(&field[dot + 1..])?,
    })
}

/// Powers of ten that a double holds exactly.
const POWERS: [f64; 16] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

/// A decimal number of at most 15 digits is a whole number over a power of ten, both exact, so
/// that one division rounds it correctly (Clinger 1990); the library reads all others.
#[inline]
fn seconds(field: &[u8]) -> Option<f64> {
    let dot = field
        .iter()
        .position(|byte| *byte == b'.')
        .unwrap_or(field.len());
    let decimals = field.get(dot + 1..).unwrap_or_default();
    let simple = (field.len() <= 15 && !decimals.is_empty() || dot == field.len())
        .then(|| {
            Some((
                whole(&field[..dot])?,
                if decimals.is_empty() {
                    0
                } else {
                    whole(decimals)?
                },
            ))
        })
        .flatten();
    if let Some((units, parts)) = simple {
        let power = POWERS[decimals.len()];
        let all = units as f64 * power + parts as f64;
        if all < 9e15 {
            return Some(all / power);
        }
    }
    let value: f64 = std::str::from_utf8(field).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

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
            assert_eq!(Line::parse(line.as_bytes()), Err(message.into()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn times_are_rounded_as_the_library_does(
            text in "[0-9]{1,8}(\\.[0-9]{1,15})?(e-[0-9])?"
        ) {
            prop_assert_eq!(seconds(text.as_bytes()), Some(text.parse().unwrap()), "{}", text);
        }

        #[test]
        fn nothing_panics(text in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = Line::parse(&text);
        }
    }
}
