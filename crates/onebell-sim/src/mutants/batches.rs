use super::Caught::Within;
use super::Mutant;

/// Of batches.
pub(super) const BATCHES: &[Mutant] = &[
    Mutant {
        fault: "a batch that runs is taken from its reader",
        statement: "read_series",
        edits: &[("locked_by, step_id, complete_by,", "locked_by, step_id, NULL AS complete_by,")],
        caught: Within(100),
    },
    Mutant {
        fault: "the attempt of a batch does not grow when it is taken",
        statement: "take_batch",
        edits: &[("attempt = attempt + 1", "attempt = attempt")],
        caught: Within(100),
    },
    Mutant {
        fault: "a batch that was taken over is given back by the reader before",
        statement: "release_batch",
        edits: &[(" AND attempt = :attempt", "")],
        caught: Within(100),
    },
    Mutant {
        fault: "a chunk does not move the checkpoint",
        statement: "move_batch",
        edits: &[("byte = :byte, line = :line", "byte = coalesce(byte, 0), line = coalesce(line, 1)")],
        caught: Within(100),
    },
    Mutant {
        fault: "a chunk does not count what its batch had read before",
        statement: "move_batch",
        edits: &[("already = already + :already", "already = :already")],
        caught: Within(100),
    },
    Mutant {
        fault: "a chunk does not move the claim on",
        statement: "move_batch",
        edits: &[(":now + timeout_us", "complete_by")],
        caught: Within(100),
    },
    Mutant {
        fault: "a second record under one key replaces the first",
        statement: "insert_batch_effects",
        edits: &[("DO NOTHING", "DO UPDATE SET fingerprint = excluded.fingerprint, amount = excluded.amount")],
        caught: Within(100),
    },
    Mutant {
        fault: "a record is not written",
        statement: "insert_batch_effects",
        edits: &[(
            "VALUES (:scope, :key, :fingerprint, :amount, :payload, :step, :now, :batch, :failed)",
            "SELECT :scope, :key, :fingerprint, :amount, :payload, :step, :now, :batch, :failed WHERE :key <> 'E03'",
        )],
        caught: Within(100),
    },
    Mutant {
        fault: "a record that the business refused counts in the total",
        statement: "insert_batch_effects",
        edits: &[(":batch, :failed)", ":batch, NULL)")],
        caught: Within(100),
    },
    Mutant {
        fault: "the identity of a record that the user's statements refused is kept",
        statement: "delete_batch_effects",
        edits: &[("AND batch_id = :batch", "AND batch_id = :batch AND false")],
        caught: Within(100),
    },
    Mutant {
        fault: "a conflict is not written down",
        statement: "insert_rejections",
        edits: &[(
            "VALUES (:batch, :byte, :line, :outcome, :key, :reason, :record, :now)",
            "SELECT :batch, :byte, :line, :outcome, :key, :reason, :record, :now WHERE :outcome <> 'conflict'",
        )],
        caught: Within(100),
    },
    Mutant {
        fault: "a batch that is done is cancelled",
        statement: "cancel_batch",
        edits: &[("IN ('pending', 'running')", "IN ('pending', 'running', 'done')")],
        caught: Within(100),
    },
    Mutant {
        fault: "a batch that a newer one followed is opened again",
        statement: "resume_batch",
        edits: &[(
            "newer.series = b.series AND newer.generation > b.generation",
            "newer.series = b.series AND newer.generation > b.generation AND newer.status IN ('pending', 'running')",
        )],
        caught: Within(100),
    },
    Mutant {
        fault: "failed records count in the total that people see",
        statement: "sum_effects_between",
        edits: &[("sum(amount & 4294967295) FILTER (WHERE failed IS NULL)", "sum(amount & 4294967295)")],
        caught: Within(100),
    },
];
