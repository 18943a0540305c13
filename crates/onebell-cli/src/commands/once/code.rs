//! Exit codes, as `env` and `timeout` have them.

use std::os::unix::process::CommandExt;

use onebell::store::RunDetail;

use crate::answer::Failure;
use crate::keeper::StartError;

/// Ours, as long as nothing was run.
const OWN: u8 = 125;

/// What the command exited with, whoever ran it.
pub(super) fn of(detail: &RunDetail) -> u8 {
    if detail.run.status == "succeeded" {
        return 0;
    }
    let attempts = detail.steps.iter().filter_map(|step| step.attempts.last());
    attempts.filter_map(|attempt| of_summary(&attempt.summary)).next_back().unwrap_or(OWN)
}

/// `exit code 3`, `signal 9`, with whatever follows.
fn of_summary(summary: &str) -> Option<u8> {
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u8>().ok();
    match (summary.strip_prefix("exit code "), summary.strip_prefix("signal ")) {
        (Some(rest), _) => number(rest),
        (None, Some(rest)) => number(rest).and_then(of_number),
        (None, None) => None,
    }
}

fn of_number(signal: u8) -> Option<u8> {
    128_u8.checked_add(signal)
}

/// As a shell says it of a command that a signal ended.
pub(super) fn of_signal(signal: u8) -> u8 {
    of_number(signal).unwrap_or(OWN)
}

/// This process becomes the command. It only returns when that cannot be started.
pub(super) fn run_bare(command: &[String]) -> Failure {
    let Some((program, arguments)) = command.split_first() else { return Failure::Exit(OWN) };
    let error = std::process::Command::new(program).args(arguments).exec();
    let error = StartError::of_exec(program, error);
    tracing::error!("{error}");
    Failure::Exit(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read_as_the_command_handler_writes_them() {
        assert_eq!(of_summary("exit code 0"), Some(0));
        assert_eq!(of_summary("exit code 3, 2 processes left behind were ended"), Some(3));
        assert_eq!(of_summary("signal 9"), Some(137));
        assert_eq!(of_summary("its keeper was killed; what it did last is unknown"), None);
        assert_eq!(of_summary(""), None);
    }
}
