//! `storage.c`, compiled and preloaded, and what it told.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One thing that happened to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) what: What,
    /// The file's name in the folder.
    pub(crate) name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Written { at: u64, bytes: Vec<u8> },
    Truncated { to: u64 },
    SyncBegun,
    SyncEnded,
    LockRefused,
    Killed,
}

/// What is preloaded into the processes of one test.
pub(crate) struct Recorder {
    library: PathBuf,
    folder: PathBuf,
    log: PathBuf,
}

impl Recorder {
    /// For the files of `folder`; its own lie in `beside`.
    ///
    /// # Panics
    /// Without a C compiler: rows that need it never skip.
    pub(crate) fn new(folder: &Path, beside: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/storage.c");
        let library = beside.join("storage.so");
        let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
        let compiled = compiled.expect("this test needs a C compiler named `cc`");
        assert!(compiled.status.success(), "cc: {}", String::from_utf8_lossy(&compiled.stderr));
        Self { library, folder: folder.canonicalize().unwrap(), log: beside.join("storage.log") }
    }

    /// Preloads it: locks are counted, and with `kill` the process dies inside that write to the log.
    pub(crate) fn preload(&self, command: &mut Command, kill: Option<u64>) {
        command.env("LD_PRELOAD", &self.library).env("STORAGE_DIR", &self.folder).env("STORAGE_LOG", &self.log);
        if let Some(nth) = kill {
            command.env("STORAGE_KILL", nth.to_string());
        }
    }

    /// As [`Self::preload`], with every write and its bytes.
    pub(crate) fn preload_and_tell_all(&self, command: &mut Command) {
        self.preload(command, None);
        command.env("STORAGE_ALL", "1");
    }

    /// Everything told so far.
    pub(crate) fn told(&self) -> Vec<Told> {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let (mut rest, mut told) = (bytes.as_slice(), Vec::new());
        while let Some((one, left)) = record(rest) {
            told.push(one);
            rest = left;
        }
        told
    }

    /// How often something of that kind was told.
    pub(crate) fn count(&self, what: &What) -> u64 {
        self.told().iter().filter(|told| told.what == *what).count() as u64
    }
}

fn record(bytes: &[u8]) -> Option<(Told, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (name, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*count) as usize)?;
    let offset = u64::from_le_bytes(*offset);
    let what = match kind {
        b'W' => What::Written { at: offset, bytes: content.to_vec() },
        b'T' => What::Truncated { to: offset },
        b'S' => What::SyncBegun,
        b'E' => What::SyncEnded,
        b'B' => What::LockRefused,
        b'K' => What::Killed,
        other => panic!("no such record: {other}"),
    };
    Some((Told { what, name: String::from_utf8(name.to_vec()).unwrap() }, rest))
}
