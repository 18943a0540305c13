//! What was rejected, as a file that can be corrected and applied.

use std::io::{self, Write};

use onebell::model::record::Rejection;

use super::settings::CUT;

/// Writes rejected records as they stand in their source, below its header line.
#[derive(Debug)]
pub struct Rejects<W> {
    out: W,
    header: Option<Vec<u8>>,
    written: u64,
}

impl<W: Write> Rejects<W> {
    /// `header` is the source's header line, if it has one. Nothing is written before the first record.
    pub fn new(out: W, header: Option<Vec<u8>>) -> Self {
        Self { out, header, written: 0 }
    }

    /// Writes one; answers whether it could: one that was longer than a record may be is not whole, and half a record
    /// would be another one.
    ///
    /// # Errors
    /// Of the writer.
    pub fn add(&mut self, rejection: &Rejection) -> io::Result<bool> {
        if rejection.reason.contains(CUT) {
            return Ok(false);
        }
        if let Some(header) = self.header.take() {
            self.out.write_all(&header)?;
            self.out.write_all(b"\n")?;
        }
        self.out.write_all(&rejection.raw)?;
        self.out.write_all(b"\n")?;
        self.written += 1;
        Ok(true)
    }

    /// Records written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
