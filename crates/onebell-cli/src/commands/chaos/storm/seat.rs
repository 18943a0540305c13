//! One replica's place: who sits there, what it is armed with, and what becomes of it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};
use tokio::process::Child;

use super::super::fleet;
use super::super::phase::{Phase, Place};
use super::super::plan::{Fault, Kind};
use super::super::scene::{Scene, Trigger};
use super::{Storm, pause_of};
use crate::answer::Failure;
use crate::signals::{self, Signal};

/// How often a fault waits in vain before it is given up.
pub(super) const PATIENCE: u32 = 5;
/// How long it waits each time.
const WAIT: Duration = Duration::from_secs(7);
/// A request to be granted comes only after others died.
const WAIT_FOR_GRANT: Duration = Duration::from_secs(20);

/// A place for a replica; empty for a while after a death.
#[derive(Default)]
pub(super) struct Seat {
    playing: Option<Playing>,
    due: Duration,
}

struct Playing {
    name: String,
    child: Child,
    pid: u32,
    fault: Option<Fault>,
    since: Duration,
    /// It is stopped until then.
    resume_at: Option<Duration>,
    /// It was asked to end, then.
    leaving: Option<Duration>,
}

impl Seat {
    pub(super) fn is_unarmed(&self) -> bool {
        self.playing.as_ref().is_none_or(|playing| playing.fault.is_none() && playing.resume_at.is_none())
    }

    pub(super) fn fault(&self) -> Option<&Fault> {
        self.playing.as_ref()?.fault.as_ref()
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.playing.as_ref().map(|playing| playing.name.as_str())
    }

    /// Takes the fault away. What is armed in the environment stays there until the process is another one.
    pub(super) fn disarm(&mut self, scene: &Scene) -> Option<Fault> {
        let playing = self.playing.as_mut()?;
        scene.arm(&playing.name, None);
        let fault = playing.fault.take()?;
        if fault.armed().is_some() && playing.leaving.is_none() {
            leave(playing);
        }
        Some(fault)
    }

    /// A replica that waits here, since so long ago, for a request to be granted to it.
    pub(super) fn waits_for_a_grant(&self) -> Option<Duration> {
        let playing = self.playing.as_ref()?;
        let grant = playing.fault.is_some_and(|fault| matches!(fault.kind, Kind::Kill(Phase::Grant)));
        (grant && playing.leaving.is_none()).then(|| SystemTimer.elapsed().saturating_sub(playing.since))
    }

    /// Stops it for so long, unless it is stopped or about to leave. Its name, if it was.
    pub(super) fn stop_for(&mut self, span: Duration) -> Option<&str> {
        let playing = self.playing.as_mut().filter(|playing| playing.resume_at.is_none() && playing.leaving.is_none())?;
        signals::send(playing.pid, Signal::STOP);
        playing.resume_at = Some(SystemTimer.elapsed() + span);
        Some(&playing.name)
    }

    pub(super) fn take(&mut self) -> Option<(String, Child)> {
        self.playing.take().map(|playing| (playing.name, playing.child))
    }
}

fn leave(playing: &mut Playing) {
    signals::send(playing.pid, Signal::TERM);
    playing.leaving = Some(SystemTimer.elapsed());
}

