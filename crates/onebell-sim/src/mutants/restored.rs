use super::Caught::{Contract, Within};
use super::Mutant;

/// Of what is asked about after a restore.
pub(super) const RESTORED: &[Mutant] = &[
    Mutant {
        fault: "what was asked about is taken up by whoever carries it",
        statement: "question_steps",
        edits: &[("uncarried = 0", "uncarried = 1")],
        caught: Within(100),
    },
    Mutant {
        fault: "a step that is asked about is closed by what it delivered before",
        statement: "question_steps",
        edits: &[("attempt = attempt + 1, ", "")],
        caught: Contract("restored::a_step_that_is_asked_about_is_not_closed_by_what_it_delivered_before"),
    },
    Mutant {
        fault: "what may have gone out goes out again as if for the first time",
        statement: "question_messages",
        edits: &[("sending_at = coalesce(sending_at, :now), ", "")],
        caught: Contract("restored::i9_a_message_that_may_have_gone_out_is_in_doubt_after_a_restore"),
    },
    Mutant {
        fault: "it is asked while a replica lives",
        statement: "read_heard",
        edits: &[("beat_at + lease_us > :now", "beat_at + lease_us < :now")],
        caught: Contract("restored::while_a_replica_lives_nothing_is_asked"),
    },
];
