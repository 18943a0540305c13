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
        fault: "a record of a whole is not moved with it",
        statement: "move_staged",
        edits: &[("ORDER BY s.key, s.byte", "AND s.key <> 'E03' ORDER BY s.key, s.byte")],
        caught: Within(100),
    },
    Mutant {
        fault: "of an identity that comes twice in a whole the last record counts as the first",
        statement: "sort_staged",
        edits: &[("s.byte = min(s.byte) OVER (PARTITION BY s.key)", "true")],
        caught: Within(100),
    },
    Mutant {
        fault: "a conflict does not withhold a whole",
        statement: "sort_staged",
        edits: &[("s.fingerprint <> e.fingerprint", "false")],
        caught: Within(100),
    },
    Mutant {
        fault: "a whole is withheld by a reader that lost it",
        statement: "withhold_batch",
        edits: &[(" AND attempt = :attempt", "")],
        caught: Within(100),
    },
    Mutant {
        fault: "what the business refused in a whole is not told",
        statement: "insert_staged_findings",
        edits: &[("e.failed IS NOT NULL", "false")],
        caught: Within(100),
    },
    Mutant {
        fault: "what is put aside goes while its batch goes on",
        statement: "sweep_staged",
        edits: &[("b.status IN ('done', 'cancelled')", "true")],
        caught: Within(100),
    },
    Mutant {
        fault: "a cancelled whole is opened again",
        statement: "resume_batch",
        edits: &[(" AND NOT b.atomic", "")],
        caught: Within(100),
    },
    Mutant {
        fault: "retention takes the newest batch of a source",
        statement: "prune_batches",
        edits: &[("newer.generation > b.generation", "newer.generation >= b.generation")],
        caught: Within(100),
    },
    Mutant {
        fault: "failed records count in the total that people see",
        statement: "sum_effects_between",
        edits: &[("sum(amount & 4294967295) FILTER (WHERE failed IS NULL)", "sum(amount & 4294967295)")],
        caught: Within(100),
    },
];
