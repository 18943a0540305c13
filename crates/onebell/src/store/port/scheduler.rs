use async_trait::async_trait;

use super::error::Result;
use crate::model::alarm::SlotEnd;
use crate::model::lateness::BOUND_TO_SLOT;
use crate::model::overlap::{Origin, SkipReason};
use crate::model::recovery::{Grant, RecoveryRequest};
use crate::model::zone_version::Planner;
use crate::model::{JobDefinition, JobId, Moment, ReplicaId};

/// A job as planning needs it.
#[derive(Debug, Clone, PartialEq)]
pub struct JobState {
    /// Identity.
    pub id: JobId,
    /// The registered definition.
    pub definition: JobDefinition,
    /// Its number: grows with every change.
    pub version: u64,
    /// Its hash, as replicas carry it.
    pub hash: String,
    /// Planning goes on after this.
    pub cursor: Moment,
    /// No slot at or below it is ever opened again.
    pub pruned_before: Option<Moment>,
    /// Since when it is paused.
    pub paused_at: Option<Moment>,
    /// The next known slot.
    pub next_slot: Option<Moment>,
    /// Hashes of every version registered so far, the newest last.
    pub known_hashes: Vec<String>,
    /// Whether a live replica carries the current version.
    pub carried: bool,
}

/// Whether a scheduler may rest, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// The store's clock.
    pub now: Moment,
    /// The earliest next slot of the carried, unpaused jobs.
    pub next_slot: Option<Moment>,
    /// A recovery request is open, a delivery may be closed, a queued run may be admitted, a run is not over in time, or the
    /// silence of a job is due.
    pub has_work: bool,
}

impl Rest {
    /// There is nothing to do before the next slot.
    pub fn is_quiet(&self) -> bool {
        !self.has_work && self.next_slot.is_none_or(|slot| slot > self.now)
    }
}

/// A slot to be opened as a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSlot {
    /// The instant.
    pub at: Moment,
    /// `Slot`, `CatchUp` or `Backfill`.
    pub origin: Origin,
}

impl PlannedSlot {
    /// It has a run now, and ends a row of skips; a backfill does not.
    pub(crate) fn opened(&self) -> Option<SlotEnd> {
        BOUND_TO_SLOT.contains(&self.origin).then_some(SlotEnd::Opened(self.at))
    }
}

/// Slots that were due and will not run, in one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkipRange {
    /// First slot.
    pub from: Moment,
    /// Last slot.
    pub to: Moment,
    /// How many, when it is known without an unbounded walk.
    pub count: Option<u64>,
    /// One word: `missed`, `outside-window`, `overlap`, `late`, `paused`, `dst-gap`, `excluded`, `pruned`.
    pub reason: String,
}

impl SkipRange {
    /// One slot.
    pub(crate) fn of_slot(at: Moment, reason: SkipReason) -> Self {
        Self { from: at, to: at, count: Some(1), reason: reason.as_str().to_owned() }
    }

    /// Whether this is why.
    pub(crate) fn is_for(&self, reason: SkipReason) -> bool {
        self.reason == reason.as_str()
    }

    /// As it counts among skips in a row; nothing when a person wanted it so.
    pub(crate) fn counted(&self) -> Option<SlotEnd> {
        SkipReason::from_word(&self.reason).filter(|reason| reason.is_trouble())?;
        Some(SlotEnd::Skipped { from: self.from, to: self.to, count: self.count })
    }
}

/// Everything that one planning pass decided for one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotPlan {
    /// The job.
    pub job: JobId,
    /// Compared: planned under this version.
    pub version: u64,
    /// Compared: planned from this cursor.
    pub cursor_seen: Moment,
    /// Set.
    pub cursor: Moment,
    /// Set.
    pub next_slot: Option<Moment>,
    /// Opened oldest first.
    pub open: Vec<PlannedSlot>,
    /// Recorded.
    pub skips: Vec<SkipRange>,
    /// Who asked for it, for the audit log; none: it came due.
    pub actor: Option<super::operator::Actor>,
}

/// What became of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The cursor was moved.
    Applied {
        /// Runs opened.
        opened: u32,
        /// Slots skipped because of overlap or `pruned_before`.
        skipped: u32,
    },
    /// Another scheduler was faster, or the definition changed: nothing was written.
    Stale,
    /// Of several plans at once only: another transaction holds the job, and was not waited for. Nothing was written.
    Busy,
    /// Of several plans at once only: this one wants a transaction of its own, for older runs are moved with it. Nothing was
    /// written.
    Alone,
}

/// A definition to be registered.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Identity, of an existing job or a new one.
    pub id: JobId,
    /// What is registered.
    pub definition: JobDefinition,
    /// Its hash.
    pub hash: String,
    /// Compared: the version and cursor that were seen; none: the job must not exist.
    pub seen: Option<(u64, Moment)>,
    /// Set: planning under the new definition goes on after this.
    pub cursor: Moment,
    /// Set.
    pub next_slot: Option<Moment>,
    /// Who registers it.
    pub by: ReplicaId,
}

/// What became of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defined {
    /// Written under this version.
    Registered(u64),
    /// Another replica was faster: read again and decide again.
    Stale,
}

