//! Phases of the protocol, and the places in each at which a replica can be hit.

use std::fmt;

use serde::{Serialize, Serializer};

use super::cast::Cast;
use crate::mailbox::Phase as MailPhase;
use crate::receiver::Phase as WebPhase;

/// A stretch of the protocol in which a death leaves something particular behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Phase {
    /// A slot is being opened.
    Slot,
    /// A step is being claimed.
    Claim,
    /// A step was claimed and has not begun.
    Start,
    /// A command is at work.
    Work,
    /// A settlement is about to be committed.
    SettleBefore,
    /// A settlement was committed and nobody knows yet.
    SettleAfter,
    /// A message is being claimed, or its way to the content is being prepared.
    MessageClaim,
    /// `sending` is being committed, or the content is on its way.
    Sending,
    /// The receiver said yes, and nobody has heard it.
    AfterYes,
    /// The receiver's yes is being written down.
    MessageSettle,
    /// A recovery request is being granted.
    Grant,
    /// Any moment at all.
    AnyMoment,
}

/// Where exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A named fault point of the engine.
    Point(&'static str),
    /// The replica's own conversation with the mail server got so far.
    Mail(MailPhase),
    /// The same with the receiver of webhooks.
    Web(WebPhase),
    /// A command of the replica's began its work.
    Work,
    /// After a drawn time.
    Anywhere,
}

impl Phase {
    /// In the order of the protocol.
    pub(super) const ALL: [Self; 12] = [
        Self::Slot,
        Self::Claim,
        Self::Start,
        Self::Work,
        Self::SettleBefore,
        Self::SettleAfter,
        Self::MessageClaim,
        Self::Sending,
        Self::AfterYes,
        Self::MessageSettle,
        Self::Grant,
        Self::AnyMoment,
    ];

    /// Those that a job file can come through.
    pub(super) fn of(cast: Cast) -> Vec<Self> {
        let there = |phase: &Self| match phase {
            Self::Work => cast.witnessed,
            _ if phase.of_messages() => cast.messages(),
            _ => true,
        };
        Self::ALL.into_iter().filter(there).collect()
    }

    /// Whether a message has to be under way for it.
    pub(super) fn of_messages(self) -> bool {
        matches!(self, Self::MessageClaim | Self::Sending | Self::AfterYes | Self::MessageSettle)
    }

    /// The word in the report.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Slot => "slot",
            Self::Claim => "claim",
            Self::Start => "start",
            Self::Work => "work",
            Self::SettleBefore => "settle_before_commit",
            Self::SettleAfter => "settle_after_commit",
            Self::MessageClaim => "message_claim",
            Self::Sending => "sending",
            Self::AfterYes => "after_yes",
            Self::MessageSettle => "message_settle",
            Self::Grant => "grant",
            Self::AnyMoment => "any_moment",
        }
    }

    /// Where it can be hit.
    pub(super) fn places(self, cast: Cast) -> Vec<Place> {
        let there = |place: &&Place| match place {
            Place::Mail(_) => cast.mails,
            Place::Web(_) => cast.webhooks,
            _ => true,
        };
        self.all_places().iter().filter(there).copied().collect()
    }

    fn all_places(self) -> &'static [Place] {
        use Place::{Anywhere, Mail, Point, Web, Work};
        match self {
            Self::Slot => &[Point("slot.before_commit"), Point("slot.after_commit")],
            Self::Claim => &[Point("claim.before_commit")],
            Self::Start => &[Point("claim.after_commit")],
            Self::Work => &[Work],
            Self::SettleBefore => &[Point("settle.before_commit")],
            Self::SettleAfter => &[Point("settle.after_commit")],
            Self::MessageClaim => &[
                Point("claim_messages.before_commit"),
                Point("claim_messages.after_commit"),
                Mail(MailPhase::Connected),
                Mail(MailPhase::Mail),
                Mail(MailPhase::Rcpt),
                Mail(MailPhase::Data354),
            ],
            Self::Sending => &[
                Point("sending.before_commit"),
                Point("sending.after_commit"),
                Mail(MailPhase::BodyFirstByte),
                Mail(MailPhase::Dot),
                Web(WebPhase::Head),
                Web(WebPhase::Request),
            ],
            Self::AfterYes => &[Mail(MailPhase::Accepted), Web(WebPhase::Done)],
            Self::MessageSettle => &[Point("settle_messages.before_commit"), Point("settle_messages.after_commit")],
            Self::Grant => &[Point("grant.before_commit"), Point("grant.after_commit")],
            Self::AnyMoment => &[Anywhere],
        }
    }

    /// How many passes of a place may go by first.
    pub(super) fn passes(self) -> u64 {
        match self {
            Self::Slot | Self::Grant | Self::Work => 1,
            Self::Claim | Self::Start => 2,
            _ => 4,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Point(name) => f.write_str(name),
            Self::Mail(phase) => write!(f, "mail.{phase}"),
            Self::Web(phase) => write!(f, "webhook.{phase}"),
            Self::Work => f.write_str("command.started"),
            Self::Anywhere => f.write_str("anywhere"),
        }
    }
}
