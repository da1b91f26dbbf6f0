//! What is said of an AQM that breaks the contract as it runs.

/// Returns the message for a number that an AQM must not return.
pub fn no_verdict(who: &str, verdict: u32, may_drop_both: bool) -> String {
    let what = match verdict {
        3 => "AQM_DROP_OVERFLOW, which is the queue's to decide",
        4 => "AQM_MARK, which is the queue's to decide",
        5 => "AQM_DROP_BOTH without a candidate (.wants_candidate = 1, on arrivals only)",
        _ => "which is no verdict",
    };
    let right = match may_drop_both {
        true => "AQM_ADMIT, AQM_DROP_EARLY, AQM_DROP_FORCED or AQM_DROP_BOTH",
        false => "AQM_ADMIT, AQM_DROP_EARLY or AQM_DROP_FORCED",
    };
    format!("{who} answered {verdict}, {what}; it must answer {right}")
}

/// Returns the message for a function that wrote to its view.
pub fn changes_view(who: &str) -> String {
    format!("{who} changes the view, which is not its own; it only reads it")
}
