//! The engine for a web page, as WebAssembly without any library between it and JavaScript: a few
//! functions over linear memory. `sluicegate/page/engine.js` is the other side.
//!
//! One instance runs one discipline. A function that can fail returns 0, or 1 and leaves the
//! reason as its text. Texts are UTF-8 and valid until the next call.

mod describe;
mod record;
mod row;
mod run;

use std::cell::RefCell;

use run::Run;

/// What the instance holds between two calls.
#[derive(Default)]
struct Page {
    /// What JavaScript wrote.
    input: Vec<u8>,
    /// What it may read.
    text: String,
    row: row::Row,
    run: Option<Run>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

impl Page {
    /// Keeps the text of a success or of an error, and returns the code of it.
    fn answer(&mut self, told: Result<String, String>) -> u32 {
        let code = u32::from(told.is_err());
        self.text = told.unwrap_or_else(|what| what);
        code
    }

    fn run(&mut self) -> Result<&mut Run, String> {
        self.run.as_mut().ok_or_else(|| "nothing runs".into())
    }
}

fn with<T>(work: impl FnOnce(&mut Page) -> T) -> T {
    PAGE.with_borrow_mut(work)
}

/// Returns the place for a text of `bytes` bytes, which `sluice_begin` then reads.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_input(bytes: usize) -> *mut u8 {
    with(|page| {
        page.input = vec![0; bytes];
        page.input.as_mut_ptr()
    })
}

/// Returns the last text.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_text() -> *const u8 {
    with(|page| page.text.as_ptr())
}

/// Returns the length of the last text, bytes.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_text_bytes() -> usize {
    with(|page| page.text.len())
}

/// Its text is what the instance offers, as JSON: see `describe`.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_describe() -> u32 {
    with(|page| page.answer(Ok(describe::offered())))
}

/// Begins the first replication of the scenario whose TOML is the input, with its discipline of this
/// number, from 0. Its text is what is known of the run, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_begin(discipline: usize) -> u32 {
    with(|page| {
        page.run = None;
        let begun = str::from_utf8(&page.input)
            .map_err(|_| "the scenario is not UTF-8".into())
            .and_then(|toml| Run::begin(toml, discipline));
        let told = begun.map(|run| {
            let about = run.about().to_string();
            page.run = Some(run);
            about
        });
        page.answer(told)
    })
}

/// Advances the run to a time, s or slots, or to its end if that comes first.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_advance(until: f64) -> u32 {
    with(|page| {
        let told = page.run().and_then(|run| run.advance(until));
        page.answer(told.map(|()| String::new()))
    })
}

/// Returns what can be seen now: `row::NAMES.len()` numbers, which stay until the next call.
/// Without a run they are those of the last one.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_observe() -> *const f64 {
    with(|page| {
        if let Some(run) = &page.run {
            page.row = run.observe();
        }
        page.row.as_ptr()
    })
}

/// Advances the run to its end, and ends it. Its text is the counts of the run, as JSON.
#[unsafe(no_mangle)]
pub extern "C" fn sluice_record() -> u32 {
    with(|page| {
        let run = page.run.take().ok_or_else(|| "nothing runs".to_owned());
        let told = run.and_then(Run::record);
        page.answer(told.map(|record| record.to_string()))
    })
}
