//! NDJSON: one object per line. What stands on a line is either one whole object or is told with its place.

use std::sync::Arc;

use memchr::memchr;
use onebell::handler::SourceError;
use onebell::model::Fingerprint;
use onebell::model::fingerprint::canonical;
use onebell::model::record::{Item, Position, Record, Unfit};

use super::pages::{Grammar, Next};
use super::settings::{CUT_BYTES, Settings};
use super::window::Window;

/// A reader of lines.
pub(super) struct Lines {
    settings: Arc<Settings>,
}

enum Found {
    /// Bytes up to the line feed, and with it.
    Line(usize, usize),
    Long,
    Full,
    End,
}

impl Lines {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self { settings }
    }

    fn find(&self, window: &mut Window, room: Option<usize>) -> Result<Found, SourceError> {
        // A carriage return before the line feed is not counted.
        let most = self.settings.record_max_bytes + 1;
        let mut seen = 0;
        loop {
            let end = memchr(b'\n', &window.rest()[seen..]).map(|found| seen + found);
            seen = end.map_or(window.rest().len(), |end| end + 1);
            match end {
                Some(end) if is_blank(&window.rest()[..end]) => return Ok(Found::Line(end, end + 1)),
                _ if room.is_some_and(|room| seen > room) => return Ok(Found::Full),
                Some(end) if content(&window.rest()[..end]) >= most => return Ok(Found::Long),
                Some(end) => return Ok(Found::Line(end, end + 1)),
                None if seen > most => return Ok(Found::Long),
                None if window.fill() => {}
                None => return self.at_end(window),
            }
        }
    }

    fn at_end(&self, window: &Window) -> Result<Found, SourceError> {
        let (place, rest) = (window.position(), window.rest());
        self.settings.ended(window, place)?;
        if rest.is_empty() {
            return Ok(Found::End);
        }
        // What ends with its closing brace was not cut off.
        let whole = |line: &str| line.trim_start().starts_with('{') && canonical(line).is_ok();
        if !self.settings.accept_last_line && !std::str::from_utf8(rest).is_ok_and(whole) {
            self.begins_with_object(rest, place)?;
            return Err(self.settings.torn(place));
        }
        let long = content(rest) > self.settings.record_max_bytes;
        Ok(if long { Found::Long } else { Found::Line(rest.len(), rest.len()) })
    }

    fn skip(&self, window: &mut Window) -> Result<Item, SourceError> {
        let place = window.position();
        let raw = window.rest()[..window.rest().len().min(CUT_BYTES)].to_vec();
        window.mark();
        loop {
            let rest = window.rest();
            if let Some(end) = memchr(b'\n', rest) {
                window.take(end + 1);
                break;
            }
            window.take(rest.len());
            if !window.fill() {
                self.settings.ended(window, place)?;
                if !self.settings.accept_last_line {
                    return Err(self.settings.torn(place));
                }
                break;
            }
        }
        window.unmark();
        Ok(self.settings.too_long(place, &raw))
    }

    fn record(&self, place: Position, line: &[u8]) -> Result<Record, Unfit> {
        let text = std::str::from_utf8(line).map_err(|error| {
            let byte = place.byte + error.valid_up_to() as u64;
            Unfit { key: None, reason: format!("not UTF-8 at byte {byte}; convert the file to UTF-8") }
        })?;
        self.settings.shape.of_json(place, text)
    }

    /// What a whole file of JSON looks like in its first line.
    fn begins_with_object(&self, line: &[u8], place: Position) -> Result<(), SourceError> {
        if place.line > 1 {
            return Ok(());
        }
        match line.trim_ascii() {
            [b'[', ..] => {
                let why = "a JSON array, not one object per line; write it so, such as with: jq -c '.[]'";
                Err(self.settings.refused(place, why))
            }
            b"{" => {
                let why = "an object over several lines, not one per line; write it so, such as with: jq -c .";
                Err(self.settings.refused(place, why))
            }
            _ => Ok(()),
        }
    }
}

impl Grammar for Lines {
    fn begin(&mut self, _window: &mut Window) -> Result<Option<Fingerprint>, SourceError> {
        Ok(None)
    }

    fn next(&mut self, window: &mut Window, room: Option<usize>) -> Result<Next, SourceError> {
        loop {
            let (end, whole) = match self.find(window, room)? {
                Found::Full => return Ok(Next::Full),
                Found::End => return Ok(Next::End),
                Found::Long => {
                    self.begins_with_object(&window.rest()[..1], window.position())?;
                    return self.skip(window).map(Next::Item);
                }
                Found::Line(end, whole) => (end, whole),
            };
            let place = window.position();
            let line = &window.rest()[..end];
            if is_blank(line) {
                window.take(whole);
                continue;
            }
            self.begins_with_object(line, place)?;
            let line = &line[..content(line)];
            let item = match self.record(place, line) {
                Ok(record) => Item::Record(record),
                Err(unfit) => Settings::rejected(place, unfit.key, &unfit.reason, line),
            };
            window.take(whole);
            return Ok(Next::Item(item));
        }
    }

    fn header(&self) -> Option<&[u8]> {
        None
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Bytes without the carriage return of a line end.
fn content(line: &[u8]) -> usize {
    line.len() - usize::from(line.last() == Some(&b'\r'))
}
