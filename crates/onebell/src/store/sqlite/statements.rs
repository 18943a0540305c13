//! The one table through which every statement comes. A simulator may put another text in place of one.

use std::borrow::Cow;

use crate::store::StoreError;

macro_rules! statements {
    ($($name:ident = $file:literal),+ $(,)?) => {
        /// A statement of this store, by the name of its file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Statement { $($name),+ }

        const ALL: &[(&str, &str)] = &[$(($file, include_str!(concat!("sql/", $file, ".sql")))),+];
    };
}

statements! {
    AcceptClock = "accept_clock",
    AdoptMessages = "adopt_messages",
    BudgetSteps = "budget_steps",
    CancelBatch = "cancel_batch",
    CancelSteps = "cancel_steps",
    ClaimAloneStep = "claim_alone_step",
    ClaimMessages = "claim_messages",
    ClaimSteps = "claim_steps",
    CloseSteps = "close_steps",
    CountEffects = "count_effects",
    CountFailures = "count_failures",
    CountMessages = "count_messages",
    CountReplicas = "count_replicas",
    CountRunMessages = "count_run_messages",
    CountRuns = "count_runs",
    CountSteps = "count_steps",
    DeleteBatchEffects = "delete_batch_effects",
    DropMessages = "drop_messages",
    DropRunMessages = "drop_run_messages",
    EndSilences = "end_silences",
    EndVigil = "end_vigil",
    EnlistReplica = "enlist_replica",
    EraseAttempts = "erase_attempts",
    EraseCallbacks = "erase_callbacks",
    EraseDefinitions = "erase_definitions",
    EraseEffects = "erase_effects",
    EraseJob = "erase_job",
    EraseKeys = "erase_keys",
    EraseMessages = "erase_messages",
    EraseRequests = "erase_requests",
    EraseRuns = "erase_runs",
    EraseSkips = "erase_skips",
    EraseSteps = "erase_steps",
    EraseSuperseded = "erase_superseded",
    EraseVigils = "erase_vigils",
    ExtendSteps = "extend_steps",
    ExtendTerm = "extend_term",
    FailSteps = "fail_steps",
    FenceSteps = "fence_steps",
    FindAloneStep = "find_alone_step",
    FindCallbacks = "find_callbacks",
    FinishSteps = "finish_steps",
    GrantRequest = "grant_request",
    HoldSteps = "hold_steps",
    HoldUncarriedSteps = "hold_uncarried_steps",
    InsertAlarms = "insert_alarms",
    InsertAttempts = "insert_attempts",
    InsertAudit = "insert_audit",
    InsertBatch = "insert_batch",
    InsertBatchEffects = "insert_batch_effects",
    InsertCallback = "insert_callback",
    InsertDefinition = "insert_definition",
    InsertEffects = "insert_effects",
    InsertJob = "insert_job",
    InsertMessages = "insert_messages",
    InsertRejections = "insert_rejections",
    InsertRequestKeys = "insert_request_keys",
    InsertRuns = "insert_runs",
    InsertSkips = "insert_skips",
    InsertStagedFindings = "insert_staged_findings",
    InsertSteps = "insert_steps",
    InsertSuperseded = "insert_superseded",
    IsBusy = "is_busy",
    IsLive = "is_live",
    KeepClock = "keep_clock",
    KeepPrevented = "keep_prevented",
    KeepRunMessages = "keep_run_messages",
    KeepVigil = "keep_vigil",
    LeaveReplica = "leave_replica",
    ListBatches = "list_batches",
    ListJobs = "list_jobs",
    ListMessages = "list_messages",
    ListRecoveries = "list_recoveries",
    ListRejections = "list_rejections",
    ListReplicas = "list_replicas",
    ListRuns = "list_runs",
    ListSkips = "list_skips",
    LockJob = "lock_job",
    LockMessages = "lock_messages",
    LockRequest = "lock_request",
    LockRuns = "lock_runs",
    LockSilences = "lock_silences",
    LockTerm = "lock_term",
    LockVigils = "lock_vigils",
    LoseReplica = "lose_replica",
    MarkRunGone = "mark_run_gone",
    MarkSending = "mark_sending",
    MoveBatch = "move_batch",
    MoveCursor = "move_cursor",
    MoveRuns = "move_runs",
    MoveStaged = "move_staged",
    MoveVigils = "move_vigils",
    OldestWaiting = "oldest_waiting",
    PauseJob = "pause_job",
    ProveMessages = "prove_messages",
    PruneAttempts = "prune_attempts",
    PruneBatches = "prune_batches",
    PruneCallbacks = "prune_callbacks",
    PruneKeys = "prune_keys",
    PruneMessages = "prune_messages",
    PruneRejections = "prune_rejections",
    PruneReplicas = "prune_replicas",
    PruneRequests = "prune_requests",
    PruneRuns = "prune_runs",
    PruneSkips = "prune_skips",
    PruneStaged = "prune_staged",
    PruneSteps = "prune_steps",
    PruneSuperseded = "prune_superseded",
    RaisePruned = "raise_pruned",
    QuestionMessages = "question_messages",
    QuestionSteps = "question_steps",
    ReadAbandonedSteps = "read_abandoned_steps",
    ReadAttempt = "read_attempt",
    ReadBatch = "read_batch",
    ReadBatchEffects = "read_batch_effects",
    ReadBeats = "read_beats",
    ReadCallbacks = "read_callbacks",
    ReadCalledStep = "read_called_step",
    ReadCancellingSteps = "read_cancelling_steps",
    ReadCarried = "read_carried",
    ReadClaimedMessages = "read_claimed_messages",
    ReadClaimedSteps = "read_claimed_steps",
    ReadClosableSteps = "read_closable_steps",
    ReadDefinition = "read_definition",
    ReadDueJobs = "read_due_jobs",
    ReadEffects = "read_effects",
    ReadHeard = "read_heard",
    ReadHeldMessages = "read_held_messages",
    ReadHeldSteps = "read_held_steps",
    ReadJobOfName = "read_job_of_name",
    ReadJobs = "read_jobs",
    ReadLastRunSlot = "read_last_run_slot",
    ReadLateFinishes = "read_late_finishes",
    ReadLateStarts = "read_late_starts",
    ReadLostMessages = "read_lost_messages",
    ReadLostSteps = "read_lost_steps",
    ReadMessageDefinitions = "read_message_definitions",
    ReadNewestRenewal = "read_newest_renewal",
    ReadNextSlot = "read_next_slot",
    ReadOpenRuns = "read_open_runs",
    ReadOpenRequests = "read_open_requests",
    ReadOpenStep = "read_open_step",
    ReadOverlap = "read_overlap",
    ReadPlanners = "read_planners",
    ReadPrunableReplicas = "read_prunable_replicas",
    ReadPrunableRuns = "read_prunable_runs",
    ReadQueuedJobs = "read_queued_jobs",
    ReadQueuedRuns = "read_queued_runs",
    ReadReplacedRuns = "read_replaced_runs",
    ReadRequestKeys = "read_request_keys",
    ReadRunSteps = "read_run_steps",
    ReadSeries = "read_series",
    ReadSilences = "read_silences",
    ReadSkipsAfter = "read_skips_after",
    ReadSlotRun = "read_slot_run",
    ReadStagedConflicts = "read_staged_conflicts",
    ReadStepRows = "read_step_rows",
    ReadWorked = "read_worked",
    ReadySteps = "ready_steps",
    RecordCancelledSteps = "record_cancelled_steps",
    RecordRedeliveredSteps = "record_redelivered_steps",
    RedeliverSteps = "redeliver_steps",
    RefuseRequest = "refuse_request",
    ReleaseBatch = "release_batch",
    ReleaseSteps = "release_steps",
    RenewReplica = "renew_replica",
    ReopenSteps = "reopen_steps",
    RequestCarriers = "request_carriers",
    RequestMessages = "request_messages",
    RequestReplicas = "request_replicas",
    RequestRuns = "request_runs",
    RequestSteps = "request_steps",
    ResendMessages = "resend_messages",
    ResolveMessages = "resolve_messages",
    ResumeBatch = "resume_batch",
    ResumeVigil = "resume_vigil",
    ReviveMessages = "revive_messages",
    ReviveRunMessages = "revive_run_messages",
    RewindJobs = "rewind_jobs",
    RewindMessages = "rewind_messages",
    RewindRuns = "rewind_runs",
    RewindSteps = "rewind_steps",
    RewindTerms = "rewind_terms",
    RewindVigils = "rewind_vigils",
    SeenTimes = "seen_times",
    SettleMessages = "settle_messages",
    ShowAttempts = "show_attempts",
    ShowMessage = "show_message",
    ShowRun = "show_run",
    ShowSteps = "show_steps",
    SortStaged = "sort_staged",
    StageRecords = "stage_records",
    StartSteps = "start_steps",
    SumEffects = "sum_effects",
    SumEffectsBetween = "sum_effects_between",
    SweepStaged = "sweep_staged",
    TakeBatch = "take_batch",
    TakeCallback = "take_callback",
    TakeTerm = "take_term",
    TakeUpSteps = "take_up_steps",
    TellLateFinishes = "tell_late_finishes",
    UpdateJob = "update_job",
    WithholdBatch = "withhold_batch",
}

