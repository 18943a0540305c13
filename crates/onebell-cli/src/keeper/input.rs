//! The standard input of whoever typed a command, for the command: a keeper's own is its channel.

use std::fs::{self, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::process::Stdio;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

/// What can be opened again by another process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Input {
    path: PathBuf,
    /// In a file: how far it was read.
    at: Option<u64>,
}

impl Input {
    /// This process's, if it is a pipe or a file. A terminal would stop a command that is not in its foreground.
    pub(super) fn own() -> Option<Self> {
        let kind = fs::metadata("/proc/self/fd/0").ok()?.file_type();
        let path = PathBuf::from(format!("/proc/{}/fd/0", std::process::id()));
        if kind.is_file() {
            let at = rustix::fs::seek(io::stdin(), rustix::fs::SeekFrom::Current(0)).ok()?;
            return Some(Self { path, at: Some(at) });
        }
        kind.is_fifo().then_some(Self { path, at: None })
    }

    /// For the command.
    pub(super) fn open(&self) -> io::Result<Stdio> {
        // A pipe with a name and nobody who writes to it would be waited for as it is opened.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
        if let Some(at) = self.at {
            file.seek(SeekFrom::Start(at))?;
        }
        Ok(Stdio::from(file))
    }
}
