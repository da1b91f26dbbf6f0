//! `sluiced top`: draws live what a daemon reports.

mod fitting;
pub mod screen;

use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
};

use crate::{
    Failure, cli::TopOptions, machine::signals::signals, telemetry::endpoint, top::screen::Screen,
};

/// How often the daemon is asked; its answer changes once in its own interval.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Runs the command: draws until q, Esc, Ctrl-C or a signal.
///
/// # Errors
/// If it does not run in a terminal, or if no daemon answers at the start.
pub fn run(options: &TopOptions) -> Result<(), Failure> {
    let address = &options.metrics;
    let mut screen = Screen::new(address.to_string());
    let none = |what: &str| {
        Failure(format!(
            "no daemon tells how it stands at {address}: {what}. Start one with sluiced run ... \
             --metrics {address}, or say where it is with sluiced top --metrics ADDRESS"
        ))
    };
    let records = endpoint::ask(address).map_err(|error| none(&error.to_string()))?;
    screen.take(&records).map_err(|what| none(&what))?;
    if !io::stdout().is_terminal() {
        return Err(Failure(
            "sluiced top draws in a terminal; programs read sluiced run --jsonl or --metrics"
                .into(),
        ));
    }
    let broken = |error: io::Error| Failure(format!("the terminal: {error}"));
    // a signal must also restore the terminal
    let signals = signals()?;
    let mut terminal = ratatui::try_init().map_err(broken)?;
    let done = watch(&mut terminal, &mut screen, || {
        let told = matches!(signals.read_signal(), Ok(Some(_)));
        (!told).then(|| endpoint::ask(address))
    });
    ratatui::try_restore().map_err(broken)?;
    done.map_err(broken)
}

/// Draws until a key ends it, or until `ask` returns `None`.
fn watch(
    terminal: &mut DefaultTerminal,
    screen: &mut Screen,
    mut ask: impl FnMut() -> Option<io::Result<String>>,
) -> io::Result<()> {
    while let Some(answer) = ask() {
        match answer.map_err(|error| error.to_string()) {
            Ok(records) => screen.absent = screen.take(&records).err(),
            Err(what) => screen.absent = Some(what),
        }
        terminal.draw(|frame| screen.draw(frame))?;
        let next = Instant::now() + ASK_EVERY;
        while event::poll(next.saturating_duration_since(Instant::now()))? {
            match event::read()? {
                Event::Key(key) if ends(key) => return Ok(()),
                Event::Resize(..) => {
                    terminal.draw(|frame| screen.draw(frame))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn ends(key: KeyEvent) -> bool {
    let ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && (ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}
