//! What becomes of a mail when its server errs: sent again while nothing can have arrived, failed at a no, and in doubt
//! exactly when nobody can know.

use std::sync::Arc;
use std::time::Duration;

use onebell_cli::mailbox::{Hold, HookAction, Phase};
use tokio::sync::Notify;

use crate::relay::{Base, Case, try_all};

const BEFORE: [Phase; 4] = [Phase::Connected, Phase::Mail, Phase::Rcpt, Phase::Data354];

fn reply(words: &str) -> HookAction {
    HookAction::Reply(words.to_owned())
}

fn silence() -> HookAction {
    HookAction::Hold(Hold::Until(Arc::new(Notify::new())))
}

/// The same trouble at several phases, with the same end.
fn at(phases: &[Phase], action: impl Fn() -> HookAction, status: &'static str, arrived: u64) -> Vec<Case> {
    phases.iter().map(|phase| Case::new(*phase, action(), status, arrived)).collect()
}

async fn k12_a_connection_lost_before_the_content_is_sent_again(base: Base) {
    let mut cases = at(&BEFORE, || HookAction::Close, "sent", 1);
    cases.extend(at(&BEFORE, || HookAction::Reset, "sent", 1));
    try_all("k12_a_connection_lost_before_the_content_is_sent_again", base, cases).await;
}

async fn k12_a_421_at_any_phase_is_sent_again(base: Base) {
    let closing = || HookAction::ReplyThenClose("421 4.3.2 shutting down".to_owned());
    let mut cases = at(&BEFORE, closing, "sent", 1);
    cases.extend(at(&[Phase::Dot], closing, "sent", 1));
    // Inside the content it is no answer to the mail, whose dot has gone out with it.
    cases.extend(at(&[Phase::BodyFirstByte], closing, "sent", 1));
    try_all("k12_a_421_at_any_phase_is_sent_again", base, cases).await;
}

async fn k12_a_later_at_any_phase_is_sent_again_and_a_no_is_final(base: Base) {
    let mut cases = at(&BEFORE, || reply("451 4.7.1 greylisted"), "sent", 1);
    cases.extend(at(&[Phase::Dot], || reply("451 4.3.0 later"), "sent", 1));
    cases.extend(at(&BEFORE[1..], || reply("550 5.1.1 no such user"), "failed", 0));
    cases.extend(at(&[Phase::Dot], || reply("554 5.7.1 spam"), "failed", 0));
    try_all("k12_a_later_at_any_phase_is_sent_again_and_a_no_is_final", base, cases).await;
}

async fn k12_a_connection_lost_before_the_final_dot_is_sent_again(base: Base) {
    // More than the kernel takes on both sides: the dot cannot have left.
    let large = |case: Case| Case { lines: 100_000, ..case };
    let lost = [HookAction::Close, HookAction::Reset].map(|action| large(Case::new(Phase::BodyFirstByte, action, "sent", 1)));
    try_all("k12_a_connection_lost_before_the_final_dot_is_sent_again", base, lost.into()).await;
}

async fn k12_a_connection_lost_after_the_final_dot_is_in_doubt_and_never_sent_again(base: Base) {
    let half = || HookAction::ReplyThenClose("250-half an answer".to_owned());
    let mut cases = Vec::new();
    for (phase, arrived) in [(Phase::Dot, 0), (Phase::Accepted, 1)] {
        cases.extend(at(&[phase], || HookAction::Close, "in_doubt", arrived));
        cases.extend(at(&[phase], || HookAction::Reset, "in_doubt", arrived));
        cases.extend(at(&[phase], half, "in_doubt", arrived));
        cases.extend(at(&[phase], || reply("HTTP/1.1 200 OK"), "in_doubt", arrived));
    }
    try_all("k12_a_connection_lost_after_the_final_dot_is_in_doubt_and_never_sent_again", base, cases).await;
}

async fn k12_a_yes_counts_though_a_reset_follows_it(base: Base) {
    let cases = at(&[Phase::Accepted], || HookAction::ContinueThenReset, "sent", 1);
    try_all("k12_a_yes_counts_though_a_reset_follows_it", base, cases).await;
}

async fn k12_answers_that_drip_are_waited_for(base: Base) {
    let phases = [Phase::Connected, Phase::Mail, Phase::Rcpt, Phase::Data354, Phase::Accepted];
    let cases = at(&phases, || HookAction::Drip(Duration::from_millis(3)), "sent", 1);
    try_all("k12_answers_that_drip_are_waited_for", base, cases).await;
}

async fn k12_silence_is_sent_again_before_the_content_and_in_doubt_after_it(base: Base) {
    let mut cases = at(&BEFORE, silence, "sent", 1);
    cases.extend(at(&[Phase::Dot], silence, "in_doubt", 0));
    cases.extend(at(&[Phase::Accepted], silence, "in_doubt", 1));
    try_all("k12_silence_is_sent_again_before_the_content_and_in_doubt_after_it", base, cases).await;
}

everywhere!(
    k12_a_connection_lost_before_the_content_is_sent_again,
    k12_a_421_at_any_phase_is_sent_again,
    k12_a_later_at_any_phase_is_sent_again_and_a_no_is_final,
    k12_a_connection_lost_before_the_final_dot_is_sent_again,
    k12_a_connection_lost_after_the_final_dot_is_in_doubt_and_never_sent_again,
    k12_a_yes_counts_though_a_reset_follows_it,
    k12_answers_that_drip_are_waited_for,
    k12_silence_is_sent_again_before_the_content_and_in_doubt_after_it,
);
