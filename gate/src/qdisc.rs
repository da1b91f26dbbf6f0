//! `sluiced qdisc`: an AQM as a kind of qdisc of the kernel, in place of the gate.

use crate::{Failure, cli::QdiscCommand};

/// Runs the command.
///
/// # Errors
/// If an option is wrong or does not fit a qdisc, or if the compiler or the kernel refuses it.
#[cfg(feature = "kernel")]
pub fn run(command: &QdiscCommand) -> Result<(), Failure> {
    with_bpf::run(command)
}

/// Fails, because this program was built without qdiscs.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_command: &QdiscCommand) -> Result<(), Failure> {
    Err(crate::verify::without_bpf())
}

#[cfg(feature = "kernel")]
mod with_bpf {
    use std::{fs::File, iter, thread, time::Duration};

    use serde_json::{Map, Value, json};
    use sluice_aqm::Verdict;
    use sluice_kernel::{Counts, Fixed, Program, QdiscKind, log_columns};

    use crate::{
        Failure,
        cli::{CompileOptions, FollowOptions, InstallOptions, QdiscCommand},
        daemon::clock_ns,
        in_kernel::{self, Ready, compiled},
        memory, print, write_whole,
    };

    /// How far ahead the start of rates may lie, ns: a day.
    const MOST_AHEAD_NS: u64 = 86_400_000_000_000;

    pub fn run(command: &QdiscCommand) -> Result<(), Failure> {
        match command {
            QdiscCommand::Compile(options) => save(options),
            QdiscCommand::Install(options) => install(options),
            QdiscCommand::Follow(options) => follow(options),
            QdiscCommand::Show(options) => {
                let counts = QdiscKind::named(&options.kind)?.counts()?;
                print(&counts.iter().map(line).collect::<String>())
            }
            QdiscCommand::Log(options) => {
                print(&format!("{}\n", log_columns()))?;
                for (number, happened) in QdiscKind::named(&options.kind)?.log()?.iter().enumerate()
                {
                    print(&format!("{},{happened}\n", number + 1))?;
                }
                Ok(())
            }
            QdiscCommand::Remove(options) => Ok(QdiscKind::named(&options.kind)?.remove()?),
        }
    }

    fn save(options: &CompileOptions) -> Result<(), Failure> {
        let scheduler = options.scheduler.as_deref().map(in_kernel::scheduler);
        let scheduler = scheduler.transpose()?;
        let has_classes = scheduler.is_some_and(sluice_scenario::takes_classes);
        if !options.also.is_empty() && !has_classes {
            return Err(Failure(
                "--also takes a --scheduler with classes of service: all queues of others have \
                 one AQM"
                    .into(),
            ));
        }
        let program = Program::Qdisc {
            scheduler: scheduler.map(|class| &*class.name),
            has_classes,
            log: options.log,
        };
        let aqms: Vec<&String> = iter::once(&options.aqm).chain(&options.also).collect();
        let object = compiled(&aqms, program)?;
        let path = &options.object;
        let file = File::create(path).map_err(|error| Failure::writing(path, &error))?;
        write_whole(&file, path, &object.bytes)
    }

    fn install(options: &InstallOptions) -> Result<(), Failure> {
        let settings = in_kernel::read(&options.link)?;
        let ready = Ready::new(&settings, &options.object, options.log)?;
        let fixed = Fixed {
            instances: 8,
            is_shaped: !options.unshaped,
            sampled: 0,
            stays: true,
            ..ready.fixed
        };
        let kind = QdiscKind::named(&options.kind)?;
        let maps_bytes = kind.maps_bytes(&ready.object, &ready.aqms, &fixed)?;
        let memory = memory::bound_of_kind(&settings, maps_bytes, fixed.instances);
        print(&format!(
            "memory: at most {memory}, before {} interfaces\n",
            fixed.instances
        ))?;
        let installed = kind.install(
            &ready.object,
            &ready.aqms,
            ready.scheduler.as_ref(),
            &ready.settings,
            &fixed,
        )?;
        print(&format!(
            "{}: {}; the kernel's verifier looked at {} instructions\n",
            options.kind,
            ready.object.name,
            installed.verified_instructions()?
        ))
    }

    /// Sets the rates of a kind at their times.
    fn follow(options: &FollowOptions) -> Result<(), Failure> {
        let link = in_kernel::read(&options.link)?.forward;
        let service = link.service().ok_or_else(|| {
            Failure("the link's rate is constant: there is nothing to follow".into())
        })?;
        let kind = QdiscKind::named(&options.kind)?;
        let now_ns = clock_ns()?;
        let start_ns = options.start.unwrap_or(now_ns);
        if start_ns.saturating_sub(now_ns) > MOST_AHEAD_NS {
            return Err(Failure(format!(
                "--start {start_ns} must be at most a day ahead: CLOCK_MONOTONIC is at {now_ns} ns"
            )));
        }
        let mut next_ns = Some(0);
        while let Some(due_ns) = next_ns {
            let now_ns = clock_ns()?;
            thread::sleep(Duration::from_nanos(
                start_ns.saturating_add(due_ns).saturating_sub(now_ns),
            ));
            kind.set_rate(service.rate_bps(due_ns, link.rate_bps))?;
            next_ns = service.next_change_ns(due_ns);
        }
        Ok(())
    }

    /// Returns a line of JSON.
    fn line(counts: &Counts) -> String {
        let verdicts: Map<String, Value> = Verdict::NAMES
            .iter()
            .zip(counts.verdicts)
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        let json = json!({
            "sent": counts.sent,
            "sojourn_mean_s": counts.sojourn_ns as f64 / 1e9 / counts.sent.max(1) as f64,
            "sojourn_max_s": counts.sojourn_max_ns as f64 / 1e9,
            "verdicts": verdicts,
        });
        format!("{json}\n")
    }
}
