//! Pages of records, with the checkpoint after each: the one place where bytes, rows and limits meet. It runs on the reading thread.

use std::sync::Arc;

use onebell::handler::{Page, PageLimit, SourceError};
use onebell::model::Fingerprint;
use onebell::model::record::{Checkpoint, Item, Position};

use super::Format;
use super::decode::Input;
use super::lines::Lines;
use super::settings::Settings;
use super::table::Table;
use super::window::{End, Window};

/// What stands next in a source.
pub(super) enum Next {
    /// It was taken.
    Item(Item),
    /// More bytes than there is room for; nothing was taken.
    Full,
    /// Nothing.
    End,
}

/// How records stand in bytes.
pub(super) trait Grammar: Send {
    /// Takes what stands before the first record; answers the fingerprint of the header line, if there has to be one.
    fn begin(&mut self, window: &mut Window) -> Result<Option<Fingerprint>, SourceError>;

    /// Takes the next item, which may have `room` bytes. After an error it is called no more.
    fn next(&mut self, window: &mut Window, room: Option<usize>) -> Result<Next, SourceError>;

    /// The header line, without its line end.
    fn header(&self) -> Option<&[u8]>;
}

/// A source that is being read.
pub(super) struct Pages {
    settings: Arc<Settings>,
    window: Window,
    grammar: Box<dyn Grammar>,
    header: Option<Fingerprint>,
    /// Whether it can be read again, so that a hash of what was read is of use.
    repeats: bool,
    failed: Option<SourceError>,
}

impl Pages {
    /// Nothing is read yet.
    pub(super) fn new(input: Input, format: Format, settings: Arc<Settings>, repeats: bool) -> Self {
        let grammar: Box<dyn Grammar> = match format {
            Format::Csv { delimiter } => Box::new(Table::new(settings.clone(), delimiter)),
            Format::Ndjson => Box::new(Lines::new(settings.clone())),
        };
        Self { settings, window: Window::new(input), grammar, header: None, repeats, failed: None }
    }

    /// Goes to the first record, or to where `from` is, after reading all that stands before it.
    pub(super) fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        let begun = self.settings.begin(&mut self.window).and_then(|()| self.grammar.begin(&mut self.window));
        let Some(from) = from.filter(|from| from.position.byte > 0) else {
            self.header = begun?;
            return Ok(());
        };
        // That the bytes changed is told before what is wrong with what they are now.
        self.verify(from)?;
        self.header = begun?;
        if self.header != from.header {
            return Err(self.settings.changed(Position { byte: 0, line: 1 }, "its header line is another"));
        }
        Ok(())
    }

    fn verify(&mut self, from: &Checkpoint) -> Result<(), SourceError> {
        let wanted = from.position.byte;
        let Some(prefix) = from.prefix else {
            let why = "what was read before cannot be compared, because it came from a stream";
            return Err(self.settings.changed(from.position, why));
        };
        while self.window.position().byte < wanted {
            let missing = usize::try_from(wanted - self.window.position().byte).unwrap_or(usize::MAX);
            let here = self.window.rest().len().min(missing);
            if here > 0 {
                self.window.take(here);
            } else if !self.window.fill() {
                return Err(self.shorter(from.position));
            }
        }
        let (position, hash) = self.window.place();
        if position != from.position || hash != prefix {
            let why = format!("the {wanted} bytes before it are others than when they were read");
            return Err(self.settings.changed(from.position, why));
        }
        Ok(())
    }

    fn shorter(&self, wanted: Position) -> SourceError {
        let here = self.window.position();
        if matches!(self.window.end(), Some(End::Failed(_)))
            && let Err(error) = self.settings.ended(&self.window, here)
        {
            return error;
        }
        let why = format!("it ends after {} bytes and is shorter than what was read before, {} bytes", here.byte, wanted.byte);
        self.settings.changed(here, why)
    }

    /// The header line, if there is one.
    pub(super) fn header(&self) -> Option<&[u8]> {
        self.grammar.header()
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.window.capacity()
    }

    /// The next items.
    pub(super) fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let start = self.window.position().byte;
        let mut items = Vec::new();
        let mut last = false;
        while items.len() < limit.items.max(1) {
            let used = usize::try_from(self.window.position().byte - start).unwrap_or(usize::MAX);
            let room = (!items.is_empty()).then(|| limit.bytes.saturating_sub(used));
            match self.grammar.next(&mut self.window, room) {
                Ok(Next::Item(item)) => items.push(item),
                Ok(Next::Full) => break,
                Ok(Next::End) => {
                    last = true;
                    break;
                }
                Err(error) if items.is_empty() || self.broke_off() => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
                // What was read before it is given first.
                Err(error) => {
                    self.failed = Some(error);
                    break;
                }
            }
        }
        let last = last || (self.failed.is_none() && self.window.is_done());
        Ok(Page { items, after: self.checkpoint(), last })
    }

    /// Whether who gives a stream failed: what came since the last page is left to the next reading, which begins at its start.
    fn broke_off(&self) -> bool {
        !self.repeats && matches!(self.window.end(), Some(End::Failed(_) | End::Refused(_)))
    }

    fn checkpoint(&mut self) -> Checkpoint {
        let (position, hash) = self.window.place();
        Checkpoint { position, prefix: self.repeats.then_some(hash), header: self.header }
    }
}