/// The texts in use.
#[derive(Debug, Clone)]
pub(super) struct Statements(Vec<Cow<'static, str>>);

impl Default for Statements {
    fn default() -> Self {
        Self(ALL.iter().map(|(_, text)| Cow::Borrowed(*text)).collect())
    }
}

impl Statements {
    /// Every statement with its own text.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALL.iter().copied()
    }

    pub(super) fn text(&self, statement: Statement) -> &str {
        &self.0[statement as usize]
    }

    /// Puts another text in place of the statement `name`.
    pub(super) fn put(&mut self, name: &str, text: String) -> Result<(), StoreError> {
        let place = ALL.iter().position(|(known, _)| *known == name);
        let place = place.ok_or_else(|| StoreError::broken(format!("no statement is named {name:?}; see store/sqlite/sql")))?;
        self.0[place] = Cow::Owned(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn database() -> rusqlite::Connection {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        super::super::connection::stop_preparing_anew(&connection).unwrap();
        for (_, migration) in super::super::migrate::MIGRATIONS {
            connection.execute_batch(migration).unwrap();
        }
        connection
    }

    /// The plan of a statement as SQLite tells it.
    fn plan(connection: &rusqlite::Connection, name: &str) -> String {
        let text = Statements::all().find(|(known, _)| *known == name).unwrap().1;
        let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
        let mut rows = explain.raw_query();
        let mut plan = String::new();
        while let Some(row) = rows.next().unwrap() {
            plan += &row.get::<_, String>("detail").unwrap();
            plan += "\n";
        }
        plan
    }

    #[test]
    fn hot_statements_go_by_their_index() {
        let connection = database();
        for (name, index) in [
            ("claim_steps", "USING INDEX onebell_job_steps_claim"),
            ("find_alone_step", "INDEX onebell_job_steps_alone"),
            ("fence_steps", "sqlite_autoindex_onebell_job_steps_1 (step_id=?)"),
            ("finish_steps", "sqlite_autoindex_onebell_job_steps_1 (step_id=?)"),
            ("release_steps", "sqlite_autoindex_onebell_job_steps_1 (step_id=?)"),
            ("extend_steps", "sqlite_autoindex_onebell_job_steps_1 (step_id=?)"),
            ("read_run_steps", "INDEX onebell_job_steps_run"),
            ("read_held_steps", "INDEX onebell_job_steps_owner"),
            ("request_steps", "INDEX onebell_job_steps_overdue"),
            ("request_messages", "INDEX onebell_outbox_overdue"),
            ("claim_messages", "INDEX onebell_outbox_claim"),
            ("read_closable_steps", "INDEX onebell_job_steps_delivering"),
            ("read_queued_runs", "INDEX onebell_runs_open"),
            ("read_overlap", "INDEX onebell_runs_open"),
            ("drop_run_messages", "INDEX onebell_outbox_run"),
            ("read_late_finishes", "INDEX onebell_runs_finish_by"),
            ("read_silences", "INDEX onebell_vigils_expected"),
            ("read_worked", "INDEX onebell_attempts_run"),
            ("keep_vigil", "sqlite_autoindex_onebell_runs_2 (job_id=?"),
            ("read_late_starts", "INDEX onebell_runs_open"),
            ("read_last_run_slot", "sqlite_autoindex_onebell_runs_2 (job_id=?"),
            ("read_batch", "PRIMARY KEY (batch_id=?)"),
            ("read_batch_effects", "PRIMARY KEY (scope=? AND key=?)"),
            ("read_series", "(series=?)"),
            ("move_batch", "PRIMARY KEY (batch_id=?)"),
            ("read_skips_after", "PRIMARY KEY (job_id=? AND from_slot>?)"),
        ] {
            let plan = plan(&connection, name);
            assert!(plan.contains(index), "{name} does not go by {index}:\n{plan}");
        }
    }

    #[test]
    fn no_statement_is_prepared_anew_at_every_call() {
        let connection = database();
        let mut anew = Vec::new();
        for (name, text) in Statements::all() {
            let mut statement = connection.prepare(text).unwrap();
            for _ in 0..3 {
                for index in 1..=statement.parameter_count() {
                    statement.raw_bind_parameter(index, "[]").unwrap();
                }
                // Whether the values suit the columns does not matter here.
                let mut rows = statement.raw_query();
                while let Ok(Some(_)) = rows.next() {}
                drop(rows);
                statement.clear_bindings();
            }
            if statement.get_status(rusqlite::StatementStatus::RePrepare) > 0 {
                anew.push(name);
            }
        }
        assert!(anew.is_empty(), "{anew:?}");
    }

    #[test]
    fn a_claim_sorts_nothing_but_what_it_takes() {
        let plan = plan(&database(), "claim_steps");
        let picked = plan.split("onebell_job_steps_claim").next().unwrap();
        assert!(!picked.contains("TEMP B-TREE"), "{plan}");
    }
}