/// Pausing or resuming, after every slot up to `cursor_seen` was accounted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseChange {
    /// The job.
    pub job: JobId,
    /// Compared: the pause is accounted for, and the next slot found, by this version's schedule.
    pub version_seen: u64,
    /// Compared.
    pub cursor_seen: Moment,
    /// Set: paused since then; none resumes.
    pub paused_at: Option<Moment>,
    /// Set on resume.
    pub cursor: Moment,
    /// Set.
    pub next_slot: Option<Moment>,
    /// On resume: the pause as one range, reason `paused`.
    pub skip: Option<SkipRange>,
    /// For the audit log.
    pub actor: super::operator::Actor,
}

/// Opens runs, admits them, grants recovery, closes deliveries. Never claims.
#[async_trait]
pub trait SchedulerStore: Send + Sync {
    /// The store's clock.
    async fn scheduler_now(&self) -> Result<Moment>;

    /// One look at whether a pass over the carried jobs has anything to do. A look only: what is decided is decided by the verbs
    /// below, and what it misses the next one sees.
    async fn rest(&self, carried: &[JobId]) -> Result<Rest>;

    /// The newest instant at which anybody renewed, where the store's clock is a host's and may be set back
    /// (`model::behind`); none: the database has a clock of its own.
    async fn newest_renewal(&self) -> Result<Option<Moment>>;

    /// The live replicas that plan, with their time-zone data.
    async fn planners(&self) -> Result<Vec<Planner>>;

    /// Those of `jobs` whose registered definition one of `replicas` carries.
    async fn carried_by(&self, replicas: &[ReplicaId], jobs: &[JobId]) -> Result<Vec<JobId>>;

    /// The jobs registered under these names or `formerly` names; all jobs when `names` is none.
    async fn jobs_named(&self, names: Option<&[String]>) -> Result<Vec<JobState>>;

    /// Registers a definition under the job lock, comparing what was seen. Keeps every version: a run keeps the one
    /// it was opened with. A vigil begins where a definition wants one, and counts from the newest known success.
    async fn define_job(&self, definition: &Definition) -> Result<Defined>;

    /// Carried, unpaused jobs with `next_slot <= now`, the most overdue first. What only registration asks for (`known_hashes`,
    /// `carried`) is left empty.
    async fn due_jobs(&self, carried: &[JobId], limit: u32) -> Result<Vec<JobState>>;

    /// Under the job lock: compares version and cursor; for each slot above `pruned_before` and not opened before,
    /// inserts the run (with all its steps, `waiting`, and the definition version) as `queued`, or records a skip when
    /// overlap says so (`model::overlap`) or it is too late to start (`model::lateness`); writes the skips; sets cursor and next slot; then, in a later statement of the
    /// same transaction, admits what may start (as `admit_runs` does for this job).
    /// A slot whose run exists already is neither opened nor an error.
    async fn open_slots(&self, plan: &SlotPlan) -> Result<Opened>;

    /// As `open_slots` for plans of different jobs, all in one transaction, each with its own answer. It waits for no job's
    /// lock. An error is an error of all: none of them was carried out (or, when the store is away, perhaps all), and each may
    /// be tried by itself.
    async fn open_slots_of_jobs(&self, plans: &[SlotPlan]) -> Result<Vec<Opened>>;

    /// For each carried job with queued runs: waits for the job lock, then admits in a later statement: one waiting slot
    /// first, then the others oldest first. Overlap other than `allow` admits one run at a time. Returns how many.
    /// What waited too long to start is cancelled instead, and its slot recorded as skipped.
    async fn admit_runs(&self, carried: &[JobId], limit: u32) -> Result<u32>;

    /// Tells of runs that are not over by when they should be, each once. Returns how many were found.
    async fn tell_late_finishes(&self, limit: u32) -> Result<u32>;

    /// Looks at jobs whose silence is due (`model::vigil`), carried or not: tells of those that have not succeeded for too long,
    /// each once until it succeeds. Returns how many were looked at. A job that somebody else holds is left to the next pass.
    async fn tell_silences(&self, limit: u32) -> Result<u32>;

    /// Open recovery requests, oldest first.
    async fn open_requests(&self, limit: u32) -> Result<Vec<RecoveryRequest>>;

    /// Grants or refuses one request in one transaction: the request is locked first, then what it is about, and the row
    /// is compared with the fence in the request.
    /// `replica`: `lost_at` is set if beat and liveness are unchanged; then all it held is recovered in sets.
    /// `step`: granted if it is running under that attempt and its claim lapsed or its owner is not live.
    /// `message`: granted if claimed or sending under that attempt and lapsed or its owner is not live.
    /// `run`: the run is locked, readiness and end are decided again; a queued one is left to admission.
    /// Granted requests are kept with `granted_at`; refused ones are deleted.
    async fn grant(&self, request: &RecoveryRequest) -> Result<Grant>;

    /// Closes delivering steps (and steps held for a message in doubt) none of whose messages is open, run by run:
    /// `succeeded`, `held` while one is in doubt under `hold`, `failed` if one failed under `on_message_failed = "fail"`.
    async fn close_deliveries(&self, limit: u32) -> Result<u32>;

    /// The earliest next slot of the carried, unpaused jobs.
    async fn next_slot(&self, carried: &[JobId]) -> Result<Option<Moment>>;

    /// Pauses or resumes under the job lock; false when the cursor had moved.
    async fn set_pause(&self, change: &PauseChange) -> Result<bool>;
}
