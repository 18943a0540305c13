//! What a job file has that chaos must know of, and what replicas play of it: receivers of chaos's own in place of every channel,
//! slots every second, and a witness around every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onebell::model::job::{Dst, Limits, Overlap, ScheduleDefinition, When};
use onebell::model::{JobDefinition, StepDefinition};
use serde::{Deserialize, Serialize};

use super::receivers::Ports;
use crate::jobfile::{ChannelConfig, JobFile, ReplicaSettings};
use crate::steps::spec::{COMMAND, Codes, CommandStep, MESSAGE, MessageStep, OUTPUT_CAP, Rows, SQL, SqlStep};

/// One row for each commit of a `sql` step, written in its transaction: the step's own rows are there exactly as often.
pub(super) const COMMITS: &str = "chaos_commits";
/// Messages and steps at once unless the file says otherwise: few, so that a death leaves little in doubt.
const CONCURRENCY: u32 = 4;

/// What the job file has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cast {
    /// Steps at whose work the witness looks.
    pub(super) witnessed: bool,
    /// Messages that go to the mail server.
    pub(super) mails: bool,
    /// Messages that go to the receiver of webhooks.
    pub(super) webhooks: bool,
}

impl Cast {
    pub(super) fn of(file: &JobFile, real_steps: bool) -> Self {
        let steps = || file.jobs.iter().flat_map(|job| &job.steps);
        let messages = steps().filter(|step| step.handler == MESSAGE);
        let channels: Vec<&ChannelConfig> = messages
            .filter_map(|step| serde_json::from_str::<MessageStep>(&step.spec).ok())
            .filter_map(|message| file.channels.get(&message.channel))
            .collect();
        let witnessed = |step: &StepDefinition| step.handler == COMMAND || (!real_steps && is_outside(&step.handler));
        Self {
            witnessed: steps().any(witnessed),
            mails: channels.iter().any(|channel| matches!(channel, ChannelConfig::Smtp(_))),
            webhooks: channels.iter().any(|channel| matches!(channel, ChannelConfig::Http(_))),
        }
    }

    pub(super) fn messages(self) -> bool {
        self.mails || self.webhooks
    }
}

/// What a replica is told. It goes through a file that only this user can read: a database URL may hold a password.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) job_file: PathBuf,
    pub(super) database: String,
    /// Who it is, to receivers and witness.
    pub(super) name: String,
    /// The process without which it must not live.
    pub(super) chaos: u32,
    pub(super) lease: Duration,
    pub(super) ports: Ports,
    /// Where the witness listens.
    pub(super) witness: PathBuf,
    /// This program.
    pub(super) program: PathBuf,
    /// Commands run as given.
    pub(super) real_steps: bool,
    /// What a stand-in writes as rows, by `job/step`.
    pub(super) rows: BTreeMap<String, PathBuf>,
}

impl Orders {
    /// The file as the replica plays it.
    pub(super) fn adapt(&self, file: &mut JobFile) {
        file.database = None;
        let queues = file.jobs.iter().flat_map(|job| &job.steps).map(|step| step.queue.clone());
        let queues: std::collections::BTreeSet<String> = queues.chain(["default".to_owned()]).collect();
        file.replica = ReplicaSettings {
            lease: Some(self.lease),
            drain: Some(self.lease),
            concurrency: Some(file.replica.concurrency.unwrap_or(CONCURRENCY)),
            prefetch: file.replica.prefetch,
            queues: Some(queues.into_iter().collect()),
            ..ReplicaSettings::default()
        };
        for channel in file.channels.values_mut() {
            *channel = self.ports.in_place_of(channel, &self.name, self.lease * 3);
        }
        file.pings.clear();
        if !self.real_steps {
            file.secrets.clear();
        }
        let jobs = file.jobs.len() as u64;
        for job in &mut file.jobs {
            let when = When::Every(every(job.overlap, jobs));
            job.limits = Limits::default();
            // Every run is to be judged by what it did: none is left out for being late, and nothing is told of it.
            (job.notify, job.ping, job.start_within, job.finish_within) = (None, None, None, None);
            (job.runs_at_least, job.expect_within) = (None, None);
            job.schedules = vec![ScheduleDefinition { when, time_zone: "UTC".to_owned(), dst: Dst::default() }];
            let name = job.name.clone();
            job.steps.iter_mut().for_each(|step| self.adapt_step(&name, step));
        }
    }

