//! Why a command could not be started, and whether another try may help.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use thiserror::Error;

use super::CommandSpec;
use super::exit::Verdict;
use super::wire::Stage;

/// The longest single argument or `NAME=value` that Linux takes, without its final NUL.
const LONGEST: usize = 131_071;

/// The command does not run.
#[derive(Debug, Error)]
pub enum StartError {
    /// Where a shell would exit 127.
    #[error(
        "program {program:?} was not found \
         (a name without a slash is looked up in the command's PATH; a script also needs its interpreter)"
    )]
    NotFound {
        /// As it was given.
        program: OsString,
    },
    /// Where a shell would exit 126.
    #[error("program {program:?} cannot be executed: {source}")]
    NotExecutable {
        /// As it was given.
        program: OsString,
        /// No right to execute, a folder, not a program, …
        source: io::Error,
    },
    /// `E2BIG`.
    #[error("arguments and environment are too long for Linux: {hint}")]
    TooBig {
        /// What is too long, and what to do instead.
        hint: String,
    },
    /// The working folder does not exist or cannot be entered.
    #[error("working folder {folder:?}: {source}")]
    Folder {
        /// As it was given.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// No program, or a NUL byte in an argument, variable or folder.
    #[error("the command is empty or contains a NUL byte")]
    Invalid,
    /// The host is short of processes, memory or files, or the program file is just being written.
    #[error("the host cannot start a process now: {0}")]
    Busy(#[source] io::Error),
    /// The allowance had run out before the command was started.
    #[error("the last renewal was too long ago to start a command under it")]
    Lapsed,
    /// The keeper could not be started or was lost before it started the command.
    #[error("the keeper could not be started: {0}")]
    Keeper(#[source] io::Error),
}

impl StartError {
    /// Whether another try may succeed.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::NotFound { .. } | Self::NotExecutable { .. } | Self::TooBig { .. } => Verdict::Permanent,
            Self::Folder { .. } | Self::Invalid => Verdict::Permanent,
            Self::Busy(_) | Self::Lapsed | Self::Keeper(_) => Verdict::Retry,
        }
    }

    /// The code that a shell or `env` would have exited with, for `onebell once`: 127 not found, 126 not executable, else 125
    /// (our own).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            _ => 125,
        }
    }

    /// As the error of a program that was to replace this process.
    #[must_use]
    pub fn of_exec(program: &str, source: io::Error) -> Self {
        let program = OsString::from(program);
        match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { program },
            _ => Self::NotExecutable { program, source },
        }
    }

    pub(super) fn refused(spec: &CommandSpec, stage: Stage, errno: i32) -> Self {
        let source = io::Error::from_raw_os_error(errno);
        match stage {
            Stage::Keeper => Self::of_keeper(source),
            Stage::Lapsed => Self::Lapsed,
            Stage::Argument => Self::Invalid,
            Stage::Folder => Self::Folder { folder: spec.cwd.clone().unwrap_or_default(), source },
            Stage::Exec => Self::exec(spec, source),
        }
    }

    pub(super) fn of_keeper(error: io::Error) -> Self {
        if is_busy(&error) { Self::Busy(error) } else { Self::Keeper(error) }
    }

    fn exec(spec: &CommandSpec, source: io::Error) -> Self {
        let program = spec.argv.first().cloned().unwrap_or_default();
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT | Errno::NOTDIR) => Self::NotFound { program },
            Some(Errno::TOOBIG) => Self::TooBig { hint: too_big(spec) },
            Some(
                Errno::ACCESS | Errno::PERM | Errno::NOEXEC | Errno::ISDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::LIBBAD,
            ) => Self::NotExecutable { program, source },
            _ if is_busy(&source) => Self::Busy(source),
            _ => Self::Keeper(source),
        }
    }
}

fn is_busy(error: &io::Error) -> bool {
    let busy = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE, Errno::TXTBSY];
    Errno::from_io_error(error).is_some_and(|errno| busy.contains(&errno))
}

/// Names the longest offender, never its value: it may be a secret.
fn too_big(spec: &CommandSpec) -> String {
    let advice = "pass it in a file and give the file's name";
    let variable = spec.env.iter().find(|(name, value)| name.len() + 1 + value.len() > LONGEST);
    if let Some((name, value)) = variable {
        let length = name.len() + 1 + value.len();
        return format!("variable {name:?} has {length} bytes with its name, at most {LONGEST} are possible; {advice}");
    }
    let argument = spec.argv.iter().enumerate().find(|(_, argument)| argument.len() > LONGEST);
    if let Some((at, argument)) = argument {
        return format!("argument {at} has {} bytes, at most {LONGEST} are possible; {advice}", argument.len());
    }
    let arguments: usize = spec.argv.iter().map(|argument| argument.len() + 1).sum();
    let variables: usize = spec.env.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    format!(
        "{arguments} bytes of arguments and {variables} of variables; \
         a quarter of the stack limit (`ulimit -s`) is possible; pass the data in a file"
    )
}
