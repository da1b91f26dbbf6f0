//! `sluiced`: see `sluiced --help`.

use std::process::ExitCode;

use clap::Parser;
use sluice_gate::{
    check,
    cli::{Cli, Command},
    replay, rules, run, top,
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
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("sluiced: {failure}");
            ExitCode::from(2)
        }
    }
}
