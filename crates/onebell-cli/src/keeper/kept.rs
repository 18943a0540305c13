//! The agent's side: a running command, seen through its keeper.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::input::Input;
use super::output::{Captured, Collector};
use super::plan::{DRAIN, GIVE_UP, Reason, Status};
use super::wire::{Ended, Frame, Inbox, Order, Report, line};
use super::{ARGUMENT, Allowance, CommandSpec, StartError, lost};

/// A keeper that says nothing for this long after it was started is given up.
const START_LIMIT: Duration = Duration::from_secs(30);
/// A stop that takes this much longer than grace and the keeper's own limit means that the keeper itself hangs.
const STOP_MARGIN: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// Killed by this signal, which did not come from its keeper.
    Signalled(i32),
    /// The keeper ended it.
    EndedByKeeper(Reason),
    /// The keeper itself was killed, so what the command did last is unknown. Its session was ended by the agent.
    KeeperLost,
}

/// The end of a command and what it left.
#[derive(Clone, Debug)]
pub struct CommandEnd {
    /// How it ended.
    pub end: End,
    /// What it wrote to stdout. Not masked yet: see [`mask`](super::mask).
    pub stdout: Captured,
    /// What it wrote to stderr, likewise.
    pub stderr: Captured,
    /// Processes that were still running 300 ms after the command itself had exited; they were ended.
    pub leftovers: u32,
    /// Processes that could not be ended: another user's, or stuck in the kernel. 0 means that nothing of the command runs any
    /// more.
    pub survivors: u32,
}

/// A running command. Dropping it, like the death of this process, ends the command: TERM, grace, KILL.
#[derive(Debug)]
pub struct Kept {
    channel: Arc<UnixStream>,
    inbox: Inbox,
    keeper: Child,
    session: i32,
    command: i32,
    grace: Duration,
    stop_limit: Arc<watch::Sender<Option<Instant>>>,
    stdout: Tap,
    stderr: Tap,
}

/// Speaks to the keeper of one command; does not keep it alive. Clones may go to any task.
#[derive(Clone, Debug)]
pub struct RenewalHandle {
    channel: Weak<UnixStream>,
    stop_limit: Arc<watch::Sender<Option<Instant>>>,
}

impl RenewalHandle {
    /// Tells that a renewal succeeded. Never blocks: a keeper that does not read loses frames, and then ends its command.
    pub fn renew(&self, allowance: Allowance) {
        self.send(&Frame::Renew(allowance));
    }

    /// Ends the command: TERM to everything now, KILL after `grace`. A second call may only shorten the grace.
    #[expect(clippy::disallowed_methods, reason = "a limit on a process of this host, judged by nothing else")]
    pub fn stop(&self, grace: Duration) {
        let limit = Instant::now() + grace.min(Duration::from_secs(86_400)) + GIVE_UP + STOP_MARGIN;
        self.stop_limit.send_modify(|known| *known = Some(known.map_or(limit, |known| known.min(limit))));
        self.send(&Frame::Stop(grace));
    }

    fn send(&self, frame: &Frame) {
        if let (Some(channel), Some(bytes)) = (self.channel.upgrade(), line(frame)) {
            // So few bytes are taken whole or not at all. A keeper that is gone shows where its report is awaited.
            let _ = channel.try_write(&bytes);
        }
    }
}

impl Kept {
    /// Starts the command under a keeper. The keeper is this very program, also if its file was replaced meanwhile.
    ///
    /// `allowance` is what the last renewal allows, see [`Allowance::after`]. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// When the command does not run, see [`StartError::verdict`].
    pub async fn start(spec: CommandSpec, allowance: Allowance) -> Result<Self, StartError> {
        Self::start_with("/proc/self/exe".as_ref(), spec, allowance).await
    }

