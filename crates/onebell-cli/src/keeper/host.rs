//! The keeper process itself: synchronous, one loop, no state but its [`Plan`].
//!
//! It never writes to its stdout or stderr: those are the command's.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, kill_process_group, set_child_subreaper, setsid};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::clock::BootTime;
use super::input::Input;
use super::plan::{Act, Plan};
use super::reaper::{self, Reaped};
use super::tree;
use super::wire::{Ended, Frame, Inbox, Order, Report, Stage, line};

/// Runs the keeper until nothing of its command is left.
pub(super) fn run() -> ExitCode {
    // Another name than the program's, so that `pkill -9 onebell` leaves the keepers to do their work.
    let _ = rustix::thread::set_name(c"keeper");
    // A session of its own: no terminal can stop it or its command, and its number marks what belongs to it.
    let _ = setsid();
    let _signals = outlive_signals();
    let Ok(channel) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return ExitCode::FAILURE };
    let mut inbox = Inbox::default();
    let Some(order) = first_message(&channel, &mut inbox) else { return ExitCode::FAILURE };
    match Watch::start(&order, &channel, inbox) {
        Ok(watch) => watch.run(),
        Err((stage, error)) => {
            let errno = error.raw_os_error().unwrap_or(0);
            report(&channel, &Report::Refused { stage, errno });
            ExitCode::FAILURE
        }
    }
}

/// TERM, INT and HUP get a handler that does nothing: unlike "ignore", a handler is not inherited by the command. tokio's is the
/// one way to set one without `unsafe`; its runtime is never run. Without it the keeper merely dies of those signals, which its
/// agent sees.
fn outlive_signals() -> Option<Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().ok()?;
    let guard = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let _ = signal(kind);
    }
    drop(guard);
    Some(runtime)
}

/// The order, or `None` if the agent went away before it was whole.
fn first_message(mut channel: &UnixStream, inbox: &mut Inbox) -> Option<Order> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        if let Some(order) = inbox.next() {
            return Some(order);
        }
        match channel.read(&mut bytes) {
            Ok(0) => return None,
            Ok(read) => inbox.push(bytes.get(..read)?),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

/// The agent may be gone; then there is nobody to tell.
fn report(mut channel: &UnixStream, report: &Report) {
    if let Some(bytes) = line(report) {
        let _ = channel.write_all(&bytes);
    }
}

struct Watch<'a> {
    plan: Plan,
    command: Pid,
    channel: &'a UnixStream,
    inbox: Inbox,
    timer: OwnedFd,
    reaped: UnixStream,
    /// Our own reading ends of the command's output, see [`reading_end`].
    outputs: Vec<File>,
    agent_gone: bool,
    leftovers: u32,
    scratch: Option<PathBuf>,
}

