//! The log on stderr. Each event is written at once, so that what came from elsewhere can be looked through.

use std::io::{Result, Write, stderr};

use onebell::model::shown::shown_lines;

/// Where events are written: what would act on a terminal is spelled out.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    /// Whether the escape sequences of our own colours pass. Those in values are spelled out before them.
    pub colours: bool,
}

impl Write for Lines {
    fn write(&mut self, event: &[u8]) -> Result<usize> {
        let text = String::from_utf8_lossy(event);
        let text = if self.colours {
            text.split('\u{1b}').map(shown_lines).collect::<Vec<_>>().join("\u{1b}")
        } else {
            shown_lines(&text)
        };
        stderr().write_all(text.as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> Result<()> {
        stderr().flush()
    }
}
