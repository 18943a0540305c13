//! What an answer means for the step.

use std::time::Duration;

use onebell::handler::{Done, Outcome};
use onebell::store::StepOutput;

use super::super::rows;
use super::super::spec::HttpStep;
use super::ANSWER_MAX;
use crate::http::{Answer, BodyEnd, Seen};
use crate::keeper::{Captured, mask};

/// The outcome, with what came back.
pub fn conclude(seen: &Seen, step: &HttpStep, secrets: &[String]) -> Outcome {
    let answer = match seen {
        Seen::Answer(answer) => answer,
        Seen::Nothing(error) => return Outcome::retry(format!("nothing was sent: {error}")),
        Seen::Broken(error) => return Outcome::retry(format!("the request went out, then: {error}; it may have been done")),
    };
    let output = StepOutput { summary: answer.to_string(), stdout: kept(answer, secrets), ..StepOutput::default() };
    let told = answer.told(secrets);
    match meaning(answer, step) {
        Meaning::Done => done(answer, step, output),
        Meaning::Again(after) => Outcome::Retry { error: told, after, output },
        Meaning::Never => Outcome::Failed { error: refusal(answer, told), output },
    }
}

enum Meaning {
    Done,
    Again(Option<Duration>),
    Never,
}

/// What is written in the job file goes before what is usual.
fn meaning(answer: &Answer, step: &HttpStep) -> Meaning {
    let status = answer.status;
    let expected = if step.expect.is_empty() { (200..300).contains(&status) } else { step.expect.contains(&status) };
    if step.permanent_on.contains(&status) {
        Meaning::Never
    } else if step.retry_on.contains(&status) {
        Meaning::Again(answer.wait())
    } else if expected {
        Meaning::Done
    } else if answer.is_not_now() || status >= 500 {
        Meaning::Again(answer.wait())
    } else {
        Meaning::Never
    }
}

fn refusal(answer: &Answer, told: String) -> String {
    match answer.status {
        300..=399 => format!("{told}; redirects are not followed: write that address as url"),
        _ => told,
    }
}

fn done(answer: &Answer, step: &HttpStep, output: StepOutput) -> Outcome {
    if !step.output {
        return Outcome::Done(Done { output, ..Done::default() });
    }
    match &answer.end {
        BodyEnd::Whole => {}
        BodyEnd::Cut => {
            let error = format!("the answer is longer than {} bytes of rows; split the work", rows::ROWS_MAX_BYTES);
            return Outcome::Failed { error, output };
        }
        BodyEnd::Broken(why) => {
            return Outcome::Retry { error: format!("the answer broke off: {why}"), after: None, output };
        }
    }
    match rows::answered(&answer.body) {
        Ok(rows) => Outcome::Done(Done { output: StepOutput { rows, ..output }, ..Done::default() }),
        Err(wrong) => Outcome::Failed { error: format!("the answer: {wrong}"), output },
    }
}

/// The beginning of the body, as `onebell logs` shows it.
fn kept(answer: &Answer, secrets: &[String]) -> Vec<u8> {
    let head = &answer.body[..answer.body.len().min(ANSWER_MAX)];
    let open = head.len() < answer.body.len() || answer.end != BodyEnd::Whole;
    let mut kept = Captured { head: head.to_vec(), total: head.len() as u64, open, ..Captured::default() };
    mask(&mut kept, secrets);
    kept.head
}
