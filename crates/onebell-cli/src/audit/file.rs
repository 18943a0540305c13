//! A text to read, with its name. Opening it is the command's.

/// What is longer is no crontab, manifest or unit.
pub const FILE_BYTES_MAX: usize = 4 << 20;

/// One file as it was read.
#[derive(Debug, Clone, Default)]
pub struct File {
    /// As it is told to people: the path as it was named.
    pub name: String,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Whether a person named this very file; else it was found in a folder.
    pub named: bool,
    /// What belongs to it: for a timer its service and the drop-ins of both, by their paths.
    pub companions: Vec<File>,
    /// Why it could not be opened or read to its end.
    pub problem: Option<String>,
}

impl File {
    /// A file that a person named.
    pub fn new(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into(), named: true, ..Self::default() }
    }

    /// The last part of its name.
    pub(super) fn base(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The name of the folder it is in.
    pub(super) fn folder(&self) -> &str {
        self.name.rsplit('/').nth(1).unwrap_or_default()
    }

    /// Why no reader can be asked.
    pub(super) fn unreadable(&self) -> Option<String> {
        match self.bytes.as_slice() {
            _ if self.problem.is_some() => self.problem.clone(),
            bytes if bytes.len() > FILE_BYTES_MAX => Some(format!("it is longer than {} MiB", FILE_BYTES_MAX >> 20)),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                Some("it is UTF-16, which neither cron nor kubectl nor systemd reads".to_owned())
            }
            bytes if bytes.contains(&0) => Some("it has NUL bytes, so it is no text".to_owned()),
            _ => None,
        }
    }

    /// The text without a byte order mark, what is no UTF-8 replaced; and whether the mark was there.
    pub(super) fn text(&self) -> (String, bool) {
        let bytes = self.bytes.strip_prefix(b"\xef\xbb\xbf");
        (String::from_utf8_lossy(bytes.unwrap_or(&self.bytes)).into_owned(), bytes.is_some())
    }
}
