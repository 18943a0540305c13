//! The reading side of `apply`: files and streams of events become records with identity.
//!
//! Positions are exact, so that a batch goes on after a crash where it was committed; nothing before a checkpoint is believed
//! without being read again. What is wrong with one record is a rejection with its place, and the records after it are read; what
//! makes all further ones doubtful is an error. No record is ever guessed.

mod ahead;
mod brought;
mod decode;
mod format;
mod header;
mod lines;
mod pages;
mod reading;
mod rejects;
mod settings;
mod splitter;
mod table;
#[cfg(test)]
mod tests;
mod window;

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Page, PageLimit, Source, SourceError};
use onebell::model::record::{Checkpoint, Position, Shape};

use decode::Input;
use reading::{Reading, open_pages};
use settings::Settings;

pub use brought::Bringing;
pub(crate) use brought::{Pieces, brought, never};
pub use format::{Compression, Format, delimiter};
pub use rejects::Rejects;

/// Bytes that a record may have unless said otherwise.
pub const RECORD_MAX_BYTES: usize = 1024 * 1024;

/// How a source is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// What makes a row a record.
    pub shape: Shape,
    /// Otherwise the name says it.
    pub format: Option<Format>,
    /// Between the fields of a CSV row; otherwise the format says it.
    pub delimiter: Option<u8>,
    /// Otherwise the name and the first bytes say it.
    pub compression: Option<Compression>,
    /// Whether a last line without a line end is believed. Without it, one is only if it is one whole JSON object.
    pub accept_last_line: bool,
    /// Bytes that a record may have.
    pub record_max_bytes: usize,
}

impl SourceOptions {
    /// What is right for most files.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            format: None,
            delimiter: None,
            compression: None,
            accept_last_line: false,
            record_max_bytes: RECORD_MAX_BYTES,
        }
    }

    /// The format, with the delimiter that was asked for.
    fn format(&self, name: &str, by_name: Option<Format>) -> Result<Format, SourceError> {
        let refused = |why: &str| SourceError::Refused { place: START, message: format!("{name}: line 1 (byte 0): {why}") };
        let format = self.format.or(by_name).ok_or_else(|| {
            refused(
                "its name does not say what it is; pass --input csv or --input ndjson, or name it .csv, .tsv, .ndjson or .jsonl",
            )
        })?;
        let format = match (format, self.delimiter) {
            (Format::Csv { .. }, Some(delimiter)) => Format::Csv { delimiter },
            (Format::Ndjson, Some(_)) => {
                return Err(refused("a delimiter is for CSV; leave --delimiter out, or pass --input csv"));
            }
            (format, None) => format,
        };
        match format {
            Format::Csv { delimiter } if !format::usable(delimiter) => {
                Err(refused("a delimiter is one ASCII character, and no quote, letter, digit or line end"))
            }
            format => Ok(format),
        }
    }

    fn settings(&self, name: String) -> Arc<Settings> {
        Arc::new(Settings {
            name,
            shape: self.shape.clone(),
            record_max_bytes: self.record_max_bytes.max(1),
            accept_last_line: self.accept_last_line,
        })
    }
}

/// How the records of a file, or of a stream, are written.
///
/// # Errors
/// [`SourceError::Refused`] when neither its name nor an option says it.
pub fn format_of(file: Option<&Path>, options: &SourceOptions) -> Result<Format, SourceError> {
    let name = file.map_or_else(|| "the stream".to_owned(), |file| file.display().to_string());
    options.format(&name, file.and_then(|file| format::by_name(file).0))
}

const START: Position = Position { byte: 0, line: 1 };

/// A file of records. It is read by a thread of its own, a few pages ahead.
///
/// A page limit counts from the next page that is not read yet: whoever changes it gets up to three pages by the one before.
pub struct FileSource {
    path: PathBuf,
    reading: Reading,
    size: Option<u64>,
}