impl<'a> Watch<'a> {
    fn start(order: &Order, channel: &'a UnixStream, inbox: Inbox) -> Result<Self, (Stage, io::Error)> {
        let keeper = |error: io::Error| (Stage::Keeper, error);
        set_child_subreaper(Some(getpid())).map_err(|errno| keeper(errno.into()))?;
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK);
        let timer = timer.map_err(|errno| keeper(errno.into()))?;
        let reaper = reaper::prepare().map_err(keeper)?;
        let outputs = ["/proc/self/fd/1", "/proc/self/fd/2"].into_iter().filter_map(reading_end).collect();
        let command = spawn(order)?;
        report(channel, &Report::Started { command: command.as_raw_nonzero().get() });
        let plan = Plan::new(order.allowance, order.grace);
        let scratch = order.scratch.clone().map(PathBuf::from);
        let reaped = reaper.go();
        Ok(Self { plan, command, channel, inbox, timer, reaped, outputs, agent_gone: false, leftovers: 0, scratch })
    }

    fn run(mut self) -> ExitCode {
        loop {
            match self.plan.act(BootTime::now()) {
                Act::Term { leftovers } => self.term(leftovers),
                Act::Kill => self.signal_all(&[Signal::KILL]),
                Act::GiveUp => return self.ended(living(&tree::below(me()))),
                Act::Wait(until) => {
                    if self.wait(until).is_err() {
                        // Cannot watch any more: the plan is over, not the duty.
                        self.signal_all(&[Signal::KILL]);
                        return ExitCode::FAILURE;
                    }
                    if self.collect() {
                        return self.ended(0);
                    }
                }
            }
        }
    }

    /// Sleeps until an event or that instant, also through a suspension of the host, and takes in what arrived on the channel.
    fn wait(&mut self, until: BootTime) -> Result<(), Errno> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let alarm = Itimerspec { it_interval: never, it_value: until.timespec() };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &alarm)?;
        let mut watched = vec![PollFd::new(&self.reaped, PollFlags::IN), PollFd::new(&self.timer, PollFlags::IN)];
        if self.agent_gone {
            watched.extend(self.outputs.iter().map(|output| PollFd::new(output, PollFlags::IN)));
        } else {
            watched.push(PollFd::new(self.channel, PollFlags::IN));
        }
        match poll(&mut watched, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let ready: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(watched);
        let arrived = ready.get(2..).unwrap_or_default();
        if self.agent_gone {
            self.discard(arrived);
        } else if arrived.first() == Some(&true) {
            self.receive();
        }
        Ok(())
    }

    /// Takes in who was reaped, before anything else is decided. True when nothing is left.
    fn collect(&mut self) -> bool {
        loop {
            let mut reaped = [PollFd::new(&self.reaped, PollFlags::IN)];
            if !matches!(poll(&mut reaped, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..)) {
                return false;
            }
            match reaper::next(&self.reaped) {
                Reaped::All => return true,
                Reaped::One { pid, status } if pid == self.command.as_raw_nonzero().get() => {
                    self.plan.command_ended(BootTime::now(), status);
                }
                Reaped::One { .. } => {}
            }
        }
    }

    fn receive(&mut self) {
        let mut bytes = [0; 4096];
        match self.channel.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                self.agent_gone = true;
                self.plan.agent_gone(BootTime::now());
            }
            Ok(read) => {
                self.inbox.push(bytes.get(..read).unwrap_or_default());
                while let Some(frame) = self.inbox.next() {
                    match frame {
                        Frame::Renew(allowance) => self.plan.renewed(allowance),
                        Frame::Stop(grace) => self.plan.stop(BootTime::now(), grace),
                    }
                }
            }
        }
    }

    fn discard(&mut self, ready: &[bool]) {
        let mut bytes = [0; 4096];
        let mut ready = ready.iter();
        // Readable, so this does not block; an end that fails is let go.
        self.outputs.retain_mut(|output| ready.next() != Some(&true) || matches!(output.read(&mut bytes), Ok(1..)));
    }

    fn term(&mut self, leftovers: bool) {
        if leftovers {
            self.leftovers = living(&tree::below(me()));
        }
        // A stopped process takes TERM only once it is continued.
        self.signal_all(&[Signal::TERM, Signal::CONT]);
    }

    /// An agent that died left what was private to the attempt.
    fn tidy_up(&mut self) {
        let gone = self.agent_gone || is_closed(self.channel);
        if let Some(scratch) = self.scratch.take().filter(|_| gone) {
            let _ = std::fs::remove_dir_all(scratch);
        }
    }

    /// The group in one call, which no fork can slip through; what left the group one by one.
    fn signal_all(&self, signals: &[Signal]) {
        let group = self.command.as_raw_nonzero().get();
        let below = tree::below(me());
        // A group's number is its own while it has a member; after that it could be anybody's.
        let group_lives = self.plan.status().is_none() || below.iter().any(|process| process.group == group);
        for signal in signals {
            if group_lives {
                let _ = kill_process_group(self.command, *signal);
            }
            for process in below.iter().filter(|process| process.group != group) {
                tree::signal(process, *signal);
            }
        }
    }

    fn ended(&mut self, survivors: u32) -> ExitCode {
        let (status, reason) = (self.plan.status(), self.plan.reason());
        report(self.channel, &Report::Ended(Ended { status, reason, leftovers: self.leftovers, survivors }));
        self.tidy_up();
        ExitCode::SUCCESS
    }
}

/// Whether nobody is at the other end.
fn is_closed(mut channel: &UnixStream) -> bool {
    let mut byte = [0];
    channel.set_nonblocking(true).is_ok() && matches!(channel.read(&mut byte), Ok(0))
}

fn me() -> i32 {
    getpid().as_raw_nonzero().get()
}

fn living(processes: &[tree::Process]) -> u32 {
    u32::try_from(processes.iter().filter(|process| !process.zombie).count()).unwrap_or(u32::MAX)
}

/// While the keeper holds a reading end too, a command whose agent died is not killed by SIGPIPE in the middle of its own tidying
/// up; what it still writes is read and thrown away. Only pipes can be opened again like this.
fn reading_end(path: &str) -> Option<File> {
    fs::metadata(path).ok()?.file_type().is_fifo().then_some(())?;
    File::open(path).ok()
}

fn spawn(order: &Order) -> Result<Pid, (Stage, io::Error)> {
    let invalid = || (Stage::Argument, io::Error::from(io::ErrorKind::InvalidInput));
    let (program, arguments) = order.argv.split_first().ok_or_else(invalid)?;
    let mut command = Command::new(program);
    let input = order.input.as_ref().map_or_else(|| Ok(Stdio::null()), Input::open).map_err(|error| (Stage::Exec, error))?;
    command.args(arguments).stdin(input).stdout(Stdio::inherit()).stderr(Stdio::inherit()).process_group(0);
    if order.clear_env {
        command.env_clear();
    }
    command.envs(order.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &order.cwd {
        // Looked at first, else its absence would pass for the program's.
        fs::read_dir(folder).map_err(|error| (Stage::Folder, error))?;
        command.current_dir(folder);
    }
    if BootTime::now() >= order.allowance.term_at {
        return Err((Stage::Lapsed, io::Error::from(io::ErrorKind::TimedOut)));
    }
    let child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput if error.raw_os_error().is_none() => (Stage::Argument, error),
        _ => (Stage::Exec, error),
    })?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| (Stage::Keeper, io::Error::from(io::ErrorKind::Unsupported)))
}
