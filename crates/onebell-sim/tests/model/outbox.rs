//! The store's transactions on messages, as `store/*/relay.rs` makes them.

use onebell::model::message::{DroppedBy, InDoubtPolicy, MessageEvent, MessageStatus};

use crate::decide::MessageEnd;
use crate::faults::Fault;
use crate::state::{Id, Message, Said, bit};
use crate::turn::Turn;

/// What asking for `sending` is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marked {
    Go,
    Dropped,
    Superseded,
}

impl Message {
    /// Dropped with its run, and wanted after all.
    pub(crate) fn revive(&mut self) {
        let (attempt, asked, was_sending) = (self.attempt, self.asked, self.was_sending);
        *self = Self { attempt, asked, was_sending, granted: self.granted, ..Self::put() };
    }
}

impl Turn<'_> {
    /// `claim_messages`: the attempt that was given.
    pub(crate) fn claim_message(&mut self, id: Id) -> Option<u8> {
        let doubted = self.has(Fault::ClaimsDoubted);
        let live = self.s.is_live(id);
        let message = self.s.message.as_mut()?;
        let ready = message.status == MessageStatus::Ready || (doubted && message.status == MessageStatus::InDoubt);
        if !live || !ready {
            return None;
        }
        *message = Message {
            status: MessageStatus::Claimed,
            attempt: message.attempt + 1,
            tries: message.tries + 1,
            owner: Some(id),
            lapsed: false,
            settled_by: None,
            granted: false,
            ..*message
        };
        Some(message.attempt)
    }

    /// `mark_sending`.
    pub(crate) fn mark(&mut self, id: Id, attempt: u8) -> Marked {
        if self.has(Fault::NoMark) {
            return Marked::Go;
        }
        let (live, any) = (self.s.is_live(id), self.has(Fault::MarkWithoutFence));
        let Some(message) = &mut self.s.message else { return Marked::Superseded };
        if any {
            return Marked::Go;
        }
        if message.attempt != attempt {
            return Marked::Superseded;
        }
        let here = message.dropped_by == Some(DroppedBy::Run) && message.settled_by == Some(id);
        if message.status == MessageStatus::Dropped && here {
            return Marked::Dropped;
        }
        if message.owner != Some(id) || message.lapsed || !live {
            return Marked::Superseded;
        }
        if message.status == MessageStatus::Sending {
            return Marked::Go;
        }
        if message.run_gone {
            let tries = message.tries;
            let ending = MessageEnd { event: MessageEvent::DropWithRun, to: MessageStatus::Dropped, tries };
            self.end_message(ending, Some(id));
            return Marked::Dropped;
        }
        message.status = MessageStatus::Sending;
        let again = std::mem::replace(&mut message.was_sending, true);
        self.s.seen.marked |= bit(attempt);
        let goes = self.s.run.goal.is_none() || again || self.s.seen.decided > 0;
        self.must("i14", goes, || "a message of a run that ends began to be sent".to_owned());
        Marked::Go
    }

    /// `settle_messages`, of one delivery: whether it changed anything.
    pub(crate) fn settle_message(&mut self, id: Id, attempt: u8, said: Said) -> bool {
        let any = self.has(Fault::WordWithoutAttempt);
        let Some(message) = self.s.message else { return false };
        if message.attempt != attempt && !any {
            return false;
        }
        let held = message.owner == Some(id) || (any && message.owner.is_some());
        if !held && message.status != MessageStatus::InDoubt {
            self.met("a relay's word is superseded or already known");
            return false;
        }
        let Some(ending) = self.ground.decide.said(&message, said) else { return false };
        let late = message.status == MessageStatus::InDoubt;
        if late {
            self.met("a late yes proves a message in doubt");
        }
        self.end_message(ending, Some(id));
        true
    }

    /// How an attempt ends that is taken from its relay.
    pub(crate) fn recover_message(&mut self) -> bool {
        let Some(mut message) = self.s.message else { return false };
        if self.has(Fault::SendingIsReady) && message.status == MessageStatus::Sending {
            message.status = MessageStatus::Claimed;
        }
        let Some(ending) = self.ground.decide.lost(&message) else { return false };
        self.end_message(ending, None);
        true
    }

    fn end_message(&mut self, ending: MessageEnd, by: Option<Id>) {
        let Some(message) = &mut self.s.message else { return };
        *message = Message { status: ending.to, settled_by: by, ..*message };
        if ending.event == MessageEvent::Proof {
            return;
        }
        (message.owner, message.lapsed, message.tries) = (None, false, ending.tries);
        message.dropped_by = (ending.to == MessageStatus::Dropped).then_some(DroppedBy::Run);
    }

    /// It is sent again: by policy, or because a person says so.
    pub(crate) fn resend(&mut self, anew: bool) {
        let Some(message) = &mut self.s.message else { return };
        (message.status, message.run_gone) = (MessageStatus::Ready, false);
        message.tries = if anew { 0 } else { message.tries };
    }

    /// The content arrives at the receiver.
    pub(crate) fn arrives(&mut self, attempt: u8) {
        let marked = self.s.seen.marked & bit(attempt) != 0;
        self.must("i09", marked, || format!("the content went out under attempt {attempt} without a sending mark"));
        self.s.seen.received = (self.s.seen.received + 1).min(4);
        let (received, decided) = (self.s.seen.received, self.s.seen.decided);
        let held = self.ground.scenario.message == Some(InDoubtPolicy::Hold);
        self.must("i09", !held || received <= 1 + decided, || {
            format!("the message (hold) arrived {received} times, {decided} of them decided by a person")
        });
    }
}