    /// The same with another program as keeper: one whose `main` calls [`main_if_keeper`](super::main_if_keeper), from the same
    /// build.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_with(program: &OsStr, spec: CommandSpec, allowance: Allowance) -> Result<Self, StartError> {
        let (mut kept, stdout) = Self::begin(program, &spec, allowance).await?;
        kept.stdout = Tap::open(stdout, spec.output_cap, spec.pass_on.then(|| -> Further { Box::new(tokio::io::stdout()) }));
        Ok(kept)
    }

    /// The same with its stdout for the caller to read as it comes. It stands still while nobody reads: whoever wants no more of it
    /// has to stop it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_piped(
        program: &OsStr,
        spec: &CommandSpec,
        allowance: Allowance,
    ) -> Result<(Self, ChildStdout), StartError> {
        Self::begin(program, spec, allowance).await
    }

    async fn begin(program: &OsStr, spec: &CommandSpec, allowance: Allowance) -> Result<(Self, ChildStdout), StartError> {
        let (channel, keeper) = spawn(program).map_err(StartError::of_keeper)?;
        let mut inbox = Inbox::default();
        let greeting = timeout(START_LIMIT, greet(&channel, &mut inbox, spec, allowance)).await;
        let greeting = greeting.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map_err(StartError::of_keeper)?;
        match greeting {
            Report::Started { command } => Self::started(channel, inbox, keeper, command, spec).map_err(StartError::Keeper),
            Report::Refused { stage, errno } => Err(StartError::refused(spec, stage, errno)),
            Report::Ended(_) => Err(StartError::Keeper(io::ErrorKind::InvalidData.into())),
        }
    }

    fn started(
        channel: UnixStream,
        inbox: Inbox,
        mut keeper: Child,
        command: i32,
        spec: &CommandSpec,
    ) -> io::Result<(Self, ChildStdout)> {
        let session = keeper.id().and_then(|id| i32::try_from(id).ok());
        let (Some(stdout), Some(stderr)) = (keeper.stdout.take(), keeper.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let kept = Self {
            channel: Arc::new(channel),
            inbox,
            session: session.unwrap_or(command),
            keeper,
            command,
            grace: spec.grace,
            stop_limit: Arc::new(watch::Sender::new(None)),
            stdout: Tap::open(tokio::io::empty(), 0, None),
            stderr: Tap::open(stderr, spec.output_cap, spec.pass_on.then(|| -> Further { Box::new(tokio::io::stderr()) })),
        };
        Ok((kept, stdout))
    }

    /// A handle for renewals and stops that outlives a borrow of this.
    #[must_use]
    pub fn renewals(&self) -> RenewalHandle {
        RenewalHandle { channel: Arc::downgrade(&self.channel), stop_limit: Arc::clone(&self.stop_limit) }
    }

    /// The command's process id, which is also its group's.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.command
    }

    /// The keeper's process id, which is also its session's.
    #[must_use]
    pub fn keeper_pid(&self) -> i32 {
        self.session
    }

    /// Ends the command, with the grace of its [`CommandSpec`]. [`wait`](Self::wait) then tells how it went.
    pub fn stop(&self) {
        self.renewals().stop(self.grace);
    }

    /// What stdout and stderr have brought so far, for live logs; to be masked like the end's.
    #[must_use]
    pub fn so_far(&self) -> (Captured, Captured) {
        (self.stdout.captured(true), self.stderr.captured(true))
    }

    /// Waits until nothing of the command is left. A stop is bounded: its grace, and a few seconds.
    pub async fn wait(mut self) -> CommandEnd {
        let ended = self.last_report().await;
        let (end, leftovers, survivors) = match ended.and_then(|ended| Some((end(&ended)?, ended))) {
            Some((end, ended)) => (end, ended.leftovers, ended.survivors),
            None => {
                // Already dead, as a rule; one that hangs must not wake up beside its successor.
                let _ = self.keeper.start_kill();
                (End::KeeperLost, 0, lost::end_session(self.session, self.command).await)
            }
        };
        let _ = self.keeper.wait().await;
        let (stdout, stderr) = tokio::join!(self.stdout.close(), self.stderr.close());
        CommandEnd { end, stdout, stderr, leftovers, survivors }
    }

    /// `None` when the keeper is gone or hangs.
    #[expect(clippy::disallowed_methods, reason = "a limit on a process of this host, judged by nothing else")]
    async fn last_report(&mut self) -> Option<Ended> {
        let mut stop_limit = self.stop_limit.subscribe();
        loop {
            let limit = *stop_limit.borrow_and_update();
            let hangs = async {
                match limit {
                    Some(limit) => sleep_until(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                report = next_report(&self.channel, &mut self.inbox) => match report {
                    Ok(Report::Ended(ended)) => return Some(ended),
                    Ok(_) => {}
                    Err(_) => return None,
                },
                _ = stop_limit.changed() => {}
                () = hangs => return None,
            }
        }
    }
}

fn end(ended: &Ended) -> Option<End> {
    match (ended.reason, ended.status?) {
        (Some(reason), _) => Some(End::EndedByKeeper(reason)),
        (None, Status::Exited(code)) => Some(End::Exited(code)),
        (None, Status::Signalled(signal)) => Some(End::Signalled(signal)),
    }
}

fn spawn(program: &OsStr) -> io::Result<(UnixStream, Child)> {
    let (ours, theirs) = StdUnixStream::pair()?;
    ours.set_nonblocking(true)?;
    // Our copy of the keeper's end closes with this builder; while it were open, the keeper's death would go unseen.
    let keeper = Command::new(program)
        .arg0("onebell-keeper")
        .arg(ARGUMENT)
        .stdin(OwnedFd::from(theirs))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()?;
    Ok((UnixStream::from_std(ours)?, keeper))
}

async fn greet(channel: &UnixStream, inbox: &mut Inbox, spec: &CommandSpec, allowance: Allowance) -> io::Result<Report> {
    let order = Order {
        argv: spec.argv.clone(),
        env: spec.env.clone(),
        clear_env: spec.clear_env,
        cwd: spec.cwd.clone().map(Into::into),
        grace: spec.grace,
        allowance,
        scratch: spec.scratch.clone().map(Into::into),
        input: if spec.pass_on { Input::own() } else { None },
    };
    let bytes = line(&order).ok_or(io::ErrorKind::InvalidInput)?;
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        channel.writable().await?;
        match channel.try_write(rest) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    next_report(channel, inbox).await
}

/// Loses nothing when dropped in between: what was read is in the inbox.
async fn next_report(channel: &UnixStream, inbox: &mut Inbox) -> io::Result<Report> {
    let mut bytes = [0; 1024];
    loop {
        if let Some(report) = inbox.next() {
            return Ok(report);
        }
        channel.readable().await?;
        match channel.try_read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => inbox.push(bytes.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// Where a stream goes on to.
type Further = Box<dyn AsyncWrite + Unpin + Send>;

/// One stream of the command and the task that reads it.
#[derive(Debug)]
struct Tap {
    collector: Arc<Mutex<Collector>>,
    /// A chunk is on its way further: whoever reads it may take his time.
    passing_on: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

impl Tap {
    fn open(mut stream: impl AsyncRead + Unpin + Send + 'static, cap: usize, mut further: Option<Further>) -> Self {
        let collector = Arc::new(Mutex::new(Collector::new(cap)));
        let (filled, passing_on) = (Arc::clone(&collector), Arc::new(AtomicBool::new(false)));
        let busy = Arc::clone(&passing_on);
        let reader = tokio::spawn(async move {
            let mut bytes = vec![0; 16 * 1024];
            while let Ok(read @ 1..) = stream.read(&mut bytes).await {
                let chunk = bytes.get(..read).unwrap_or_default();
                filled.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
                if let Some(out) = &mut further {
                    busy.store(true, Ordering::SeqCst);
                    if out.write_all(chunk).await.is_err() || out.flush().await.is_err() {
                        // Nobody reads any longer; the command goes on.
                        further = None;
                    }
                    busy.store(false, Ordering::SeqCst);
                }
            }
        });
        Self { collector, passing_on, reader }
    }

    fn captured(&self, open: bool) -> Captured {
        self.collector.lock().unwrap_or_else(PoisonError::into_inner).captured(open)
    }

    /// With everybody gone the stream ends at once; only a survivor could hold it open, or a slow reader of what is passed on.
    async fn close(mut self) -> Captured {
        while timeout(DRAIN, &mut self.reader).await.is_err() {
            if !self.passing_on.load(Ordering::SeqCst) {
                self.reader.abort();
                break;
            }
        }
        self.captured(false)
    }
}
