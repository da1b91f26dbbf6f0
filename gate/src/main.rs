//! `sluiced`: see `sluiced --help`.

use std::process::ExitCode;

use clap::Parser;
use sluice_gate::{
    check,
    cli::{Cli, Command},
    qdisc, replay, rules, run, say, top, verify,
};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Top(options) => top::run(&options),
        Command::Rules(options) => rules::run(&options),
        Command::Check(options) => match check::run(&options) {
            Ok(false) => return ExitCode::FAILURE,
            done => done.map(drop),
        },
        Command::Verify(options) => verify::run(&options),
        Command::Qdisc(command) => qdisc::run(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::from(2)
        }
    }
}