impl FileSource {
    /// Of the file at `path`, which is not looked at yet.
    ///
    /// # Errors
    /// [`SourceError::Refused`] when neither its name nor an option says what it is.
    pub fn new(path: impl Into<PathBuf>, options: &SourceOptions) -> Result<Self, SourceError> {
        let path = path.into();
        let name = path.display().to_string();
        let (by_name, compression) = format::by_name(&path);
        let format = options.format(&name, by_name)?;
        let compression = options.compression.or(compression);
        Ok(Self { path, reading: Reading::new(format, compression, options.settings(name)), size: None })
    }

    /// The header line without its line end, once it is open; none of a file without one.
    pub fn header(&self) -> Option<&[u8]> {
        self.reading.header()
    }
}

/// Opens the file itself; what it holds is read by the one who has it.
fn open_file(path: &Path) -> Result<Input, SourceError> {
    let unreadable = |why: String| SourceError::Unreadable(format!("{}: cannot be read: {why}", path.display()));
    let file = File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let is_folder = file.metadata().map_err(|error| unreadable(error.to_string()))?.is_dir();
    if is_folder { Err(unreadable("it is a folder; name a file in it".to_owned())) } else { Ok(Box::new(file)) }
}

#[async_trait]
impl Source for FileSource {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        let path = self.path.clone();
        self.size = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file).map(|facts| facts.len());
        self.reading.begin(move || open_file(&path), from, true).await
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        if !self.reading.is_open() {
            self.open(None).await?;
        }
        self.reading.page(limit).await
    }

    fn size(&self) -> Option<u64> {
        self.size
    }

    fn read(&self) -> Option<u64> {
        self.reading.read()
    }
}

/// A stream of records that is read once, such as standard input. Its checkpoints have positions and no hash: it cannot be read
/// from the middle, so that a batch of it begins anew. When it breaks off, of the page that is not whole nothing is given.
pub struct ReaderSource {
    input: Option<Input>,
    reading: Reading,
}

impl ReaderSource {
    /// Of `input`, called `name` in what is said of it.
    ///
    /// # Errors
    /// [`SourceError::Refused`] when no option says what it is.
    pub fn new(name: impl Into<String>, input: impl Read + Send + 'static, options: &SourceOptions) -> Result<Self, SourceError> {
        let name = name.into();
        let format = options.format(&name, None)?;
        let reading = Reading::new(format, options.compression, options.settings(name));
        Ok(Self { input: Some(Box::new(input)), reading })
    }

    /// The header line without its line end, once it is open; none of a stream without one.
    pub fn header(&self) -> Option<&[u8]> {
        self.reading.header()
    }
}

#[async_trait]
impl Source for ReaderSource {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        let settings = &self.reading.settings;
        if let Some(from) = from.filter(|from| from.position.byte > 0) {
            return Err(settings.changed(from.position, "a stream cannot be read from the middle"));
        }
        let input = self.input.take().ok_or_else(|| settings.changed(START, "a stream cannot be read twice"))?;
        self.reading.begin(move || Ok(input), None, false).await
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        if !self.reading.is_open() {
            self.open(None).await?;
        }
        self.reading.page(limit).await
    }

    fn read(&self) -> Option<u64> {
        self.reading.read()
    }
}

/// All pages of these bytes, and how they ended: a door for those who attack the readers.
#[doc(hidden)]
pub fn pages_of(bytes: &[u8], options: &SourceOptions, limit: PageLimit) -> (Vec<Page>, Result<(), SourceError>) {
    let mut pages = Vec::new();
    let ended = read_all(bytes, options, limit, &mut pages);
    (pages, ended)
}

fn read_all(bytes: &[u8], options: &SourceOptions, limit: PageLimit, pages: &mut Vec<Page>) -> Result<(), SourceError> {
    let format = options.format("bytes", None)?;
    let settings = options.settings("bytes".to_owned());
    let input = Box::new(Cursor::new(bytes.to_vec()));
    let progress = Arc::default();
    let mut source = open_pages(input, (format, options.compression), settings, None, (true, &progress))?;
    loop {
        let page = source.page(limit)?;
        let last = page.last;
        pages.push(page);
        if last {
            return Ok(());
        }
    }
}
