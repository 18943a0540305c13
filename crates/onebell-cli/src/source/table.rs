//! CSV. The splitter is our own because of what the csv crate keeps silently: repeated headers, a last line that was cut off, text
//! after a closing quote. Nor does it tell up to which byte whole rows were read, which is what a batch commits.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memchr;
use onebell::handler::SourceError;
use onebell::model::Fingerprint;
use onebell::model::record::{Columns, Item, Position, Record, Unfit};
use sha2::{Digest, Sha256};

use super::header;
use super::pages::{Grammar, Next};
use super::settings::{CUT_BYTES, Settings};
use super::splitter::{Piece, Span, Splitter};
use super::window::Window;

/// A table's reader.
pub(super) struct Table {
    settings: Arc<Settings>,
    delimiter: u8,
    splitter: Splitter,
    columns: Option<Columns>,
    header: Option<Vec<u8>>,
}

/// What stands next.
enum Found {
    Row(Span),
    Blank(Span),
    /// Longer than a record may be; its end, if that is known.
    Long(Option<Span>),
    /// Longer than there is room.
    Full,
    End,
}

impl Table {
    pub(super) fn new(settings: Arc<Settings>, delimiter: u8) -> Self {
        Self { settings, delimiter, splitter: Splitter::new(delimiter), columns: None, header: None }
    }

    fn find(&mut self, window: &mut Window, room: Option<usize>) -> Result<Found, SourceError> {
        let most = self.settings.record_max_bytes;
        self.splitter.begin();
        loop {
            let found = self.splitter.advance(window.rest());
            let seen = found.map_or(self.splitter.seen(), |span| span.whole);
            match found {
                Some(span) if span.content == 0 => return Ok(Found::Blank(span)),
                _ if room.is_some_and(|room| seen > room) => return Ok(Found::Full),
                Some(span) if span.content > most => return Ok(Found::Long(Some(span))),
                Some(span) => return Ok(Found::Row(span)),
                // A carriage return may belong to the line end.
                None if seen > most + 1 => {
                    self.closed_quote(window.position(), 0)?;
                    return Ok(Found::Long(None));
                }
                None if window.fill() => {}
                None => return self.at_end(window),
            }
        }
    }

    /// What stands before the end of the source, without a line end.
    fn at_end(&mut self, window: &Window) -> Result<Found, SourceError> {
        let place = window.position();
        self.settings.ended(window, place)?;
        if window.rest().is_empty() {
            return Ok(Found::End);
        }
        self.closed_quote(place, 0)?;
        if !self.settings.accept_last_line {
            return Err(self.settings.torn(place));
        }
        Ok(Found::Row(self.splitter.finish(window.rest())))
    }

    /// Refuses a quote that is open for more than `most` bytes in the row at `place`.
    fn closed_quote(&self, place: Position, most: usize) -> Result<(), SourceError> {
        match self.splitter.open_quote() {
            Some((lines, bytes, open)) if open >= most as u64 => {
                let quote = Position { byte: place.byte + bytes, line: place.line + lines };
                let why = format!(
                    "the quote that opens in line {} is not closed within {} bytes; close it, or write a quote inside a field twice",
                    quote.line, self.settings.record_max_bytes
                );
                Err(self.settings.refused(quote, why))
            }
            _ => Ok(()),
        }
    }

    /// Goes past a row that is too long, in bounded memory.
    fn skip(&mut self, window: &mut Window, whole: Option<Span>) -> Result<Item, SourceError> {
        let place = window.position();
        let raw = window.rest()[..window.rest().len().min(CUT_BYTES)].to_vec();
        window.mark();
        if let Some(span) = whole {
            window.take(span.whole);
        } else {
            loop {
                window.take(self.splitter.forget());
                if let Some(span) = self.splitter.advance(window.rest()) {
                    window.take(span.whole);
                    break;
                }
                self.closed_quote(place, self.settings.record_max_bytes)?;
                if !window.fill() {
                    self.settings.ended(window, place)?;
                    self.closed_quote(place, 0)?;
                    if !self.settings.accept_last_line {
                        return Err(self.settings.torn(place));
                    }
                    window.take(window.rest().len());
                    break;
                }
            }
        }
        window.unmark();
        Ok(self.settings.too_long(place, &raw))
    }

