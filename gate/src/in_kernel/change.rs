//! What can change while a qdisc is at work.

use super::ready::aqm_of;
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
    if !old.keeps_lanes(new) {
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use sluice_link::Service;

    use super::*;
    use crate::{
        cli::LinkOptions,
        settings::{Settings, Varying},
    };

    fn link(aqm: &str) -> LinkSettings {
        let options = LinkOptions {
            aqm: Some(aqm.into()),
            rate: Some("10e6".into()),
            ..LinkOptions::default()
        };
        Settings::read(&options).unwrap().forward
    }

    #[test]
    fn only_a_program_that_can_change_the_rate_takes_one_that_varies() {
        let constant = link("codel");
        let mut varying = constant.clone();
        varying.varying = Some(Varying {
            service: Service::opportunities(vec![1_000_000]).unwrap(),
            file: None,
        });
        let what = refuse(&constant, &varying, false).unwrap_err();
        assert!(
            what.starts_with("a qdisc at work with a constant rate keeps one"),
            "{what}"
        );
        assert_eq!(refuse(&constant, &varying, true), Ok(()));
        for varies in [false, true] {
            assert_eq!(refuse(&varying, &constant, varies), Ok(()));
        }
    }

    #[test]
    fn a_qdisc_at_work_keeps_its_aqm_and_its_lanes() {
        let change = |old, new| refuse(&link(old), &link(new), false);
        for (old, new) in [
            ("cake:ecn=true", "cake:ecn=true,rtt=0.05"),
            ("cake:ecn=true", "cake:ecn=true,ack_filter=on"),
            ("codel", "codel:target=0.01"),
        ] {
            assert_eq!(change(old, new), Ok(()), "{new}");
        }
        for (old, new, told) in [
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
