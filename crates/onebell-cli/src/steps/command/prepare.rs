//! What a command is given: its environment, a private folder, and the rows of the step before it.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use onebell::handler::{Context, Outcome};
use tempfile::TempDir;

use super::super::rows::as_ndjson;
use super::super::spec::CommandStep;
use super::CommandSettings;
use crate::keeper::CommandSpec;

/// A command ready to start.
pub(super) struct Prepared {
    pub(super) spec: CommandSpec,
    pub(super) scratch: Scratch,
    /// What must not be seen in its output.
    pub(super) secrets: Vec<String>,
}

/// The private folder of one attempt; gone with it.
pub(super) struct Scratch(TempDir);

impl Scratch {
    pub(super) fn progress(&self) -> PathBuf {
        self.0.path().join("progress")
    }

    pub(super) fn output(&self) -> PathBuf {
        self.0.path().join("output")
    }

    fn input(&self) -> PathBuf {
        self.0.path().join("input.ndjson")
    }

    fn make(rows: Option<&str>) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("no private folder for the command: {error}");
        // Rows are people's data: nobody else on the host may read them.
        let private = Permissions::from_mode(0o700);
        let scratch = Self(tempfile::Builder::new().prefix("onebell-").permissions(private).tempdir().map_err(wrong)?);
        let progress = std::fs::File::create(scratch.progress()).map_err(wrong)?;
        // Long ago, so that the first touch is a change however soon it comes.
        progress.set_modified(super::progress::UNTOUCHED).map_err(wrong)?;
        if let Some(rows) = rows {
            std::fs::write(scratch.input(), as_ndjson(rows)?).map_err(wrong)?;
        }
        Ok(scratch)
    }
}

pub(super) async fn prepare(step: &CommandStep, settings: &CommandSettings, context: &Context) -> Result<Prepared, Box<Outcome>> {
    let retry = |error: String| Box::new(Outcome::retry(error));
    let rows = super::super::input::rows(step.input.as_deref(), context).await?;
    let has_input = rows.is_some();
    let made = tokio::task::spawn_blocking(move || Scratch::make(rows.as_deref())).await;
    let scratch = made.map_err(|panic| retry(panic.to_string()))?.map_err(retry)?;
    let mut env = if settings.transparent { std::env::vars_os().collect() } else { inherited() };
    let mut secrets = settings.secrets.clone();
    for (name, value) in &step.env {
        let resolved = value.resolve(&settings.folder).map_err(|error| retry(format!("env.{name}: {error}")))?;
        if value.is_secret() {
            secrets.extend(value.bare().resolve(&settings.folder));
        }
        env.push((name.into(), resolved.into()));
    }
    env.extend(given(context, &scratch, has_input));
    let cwd = settings.folder.join(step.cwd.as_deref().unwrap_or("".as_ref()));
    let spec = CommandSpec {
        argv: step.argv.iter().map(OsString::from).collect(),
        env,
        // The whole environment is in `env`: the only way to take variables away.
        clear_env: true,
        cwd: (!cwd.as_os_str().is_empty()).then_some(cwd),
        grace: settings.grace,
        output_cap: usize::try_from(step.output_cap).unwrap_or(usize::MAX),
        pass_on: settings.transparent,
        scratch: Some(scratch.0.path().to_owned()),
    };
    Ok(Prepared { spec, scratch, secrets })
}

/// The replica's own variables, without ours: `ONEBELL_DATABASE` carries a password, and those of an outer step name its files.
fn inherited() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"ONEBELL_")).collect()
}

fn given(context: &Context, scratch: &Scratch, has_input: bool) -> Vec<(OsString, OsString)> {
    let step = context.step();
    let slot = step.scheduled_for.map(|at| at.to_string()).unwrap_or_default();
    let mut given: Vec<(OsString, OsString)> = vec![
        ("ONEBELL_RUN_ID".into(), step.claim.run().as_str().into()),
        ("ONEBELL_STEP_ID".into(), step.claim.step().as_str().into()),
        ("ONEBELL_ATTEMPT".into(), context.attempt().to_string().into()),
        ("ONEBELL_SCHEDULED_FOR".into(), slot.into()),
        ("ONEBELL_IDEMPOTENCY_KEY".into(), context.idempotency_key().into()),
        ("ONEBELL_COMPLETE_BY".into(), step.complete_by.to_string().into()),
        ("ONEBELL_PROGRESS".into(), scratch.progress().into()),
        ("ONEBELL_OUTPUT".into(), scratch.output().into()),
    ];
    if has_input {
        given.push(("ONEBELL_INPUT".into(), scratch.input().into()));
    }
    given
}
