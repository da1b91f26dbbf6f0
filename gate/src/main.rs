//! `sluiced`: see `sluiced --help`.

use std::process::ExitCode;

use clap::Parser;
use sluice_gate::{
    cli::{Cli, Command},
    replay, run,
};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Run(options) => run::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("sluiced: {failure}");
            ExitCode::from(2)
        }
    }
}
