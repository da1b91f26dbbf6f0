//! A header may define an optional function and not name it in `AQM_CLASS`. It would never be called,
//! and the AQM would do less than its author believes.

use crate::ffi::CClass;

/// Returns what is wrong with a header that defines a function which its class does not name.
pub(crate) fn forgotten(name: &str, text: &str, class: &CClass) -> Option<String> {
    let depart = class.depart.is_some() || class.depart_among.is_some();
    let tick =
        (class.tick.is_some() && class.tick_interval_ns.is_some()) || class.tick_among.is_some();
    let optional: [(bool, &str, &[&str]); 3] = [
        (depart, "depart", &["depart"]),
        (tick, "tick", &["tick", "tick_interval_ns"]),
        (class.occupancy.is_some(), "occupancy", &["occupancy"]),
    ];
    let (_, function, entries) = optional.into_iter().find(|(is_named, function, _)| {
        !is_named && defines(text, &format!("{name}_{function}"))
    })?;
    let entries: Vec<String> = entries
        .iter()
        .map(|entry| format!(".{entry} = {name}_{}_any", entry.trim_end_matches("_ns")))
        .collect();
    Some(format!(
        "defines {name}_{function}, which nothing would call: AQM_CLASS does not name it. Write \
         AQM_{}({name}) before AQM_CLASS, and in it {}",
        function.to_uppercase(),
        entries.join(", ")
    ))
}

/// True if the text defines a function of this name: its parameters are followed by `{`.
fn defines(text: &str, function: &str) -> bool {
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    text.match_indices(function).any(|(start, _)| {
        let begins = !text.as_bytes()[..start]
            .last()
            .copied()
            .is_some_and(is_word);
        let rest = text[start + function.len()..].trim_start();
        let body = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map(|(_, body)| body.trim_start());
        begins && body.is_some_and(|body| body.starts_with('{'))
    })
}
