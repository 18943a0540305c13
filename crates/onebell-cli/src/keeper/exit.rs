//! What an end means for the step: done, worth another try, or permanent. Pure.

use super::kept::End;

/// What to do after a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It did its work.
    Done,
    /// Another try may succeed.
    Retry,
    /// Another try would fail the same way.
    Permanent,
}

/// `exit_codes` of a step. A code in both lists is permanent; 0 is always done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExitCodes {
    /// Codes that are permanent besides 64 (usage), 65 (data), 78 (configuration), 126 and 127 (the shell's "cannot execute" and
    /// "not found").
    pub permanent: Vec<i32>,
    /// Codes that are tried again although they are among those.
    pub retry: Vec<i32>,
}

/// `EX_USAGE`, `EX_DATAERR`, `EX_CONFIG` of sysexits.h; the shell's "not executable" and "not found".
const PERMANENT: [i32; 5] = [64, 65, 78, 126, 127];

/// Judges an end: 0 is done, 64, 65, 78, 126 and 127 are permanent, any other code (75, `EX_TEMPFAIL`, among them), every signal
/// and every end that the keeper brought about is worth another try.
///
/// ```
/// use onebell_cli::keeper::{End, ExitCodes, Verdict, classify};
/// assert_eq!(classify(&End::Exited(75), &ExitCodes::default()), Verdict::Retry);
/// assert_eq!(classify(&End::Exited(2), &ExitCodes { permanent: vec![2], retry: vec![] }), Verdict::Permanent);
/// ```
#[must_use]
pub fn classify(end: &End, overrides: &ExitCodes) -> Verdict {
    match end {
        End::Exited(0) => Verdict::Done,
        End::Exited(code) if overrides.permanent.contains(code) => Verdict::Permanent,
        End::Exited(code) if overrides.retry.contains(code) => Verdict::Retry,
        End::Exited(code) if PERMANENT.contains(code) => Verdict::Permanent,
        End::Exited(_) | End::Signalled(_) | End::EndedByKeeper(_) | End::KeeperLost => Verdict::Retry,
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Reason;
    use super::*;

    #[test]
    fn every_end_has_the_verdict_of_the_protocol() {
        let none = ExitCodes::default();
        assert_eq!(classify(&End::Exited(0), &none), Verdict::Done);
        for code in 1..=255 {
            let permanent = matches!(code, 64 | 65 | 78 | 126 | 127);
            let expected = if permanent { Verdict::Permanent } else { Verdict::Retry };
            assert_eq!(classify(&End::Exited(code), &none), expected, "{code}");
        }
        for end in [End::Signalled(9), End::EndedByKeeper(Reason::Lapsed), End::KeeperLost] {
            assert_eq!(classify(&end, &none), Verdict::Retry);
        }
    }

    #[test]
    fn overrides_win_over_the_defaults_but_not_over_success() {
        let codes = ExitCodes { permanent: vec![0, 3, 4], retry: vec![4, 64, 127] };
        let verdict = |code| classify(&End::Exited(code), &codes);
        assert_eq!(verdict(0), Verdict::Done);
        assert_eq!((verdict(3), verdict(4)), (Verdict::Permanent, Verdict::Permanent));
        assert_eq!((verdict(64), verdict(127), verdict(65)), (Verdict::Retry, Verdict::Retry, Verdict::Permanent));
    }
}
