//! What runs in place of a command, or around it: tells the witness, and either stands in for the command or starts it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use super::rows::RowPlan;
use super::witness::{GO, Said};
use crate::answer::{Answer, Failure};
use crate::args::ChaosStep;

/// Names the replica to whatever it starts; no name of the engine's own, which would be taken away.
pub(super) const REPLICA: &str = "CHAOS_REPLICA";
/// Folder beside the witness that holds this program under its usual name.
pub(super) const PROGRAMS: &str = "bin";
/// Where the witness listens, for `onebell probe` inside a command.
const WITNESS: &str = "ONEBELL_CHAOS";

/// `onebell chaos-step`, hidden: one execution of a command step.
pub fn step(args: &ChaosStep) -> Answer {
    let lost = |error: std::io::Error| Failure::Work(format!("the witness of `onebell chaos` is gone: {error}"));
    let mut witness = BufReader::new(UnixStream::connect(&args.witness).map_err(lost)?);
    let said = Said::Begin {
        step: args.step.clone(),
        step_id: variable("ONEBELL_STEP_ID"),
        run: variable("ONEBELL_RUN_ID"),
        attempt: variable("ONEBELL_ATTEMPT").parse().unwrap_or(0),
        replica: variable(REPLICA),
        pid: std::process::id(),
    };
    say(&mut witness, &said).map_err(lost)?;
    let pair = heard(&mut witness).map_err(lost)?;
    let pair = pair.strip_prefix(GO).and_then(|pair| pair.trim().parse().ok()).unwrap_or(0);
    let code = match args.command.split_first() {
        Some((program, arguments)) => really(program, arguments, &args.witness, &witness)?,
        None => {
            heard(&mut witness).map_err(lost)?;
            stand_in(args.rows.as_deref(), pair)?;
            0
        }
    };
    say(&mut witness, &Said::End { code }).map_err(lost)?;
    if code == 0 { Ok(()) } else { Err(Failure::Exit(u8::try_from(code).unwrap_or(1))) }
}

/// `onebell probe KEY`: says that an effect of the job's happened. Outside of chaos it does nothing.
pub fn probe(key: &str) -> Answer {
    let Some(path) = std::env::var_os(WITNESS) else { return Ok(()) };
    let lost = |error: std::io::Error| Failure::Work(format!("the witness of `onebell chaos` is gone: {error}"));
    let mut witness = BufReader::new(UnixStream::connect(path).map_err(lost)?);
    let said = Said::Effect {
        key: key.to_owned(),
        step_id: variable("ONEBELL_STEP_ID"),
        attempt: variable("ONEBELL_ATTEMPT").parse().unwrap_or(0),
        replica: variable(REPLICA),
    };
    say(&mut witness, &said).map_err(lost)?;
    heard(&mut witness).map_err(lost).map(drop)
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn say(witness: &mut BufReader<UnixStream>, said: &Said) -> std::io::Result<()> {
    let line = format!("{}\n", serde_json::to_string(said)?);
    witness.get_mut().write_all(line.as_bytes())
}

fn heard(witness: &mut BufReader<UnixStream>) -> std::io::Result<String> {
    let mut line = String::new();
    match witness.read_line(&mut line)? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line),
    }
}

/// Writes what later steps read.
fn stand_in(plan: Option<&Path>, pair: u64) -> Result<(), Failure> {
    let Some(path) = plan else { return Ok(()) };
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::Work(format!("{}: {error}", path.display())));
    let plan: RowPlan = serde_json::from_str(&read(path)?).map_err(|error| Failure::Work(error.to_string()))?;
    let input = std::env::var_os("ONEBELL_INPUT").map(|path| read(&PathBuf::from(path))).transpose()?;
    let rows = plan.rows(pair, input.as_deref()).map_err(Failure::Work)?;
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let output = PathBuf::from(std::env::var_os("ONEBELL_OUTPUT").unwrap_or_default());
    std::fs::write(&output, text).map_err(|error| Failure::Work(format!("{}: {error}", output.display())))
}

/// Runs the command as it was given: its exit code, as a shell would say it.
fn really(program: &OsString, arguments: &[OsString], socket: &Path, witness: &BufReader<UnixStream>) -> Result<i32, Failure> {
    // Inherited, so that it stays open until the last process of the command is gone.
    rustix::io::fcntl_setfd(witness.get_ref(), rustix::io::FdFlags::empty()).map_err(|error| Failure::Work(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(arguments).env(WITNESS, socket);
    if let Some(path) = with_this_program(socket, std::env::var_os("PATH")) {
        command.env("PATH", path);
    }
    match command.status() {
        Ok(status) => Ok(code(status)),
        Err(error) => {
            // What cannot be written to nobody is no loss.
            drop(writeln!(std::io::stderr(), "{}: {error}", program.display()));
            Ok(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// The search path with this very program first, under its usual name: `onebell probe` and `onebell progress` are found.
fn with_this_program(socket: &Path, path: Option<OsString>) -> Option<OsString> {
    let own = socket.parent()?.join(PROGRAMS);
    let others = path.as_ref().map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    std::env::join_paths(std::iter::once(own).chain(others)).ok()
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}
