//! Files whose names are in a job file: read whole and within a bound. What only looks like a file would be waited for, or never end.

use std::fs::{Metadata, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The bytes of the regular file at `path`, at most `most`.
///
/// # Errors
/// Why they cannot be had, without the path.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    // A pipe that nobody writes to would be waited for as it is opened.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| error.to_string())?;
    let facts = file.metadata().map_err(|error| error.to_string())?;
    if let Some(other) = instead(&facts) {
        return Err(format!("it is {other}; name a regular file"));
    }
    if facts.len() > most {
        return Err(format!("{} bytes, at most {most} are possible", facts.len()));
    }
    // Files of the kernel have no length until they are read.
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most { Err(format!("more than {most} bytes, at most so many are possible")) } else { Ok(bytes) }
}

/// What stands there instead of a regular file.
pub(crate) fn instead(facts: &Metadata) -> Option<&'static str> {
    let kind = facts.file_type();
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a folder"),
        _ if kind.is_fifo() => Some("a pipe"),
        _ if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k15_04_only_a_file_with_an_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "12345").unwrap();
        assert_eq!(read(&path("file"), 5).unwrap(), b"12345");
        assert_eq!(read(&path("file"), 4).unwrap_err(), "5 bytes, at most 4 are possible");
        assert_eq!(read(folder.path(), 5).unwrap_err(), "it is a folder; name a regular file");
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert_eq!(read(&path("pipe"), 5).unwrap_err(), "it is a pipe; name a regular file");
        assert_eq!(read(Path::new("/dev/zero"), 5).unwrap_err(), "it is a device; name a regular file");
        assert!(read(Path::new("/proc/self/environ"), 5).unwrap_err().starts_with("more than 5 bytes"));
    }
}
