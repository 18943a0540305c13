//! Deliberate faults of the model. A checker that does not find each of them proves nothing.

/// One condition left out, or one thing done that must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A settlement does not ask who holds the step.
    NoFence,
    /// A settlement compares the owner and not the attempt.
    FenceWithoutAttempt,
    /// A running step may be claimed.
    ClaimsRunning,
    /// A claim keeps the attempt's number.
    AttemptStays,
    /// A claim costs no try.
    TryNotCounted,
    /// Who was found lost may claim.
    LostMayClaim,
    /// Who was found lost may renew, and never hears of it.
    LostMayRenew,
    /// A replica is lost although its beat went on.
    GrantWithoutBeat,
    /// A step is recovered whatever its attempt and its owner.
    GrantWithoutLook,
    /// What a settlement brings is written although it is superseded.
    EffectsOutside,
    /// A second effect under the same key is written beside the first.
    LedgerWithoutKey,
    /// What the store answered of an attempt that was taken away is called done.
    ReadBackTrustsAll,
    /// Claims that were read back are begun although they are known.
    AdoptsKnown,
    /// What follows for the run is left out of a settlement.
    SettleForgetsRun,
    /// Runs in which nothing moves are not asked for.
    RunsForgotten,
    /// Lapsed claims are not asked for.
    LapsedForgotten,
    /// Messages on their way are not asked for.
    MessagesForgotten,
    /// A refused request stays and blocks the next about the same thing.
    RefusedBlocks,
    /// The gate opens without the sending mark.
    NoMark,
    /// The gate opens for a relay that holds the message no longer.
    MarkWithoutFence,
    /// A message that was being sent is ready again when its relay is lost.
    SendingIsReady,
    /// An unknown outcome is sent again although the policy says hold.
    DoubtIsSentAgain,
    /// Messages in doubt are claimed like others.
    ClaimsDoubted,
    /// A relay's word is not compared with the attempt.
    WordWithoutAttempt,
    /// A step is closed although its message is undecided.
    ClosedEarly,
    /// A failing run leaves its messages ready.
    MessagesKept,
    /// A failing run does not mark messages that are on their way.
    RunGoneForgotten,
    /// What the run should undo is not opened.
    UndoForgotten,
    /// Committed work of a step that did not succeed is undone only if the step is held.
    OnlyHeldIsUndone,
    /// A retried run sends its dropped messages, and nothing waits for them.
    RedeliveryForgotten,
    /// A step delivers again although the one behind it has begun.
    FollowedDelivers,
}

use Fault as F;

/// Faults, one or several at once, and the promise that they break.
pub(crate) const MUTANTS: &[(&[Fault], &str)] = &[
    (&[F::NoFence], "i03"),
    (&[F::FenceWithoutAttempt], "i03"),
    (&[F::ClaimsRunning], "i02"),
    (&[F::AttemptStays], "i02"),
    (&[F::TryNotCounted], "i10"),
    (&[F::LostMayClaim], "i02"),
    (&[F::LostMayRenew], "i12"),
    (&[F::GrantWithoutBeat], "i08"),
    (&[F::GrantWithoutLook], "i08"),
    (&[F::EffectsOutside], "i04"),
    (&[F::LedgerWithoutKey], "i05"),
    (&[F::ReadBackTrustsAll], "i03"),
    (&[F::AdoptsKnown], "i02"),
    (&[F::SettleForgetsRun, F::RunsForgotten], "i12"),
    (&[F::SettleForgetsRun, F::RefusedBlocks], "i12"),
    (&[F::LapsedForgotten], "i12"),
    (&[F::MessagesForgotten], "i12"),
    (&[F::NoMark], "i09"),
    (&[F::MarkWithoutFence], "i09"),
    (&[F::SendingIsReady], "i09"),
    (&[F::DoubtIsSentAgain], "i09"),
    (&[F::ClaimsDoubted], "i09"),
    (&[F::WordWithoutAttempt], "i09"),
    (&[F::ClosedEarly], "i09"),
    (&[F::MessagesKept], "i14"),
    (&[F::RunGoneForgotten], "i14"),
    (&[F::UndoForgotten], "i14"),
    (&[F::OnlyHeldIsUndone], "i14"),
    (&[F::RedeliveryForgotten], "i09"),
    (&[F::FollowedDelivers], "i02"),
];
