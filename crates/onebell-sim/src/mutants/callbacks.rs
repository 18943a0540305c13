use super::Caught::Contract;
use super::Mutant;

/// Of what comes back later than its request.
pub(super) const CALLBACKS: &[Mutant] = &[
    Mutant {
        fault: "a superseded attempt takes what came back",
        statement: "take_callback",
        edits: &[(" AND s.attempt = :attempt AND s.locked_by = :replica", "")],
        caught: Contract("callbacks::i3_a_claim_that_does_not_hold_takes_nothing"),
    },
    Mutant {
        fault: "what an attempt ended by is given to the next one",
        statement: "take_callback",
        edits: &[("h.attempt = onebell_callbacks.taken_by", "h.attempt < 0")],
        caught: Contract("callbacks::what_an_attempt_ended_by_is_used"),
    },
    Mutant {
        fault: "a second word is kept beside the one that waits",
        statement: "insert_callback",
        edits: &[("WHERE c.step_id = :step AND NOT EXISTS", "WHERE c.step_id < '' AND NOT EXISTS")],
        caught: Contract("callbacks::a_callback_is_kept_once_and_another_one_is_a_conflict"),
    },
];
