//! The bytes at hand: a bounded piece of the source, where it stands in the whole, and the hash of everything before it.

use std::io::{self, Read};

use memchr::memchr_iter;
use onebell::model::Fingerprint;
use onebell::model::record::Position;
use sha2::{Digest, Sha256};

use super::brought::Final;
use super::decode::{Corrupt, Input};

/// How much is read at once.
const CHUNK_BYTES: usize = 128 * 1024;

/// How the source ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Where it should.
    Whole,
    /// It is packed, and damaged or cut off.
    Corrupt(String),
    /// It could not be read.
    Failed(String),
    /// It could not be read, and could not another time.
    Refused(String),
}

impl End {
    /// With an error.
    pub(super) fn of(error: &io::Error) -> Self {
        match error.get_ref() {
            Some(inner) if inner.is::<Corrupt>() => Self::Corrupt(error.to_string()),
            Some(inner) if inner.is::<Final>() => Self::Refused(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// A piece of the source.
pub(super) struct Window {
    input: Input,
    bytes: Vec<u8>,
    from: usize,
    to: usize,
    end: Option<End>,
    position: Position,
    hash: Sha256,
    /// Bytes of `bytes` that are in the hash: it grows by large pieces.
    hashed: usize,
    mark: Option<(Position, Sha256)>,
}

impl Window {
    pub(super) fn new(input: Input) -> Self {
        Self {
            input,
            bytes: Vec::new(),
            from: 0,
            to: 0,
            end: None,
            position: Position { byte: 0, line: 1 },
            hash: Sha256::new(),
            hashed: 0,
            mark: None,
        }
    }

    /// What was read and not taken.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// Where [`Self::rest`] begins.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// How the source ended, once it did.
    pub(super) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Bytes of memory that it has.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reads more; not if there is no more.
    pub(super) fn fill(&mut self) -> bool {
        if self.end.is_some() {
            return false;
        }
        self.catch_up();
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to, self.hashed) = (0, self.to - self.from, 0);
        let wanted = self.to + CHUNK_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.reserve_exact(wanted - self.bytes.len());
            self.bytes.resize(wanted, 0);
        }
        loop {
            match self.input.read(&mut self.bytes[self.to..]) {
                Ok(0) => self.end = Some(End::Whole),
                Ok(count) => self.to += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => self.end = Some(End::of(&error)),
            }
            return self.end.is_none();
        }
    }

    /// At least `count` bytes at hand, or all that there are.
    pub(super) fn fill_to(&mut self, count: usize) {
        while self.rest().len() < count && self.fill() {}
    }

    /// Whether everything was taken and nothing failed.
    pub(super) fn is_done(&mut self) -> bool {
        self.fill_to(1);
        self.rest().is_empty() && self.end == Some(End::Whole)
    }

    /// Goes on by `count` bytes of [`Self::rest`].
    pub(super) fn take(&mut self, count: usize) {
        let taken = &self.bytes[self.from..self.from + count];
        self.position.line += memchr_iter(b'\n', taken).count() as u64;
        self.position.byte += count as u64;
        self.from += count;
    }

    fn catch_up(&mut self) {
        self.hash.update(&self.bytes[self.hashed..self.from]);
        self.hashed = self.from;
    }

    /// What follows is taken in pieces, and counts for [`Self::place`] only when it is whole.
    pub(super) fn mark(&mut self) {
        self.catch_up();
        self.mark = Some((self.position, self.hash.clone()));
    }

    /// It is whole.
    pub(super) fn unmark(&mut self) {
        self.mark = None;
    }

    /// Up to where everything was taken whole, and the hash of all before it.
    pub(super) fn place(&mut self) -> (Position, Fingerprint) {
        self.catch_up();
        let (position, hash) = match &self.mark {
            Some((position, hash)) => (*position, hash),
            None => (self.position, &self.hash),
        };
        (position, Fingerprint::from_bytes(hash.clone().finalize().into()))
    }
}
