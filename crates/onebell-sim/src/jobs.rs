//! The jobs of a history: a few shapes, with policies that the seed chooses. Each comes in several versions, which
//! replicas bring with them when they start.

use std::time::Duration;

use onebell::model::alarm::{AlarmKind, Notify};
use onebell::model::job::{Missed, OnLost, OnMessageFailed, Overlap, ScheduleDefinition, UndoDefinition, When};
use onebell::model::retry::RetryPolicy;
use onebell::model::{Fingerprint, JobDefinition, StepDefinition};
use onebell::roles::scheduler::Carried;

use crate::dice::Dice;
use crate::hour::Hour;

/// The handler that works.
pub const WORK: &str = "work";
/// The handler that undoes.
pub const UNDO: &str = "undo";
/// A channel whose receiver cannot dedupe.
pub const MAIL: &str = "mail";
/// A channel whose receiver dedupes.
pub const HOOK: &str = "hook";

/// The queue of steps that not every replica serves.
pub const SLOW: &str = "slow";

/// A job in all its versions.
pub type Versions = Vec<Carried>;

/// The jobs of one history that begins at `hour`.
pub fn jobs(dice: &mut Dice, hour: &Hour) -> Vec<Versions> {
    let kinds: [fn(&mut Dice, &Hour) -> JobDefinition; 4] = [tick, mail, batch, chain];
    kinds
        .map(|kind| {
            let mut first = kind(dice, hour);
            watched(dice, &mut first);
            let versions = (0..1 + dice.index(2)).map(|_| edited(dice, hour, &first));
            std::iter::once(first.clone()).chain(versions.collect::<Vec<_>>()).map(carried).collect()
        })
        .into()
}

/// Of these everything is told, in every version the same.
pub const WATCHED: [&str; 2] = ["tick", "chain"];

fn watched(dice: &mut Dice, job: &mut JobDefinition) {
    if !WATCHED.contains(&job.name.as_str()) {
        return;
    }
    let kinds = AlarmKind::ALL.iter().copied();
    let after_skips = u32::try_from(1 + dice.below(3)).unwrap_or(1);
    job.notify = Some(Notify { after_skips, retry: retry(dice), ..Notify::new(HOOK, kinds) });
    job.finish_within = Some(Duration::from_secs(*dice.pick(&[5, 20, 60])));
    job.runs_at_least = Some(Duration::from_millis(*dice.pick(&[1, 500, 3_000])));
    job.expect_within = Some(Duration::from_secs(*dice.pick(&[15, 40, 120])));
}

fn carried(definition: JobDefinition) -> Carried {
    let text = serde_json::to_string(&definition).unwrap_or_default();
    let hash = Fingerprint::of_json(&text).map(|fingerprint| fingerprint.to_string()).unwrap_or_default();
    Carried { definition, hash }
}

/// Another version: other times, other policies, the same steps.
fn edited(dice: &mut Dice, hour: &Hour, first: &JobDefinition) -> JobDefinition {
    let mut job = first.clone();
    if !job.schedules.is_empty() {
        job.schedules = schedules(dice, hour);
    }
    policies(dice, &mut job);
    job
}

/// One that fires every few seconds or minutes, and one about the change of the clocks when there is one.
fn schedules(dice: &mut Dice, hour: &Hour) -> Vec<ScheduleDefinition> {
    let mut schedules = vec![every(dice)];
    if dice.chance(800) {
        schedules.extend(hour.schedule(dice));
    }
    if schedules.len() > 1 && dice.chance(400) {
        schedules.remove(0);
    }
    schedules
}

fn every(dice: &mut Dice) -> ScheduleDefinition {
    let seconds = *dice.pick(&[11, 20, 30, 47]);
    let when = match dice.below(3) {
        0 => When::Cron { expression: "* * * * *".to_owned(), seconds: false },
        _ => When::Every(Duration::from_secs(seconds)),
    };
    ScheduleDefinition { when, time_zone: "UTC".to_owned(), dst: onebell::model::job::Dst::default() }
}