impl Storm<'_> {
    /// Looks at a seat: an end, a fault whose moment has come, one that waits in vain, an empty place.
    pub(super) async fn attend(&mut self, index: usize, storm: bool) -> Result<(), Failure> {
        let now = SystemTimer.elapsed();
        let Some(seat) = self.seats.get_mut(index) else { return Ok(()) };
        let Some(playing) = &mut seat.playing else {
            return if seat.due <= now { self.enter(index, storm) } else { Ok(()) };
        };
        if let Some(status) = playing.child.try_wait().map_err(Failure::usage)? {
            self.ended(index, status);
            return Ok(());
        }
        if let Some(at) = playing.resume_at {
            if at <= now {
                signals::send(playing.pid, Signal::CONT);
                playing.resume_at = None;
                self.scene.note(&playing.name.clone(), "goes on after its pause");
            }
            return Ok(());
        }
        if let Some(since) = playing.leaving {
            if since + self.orders.lease * 4 + Duration::from_secs(10) < now {
                let name = playing.name.clone();
                signals::send(playing.pid, Signal::KILL);
                playing.leaving = Some(now);
                self.done.ended.push((name.clone(), "did not end after SIGTERM".to_owned(), self.last_words(&name)));
            }
            return Ok(());
        }
        match playing.fault {
            Some(fault) => self.pursue(index, fault, now).await,
            None if storm => self.arm_again(index),
            None => {}
        }
        Ok(())
    }

    /// A new replica takes the place, armed with the next fault.
    fn enter(&mut self, index: usize, storm: bool) -> Result<(), Failure> {
        self.names += 1;
        let name = format!("r{}", self.names);
        let fault = if storm { self.next_fault() } else { None };
        let orders = super::Orders { name: name.clone(), ..self.orders.clone() };
        let armed = fault.and_then(|fault| fault.armed());
        let child = fleet::start(&orders, self.stage.folder(), armed.as_deref())?;
        let pid = child.id().unwrap_or(0);
        {
            let mut record = self.scene.record();
            record.enters(&name, pid, fault.is_some_and(|fault| fault.of_messages()));
            let with = fault.map_or_else(String::new, |fault| format!(", for fault {fault}"));
            record.note(&name, format!("started (process {pid}){with}"));
        }
        self.scene.arm(&name, fault.and_then(trigger));
        let since = SystemTimer.elapsed();
        if let Some(seat) = self.seats.get_mut(index) {
            seat.playing = Some(Playing { name, child, pid, fault, since, resume_at: None, leaving: None });
        }
        Ok(())
    }

    /// A replica without a fault takes the next one: as it is, or by making room for one that is started with it.
    fn arm_again(&mut self, index: usize) {
        let Some(fault) = self.next_fault() else { return };
        let Some(playing) = self.seats.get_mut(index).and_then(|seat| seat.playing.as_mut()) else { return };
        if fault.armed().is_some() {
            self.queue.push_front(fault);
            leave(playing);
            self.done.terms += 1;
            self.scene.note(&playing.name, "SIGTERM, to be started with a fault");
            return;
        }
        (playing.fault, playing.since) = (Some(fault), SystemTimer.elapsed());
        self.scene.note(&playing.name, format!("next: fault {fault}"));
        self.scene.arm(&playing.name, trigger(fault));
    }

    /// A fault that waits for its moment.
    async fn pursue(&mut self, index: usize, fault: Fault, now: Duration) {
        let Some(playing) = self.seats.get_mut(index).and_then(|seat| seat.playing.as_mut()) else { return };
        let name = playing.name.clone();
        if let Some(span) = pause_of(&fault).filter(|_| signals::state(playing.pid) == Some('T')) {
            (playing.fault, playing.resume_at) = (None, Some(now + span));
            self.done.pauses += 1;
            self.scene.note(&name, format!("stopped at {} for {} ms", fault.place, span.as_millis()));
            return;
        }
        if fault.place == Place::Anywhere {
            if playing.since + fault.after <= now {
                self.strike(index, fault, now).await;
            }
            return;
        }
        let wait = if matches!(fault.kind, Kind::Kill(Phase::Grant)) { WAIT_FOR_GRANT } else { WAIT };
        if playing.since + wait < now && !self.scene.record().was_shot(&name) {
            let fault = self.seats.get_mut(index).and_then(|seat| seat.disarm(&self.scene));
            self.scene.note(&name, "its moment did not come; it goes on without");
            fault.into_iter().for_each(|fault| self.put_off(fault));
        }
    }

    /// A fault at a drawn moment.
    async fn strike(&mut self, index: usize, fault: Fault, now: Duration) {
        let Some(playing) = self.seats.get_mut(index).and_then(|seat| seat.playing.as_mut()) else { return };
        let name = playing.name.clone();
        match fault.kind {
            // Its end is seen at the next look.
            Kind::Kill(_) => self.scene.record().shoot(&name, "at a drawn moment"),
            Kind::Pause(span) => {
                signals::send(playing.pid, Signal::STOP);
                (playing.fault, playing.resume_at) = (None, Some(now + span));
                self.done.pauses += 1;
                self.scene.note(&name, format!("stopped for {} ms", span.as_millis()));
            }
            Kind::Term => {
                playing.fault = None;
                leave(playing);
                self.done.terms += 1;
                self.scene.note(&name, "SIGTERM");
            }
            Kind::Cut => {
                playing.fault = None;
                self.cut().await;
            }
        }
    }

    /// A replica ended: by the plan, or by itself.
    fn ended(&mut self, index: usize, status: ExitStatus) {
        let Some(playing) = self.seats.get_mut(index).and_then(|seat| seat.playing.take()) else { return };
        let name = playing.name;
        let killed = status.signal() == Some(Signal::KILL.as_raw());
        let shot = self.scene.record().was_shot(&name);
        match playing.fault {
            Some(fault) if killed && (shot || fault.armed().is_some()) => {
                self.scene.note(&name, format!("died: fault {}", fault.number));
                if let Kind::Kill(phase) = fault.kind {
                    self.hit(phase);
                }
            }
            fault => {
                // One that was asked before it listened ends as any program does.
                let asked = status.signal() == Some(Signal::TERM.as_raw());
                let expected = playing.leaving.is_some() && (status.success() || killed || asked);
                self.scene.note(&name, format!("ended ({status})"));
                if !expected {
                    let words = self.last_words(&name);
                    self.done.ended.push((name, format!("ended by itself ({status})"), words));
                }
                fault.into_iter().for_each(|fault| self.put_off(fault));
            }
        }
        let pause = self.draw.between(Duration::from_millis(50), self.orders.lease / 2);
        if let Some(seat) = self.seats.get_mut(index) {
            seat.due = SystemTimer.elapsed() + pause;
        }
    }

    pub(super) fn last_words(&self, name: &str) -> String {
        fleet::last_words(self.stage.folder(), name)
    }
}

/// What kills it from chaos's own receivers, for the faults that do.
fn trigger(fault: Fault) -> Option<Trigger> {
    matches!(fault.place, Place::Mail(_) | Place::Web(_) | Place::Work).then_some(Trigger {
        place: fault.place,
        nth: fault.nth,
        after: fault.after,
    })
}
