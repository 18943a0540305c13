//! Where a CSV row ends and where its fields are: RFC 4180, strictly, over bytes that may come in pieces.

use memchr::{memchr, memchr2, memchr3};

/// A field among the bytes of its row, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) from: usize,
    pub(super) to: usize,
    /// It has doubled quotes.
    pub(super) doubled: bool,
}

/// A whole row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// Bytes without the line end.
    pub(super) content: usize,
    /// Bytes with it.
    pub(super) whole: usize,
}

/// What makes a row unreadable though its end is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("field {0} has text after its closing quote; write a quote inside a field twice")]
    AfterQuote(usize),
    #[error(
        "field {0} has a quote but does not begin with one; put the whole field into quotes and write the quote inside twice"
    )]
    StrayQuote(usize),
    #[error("the line ends with CR CR LF; write LF or CR LF")]
    DoubleReturn,
    #[error("field {0} has a carriage return (CR) without a line feed; end lines with LF or CR LF, or put the field into quotes")]
    LoneReturn(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// A quote inside quotes: the next byte says what it was.
    QuoteSeen,
}

/// Reads one row after another.
#[derive(Debug)]
pub(super) struct Splitter {
    delimiter: u8,
    state: State,
    /// The next byte to look at, from where the row begins.
    at: usize,
    from: usize,
    doubled: bool,
    fields: usize,
    pieces: Vec<Piece>,
    keeps: bool,
    /// Line ends in the row so far.
    lines: u64,
    /// Lines and bytes of the row before the last opening quote.
    opened: (u64, u64),
    /// Bytes of the row that were dropped.
    forgotten: u64,
    problem: Option<Problem>,
}

impl Splitter {
    pub(super) fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Start,
            at: 0,
            from: 0,
            doubled: false,
            fields: 0,
            pieces: Vec::new(),
            keeps: true,
            lines: 0,
            opened: (0, 0),
            forgotten: 0,
            problem: None,
        }
    }

    /// A new row begins.
    pub(super) fn begin(&mut self) {
        self.pieces.clear();
        (self.state, self.at, self.from, self.doubled, self.fields) = (State::Start, 0, 0, false, 0);
        (self.keeps, self.lines, self.opened, self.forgotten, self.problem) = (true, 0, (0, 0), 0, None);
    }

    /// The fields of a whole row.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What is wrong with it.
    pub(super) fn problem(&self) -> Option<Problem> {
        self.problem
    }

    /// Bytes that were looked at.
    pub(super) fn seen(&self) -> usize {
        self.at
    }

    /// Inside quotes: how many lines and bytes after the row's beginning they opened, and how many bytes ago.
    pub(super) fn open_quote(&self) -> Option<(u64, u64, u64)> {
        let (lines, at) = self.opened;
        (self.state == State::Quoted).then(|| (lines, at, self.forgotten + self.at as u64 - at))
    }

    /// What was looked at is dropped, and its fields with it; only the row's end is looked for.
    pub(super) fn forget(&mut self) -> usize {
        let seen = self.at;
        self.keeps = false;
        self.pieces.clear();
        self.forgotten += seen as u64;
        (self.at, self.from) = (0, 0);
        seen
    }

    /// Goes on over `bytes`, which begin where the row does; answers when they hold its end.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Option<Span> {
        loop {
            match self.state {
                State::Start => {
                    let quoted = *bytes.get(self.at)? == b'"';
                    self.at += usize::from(quoted);
                    (self.from, self.doubled) = (self.at, false);
                    self.state = if quoted { State::Quoted } else { State::Plain };
                    if quoted {
                        self.opened = (self.lines, self.forgotten + self.at as u64 - 1);
                    }
                }
                State::Plain => {
                    let Some(found) = memchr3(self.delimiter, b'\n', b'"', &bytes[self.at..]) else {
                        self.at = bytes.len();
                        return None;
                    };
                    let at = self.at + found;
                    self.at = at + 1;
                    match bytes[at] {
                        b'\n' => return Some(self.end_plain(bytes, at)),
                        b'"' => self.complain(Problem::StrayQuote(self.fields + 1)),
                        _ => self.close_plain(bytes, at),
                    }
                }
                State::Quoted => {
                    let Some(found) = memchr2(b'"', b'\n', &bytes[self.at..]) else {
                        self.at = bytes.len();
                        return None;
                    };
                    self.at += found + 1;
                    match bytes[self.at - 1] {
                        b'"' => self.state = State::QuoteSeen,
                        _ => self.lines += 1,
                    }
                }
                State::QuoteSeen => {
                    if let Some(span) = self.after_quote(bytes)? {
                        return Some(span);
                    }
                }
            }
        }
    }

    /// The byte after a quote inside quotes; nothing when it is not there yet.
    fn after_quote(&mut self, bytes: &[u8]) -> Option<Option<Span>> {
        let at = self.at;
        let next = *bytes.get(at)?;
        if next == b'"' {
            self.doubled = true;
            self.state = State::Quoted;
        } else if next == self.delimiter {
            self.close(at.saturating_sub(1));
        } else if next == b'\n' {
            self.close(at.saturating_sub(1));
            self.at = at + 1;
            return Some(Some(Span { content: at, whole: at + 1 }));
        } else if next == b'\r' && *bytes.get(at + 1)? == b'\n' {
            self.close(at.saturating_sub(1));
            self.at = at + 2;
            return Some(Some(Span { content: at, whole: at + 2 }));
        } else {
            let returns = next == b'\r' && bytes.get(at + 1) == Some(&b'\r');
            let doubled_end = returns && *bytes.get(at + 2)? == b'\n';
            self.complain(if doubled_end { Problem::DoubleReturn } else { Problem::AfterQuote(self.fields + 1) });
            self.state = State::Plain;
            return Some(None);
        }
        self.at = at + 1;
        Some(None)
    }

    /// The row ends with the source and without a line end; not inside quotes.
    pub(super) fn finish(&mut self, bytes: &[u8]) -> Span {
        match self.state {
            State::QuoteSeen if self.at < bytes.len() => self.complain(Problem::LoneReturn(self.fields + 1)),
            State::QuoteSeen => self.close(bytes.len().saturating_sub(1)),
            State::Start => {
                self.from = bytes.len();
                self.close(bytes.len());
            }
            _ => self.close_plain(bytes, bytes.len()),
        }
        Span { content: bytes.len(), whole: bytes.len() }
    }

    fn end_plain(&mut self, bytes: &[u8], at: usize) -> Span {
        let returns = self.from < at && bytes[at - 1] == b'\r';
        let content = at - usize::from(returns);
        if returns && self.from < content && bytes[content - 1] == b'\r' {
            self.complain(Problem::DoubleReturn);
        }
        self.close_plain(bytes, content);
        Span { content, whole: at + 1 }
    }

    fn close_plain(&mut self, bytes: &[u8], to: usize) {
        if self.problem.is_none() && memchr(b'\r', &bytes[self.from..to]).is_some() {
            self.complain(Problem::LoneReturn(self.fields + 1));
        }
        self.close(to);
    }

    fn close(&mut self, to: usize) {
        self.fields += 1;
        if self.keeps {
            self.pieces.push(Piece { from: self.from, to, doubled: self.doubled });
        }
        self.state = State::Start;
        self.doubled = false;
        self.from = to;
    }

    fn complain(&mut self, problem: Problem) {
        self.problem.get_or_insert(problem);
    }
}
