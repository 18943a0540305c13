//! How far a reading is, on a terminal, at most once a second.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use onebell::model::shown::shown;
use onebell::time::{SystemTimer, Timer};

use crate::apply::Progress;

const PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Line {
    name: String,
    begun: Duration,
    shown: Option<Duration>,
    terminal: bool,
}

impl Line {
    pub(super) fn new(name: &str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { name: shown(name), begun: SystemTimer.elapsed(), shown: None, terminal }
    }

    pub(super) fn show(&mut self, far: Progress) {
        let now = SystemTimer.elapsed();
        let done = far.records;
        if !self.terminal || now < self.shown.unwrap_or(self.begun) + PAUSE {
            return;
        }
        self.shown = Some(now);
        let seconds = (now - self.begun).as_secs_f64().max(0.001);
        let rate = done as f64 / seconds;
        let left = match (far.size, far.read) {
            (Some(size), Some(read @ 1..)) if size > 0 => {
                let share = read as f64 / size as f64;
                format!(", {:.0} %, about {:.0} s left", share * 100.0, (seconds / share - seconds).max(0.0))
            }
            _ => String::new(),
        };
        drop(write!(std::io::stderr(), "\r\x1b[K{}: {done} records, {rate:.0}/s{left}", self.name));
    }

    pub(super) fn end(&self) {
        if self.shown.is_some() {
            drop(write!(std::io::stderr(), "\r\x1b[K"));
        }
    }
}
