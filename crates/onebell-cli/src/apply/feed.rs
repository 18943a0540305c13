//! What a command prints, as bytes of a source. It runs under a keeper, so that nothing of it is left when nobody reads any longer;
//! and only one that ends well has given all.

use std::ffi::{OsStr, OsString};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use crate::keeper::{Allowance, BootTime, CommandEnd, CommandSpec, ExitCodes, Kept, Verdict, classify, mask};
use crate::source::{Pieces, never};

/// Read at once.
const PIECE_BYTES: usize = 32 * 1024;
/// Between TERM and KILL.
const GRACE: Duration = Duration::from_secs(10);
/// Kept of its stderr, for the reason.
const STDERR_MAX: usize = 64 * 1024;

/// What a feed needs to know.
pub(crate) struct Feed {
    /// What runs.
    pub(crate) spec: CommandSpec,
    /// The program that serves as keeper.
    pub(crate) keeper: OsString,
    /// How long it may go on without a renewal.
    pub(crate) allowance: Allowance,
    /// What must not be seen of its stderr.
    pub(crate) secrets: Vec<String>,
}

impl Feed {
    /// Of a command that only this process vouches for.
    pub(super) fn alone(argv: &[String]) -> Self {
        let spec = CommandSpec {
            argv: argv.iter().map(OsString::from).collect(),
            env: Vec::new(),
            clear_env: false,
            cwd: None,
            grace: GRACE,
            output_cap: STDERR_MAX,
            pass_on: true,
            scratch: None,
        };
        let allowance = Allowance::since(BootTime::now(), Duration::MAX, Duration::MAX);
        Self { spec, keeper: OsStr::new("/proc/self/exe").to_owned(), allowance, secrets: Vec::new() }
    }

    /// Runs the command to its end, which `attend` waits for. What another try would not mend says so, see [`never`].
    pub(crate) async fn run<F>(self, attend: impl FnOnce(Kept) -> F, mut pieces: Pieces) -> io::Result<()>
    where
        F: Future<Output = CommandEnd>,
    {
        let started = Kept::start_piped(&self.keeper, &self.spec, self.allowance).await;
        let (kept, stdout) = started.map_err(|error| match error.verdict() {
            Verdict::Permanent => never(error.to_string()),
            Verdict::Retry | Verdict::Done => io::Error::other(error.to_string()),
        })?;
        let handle = kept.renewals();
        let mut attended = pin!(attend(kept));
        let mut reading = pin!(read(stdout, &mut pieces));
        let end = tokio::select! {
            read = &mut reading => {
                if !matches!(read, Ok(true)) {
                    handle.stop(self.spec.grace);
                }
                let end = attended.await;
                return read.and_then(|_| judge(end, &self.secrets));
            }
            end = &mut attended => end,
        };
        // What could not be ended may hold the pipe for ever.
        if end.survivors > 0 {
            return Err(io::Error::other(format!("{} processes of the command could not be ended", end.survivors)));
        }
        reading.await?;
        judge(end, &self.secrets)
    }
}

/// Reads until the command and all its children have let go, or nobody wants more: then false.
async fn read(mut stdout: ChildStdout, pieces: &mut Pieces) -> io::Result<bool> {
    let mut bytes = vec![0; PIECE_BYTES];
    let mut wish = pieces.wish();
    loop {
        let count = tokio::select! {
            biased;
            () = wish.gone() => return Ok(false),
            read = stdout.read(&mut bytes) => read?,
        };
        if count == 0 {
            return Ok(true);
        }
        if !pieces.leave(Bytes::copy_from_slice(&bytes[..count])).await {
            return Ok(false);
        }
    }
}

/// Whether all that it had to give is there.
fn judge(mut end: CommandEnd, secrets: &[String]) -> io::Result<()> {
    mask(&mut end.stderr, secrets);
    let why = format!("the command did not end well: {}", end.told());
    match classify(&end.end, &ExitCodes::default()) {
        Verdict::Done => Ok(()),
        Verdict::Retry => Err(io::Error::other(why)),
        Verdict::Permanent => Err(never(why)),
    }
}