fn policies(dice: &mut Dice, job: &mut JobDefinition) {
    job.overlap = *dice.pick(Overlap::ALL);
    job.missed = *dice.pick(&[Missed::Latest, Missed::Skip, Missed::All(3)]);
    job.missed_window = Duration::from_secs(*dice.pick(&[30, 300, 3_600]));
    for step in &mut job.steps {
        step.timeout = Duration::from_secs(*dice.pick(&[4, 12, 40]));
        step.hard_limit = step.timeout * u32::try_from(1 + dice.below(3)).unwrap_or(1);
        step.retry = retry(dice);
        step.on_lost = *dice.pick(&[OnLost::Retry, OnLost::Retry, OnLost::Hold, OnLost::Fail]);
        step.on_message_failed = *dice.pick(OnMessageFailed::ALL);
        step.priority = i32::try_from(dice.below(2)).unwrap_or(0);
    }
}

/// A budget with short waits: a history lasts minutes.
pub fn retry(dice: &mut Dice) -> RetryPolicy {
    RetryPolicy {
        attempts: u32::try_from(1 + dice.below(4)).unwrap_or(1),
        backoff_min: Duration::from_millis(500),
        backoff_max: Duration::from_secs(4),
        within_us: dice.chance(200).then_some(90_000_000),
    }
}

fn step(name: &str, after: &[&str], spec: &str) -> StepDefinition {
    let mut step = StepDefinition::new(name, WORK);
    step.spec = spec.to_owned();
    step.after = after.iter().map(|name| (*name).to_owned()).collect();
    step
}

fn in_slow(mut step: StepDefinition) -> StepDefinition {
    step.queue = SLOW.to_owned();
    step
}

fn with_undo(mut step: StepDefinition) -> StepDefinition {
    step.undo = Some(UndoDefinition {
        handler: UNDO.to_owned(),
        spec: "{\"own\":true}".to_owned(),
        timeout: Duration::from_secs(8),
        hard_limit: Duration::from_secs(20),
        retry: RetryPolicy { attempts: 3, backoff_min: Duration::from_millis(500), ..RetryPolicy::default() },
    });
    step
}

/// On a schedule: two steps and a join.
fn tick(dice: &mut Dice, hour: &Hour) -> JobDefinition {
    let mut job = JobDefinition::new("tick");
    job.schedules = schedules(dice, hour);
    job.steps = vec![
        with_undo(step("a", &[], "{\"own\":true,\"work\":true}")),
        step("b", &[], "{\"own\":true,\"shared\":true}"),
        step("c", &["a", "b"], "{\"own\":true,\"clash\":true}"),
    ];
    policies(dice, &mut job);
    job
}

/// On a schedule: messages whose receiver cannot dedupe, and others.
fn mail(dice: &mut Dice, hour: &Hour) -> JobDefinition {
    let mut job = JobDefinition::new("mail");
    job.schedules = schedules(dice, hour);
    job.steps = vec![
        step("send", &[], "{\"own\":true,\"mail\":true,\"hook\":true}"),
        step("daily", &["send"], "{\"daily\":true,\"work\":true}"),
    ];
    policies(dice, &mut job);
    job
}

/// On request only: side by side, with undo, and a last step that likes to fail.
fn batch(dice: &mut Dice, _hour: &Hour) -> JobDefinition {
    let mut job = JobDefinition::new("batch");
    job.steps = vec![
        with_undo(step("load", &[], "{\"own\":true}")),
        with_undo(step("send", &["load"], "{\"own\":true,\"mail\":true}")),
        in_slow(with_undo(step("other", &["load"], "{\"own\":true,\"work\":true}"))),
        step("verify", &["send", "other"], "{\"fails\":true}"),
    ];
    policies(dice, &mut job);
    job
}

/// On request and on a schedule: a chain that takes long.
fn chain(dice: &mut Dice, hour: &Hour) -> JobDefinition {
    let mut job = JobDefinition::new("chain");
    job.schedules = schedules(dice, hour);
    job.steps = vec![
        with_undo(step("one", &[], "{\"own\":true,\"long\":true}")),
        with_undo(step("two", &["one"], "{\"own\":true,\"daily\":true,\"fails\":true}")),
    ];
    policies(dice, &mut job);
    job
}
