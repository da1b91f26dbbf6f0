//! A file of lines that stays a file of lines when its disk is full.

use std::{
    fs::File,
    io::{self, Write},
};

/// Bytes that wait in memory before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Writes a new file in whole lines. If the disk refuses a part, the file is shortened to the end of
/// its last whole line, so that a reader of the file never meets half of a line or of a number.
pub struct LineFile {
    file: File,
    /// Length of the file, bytes: whole lines.
    whole_bytes: u64,
    /// What is not written yet.
    waiting: Vec<u8>,
}

impl LineFile {
    /// Returns a writer to a file that is empty.
    pub fn new(file: File) -> Self {
        Self {
            file,
            whole_bytes: 0,
            waiting: Vec::new(),
        }
    }

    fn write_whole_lines(&mut self) -> io::Result<()> {
        let end = self.waiting.iter().rposition(|byte| *byte == b'\n');
        let lines = &self.waiting[..end.map_or(0, |at| at + 1)];
        let written = self.file.write_all(lines);
        if written.is_ok() {
            self.whole_bytes += lines.len() as u64;
            self.waiting.drain(..lines.len());
        } else {
            self.waiting.clear();
            // it fails harmlessly for what is no regular file, such as a pipe
            self.file.set_len(self.whole_bytes).ok();
        }
        written
    }
}

impl Write for LineFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= BUFFER_BYTES {
            self.write_whole_lines()?;
        }
        Ok(bytes.len())
    }

    /// Writes all lines that are whole.
    fn flush(&mut self) -> io::Result<()> {
        self.write_whole_lines()
    }
}

impl Drop for LineFile {
    fn drop(&mut self) {
        self.write_whole_lines().ok();
    }
}
