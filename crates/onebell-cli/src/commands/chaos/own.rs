//! Runs that fail without any fault: the job's own mistake, of which chaos has nothing to say.

use onebell::store::{RunDetail, StepDetail};

/// Why, and what to do, if a step of this run failed by itself: no attempt of it was cut short from outside. `cut`: connections to
/// the database were, which steps report as errors of their own; those pass.
pub(super) fn own_failure(run: &RunDetail, cut: bool) -> Option<String> {
    let ended = |status: &str| status == "failed" || (status == "exhausted" && !cut);
    let step = run.steps.iter().find(|step| ended(&step.status) && is_own(step))?;
    let error = step.error.clone().or_else(|| step.attempts.last().and_then(|attempt| attempt.error.clone()));
    let error = error.unwrap_or_else(|| "it says no reason".to_owned());
    Some(format!(
        "step {:?} of job {:?} fails by itself, before any fault touched it: {error}\n{}",
        step.name,
        run.run.job,
        remedy(&error)
    ))
}

fn is_own(step: &StepDetail) -> bool {
    let from_outside = |outcome: &str| matches!(outcome, "lost" | "stopped" | "overdue");
    !step.attempts.is_empty() && !step.attempts.iter().any(|attempt| from_outside(&attempt.outcome))
}

fn remedy(error: &str) -> &'static str {
    let error = error.to_lowercase();
    let tables = ["no such table", "no such column", "no such function", "does not exist", "unknown"];
    if error.contains("template") || error.contains("onebell_output") {
        "Its rows come from a stand-in, because commands are not run. Give it rows like the command's own: --rows STEP=FILE (one JSON \
         object per line), or run the commands as they are: --real-steps"
    } else if tables.iter().any(|words| error.contains(words)) {
        "The scratch database has none of your tables. Give them to it: --setup FILE.sql"
    } else {
        "Mend the job first; `onebell run` on a scratch database shows the same"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_with_the_flag_that_gives_it() {
        assert!(remedy("SQL logic error: no such table: debts").contains("--setup"));
        assert!(remedy("relation \"debts\" does not exist").contains("--setup"));
        assert!(remedy("row 1 of step \"compute\": template \"text\": row.x does not exist").contains("--rows"));
        assert!(remedy("exit code 1").contains("onebell run"));
    }
}
