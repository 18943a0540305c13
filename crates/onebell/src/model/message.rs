//! The message's machine: an effect outside the database, claimed before it is sent, whose unknown
//! outcome is kept as `in_doubt` and never repeated silently.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::fingerprint::CanonicalError;
use super::retry::RetryPolicy;
use super::transition::{By, Transition, next, words};
use super::{Fingerprint, Key, Moment};

words! {
    /// Where a message stands.
    MessageStatus {
        /// May be claimed from `ready_at` on.
        Ready = "ready",
        /// A relay has it and nothing of it went out.
        Claimed = "claimed",
        /// Its content may be going out now.
        Sending = "sending",
        /// The receiver said yes.
        Sent = "sent",
        /// The receiver said no, or its tries are spent.
        Failed = "failed",
        /// Nobody can know whether it arrived.
        InDoubt = "in_doubt",
        /// Will not be sent.
        Dropped = "dropped",
    }
}

words! {
    /// What happens to a message.
    MessageEvent {
        /// A relay took it.
        Claim = "claim",
        /// The receiver is about to take the content.
        Send = "send",
        /// Its relay is dead or its claim lapsed before the content could go out.
        Lose = "lose",
        /// Given back untried.
        GiveBack = "give-back",
        /// "Not now", or no connection, or it broke before the end of the content was written.
        Defer = "defer",
        /// "No", or the tries are spent.
        Reject = "reject",
        /// "Yes".
        Accept = "accept",
        /// Anything else once the content may have gone out.
        Doubt = "doubt",
        /// The answer arrived after all, under the unchanged attempt.
        Proof = "proof",
        /// A person, or the receiver asked again, says that it arrived.
        ResolveSent = "resolve-sent",
        /// A person or the policy decides to send it again: at least once from now on.
        Resend = "resend",
        /// The database was restored: it may have been sent in what was lost.
        Question = "question",
        /// A person drops it.
        Drop = "drop",
        /// Its run failed or was cancelled before it ever was in `sending`.
        DropWithRun = "drop-with-run",
        /// Put again with the same payload, or its run is retried.
        Revive = "revive",
    }
}

use MessageEvent as E;
use MessageStatus as S;

/// The message's machine.
pub const MESSAGE: &[Transition<MessageStatus, MessageEvent>] = &[
    Transition { from: &[S::Ready], event: E::Claim, to: S::Claimed, by: &[By::Relay] },
    Transition { from: &[S::Claimed], event: E::Send, to: S::Sending, by: &[By::Relay] },
    Transition { from: &[S::Claimed], event: E::Lose, to: S::Ready, by: &[By::Scheduler] },
    Transition { from: &[S::Claimed], event: E::GiveBack, to: S::Ready, by: &[By::Relay] },
    Transition { from: &[S::Claimed, S::Sending], event: E::Defer, to: S::Ready, by: &[By::Relay] },
    Transition { from: &[S::Claimed, S::Sending], event: E::Reject, to: S::Failed, by: &[By::Relay, By::Scheduler] },
    Transition { from: &[S::Claimed, S::Sending], event: E::Accept, to: S::Sent, by: &[By::Relay] },
    Transition { from: &[S::Sending], event: E::Doubt, to: S::InDoubt, by: &[By::Relay, By::Scheduler] },
    Transition { from: &[S::Ready, S::Claimed, S::Sending], event: E::Question, to: S::InDoubt, by: &[By::Operator] },
    Transition { from: &[S::InDoubt], event: E::Proof, to: S::Sent, by: &[By::Relay] },
    Transition { from: &[S::InDoubt], event: E::ResolveSent, to: S::Sent, by: &[By::Operator] },
    Transition { from: &[S::InDoubt, S::Failed], event: E::Resend, to: S::Ready, by: &[By::Operator, By::Scheduler] },
    Transition { from: &[S::Ready, S::Failed, S::InDoubt], event: E::Drop, to: S::Dropped, by: &[By::Operator] },
    Transition { from: &[S::Ready, S::Claimed], event: E::DropWithRun, to: S::Dropped, by: &[By::Consequence] },
    Transition { from: &[S::Dropped], event: E::Revive, to: S::Ready, by: &[By::Consequence, By::Operator] },
];

impl MessageStatus {
    /// The state that `event` leads to, or nothing if the table has no such line.
    pub fn on(self, event: MessageEvent) -> Option<Self> {
        next(MESSAGE, self, event)
    }

    /// The step that put it waits for it, also when it is run again and puts it again: it is decided only by having been
    /// sent or dropped.
    pub fn is_undecided(self) -> bool {
        !matches!(self, S::Sent | S::Dropped)
    }

    /// A step that put it still waits for it.
    pub fn is_open(self) -> bool {
        matches!(self, S::Ready | S::Claimed | S::Sending)
    }
}

