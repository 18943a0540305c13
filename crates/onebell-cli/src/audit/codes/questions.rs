//! The three questions.

use super::super::finding::Code;
use super::super::finding::Severity::{Note, Warning};

pub(in super::super) static RUNS_TWICE: Code = Code {
    word: "runs-twice",
    severity: Note,
    why: "nothing makes a second run harmless: started by hand, by a second scheduler, or after a death halfway, it does everything again",
    fix: "give its effects identities, or run it with Onebell",
};

pub(in super::super) static RETRIED_WHOLE: Code = Code {
    word: "retried-whole",
    severity: Warning,
    why: "after a failure the platform starts the work again from its beginning, whatever it did before it failed",
    fix: "make each effect happen once by its identity, or switch the repetition off",
};

pub(in super::super) static OVERLAP_ALLOWED: Code = Code {
    word: "overlap-allowed",
    severity: Warning,
    why: "a run that lasts longer than the period gets a second one beside it",
    fix: "let the platform skip (concurrencyPolicy: Forbid), or put `onebell once` in front of the command",
};

pub(in super::super) static PARALLEL_PODS: Code = Code {
    word: "parallel-pods",
    severity: Warning,
    why: "one run starts several pods, and each does the work",
    fix: "divide the work by JOB_COMPLETION_INDEX, or set parallelism and completions to 1",
};

pub(in super::super) static UNBOUNDED: Code = Code {
    word: "unbounded",
    severity: Warning,
    why: "nothing ends a run that hangs: it holds its lock and its resources for ever",
    fix: "say how long it may take",
};

pub(in super::super) static BOUND_PAST_PERIOD: Code = Code {
    word: "bound-past-period",
    severity: Warning,
    why: "a run may last longer than the time to the next slot",
    fix: "shorten the limit below the period, or run it less often",
};

pub(in super::super) static LATE_START: Code = Code {
    word: "late-start",
    severity: Warning,
    why: "a slot that comes while a run goes on is started late, when that run ends",
    fix: "expect a start that is late by so much, or make the runs shorter than the period",
};

pub(in super::super) static SKIPPED_WHILE_RUNNING: Code = Code {
    word: "skipped-while-running",
    severity: Note,
    why: "a slot that comes while a run goes on is left out, and nobody is told",
    fix: "watch the length of the runs; Onebell records every slot that it skips",
};

pub(in super::super) static BACKGROUND: Code = Code {
    word: "background",
    severity: Warning,
    why: "the command goes to the background: its platform sees it end at once, knows no result and bounds nothing",
    fix: "remove the & at the end",
};

pub(in super::super) static SECOND_HOST: Code = Code {
    word: "second-host",
    severity: Warning,
    why: "a second host with the same file runs it a second time",
    fix: "put `onebell once --key NAME --slot EXPR --` in front of the command, or import it",
};

pub(in super::super) static LOCK_PER_HOST: Code = Code {
    word: "lock-per-host",
    severity: Warning,
    why: "the lock is a file of one host: a second host knows nothing of it",
    fix: "replace it by `onebell once`, whose lock is in a database that the hosts share",
};

pub(in super::super) static DEFINED_TWICE: Code = Code {
    word: "defined-twice",
    severity: Warning,
    why: "the same command at the same times stands in two places",
    fix: "keep one of them",
};
