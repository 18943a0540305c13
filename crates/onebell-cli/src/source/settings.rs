//! What the readers of one source know, and how they say what is wrong with it.

use std::io;

use onebell::handler::SourceError;
use onebell::model::record::{Item, Position, Rejection, Shape};

use super::window::{End, Window};

const START: Position = Position { byte: 0, line: 1 };

/// How much is kept of a record that is too long.
pub(super) const CUT_BYTES: usize = 1024;

/// In the reason of a rejection whose bytes are not whole.
pub(super) const CUT: &str = "only its beginning is kept";

/// What does not change while a source is read.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The source's, for people.
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) record_max_bytes: usize,
    pub(super) accept_last_line: bool,
}

impl Settings {
    /// It cannot be read from `place` on.
    pub(super) fn refused(&self, place: Position, why: impl AsRef<str>) -> SourceError {
        let message = format!("{}: line {} (byte {}): {}", self.name, place.line, place.byte, why.as_ref());
        SourceError::Refused { place, message }
    }

    /// It is not what it was.
    pub(super) fn changed(&self, place: Position, why: impl AsRef<str>) -> SourceError {
        SourceError::Changed(format!(
            "{}: line {} (byte {}): {}; it is not what was read before. Put that back, or begin anew with --restart: what was applied is known by its identity and is not applied again",
            self.name,
            place.line,
            place.byte,
            why.as_ref()
        ))
    }

    /// The last line may be a part of what was to be written.
    pub(super) fn torn(&self, place: Position) -> SourceError {
        self.refused(
            place,
            "the last line has no line end: it may be cut off; append a line end if it is whole, or pass --accept-last-line",
        )
    }

    /// Why there is nothing more, if that is an error.
    pub(super) fn ended(&self, window: &Window, place: Position) -> Result<(), SourceError> {
        match window.end() {
            None | Some(End::Whole) => Ok(()),
            Some(End::Corrupt(why) | End::Refused(why)) => Err(self.refused(place, why)),
            Some(End::Failed(why)) => Err(SourceError::Unreadable(format!(
                "{}: line {} (byte {}): cannot be read: {why}",
                self.name, place.line, place.byte
            ))),
        }
    }

    /// Its first bytes are not what they should be, or could not be read.
    pub(super) fn unopened(&self, error: &io::Error) -> SourceError {
        match End::of(error) {
            End::Corrupt(why) | End::Refused(why) => self.refused(START, why),
            _ => SourceError::Unreadable(format!("{}: line 1 (byte 0): cannot be read: {error}", self.name)),
        }
    }

    /// A rejection; its reason names the line.
    pub(super) fn rejected(place: Position, key: Option<String>, reason: &str, raw: &[u8]) -> Item {
        Item::Rejected(Rejection { place, key, reason: format!("line {}: {reason}", place.line), raw: raw.to_vec() })
    }

    /// The rejection of a record that is too long; `raw` is its beginning.
    pub(super) fn too_long(&self, place: Position, raw: &[u8]) -> Item {
        let most = self.record_max_bytes;
        let reason = format!("the record is longer than {most} bytes ({CUT}); shorten it, or allow for longer ones");
        Self::rejected(place, None, &reason, &raw[..raw.len().min(CUT_BYTES).min(most)])
    }

    /// What no encoding but UTF-8 begins with, and the byte order mark, which is taken.
    pub(super) fn begin(&self, window: &mut Window) -> Result<(), SourceError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        window.fill_to(2 * MARK.len());
        let place = window.position();
        if let Some(encoding) = wide(window.rest()) {
            let why = format!("the text is {encoding}; convert it to UTF-8, such as with: iconv -f {encoding} -t UTF-8");
            return Err(self.refused(place, why));
        }
        if window.rest().starts_with(MARK) {
            window.take(MARK.len());
            if window.rest().starts_with(MARK) {
                return Err(self.refused(window.position(), "a second byte order mark (EF BB BF); remove it"));
            }
        }
        Ok(())
    }
}

/// UTF-16 or UTF-32, by their marks or by the zeros in ASCII.
fn wide(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0xff, 0xfe, 0, 0, ..] => "UTF-32LE",
        [0, 0, 0xfe, 0xff, ..] => "UTF-32BE",
        [0xff, 0xfe, ..] => "UTF-16LE",
        [0xfe, 0xff, ..] => "UTF-16BE",
        [1..=255, 0, 1..=255, 0, ..] => "UTF-16LE",
        [0, 1..=255, 0, 1..=255, ..] => "UTF-16BE",
        _ => return None,
    })
}
