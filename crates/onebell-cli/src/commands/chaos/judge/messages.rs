//! I9: a message is sent once, and an unknown outcome is never hidden. I4: the messages of a finished step are all there.

use std::collections::BTreeMap;

use onebell::model::message::InDoubtPolicy;
use onebell::store::MessageView;
use serde::Serialize;

use super::super::evidence::{Evidence, recipient};
use super::super::receivers::receipt_id;
use super::super::scene::Receipt;
use super::super::timeline;
use super::expected::Expected;
use super::{Verdict, Violation};

/// Counted by the receivers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(in super::super) struct Messages {
    pub(in super::super) accepted: u64,
    /// The same key accepted again.
    pub(in super::super) duplicates: u64,
    /// Never accepted and not in doubt.
    pub(in super::super) missing: u64,
    pub(in super::super) in_doubt: u64,
    /// Of the duplicates: under `on_in_doubt = "resend"`, which says so.
    pub(in super::super) repeated_by_policy: u64,
}

/// A message whose outcome the engine cannot know; the receiver of chaos does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Doubt {
    pub(in super::super) key: String,
    pub(in super::super) to: String,
    pub(in super::super) arrived: bool,
}

pub(super) fn judge(evidence: &Evidence, expected: &Expected, verdict: &mut Verdict) {
    let accepted = evidence.accepted();
    let mut found = Vec::new();
    let mut known = BTreeMap::new();
    let mut counts = Messages { accepted: evidence.receipts.len() as u64, ..Messages::default() };
    for message in &evidence.messages {
        let id = receipt_id(message);
        let receipts: &[&Receipt] = accepted.get(id.as_str()).map_or(&[], Vec::as_slice);
        let again = (receipts.len() as u64).saturating_sub(1);
        counts.duplicates += again;
        counts.repeated_by_policy += if may_repeat(message) { again } else { 0 };
        let never = receipts.is_empty();
        match message.status.as_str() {
            "in_doubt" => {
                counts.in_doubt += 1;
                verdict.in_doubt.push(Doubt { key: message.key.clone(), to: recipient(message), arrived: !never });
            }
            // Its run failed or somebody dropped it: it was not to be sent.
            "dropped" => {}
            _ => counts.missing += u64::from(never),
        }
        found.extend(wrong(message, receipts).map(|what| violation(evidence, message, what)));
        known.insert(id, ());
    }
    for (id, receipts) in accepted.iter().filter(|(id, _)| !known.contains_key(**id)) {
        let who: Vec<&str> = receipts.iter().map(|receipt| receipt.replica.as_str()).collect();
        let what = format!("a message that nobody had put was accepted {} times: {id}, from {}", receipts.len(), who.join(", "));
        found.push(Violation { invariant: "I9", what, advice: None, timeline: Vec::new() });
    }
    verdict.check("I9", "a message is accepted once, and what is sent arrived", evidence.messages.len(), found);
    let lost: Vec<Violation> = expected.lost(evidence).into_iter().map(not_put).collect();
    counts.missing += lost.len() as u64;
    verdict.put_again = expected.put.saturating_sub(expected.distinct());
    verdict.messages = counts;
    let put = usize::try_from(expected.put).unwrap_or(usize::MAX);
    verdict.check("I4", "the messages of a finished step are in the outbox", put, lost);
}

/// Its policy says so. Nobody else may: chaos decides no message.
fn may_repeat(message: &MessageView) -> bool {
    message.on_in_doubt == InDoubtPolicy::Resend.as_str()
}

fn wrong(message: &MessageView, receipts: &[&Receipt]) -> Option<String> {
    let to = recipient(message);
    let key = &message.key;
    match message.status.as_str() {
        _ if receipts.len() > 1 && !may_repeat(message) => Some(format!("{to} got {key:?} {} times", receipts.len())),
        "sent" if receipts.is_empty() => Some(format!("{key:?} to {to} counts as sent and never arrived")),
        "failed" if receipts.is_empty() => Some(format!("{key:?} to {to} failed although the receiver takes everything")),
        "failed" | "dropped" if !receipts.is_empty() => Some(format!("{key:?} to {to} is {} and arrived", message.status)),
        _ => None,
    }
}

fn violation(evidence: &Evidence, message: &MessageView, what: String) -> Violation {
    Violation { invariant: "I9", what, advice: None, timeline: timeline::of_message(evidence, message) }
}

fn not_put((step, key): (String, String)) -> Violation {
    let what = format!("step {step} is done, and its message {key:?} is not in the outbox");
    Violation { invariant: "I4", what, advice: None, timeline: Vec::new() }
}

#[cfg(test)]
mod tests {
    use onebell::model::Moment;

    use super::*;

    fn message(status: &str, policy: InDoubtPolicy) -> MessageView {
        MessageView {
            key: "k".to_owned(),
            channel: "mail".to_owned(),
            status: status.to_owned(),
            on_in_doubt: policy.as_str().to_owned(),
            attempt: 1,
            tries: 1,
            run: None,
            step: None,
            created_at: Moment::from_micros(0),
            ready_at: None,
            sending_at: None,
            finished_at: None,
            locked_by: None,
            note: None,
            dropped_by: None,
            resent: true,
            payload: "{\"to\": \"a@example.com\"}".to_owned(),
        }
    }

    fn judged(message: MessageView, receipts: usize) -> Verdict {
        let receipt = Receipt { id: receipt_id(&message), replica: "r1".to_owned(), at: Moment::from_micros(1) };
        let evidence = Evidence { messages: vec![message], receipts: vec![receipt; receipts], ..Evidence::default() };
        let mut verdict = Verdict::default();
        judge(&evidence, &Expected::default(), &mut verdict);
        verdict
    }

    #[test]
    fn i9_a_mail_that_came_twice_is_a_violation_unless_the_policy_is_to_resend() {
        let verdict = judged(message("sent", InDoubtPolicy::Hold), 2);
        assert_eq!((verdict.messages.duplicates, verdict.violations.len()), (1, 1));
        assert!(verdict.violations[0].what.contains("a@example.com got \"k\" 2 times"));
        let verdict = judged(message("sent", InDoubtPolicy::Resend), 2);
        assert_eq!((verdict.messages.duplicates, verdict.messages.repeated_by_policy), (1, 1));
        assert!(verdict.violations.is_empty());
    }

    #[test]
    fn what_never_arrived_is_missing_unless_it_is_in_doubt_or_was_dropped() {
        let verdict = judged(message("sent", InDoubtPolicy::Hold), 0);
        assert_eq!((verdict.messages.missing, verdict.violations.len()), (1, 1));
        let verdict = judged(message("in_doubt", InDoubtPolicy::Hold), 0);
        assert_eq!((verdict.messages.missing, verdict.messages.in_doubt, verdict.violations.len()), (0, 1, 0));
        assert!(!verdict.in_doubt[0].arrived);
        let verdict = judged(message("dropped", InDoubtPolicy::Hold), 0);
        assert_eq!((verdict.messages.missing, verdict.violations.len()), (0, 0));
        assert_eq!(judged(message("dropped", InDoubtPolicy::Hold), 1).violations.len(), 1);
    }

    #[test]
    fn i9_a_message_that_nobody_put_is_a_violation() {
        let receipts = vec![Receipt { id: "<x@y>".to_owned(), replica: "r1".to_owned(), at: Moment::from_micros(1) }];
        let mut verdict = Verdict::default();
        judge(&Evidence { receipts, ..Evidence::default() }, &Expected::default(), &mut verdict);
        assert_eq!(verdict.violations.len(), 1);
    }
}
