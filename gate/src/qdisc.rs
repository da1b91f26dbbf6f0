//! `sluiced qdisc`: an AQM as a kind of qdisc of the kernel, in place of the gate.

use crate::{Failure, cli::QdiscCommand};

/// Does what is said.
///
/// # Errors
/// If something given is wrong or nothing for a qdisc, or if the compiler or the kernel refuses it.
#[cfg(feature = "kernel")]
pub fn run(command: &QdiscCommand) -> Result<(), Failure> {
    with_bpf::run(command)
}

/// Says that this program cannot.
///
/// # Errors
/// Always.
#[cfg(not(feature = "kernel"))]
pub fn run(_command: &QdiscCommand) -> Result<(), Failure> {
    Err(crate::verify::without_bpf())
}

#[cfg(feature = "kernel")]
mod with_bpf {
    use std::{fs, path::Path};

    use serde_json::{Map, Value, json};
    use sluice_aqm::Verdict;
    use sluice_kernel::{Counts, KernelError, Kind, Object, Program, compile};
    use sluice_scenario::{AqmName, Fifo, Scheduler};

    use crate::{
        Failure,
        cli::{CompileOptions, InstallOptions, LinkOptions, QdiscCommand},
        settings::{LinkSettings, Settings},
        verify,
    };

    impl From<KernelError> for Failure {
        fn from(error: KernelError) -> Self {
            Self(error.to_string())
        }
    }

    pub fn run(command: &QdiscCommand) -> Result<(), Failure> {
        match command {
            QdiscCommand::Compile(options) => save(options),
            QdiscCommand::Install(options) => install(options),
            QdiscCommand::Show(options) => {
                for counts in Kind::named(&options.kind)?.counts()? {
                    println!("{}", line(&counts));
                }
                Ok(())
            }
            QdiscCommand::Remove(options) => Ok(Kind::named(&options.kind)?.remove()?),
        }
    }

    fn save(options: &CompileOptions) -> Result<(), Failure> {
        let object = object_of(&options.aqm)?;
        fs::write(&options.object, object.bytes)
            .map_err(|error| Failure::writing(&options.object, &error))
    }

    fn object_of(aqm: &str) -> Result<Object, Failure> {
        let (class, own) = verify::chosen(aqm)?;
        Ok(compile(Program::Qdisc, class, own.as_deref())?)
    }

    fn install(options: &InstallOptions) -> Result<(), Failure> {
        let settings = Settings::read(&options.link)?;
        let link = &settings.forward;
        refuse_what_is_not_there(&options.link, link)?;
        let aqm = match &link.discipline.aqm {
            AqmName::Named(name) => name.clone(),
            AqmName::Header(path) => path.display().to_string(),
            AqmName::Foreign(_) => unreachable!("settings have no AQM of a program"),
        };
        let object = match &options.object {
            Some(path) => given(path, &aqm)?,
            None => object_of(&aqm)?,
        };
        let configured = link.discipline.configured();
        let verified = Kind::named(&options.kind)?.install(
            &object,
            &configured.expect("settings have no AQM of a program"),
            &sluice_kernel::Settings {
                rate_bps: link.rate_bps,
                is_shaped: !options.unshaped,
                limit_packets: link.buffer.limit,
                victim: link.discipline.victim(&link.buffer).into(),
                seed: settings.seed,
            },
        )?;
        println!(
            "{}: {aqm}; the kernel's verifier looked at {verified} instructions",
            options.kind
        );
        Ok(())
    }

    fn given(path: &Path, aqm: &str) -> Result<Object, Failure> {
        Ok(Object {
            bytes: fs::read(path)
                .map_err(|error| Failure(format!("{}: {error}", path.display())))?,
            name: aqm.to_owned(),
        })
    }

    /// A qdisc is one FIFO before one link, limited in packets; it can't mark.
    fn refuse_what_is_not_there(options: &LinkOptions, link: &LinkSettings) -> Result<(), Failure> {
        let reasons = [
            (
                link.discipline.scheduler != Scheduler::Fifo(Fifo {}),
                "scheduler must be fifo",
            ),
            (link.ecn(), "ecn must be false: a BPF qdisc cannot mark"),
            (
                link.buffer.limit_bytes.is_some(),
                "limit_bytes cannot be set: the limit is in packets",
            ),
            (
                options.overhead > 0,
                "--overhead must be 0: the kernel counts the Ethernet header",
            ),
            (
                options.two_way,
                "--two-way cannot be: each interface has its own qdisc",
            ),
            (
                options.delay.is_some() || options.reverse_delay.is_some(),
                "--delay and --reverse-delay cannot be: a qdisc has no propagation delay",
            ),
        ];
        match reasons.iter().find(|(is_so, _)| *is_so) {
            Some((_, why)) => Err(Failure(format!("in the kernel, {why}"))),
            None => Ok(()),
        }
    }

    fn line(counts: &Counts) -> Value {
        let verdicts: Map<String, Value> = Verdict::NAMES
            .iter()
            .zip(counts.verdicts)
            .map(|(name, count)| ((*name).to_owned(), json!(count)))
            .collect();
        json!({
            "sent": counts.sent,
            "sojourn_mean_s": counts.sojourn_mean_ns as f64 / 1e9,
            "sojourn_max_s": counts.sojourn_max_ns as f64 / 1e9,
            "verdicts": verdicts,
        })
    }
}
