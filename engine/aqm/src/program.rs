//! Runs the compiler and the trial: programs that read what a user wrote, so that they have limits
//! of time, memory and output, and can be ended.

use std::{
    fs::{self, File},
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Most processor time, s. The compiler needs less than one for an AQM of `aqm/`.
const PROCESSOR_S: u64 = 30;
/// Most time, s: what waits takes no processor time.
const MOST_S: u64 = 60;
/// Most memory, bytes. The compiler needs a tenth.
const MEMORY: u64 = 1 << 30;
/// Most that it may write to a file, bytes.
const FILE: u64 = 64 << 20;
/// Most that is read of what it prints, bytes.
const PRINTED: usize = 1 << 20;
const POLL: Duration = Duration::from_millis(2);

/// Groups of processes that run now, by the number of their first one.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// What became of a program.
pub(crate) struct Ended {
    /// `None` if it took too long.
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a program in `folder`, where its output goes to files.
pub(crate) fn run(command: &mut Command, folder: &Path) -> io::Result<Ended> {
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| folder.join(name));
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .process_group(0);
    // SAFETY: only system calls that are allowed between fork and exec.
    unsafe { command.pre_exec(limit) };
    let mut child = command.spawn()?;
    let group = child.id();
    running().push(group);
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(None) if start.elapsed().as_secs() >= MOST_S => {
                end(group);
                break child.wait().map(|_| None);
            }
            Ok(None) => thread::sleep(POLL),
            found => break found,
        }
    };
    running().retain(|other| *other != group);
    Ok(Ended {
        status: status?,
        stdout: printed(&stdout),
        stderr: printed(&stderr),
    })
}

/// Ends all compilers and trials that run now: nobody waits for them any more.
pub fn end_programs() {
    running().iter().copied().for_each(end);
}

fn running() -> std::sync::MutexGuard<'static, Vec<u32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn end(group: u32) {
    // SAFETY: a group of this process's own, whose first process has not been waited for.
    unsafe { libc::kill(-group.cast_signed(), libc::SIGKILL) };
}

fn limit() -> io::Result<()> {
    let limits = [
        (libc::RLIMIT_CPU, PROCESSOR_S),
        (libc::RLIMIT_AS, MEMORY),
        (libc::RLIMIT_FSIZE, FILE),
        (libc::RLIMIT_CORE, 0),
    ];
    for (what, most) in limits {
        // SAFETY: plain system calls. A stricter limit of the caller stays.
        unsafe {
            let mut now = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::getrlimit(what, &raw mut now);
            now.rlim_cur = now.rlim_cur.min(most);
            libc::setrlimit(what, &raw const now);
        }
    }
    // it ends with the thread that waits for it
    #[cfg(target_os = "linux")]
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
    Ok(())
}

fn printed(path: &Path) -> String {
    let mut bytes = fs::read(path).unwrap_or_default();
    bytes.truncate(PRINTED);
    String::from_utf8_lossy(&bytes).into_owned()
}