words! {
    /// What happens to a message whose outcome is unknown.
    InDoubtPolicy {
        /// It is kept and shown until a person decides.
        Hold = "hold",
        /// It is sent again: at least once, with the same key.
        Resend = "resend",
    }
}

words! {
    /// Who dropped a message.
    DroppedBy {
        /// Its run failed or was cancelled: the same message put again revives it.
        Run = "run",
        /// A person: it stays dropped.
        Person = "person",
    }
}

/// A message to be put into the outbox.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewMessage {
    /// Identity: one message per key, for as long as keys are kept.
    pub key: Key,
    /// The channel that delivers it.
    pub channel: String,
    /// What the channel needs, as JSON text.
    pub payload: String,
    /// Of the channel and the payload.
    pub fingerprint: Fingerprint,
    /// What an unknown outcome means.
    pub on_in_doubt: InDoubtPolicy,
    /// Budget of tries and time.
    pub retry: RetryPolicy,
}

impl NewMessage {
    /// A message as `channel` wants it: `payload` is JSON text. Its outcome, when unknown, is held for a person; say
    /// [`InDoubtPolicy::Resend`] where the receiver tells a second one from the first by its key.
    ///
    /// # Errors
    /// [`CanonicalError`] when the payload is no JSON that has a fingerprint.
    pub fn new(key: Key, channel: impl Into<String>, payload: impl Into<String>) -> Result<Self, CanonicalError> {
        let (channel, payload) = (channel.into(), payload.into());
        let fingerprint = Fingerprint::of_message(&channel, &payload)?;
        Ok(Self { key, channel, payload, fingerprint, on_in_doubt: InDoubtPolicy::Hold, retry: RetryPolicy::default() })
    }
}

/// What a relay says of its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The receiver said yes; its words.
    Accepted {
        /// The receiver's answer, for people.
        receipt: String,
    },
    /// "Not now", or nothing can have arrived.
    Deferred {
        /// What went wrong.
        error: String,
        /// Not before this, when the other side said so.
        after: Option<Duration>,
    },
    /// "No".
    Rejected {
        /// The receiver's answer, for people.
        error: String,
    },
    /// Nobody can know.
    Unknown {
        /// What was seen last.
        error: String,
    },
    /// Nothing of the content went out, and nothing went wrong on the way.
    GivenBack,
}

/// What is known of a message when its attempt ends.
#[derive(Debug, Clone, PartialEq)]
pub struct InFlight {
    /// Spreads the backoff.
    pub key: String,
    /// `claimed`, `sending`, or `in_doubt` for a late answer.
    pub status: MessageStatus,
    /// The fence.
    pub attempt: u64,
    /// Spent of the budget, this attempt included.
    pub tries: u32,
    /// The budget.
    pub retry: RetryPolicy,
    /// First claim under this budget.
    pub first_claimed_at: Moment,
    /// What an unknown outcome means.
    pub on_in_doubt: InDoubtPolicy,
    /// Its run failed or was cancelled meanwhile, and it never was in `sending`.
    pub run_gone: bool,
}

/// How a message's attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageEnding {
    /// The line of the table.
    pub event: MessageEvent,
    /// The state it leads to.
    pub to: MessageStatus,
    /// When it may be claimed again, if ready.
    pub ready_at: Moment,
    /// Tries after it.
    pub tries: u32,
    /// What happened, for people.
    pub note: Option<String>,
}

impl InFlight {
    /// How the attempt ends by its own relay's word. Nothing: a late word that proves nothing changes nothing.
    pub fn settle(&self, delivery: &Delivery, now: Moment) -> Option<MessageEnding> {
        if self.status == S::InDoubt {
            return match delivery {
                Delivery::Accepted { receipt } => Some(self.end(E::Proof, S::Sent, now, Some(receipt))),
                _ => None,
            };
        }
        Some(match delivery {
            Delivery::Accepted { receipt } => self.end(E::Accept, S::Sent, now, Some(receipt)),
            Delivery::Rejected { error } => self.end(E::Reject, S::Failed, now, Some(error)),
            Delivery::Deferred { error, after } => self.again(error, *after, now),
            Delivery::Unknown { error } => self.unknown(error, now),
            Delivery::GivenBack if self.status == S::Sending => self.again("given back before the content went out", None, now),
            Delivery::GivenBack => self.back(E::GiveBack, now, None),
        })
    }

    /// How the attempt ends by a granted recovery: its relay is dead or its claim lapsed.
    pub fn recover(&self, now: Moment) -> Option<MessageEnding> {
        match self.status {
            S::Claimed => Some(self.back(E::Lose, now, Some("its relay was lost before anything went out"))),
            S::Sending => Some(self.unknown("its relay was lost while the content may have gone out", now)),
            _ => None,
        }
    }

