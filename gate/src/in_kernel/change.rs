//! What can change while a qdisc is at work.

use sluice_aqm::Scheduler;

use super::{NO_ACK_FILTER, ready::aqm_of};
use crate::settings::LinkSettings;

/// Refuses settings that a qdisc at work cannot take; `varies` says whether its program can change the
/// rate. All ways to it come here: a reload, and the live page.
///
/// # Errors
/// Names what cannot change.
pub fn refuse(old: &LinkSettings, new: &LinkSettings, varies: bool) -> Result<(), String> {
    if aqm_of(old) != aqm_of(new) {
        return Err(format!(
            "the AQM cannot change while its qdisc is at work: it is {}, and end sluiced before it is {}",
            aqm_of(old),
            aqm_of(new)
        ));
    }
    let goes_on = match (old.in_lanes(), new.in_lanes()) {
        (None, None) => true,
        (Some(old), Some(new)) => Scheduler::can_become(old, new),
        _ => false,
    };
    if !goes_on {
        return Err(
            "the scheduler, its queues and how it divides them cannot change while its qdisc is at work"
                .into(),
        );
    }
    if new.varying.is_some() && !varies {
        return Err(
            "a qdisc at work with a constant rate keeps one: end sluiced, and start it again"
                .into(),
        );
    }
    let without = new.discipline.without_ack_filter(NO_ACK_FILTER);
    without.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{cli::LinkOptions, settings::Settings};

    #[test]
    fn a_qdisc_at_work_keeps_its_aqm_its_lanes_and_all_acks() {
        let link = |aqm: &str| {
            let options = LinkOptions {
                aqm: Some(aqm.into()),
                rate: Some("10e6".into()),
                ..LinkOptions::default()
            };
            Settings::read(&options).unwrap().forward
        };
        let change = |old, new| refuse(&link(old), &link(new), false);
        for (old, new) in [
            ("cake:ecn=true", "cake:ecn=true,rtt=0.05"),
            ("codel", "codel:target=0.01"),
        ] {
            assert_eq!(change(old, new), Ok(()), "{new}");
        }
        for (old, new, told) in [
            (
                "cake:ecn=true",
                "cake:ecn=true,ack_filter=on",
                "cake.ack_filter must be off",
            ),
            (
                "cake:ecn=true",
                "cake:ecn=true,ack_filter=aggressive",
                "cake.ack_filter must be off",
            ),
            (
                "cake:ecn=true",
                "cake:ecn=true,diffserv=diffserv8",
                "the scheduler",
            ),
            ("codel", "codel:scheduler=fq", "the scheduler"),
            (
                "codel",
                "pie",
                "it is codel, and end sluiced before it is pie",
            ),
        ] {
            let what = change(old, new).unwrap_err();
            assert!(what.contains(told), "{what}");
        }
    }
}