    fn adapt_step(&self, job: &str, step: &mut StepDefinition) {
        let name = format!("{job}/{}", step.name);
        (step.handler, step.spec) = self.adapted(&name, &step.handler, &step.spec);
        if let Some(undo) = &mut step.undo {
            (undo.handler, undo.spec) = self.adapted(&format!("{name} (undo)"), &undo.handler, &undo.spec);
        }
    }

    /// The kind that a step is played as, and its spec.
    fn adapted(&self, name: &str, handler: &str, spec: &str) -> (String, String) {
        let adapted = match handler {
            // Whatever kind it is: what has effects outside has them only when they are asked for.
            outside if is_outside(outside) && !self.real_steps => {
                return (COMMAND.to_owned(), serde_json::to_string(&self.stand_in(name, spec)).unwrap_or_default());
            }
            COMMAND => serde_json::from_str(spec).and_then(|step| serde_json::to_string(&self.watched(name, step))),
            SQL => serde_json::from_str(spec).and_then(|step| serde_json::to_string(&counted(name, &step))),
            _ => return (handler.to_owned(), spec.to_owned()),
        };
        // What cannot be read is left as it is: the step says so itself.
        (handler.to_owned(), adapted.unwrap_or_else(|_| spec.to_owned()))
    }

    fn call(&self, name: &str) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let call = [text(&self.program), "chaos-step".to_owned(), "--witness".to_owned(), text(&self.witness)];
        call.into_iter().chain(["--step".to_owned(), name.to_owned()]).collect()
    }

    /// The command as it is given, with the witness beside it.
    fn watched(&self, name: &str, step: CommandStep) -> CommandStep {
        let mut argv = self.call(name);
        argv.push("--".to_owned());
        argv.extend(step.argv.iter().cloned());
        CommandStep { argv, ..step }
    }

    /// In place of a step that has effects outside. It needs nothing of the step but whose rows it gets.
    fn stand_in(&self, name: &str, spec: &str) -> CommandStep {
        #[derive(Deserialize, Default)]
        struct Taken {
            #[serde(default)]
            input: Option<String>,
        }
        let Taken { input } = serde_json::from_str(spec).unwrap_or_default();
        let mut argv = self.call(name);
        if let Some(rows) = self.rows.get(name) {
            argv.extend(["--rows".to_owned(), rows.to_string_lossy().into_owned()]);
        }
        let (env, exit_codes) = (BTreeMap::new(), Codes::default());
        CommandStep { argv, cwd: None, env, exit_codes, input, output_cap: OUTPUT_CAP }
    }
}

/// Whether a step of this kind has effects outside of what chaos made.
pub(super) fn is_outside(handler: &str) -> bool {
    !matches!(handler, SQL | MESSAGE)
}

/// Runs follow each other as fast as the job's own overlap lets them; one that replaces its predecessor must let it get somewhere.
pub(super) fn every(overlap: Overlap, jobs: u64) -> Duration {
    let seconds = if overlap == Overlap::Replace { 10 } else { 1 };
    Duration::from_secs(seconds.max(jobs.div_ceil(3)))
}

/// The same statements, after one that counts the commit.
fn counted(name: &str, step: &SqlStep) -> SqlStep {
    SqlStep { sql: format!("INSERT INTO {COMMITS} (step) VALUES ('{}');\n{}", name.replace('\'', "''"), step.sql) }
}

/// The steps of a job that write messages from the rows of `step`.
pub(super) fn readers<'j>(job: &'j JobDefinition, step: &'j str) -> impl Iterator<Item = MessageStep> + 'j {
    let specs = job.steps.iter().filter(|step| step.handler == MESSAGE);
    specs
        .filter_map(|step| serde_json::from_str::<MessageStep>(&step.spec).ok())
        .filter(move |message| matches!(&message.rows, Some(Rows::OutputOf(name)) if name == step))
}