    fn again(&self, error: &str, after: Option<Duration>, now: Moment) -> MessageEnding {
        let wait = self.retry.backoff(self.tries, &format!("{}#{}", self.key, self.attempt)).max(after.unwrap_or_default());
        if self.run_gone && self.status == S::Claimed {
            return self.end(E::DropWithRun, S::Dropped, now, Some(error));
        }
        if self.retry.allows(self.tries, self.first_claimed_at, now + wait) {
            return self.end(E::Defer, S::Ready, now + wait, Some(error));
        }
        self.end(E::Reject, S::Failed, now, Some(&format!("tries spent; the last one: {error}")))
    }

    fn unknown(&self, error: &str, now: Moment) -> MessageEnding {
        match (self.on_in_doubt, self.status) {
            (InDoubtPolicy::Hold, S::Sending) => self.end(E::Doubt, S::InDoubt, now, Some(error)),
            (InDoubtPolicy::Hold, _) => self.again(error, None, now),
            // It is sent again; when its tries are spent nobody may read "failed" as "did not arrive".
            (InDoubtPolicy::Resend, _) => self.again(&format!("{error}; it may have arrived"), None, now),
        }
    }

    fn back(&self, event: MessageEvent, now: Moment, note: Option<&str>) -> MessageEnding {
        if self.run_gone {
            return self.end(E::DropWithRun, S::Dropped, now, note);
        }
        let tries = self.tries.saturating_sub(1);
        MessageEnding { tries, ..self.end(event, S::Ready, now, note) }
    }

    fn end(&self, event: MessageEvent, to: MessageStatus, ready_at: Moment, note: Option<&str>) -> MessageEnding {
        debug_assert_eq!(self.status.on(event), Some(to), "the table has no line for {event} from {}", self.status);
        MessageEnding { event, to, ready_at, tries: self.tries, note: note.map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(status: MessageStatus) -> InFlight {
        InFlight {
            key: "k".into(),
            status,
            attempt: 1,
            tries: 1,
            retry: RetryPolicy::default(),
            first_claimed_at: Moment::default(),
            on_in_doubt: InDoubtPolicy::Hold,
            run_gone: false,
        }
    }

    const NOW: Moment = Moment::from_micros(1);

    fn unknown() -> Delivery {
        Delivery::Unknown { error: "connection lost".into() }
    }

    #[test]
    fn i9_an_unknown_outcome_after_sending_is_in_doubt_and_before_it_is_not() {
        assert_eq!(in_flight(MessageStatus::Sending).settle(&unknown(), NOW).unwrap().to, MessageStatus::InDoubt);
        assert_eq!(in_flight(MessageStatus::Claimed).settle(&unknown(), NOW).unwrap().to, MessageStatus::Ready);
        assert_eq!(in_flight(MessageStatus::Sending).recover(NOW).unwrap().to, MessageStatus::InDoubt);
        assert_eq!(in_flight(MessageStatus::Claimed).recover(NOW).unwrap().to, MessageStatus::Ready);
    }

    #[test]
    fn a_late_yes_proves_a_message_in_doubt_and_a_late_no_does_not() {
        let doubt = in_flight(MessageStatus::InDoubt);
        assert_eq!(doubt.settle(&Delivery::Accepted { receipt: "250".into() }, NOW).unwrap().to, MessageStatus::Sent);
        assert_eq!(doubt.settle(&Delivery::Rejected { error: "550".into() }, NOW), None);
        assert_eq!(doubt.settle(&Delivery::Deferred { error: "421".into(), after: None }, NOW), None);
    }

    #[test]
    fn a_message_that_comes_back_to_a_failed_run_is_dropped() {
        let gone = InFlight { run_gone: true, ..in_flight(MessageStatus::Claimed) };
        assert_eq!(gone.recover(NOW).unwrap().to, MessageStatus::Dropped);
        assert_eq!(gone.settle(&Delivery::GivenBack, NOW).unwrap().to, MessageStatus::Dropped);
    }

    #[test]
    fn i10_a_deferred_message_fails_when_its_tries_are_spent() {
        let last = InFlight { tries: 3, ..in_flight(MessageStatus::Claimed) };
        assert_eq!(last.settle(&Delivery::Deferred { error: "421".into(), after: None }, NOW).unwrap().to, MessageStatus::Failed);
    }

    #[test]
    fn under_resend_an_unknown_outcome_is_sent_again_within_its_budget() {
        let resend = InFlight { on_in_doubt: InDoubtPolicy::Resend, ..in_flight(MessageStatus::Sending) };
        assert_eq!(resend.settle(&unknown(), NOW).unwrap().to, MessageStatus::Ready);
    }
}
