//! `sluiced`: see `sluiced --help`.

use std::process::ExitCode;

use clap::Parser;
use nix::sys::signal::{SigHandler, Signal, signal};
use sluice_gate::{
    Failure,
    backends::rules,
    check,
    cli::{Cli, Command},
    prague, printed, qdisc, replay, run, say, top, verify,
};

fn main() -> ExitCode {
    // a file that reaches the limit of its size (ulimit -f) is an error like that of a full disk
    // SAFETY: no code of ours runs as a handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.ok();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(told) if told.use_stderr() => told.exit(),
        Err(help) => return ended(printed(help.print())),
    };
    let done = match cli.command {
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
        Command::Prague(command) => prague::run(&command),
    };
    ended(done)
}

fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::from(2)
        }
    }
}
