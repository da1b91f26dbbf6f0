//! What a request at the endpoint asks for, and whether it may.
//!
//! A browser hands the daemon's address to any page that it shows. So who asks is checked: `Host`
//! must be a name of this machine, or a foreign name that was bent to loopback would do (DNS
//! rebinding), and `Origin` must be the daemon itself.

use httparse::{EMPTY_HEADER, Header, Status};
use serde::Deserialize;

/// Longest request with its body, bytes.
pub(super) const MOST_BYTES: usize = 8 << 10;
/// Most fields of its head.
const MOST_FIELDS: usize = 64;

/// What is asked for.
#[derive(Debug, PartialEq)]
pub(super) enum Asked {
    /// The live page.
    Page,
    /// The page of Prometheus.
    Metrics,
    /// The last record of each link.
    Records,
    /// The disciplines and their parameters.
    Disciplines,
    /// Events from the one after this id on.
    Events(String),
    /// Another discipline for a link, by who knows this token.
    Switch(String, Wanted),
}

/// The body of a request for another discipline.
#[derive(Debug, Deserialize, PartialEq)]
pub(super) struct Wanted {
    /// `forward` or `reverse`.
    pub link: String,
    /// As `--aqm` takes it.
    pub discipline: String,
}

/// Why a request is refused: the status of HTTP, and what would be right.
#[derive(Debug, PartialEq)]
pub(super) struct Refusal(pub &'static str, pub String);

fn refuse<T>(status: &'static str, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(status, why.into()))
}

/// Reads a request as far as it has come. `None`: it is not yet whole.
pub(super) fn read(bytes: &[u8]) -> Option<Result<Asked, Refusal>> {
    let mut fields = [EMPTY_HEADER; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    let head = match request.parse(bytes) {
        Ok(Status::Complete(head)) => head,
        Ok(Status::Partial) if bytes.len() < MOST_BYTES => return None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Some(too_long()),
        Err(error) => return Some(refuse("400 Bad Request", error.to_string())),
    };
    let head_of = Head(request.headers);
    let body = &bytes[head..];
    match head_of.body_bytes() {
        Err(refusal) => return Some(Err(refusal)),
        Ok(length) if length > MOST_BYTES.saturating_sub(head) => return Some(too_long()),
        Ok(length) if body.len() < length => return None,
        Ok(_) => {}
    }
    let path = request.path.unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    Some(head_of.asked(request.method.unwrap_or_default(), path, body))
}

fn too_long<T>() -> Result<T, Refusal> {
    let why = format!("a request has {MOST_BYTES} bytes and {MOST_FIELDS} fields at most");
    refuse("431 Request Header Fields Too Large", why)
}

/// The fields of a request.
struct Head<'a>(&'a [Header<'a>]);

impl Head<'_> {
    /// Returns the value of a field, which must not be there twice.
    fn field(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut found = (self.0.iter()).filter(|field| field.name.eq_ignore_ascii_case(name));
        let first = found.next();
        if found.next().is_some() {
            return refuse("400 Bad Request", format!("{name} is there twice"));
        }
        let value = first.map(|field| std::str::from_utf8(field.value));
        (value.transpose()).map_err(|_| Refusal("400 Bad Request", format!("{name} is no text")))
    }

    fn body_bytes(&self) -> Result<usize, Refusal> {
        if self.field("Transfer-Encoding")?.is_some() {
            return refuse("411 Length Required", "give Content-Length");
        }
        let length = self.field("Content-Length")?.map(str::parse);
        (length.unwrap_or(Ok(0)))
            .map_err(|_| Refusal("400 Bad Request", "Content-Length is no number".into()))
    }

    fn asked(&self, method: &str, path: &str, body: &[u8]) -> Result<Asked, Refusal> {
        let is_for_programs = matches!(path, "/metrics" | "/records");
        self.may_ask(is_for_programs, path == "/")?;
        let wanted = if path == "/discipline" { "POST" } else { "GET" };
        if method != wanted {
            return refuse("405 Method Not Allowed", format!("{path} takes {wanted}"));
        }
        match path {
            "/" => Ok(Asked::Page),
            "/metrics" => Ok(Asked::Metrics),
            "/records" => Ok(Asked::Records),
            "/disciplines" => Ok(Asked::Disciplines),
            "/events" => {
                let last = self.field("Last-Event-ID")?.unwrap_or_default();
                Ok(Asked::Events(last.to_owned()))
            }
            "/discipline" => self.switch(body),
            _ => refuse(
                "404 Not Found",
                "there are / (the live page), /metrics and /records",
            ),
        }
    }

    /// Refuses what another page than ours may have a browser ask. Programs may leave out `Host`;
    /// a browser never does.
    fn may_ask(&self, is_for_programs: bool, is_page: bool) -> Result<(), Refusal> {
        let (host, origin) = (self.field("Host")?, self.field("Origin")?);
        match host {
            Some(host) if is_here(host) => {}
            None if is_for_programs && origin.is_none() => {}
            _ => {
                return refuse(
                    "421 Misdirected Request",
                    "Host must be 127.0.0.1, [::1] or localhost; a server in front of sluiced sets it",
                );
            }
        }
        let own = format!("http://{}", host.unwrap_or_default());
        if origin.is_some_and(|origin| !origin.eq_ignore_ascii_case(&own)) {
            return refuse(
                "403 Forbidden",
                "Origin must be that of the live page itself",
            );
        }
        // a request that has no Origin may be of a foreign page, too; a link to ours may be anywhere
        match self.field("Sec-Fetch-Site")? {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if is_page => Ok(()),
            Some(_) => refuse(
                "403 Forbidden",
                "another page asks: open the live page itself",
            ),
        }
    }

    fn switch(&self, body: &[u8]) -> Result<Asked, Refusal> {
        // a foreign page cannot send this type without asking first, which is refused
        if self.field("Content-Type")? != Some("application/json") {
            return refuse(
                "415 Unsupported Media Type",
                "Content-Type must be application/json",
            );
        }
        let given = self.field("Authorization")?.unwrap_or_default();
        let Some(token) = given.strip_prefix("Bearer ") else {
            return refuse("401 Unauthorized", "Authorization must be: Bearer TOKEN");
        };
        match serde_json::from_slice(body) {
            Ok(wanted) => Ok(Asked::Switch(token.trim().to_owned(), wanted)),
            Err(error) => refuse("400 Bad Request", format!("the body is wrong: {error}")),
        }
    }
}

/// True if a `Host` names this machine by loopback, whatever the port: a tunnel has another one.
fn is_here(host: &str) -> bool {
    let name = match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    };
    let port = &host[name.len()..];
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        && ["127.0.0.1", "[::1]", "localhost"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(request: &str) -> &'static str {
        let read = read(request.replace('\n', "\r\n").as_bytes()).expect("it is whole");
        read.map_or_else(|Refusal(status, _)| &status[..3], |_| "200")
    }

    #[test]
    fn only_this_machine_and_the_page_itself_may_ask() {
        let json = "Content-Type: application/json";
        let here = "Host: localhost:8417";
        let body = r#"{"link":"forward","discipline":"pie"}"#;
        let length = format!("Content-Length: {}", body.len());
        for (request, expected) in [
            (format!("GET / HTTP/1.1\n{here}\n\n"), "200"),
            ("GET /metrics HTTP/1.0\n\n".into(), "200"),
            ("GET / HTTP/1.0\n\n".into(), "421"),
            (
                "GET /events HTTP/1.1\nHost: 127.0.0.1:9\nOrigin: http://127.0.0.1:9\n\n".into(),
                "200",
            ),
            (
                "GET /events HTTP/1.1\nHost: [::1]\nOrigin: http://[::1]\n\n".into(),
                "200",
            ),
            // DNS rebinding: the name is foreign, the address is ours
            (
                "GET /events HTTP/1.1\nHost: evil.example:8417\n\n".into(),
                "421",
            ),
            (
                "GET /metrics HTTP/1.1\nHost: evil.example:8417\n\n".into(),
                "421",
            ),
            (
                "GET / HTTP/1.1\nHost: 127.0.0.1.evil.example\n\n".into(),
                "421",
            ),
            (
                "GET / HTTP/1.1\nHost: localhost:80@evil.example\n\n".into(),
                "421",
            ),
            ("GET / HTTP/1.1\nHost: 192.168.1.1:8417\n\n".into(), "421"),
            (
                format!("GET / HTTP/1.1\n{here}\nHost: evil.example\n\n"),
                "400",
            ),
            // foreign pages
            (
                format!("GET /events HTTP/1.1\n{here}\nOrigin: http://evil.example\n\n"),
                "403",
            ),
            (
                format!("GET /metrics HTTP/1.1\n{here}\nOrigin: null\n\n"),
                "403",
            ),
            (
                format!("GET /events HTTP/1.1\n{here}\nOrigin: http://localhost:9\n\n"),
                "403",
            ),
            (
                format!("GET /events HTTP/1.1\n{here}\nSec-Fetch-Site: cross-site\n\n"),
                "403",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\nSec-Fetch-Site: cross-site\n\n"),
                "200",
            ),
            (format!("OPTIONS /discipline HTTP/1.1\n{here}\n\n"), "405"),
            // what is no request, or asks for nothing that there is
            (format!("GET /no HTTP/1.1\n{here}\n\n"), "404"),
            (format!("POST / HTTP/1.1\n{here}\n\n"), "405"),
            ("\u{7f} nonsense\n\n".into(), "400"),
            (
                format!("GET / HTTP/1.1\n{here}\nTransfer-Encoding: chunked\n\n"),
                "411",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\nContent-Length: 9999999\n\n"),
                "431",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\nContent-Length: {}\n\n", u64::MAX),
                "431",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\nContent-Length: -1\n\n"),
                "400",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\n{}\n", "A: b\n".repeat(99)),
                "431",
            ),
            (
                format!("GET / HTTP/1.1\n{here}\nA: {}", "x".repeat(MOST_BYTES)),
                "431",
            ),
            // switching
            (
                format!(
                    "POST /discipline HTTP/1.1\n{here}\n{length}\n{json}\nAuthorization: Bearer t\n\n{body}"
                ),
                "200",
            ),
            (
                format!("POST /discipline HTTP/1.1\n{here}\n{length}\n{json}\n\n{body}"),
                "401",
            ),
            (
                format!(
                    "POST /discipline HTTP/1.1\n{here}\n{length}\nContent-Type: text/plain\n\n{body}"
                ),
                "415",
            ),
            (
                format!("POST /discipline HTTP/1.1\n{here}\n{json}\nAuthorization: Bearer t\n\n"),
                "400",
            ),
        ] {
            assert_eq!(status(&request), expected, "{request}");
        }
    }

    #[test]
    fn a_request_is_read_once_it_is_whole() {
        let request = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc";
        for length in 0..request.len() {
            assert_eq!(read(&request[..length]), None, "{length}");
        }
        assert!(read(request).is_some());
    }
}
