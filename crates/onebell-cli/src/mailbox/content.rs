/// Reads a message's content out of a stream of bytes: takes the stuffed dots away and finds the end. Only CRLF ends a line, so
/// that no lone LF or CR can end a message.
pub(super) struct Content {
    at: At,
    kept: Vec<u8>,
    size: usize,
    kept_max: usize,
}

#[derive(Clone, Copy)]
enum At {
    LineBegin,
    Dot,
    DotCr,
    Inside,
    Cr,
}

impl Content {
    pub(super) fn new(kept_max: usize) -> Self {
        Self { at: At::LineBegin, kept: Vec::new(), size: 0, kept_max }
    }

    /// Takes bytes up to the end of the content. How many, and whether that was the end.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (index, byte) in bytes.iter().enumerate() {
            if self.step(*byte) {
                return (index + 1, true);
            }
        }
        (bytes.len(), false)
    }

    fn step(&mut self, byte: u8) -> bool {
        self.at = match (self.at, byte) {
            (At::LineBegin, b'.') => At::Dot,
            (At::Dot, b'\r') => At::DotCr,
            (At::DotCr, b'\n') => return true,
            (at, _) => {
                // The dot was one before other characters: it was stuffed, but the CR after it was not.
                if matches!(at, At::DotCr) {
                    self.keep(b'\r');
                }
                self.keep(byte);
                match (at, byte) {
                    (_, b'\r') => At::Cr,
                    (At::Cr, b'\n') => At::LineBegin,
                    _ => At::Inside,
                }
            }
        };
        false
    }

    fn keep(&mut self, byte: u8) {
        self.size += 1;
        if self.kept.len() < self.kept_max {
            self.kept.push(byte);
        }
    }

    /// The content; nothing when it was larger than allowed.
    pub(super) fn whole(self) -> Option<Vec<u8>> {
        (self.size == self.kept.len()).then_some(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(wire: &str) -> (String, usize, bool) {
        let mut content = Content::new(100);
        // A byte at a time: what is seen must not depend on how the network cuts it.
        let mut taken = 0;
        let mut ended = false;
        for byte in wire.as_bytes() {
            if ended {
                break;
            }
            let (count, end) = content.take(&[*byte]);
            taken += count;
            ended = end;
        }
        (String::from_utf8(content.whole().unwrap()).unwrap(), taken, ended)
    }

    #[test]
    fn stuffed_dots_are_taken_away_and_only_a_whole_end_ends() {
        assert_eq!(read("a\r\n..\r\n..b\r\n.\r\nQUIT"), ("a\r\n.\r\n.b\r\n".into(), 15, true));
        assert_eq!(read(".\r\n"), (String::new(), 3, true));
        for open in ["a\n.\nb", "a\r.\rb", "a\r\n.\nb", "a\r\n.\rb", "a.\r\n", "a\r\n."] {
            assert!(!read(open).2, "{open:?}");
        }
    }

    #[test]
    fn more_than_allowed_is_read_and_not_kept() {
        let mut content = Content::new(4);
        assert_eq!(content.take(b"123456\r\n.\r\n"), (11, true));
        assert_eq!(content.whole(), None);
    }
}
