//! What is kept of a command's output: bytes, the beginning and the end of them, and how many there were.

use std::collections::VecDeque;

/// One stream of a command, as bytes: NUL and what is not UTF-8 stay as they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes, beginning where `head` ends unless some were left out.
    pub tail: Vec<u8>,
    /// How many bytes the command wrote.
    pub total: u64,
    /// How many of them are missing between `head` and `tail`.
    pub omitted: u64,
    /// More may follow: taken while the command ran, so the last bytes may be half of something.
    pub open: bool,
}

impl Captured {
    /// Head and tail in one, for display: a line in between says what is missing.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        if self.omitted > 0 {
            bytes.extend_from_slice(format!("\n[… {} bytes left out …]\n", self.omitted).as_bytes());
        }
        bytes.extend_from_slice(&self.tail);
        bytes
    }
}

/// Collects one stream within a bound.
#[derive(Debug)]
pub(super) struct Collector {
    head: Vec<u8>,
    head_cap: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    total: u64,
}

impl Collector {
    pub(super) fn new(cap: usize) -> Self {
        let head_cap = cap / 2;
        Self { head: Vec::new(), head_cap, tail: VecDeque::new(), tail_cap: cap - head_cap, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = self.head_cap.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let newest = &rest[rest.len().saturating_sub(self.tail_cap)..];
        let excess = (self.tail.len() + newest.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..excess);
        self.tail.extend(newest);
    }

    pub(super) fn captured(&self, open: bool) -> Captured {
        let kept = (self.head.len() + self.tail.len()) as u64;
        Captured {
            head: self.head.clone(),
            tail: self.tail.iter().copied().collect(),
            total: self.total,
            omitted: self.total.saturating_sub(kept),
            open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collected(cap: usize, chunks: &[&[u8]]) -> Captured {
        let mut collector = Collector::new(cap);
        for chunk in chunks {
            collector.push(chunk);
        }
        collector.captured(false)
    }

    #[test]
    fn what_fits_is_kept_whole_whatever_its_chunks() {
        for cap in [6, 7, 20] {
            let kept = collected(cap, &[b"a\0", b"\xffb", b"", b"cd"]);
            assert_eq!((kept.to_bytes().as_slice(), kept.omitted, kept.total), (&b"a\0\xffbcd"[..], 0, 6));
        }
    }

    #[test]
    fn too_much_keeps_both_ends_and_counts_the_rest() {
        for chunks in [&[&b"0123456789"[..]][..], &[b"0", b"123456", b"789"], &[b"012345678", b"9"]] {
            let kept = collected(4, chunks);
            assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"01"[..], &b"89"[..]));
            assert_eq!((kept.total, kept.omitted), (10, 6));
        }
        assert_eq!(collected(0, &[b"abc"]).omitted, 3);
    }
}
