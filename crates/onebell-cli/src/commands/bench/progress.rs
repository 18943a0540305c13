//! What is being measured, on a terminal.

use std::io::{IsTerminal, Write};

pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal() }
    }

    pub(super) fn at(&self, what: &str) {
        if self.terminal {
            drop(write!(std::io::stderr(), "\r\x1b[Kbench: {what}"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal {
            drop(write!(std::io::stderr(), "\r\x1b[K"));
        }
    }
}
