//! How long things took: numbers for programs, small bars for people who look at a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use onebell::model::Moment;

/// So many cells has the longest bar.
const CELLS: usize = 8;

/// What a terminal can draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// Eighths of blocks.
    Blocks,
    /// Only what every terminal has.
    Plain,
}

impl Ink {
    /// Nothing where no terminal is: who reads that wants columns that mean one thing.
    pub(super) fn of_stdout() -> Option<Self> {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| std::env::var(name).ok());
        std::io::stdout().is_terminal().then(|| Self::of_locale(locale))
    }

    /// The first variable that says something counts.
    fn of_locale(said: impl IntoIterator<Item = String>) -> Self {
        let locale = said.into_iter().find(|value| !value.is_empty()).unwrap_or_default().to_lowercase();
        if locale.contains("utf-8") || locale.contains("utf8") { Self::Blocks } else { Self::Plain }
    }

    /// A bar beside the longest one.
    pub(super) fn bar(self, span: Duration, longest: Duration) -> String {
        let eighths = share(span, longest, CELLS * 8);
        match self {
            Self::Plain => "#".repeat(eighths.div_ceil(8).max(1)),
            Self::Blocks => {
                let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
                let bar = format!("{}{rest}", "█".repeat(eighths / 8));
                if bar.is_empty() { "▏".to_owned() } else { bar }
            }
        }
    }

    /// One character for each, beside the longest.
    pub(super) fn row(self, spans: &[Duration]) -> String {
        let longest = spans.iter().max().copied().unwrap_or_default();
        let steps = match self {
            Self::Blocks => ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Plain => ['.', ',', ':', '-', '=', '+', '*', '#'],
        };
        spans.iter().map(|span| steps[share(*span, longest, steps.len()).saturating_sub(1)]).collect()
    }
}

/// Of `whole` parts so many, rounded up.
fn share(span: Duration, longest: Duration, whole: usize) -> usize {
    let (span, longest) = (span.as_micros(), longest.as_micros().max(1));
    usize::try_from((span * whole as u128).div_ceil(longest)).unwrap_or(whole).min(whole)
}

/// In milliseconds, once both are known.
pub(super) fn milliseconds(from: Option<Moment>, to: Option<Moment>) -> Option<u64> {
    u64::try_from(to?.since(from?).as_millis()).ok()
}

/// For people: `12.3s`; nothing of it is known yet: `–`.
pub(super) fn took(from: Option<Moment>, to: Option<Moment>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => format!("{:.1?}", to.since(from)),
        _ => "–".to_owned(),
    }
}

/// To the second: as much as a table has room for.
pub(super) fn second(at: Moment) -> String {
    at.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bar_is_as_long_as_its_share_and_never_nothing() {
        let bars = |ink: Ink| [0, 1, 4, 8].map(|n| ink.bar(SECOND * n, SECOND * 8));
        assert_eq!(bars(Ink::Blocks), ["▏", "█", "████", "████████"]);
        assert_eq!(bars(Ink::Plain), ["#", "#", "####", "########"]);
        assert_eq!(Ink::Blocks.bar(SECOND, SECOND * 16), "▌");
        assert_eq!(Ink::Blocks.bar(SECOND * 9, SECOND * 8).chars().count(), CELLS, "never longer than the longest");
        assert_eq!(Ink::Plain.bar(Duration::ZERO, Duration::ZERO), "#");
    }

    #[test]
    fn a_row_has_one_character_for_each() {
        assert_eq!(Ink::Blocks.row(&[SECOND, SECOND * 4, SECOND * 8]), "▁▄█");
        assert_eq!(Ink::Plain.row(&[SECOND, SECOND * 4, SECOND * 8]), ".-#");
        assert_eq!(Ink::Plain.row(&[]), "");
    }

    #[test]
    fn blocks_are_drawn_only_where_the_locale_has_them() {
        let ink = |said: &[&str]| Ink::of_locale(said.iter().map(|said| (*said).to_owned()));
        assert_eq!(ink(&["", "vi_VN.UTF-8"]), Ink::Blocks);
        assert_eq!(ink(&["C", "vi_VN.UTF-8"]), Ink::Plain);
        assert_eq!((ink(&[]), ink(&["C.utf8"])), (Ink::Plain, Ink::Blocks));
    }
}
