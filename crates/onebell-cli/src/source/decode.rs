//! Bytes of a file or a stream, unpacked: all members of gzip, all frames of zstd. A packed file that ends early or is damaged is
//! an error after what it gave, never an end. Of a damaged zstd frame, its window is not given: the decoder keeps those bytes.

use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::Compression;

/// A reader of bytes that may go to another thread.
pub(super) type Input = Box<dyn Read + Send>;

const BUFFER_BYTES: usize = 64 * 1024;

/// What both sides of a reading thread know of it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Bytes as they are packed.
    read: AtomicU64,
    /// The file itself could not be read, so that what a decoder says of it means nothing.
    failed: AtomicBool,
    /// Nobody wants more.
    stopped: AtomicBool,
}

impl Progress {
    pub(super) fn bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// What is wrong with packed bytes; carried by an [`io::Error`].
#[derive(Debug)]
pub(super) struct Corrupt(String);

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Corrupt {}

fn corrupt(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Corrupt(message.into()))
}

/// Counts, and ends when nobody wants more.
struct Counted {
    inner: Input,
    progress: Arc<Progress>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.progress.stopped.load(Ordering::Relaxed) {
            self.progress.failed.store(true, Ordering::Relaxed);
            return Err(io::Error::other("reading was stopped"));
        }
        match self.inner.read(buffer) {
            Ok(count) => {
                self.progress.read.fetch_add(count as u64, Ordering::Relaxed);
                Ok(count)
            }
            Err(error) => {
                let retried = error.kind() == io::ErrorKind::Interrupted;
                self.progress.failed.fetch_or(!retried, Ordering::Relaxed);
                Err(error)
            }
        }
    }
}

/// The unpacked bytes of `inner`. `said` is what an option or the name says it is; without it, its first bytes do.
pub(super) fn decoded(inner: Input, said: Option<Compression>, progress: &Arc<Progress>) -> io::Result<Input> {
    let mut counted = Counted { inner, progress: progress.clone() };
    let mut head = Vec::new();
    counted.by_ref().take(4).read_to_end(&mut head)?;
    let found = magic(&head);
    let compression = said.unwrap_or(found);
    if compression != Compression::Plain && compression != found {
        let name = compression.name();
        let what = if head.is_empty() { "it is empty" } else { "its first bytes are others" };
        return Err(corrupt(format!(
            "it should be {name} by its name or an option, and is not: {what}; give it the name of what it is"
        )));
    }
    let packed = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(counted));
    let progress = progress.clone();
    Ok(match compression {
        Compression::Plain => Box::new(packed),
        Compression::Gzip => Box::new(Gzip { inner: MultiGzDecoder::new(packed), progress }),
        Compression::Zstd => Box::new(Zstd { source: packed, decoder: FrameDecoder::new(), in_frame: false, progress }),
    })
}

fn magic(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        // A frame, or one to be skipped.
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
        _ => Compression::Plain,
    }
}

fn ends_early(name: &str) -> io::Error {
    corrupt(format!("the {name} file ends early, it was cut off; get it again"))
}

struct Gzip<R> {
    inner: MultiGzDecoder<R>,
    progress: Arc<Progress>,
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ if self.progress.failed.load(Ordering::Relaxed) => error,
            io::ErrorKind::UnexpectedEof => ends_early("gzip"),
            _ => corrupt(format!("the gzip file is damaged ({error}); get it again")),
        })
    }
}

struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    progress: Arc<Progress>,
}

impl<R: BufRead> Zstd<R> {
    fn wrong(&mut self, error: &dyn fmt::Display) -> io::Error {
        let ended = self.source.fill_buf().is_ok_and(<[u8]>::is_empty);
        if self.progress.failed.load(Ordering::Relaxed) {
            io::Error::other(error.to_string())
        } else if ended {
            ends_early("zstd")
        } else {
            corrupt(format!("the zstd file is damaged ({error}); get it again"))
        }
    }

    /// Begins the next frame; not if there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(ends_early("zstd"));
                    }
                }
                Err(error) => return Err(self.wrong(&error)),
            }
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            self.in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                if let Err(error) = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)) {
                    return Err(self.wrong(&error));
                }
            }
            let count = self.decoder.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let (told, computed) = (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if told.is_some() && told != computed {
                return Err(corrupt("the zstd file is damaged (its checksum is another); get it again"));
            }
            self.in_frame = false;
        }
    }
}