    fn record(&self, place: Position, raw: &[u8]) -> Result<Record, Unfit> {
        let unfit = |reason: String| Unfit { key: None, reason };
        if let Some(problem) = self.splitter.problem() {
            return Err(unfit(problem.to_string()));
        }
        let row = std::str::from_utf8(raw).map_err(|error| {
            let byte = place.byte + error.valid_up_to() as u64;
            unfit(format!("not UTF-8 at byte {byte}; convert the file to UTF-8"))
        })?;
        let columns = self.columns.as_ref().ok_or_else(|| unfit("before the header line".to_owned()))?;
        let texts: Vec<Cow<'_, str>> = self.splitter.pieces().iter().map(|piece| text(row, *piece)).collect();
        self.settings.shape.of_texts(place, columns, &texts)
    }

    fn read_header(&mut self, window: &mut Window, span: Span) -> Result<Fingerprint, SourceError> {
        let place = window.position();
        let refused = |why: String| self.settings.refused(place, why);
        let raw = &window.rest()[..span.content];
        if let Some(problem) = self.splitter.problem() {
            return Err(refused(format!("in the header line, {problem}")));
        }
        let row = std::str::from_utf8(raw).map_err(|error| {
            let byte = place.byte + error.valid_up_to() as u64;
            refused(format!("the header line is not UTF-8 at byte {byte}; convert the file to UTF-8"))
        })?;
        let names = self.splitter.pieces().iter().map(|piece| text(row, *piece).into_owned()).collect();
        let columns = header::columns(names, self.delimiter, &self.settings.shape).map_err(refused)?;
        self.columns = Some(columns);
        self.header = Some(raw.to_vec());
        let fingerprint = Fingerprint::from_bytes(Sha256::digest(raw).into());
        window.take(span.whole);
        Ok(fingerprint)
    }

    /// No header line ends here; why.
    fn no_header(&self, window: &Window, otherwise: SourceError) -> SourceError {
        let rest = window.rest();
        let lone = memchr(b'\r', rest).is_some() && memchr(b'\n', rest).is_none();
        if lone && self.settings.ended(window, window.position()).is_ok() {
            let why = "the lines end with carriage returns (CR) alone; convert them, such as with: tr '\\r' '\\n'";
            return self.settings.refused(window.position(), why);
        }
        otherwise
    }
}

impl Grammar for Table {
    fn begin(&mut self, window: &mut Window) -> Result<Option<Fingerprint>, SourceError> {
        loop {
            let found = self.find(window, None);
            let place = window.position();
            match found {
                Ok(Found::Blank(span)) => window.take(span.whole),
                // With `accept_last_line`, a file of one line with returns in it.
                Ok(Found::Row(span)) if span.content == span.whole && self.splitter.problem().is_some() => {
                    let problem = self.splitter.problem().map(|problem| problem.to_string()).unwrap_or_default();
                    return Err(self.no_header(window, self.settings.refused(place, problem)));
                }
                Ok(Found::Row(span)) => return self.read_header(window, span).map(Some),
                Ok(Found::Long(_)) => {
                    let why = format!("the header line is longer than {} bytes", self.settings.record_max_bytes);
                    return Err(self.no_header(window, self.settings.refused(place, why)));
                }
                Ok(Found::End | Found::Full) => {
                    return Err(self.settings.refused(place, "no header line; the first line has to name the columns"));
                }
                Err(error) => return Err(self.no_header(window, error)),
            }
        }
    }

    fn next(&mut self, window: &mut Window, room: Option<usize>) -> Result<Next, SourceError> {
        loop {
            match self.find(window, room)? {
                Found::Blank(span) => window.take(span.whole),
                Found::Full => return Ok(Next::Full),
                Found::End => return Ok(Next::End),
                Found::Long(span) => return self.skip(window, span).map(Next::Item),
                Found::Row(span) => {
                    let place = window.position();
                    let raw = &window.rest()[..span.content];
                    let item = match self.record(place, raw) {
                        Ok(record) => Item::Record(record),
                        Err(unfit) => Settings::rejected(place, unfit.key, &unfit.reason, raw),
                    };
                    window.take(span.whole);
                    return Ok(Next::Item(item));
                }
            }
        }
    }

    fn header(&self) -> Option<&[u8]> {
        self.header.as_deref()
    }
}

/// A field without its quotes.
fn text(row: &str, piece: Piece) -> Cow<'_, str> {
    let inner = &row[piece.from..piece.to];
    if piece.doubled { Cow::Owned(inner.replace("\"\"", "\"")) } else { Cow::Borrowed(inner) }
}
