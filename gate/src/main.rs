//! `sluiced`: see `sluiced --help`.

use std::process::ExitCode;

use clap::Parser;
use sluice_gate::{
    check,
    cli::{Cli, Command},
    replay, rules, run, say, verify,
};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Run(options) => run::run(&options),
        Command::Rules(options) => rules::run(&options),
        Command::Check(options) if check::run(&options) => Ok(()),
        Command::Check(_) => return ExitCode::FAILURE,
        Command::Verify(options) => verify::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::from(2)
        }
    }
}
