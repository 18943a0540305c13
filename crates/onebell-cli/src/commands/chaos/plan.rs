//! The plan of faults, drawn from the seed before anything runs.

use std::fmt;
use std::time::Duration;

use super::cast::Cast;
use super::phase::{Phase, Place};
use crate::draw::Draw;

/// How much of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure {
    pub(super) kills: u32,
    pub(super) pauses: u32,
    /// Connections can be cut only where there are any.
    pub(super) cuts: bool,
}

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    /// Its number in the plan, from 1.
    pub(super) number: usize,
    pub(super) kind: Kind,
    /// Where; of a pause, too.
    pub(super) place: Place,
    /// At which pass of it.
    pub(super) nth: u64,
    /// `Anywhere`: after this. `Work`: so long after the command began.
    pub(super) after: Duration,
    /// How often it was put off because nothing came by.
    pub(super) put_off: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// SIGKILL.
    Kill(Phase),
    /// SIGSTOP, and SIGCONT after this.
    Pause(Duration),
    /// SIGTERM.
    Term,
    /// The database ends every connection to it.
    Cut,
}

impl Fault {
    /// Whether it waits for a message to be under way.
    pub(super) fn of_messages(&self) -> bool {
        matches!(self.kind, Kind::Kill(phase) if phase.of_messages())
    }

    /// What arms a named point in a replica's environment, for the faults that need it.
    pub(super) fn armed(&self) -> Option<String> {
        let Place::Point(point) = self.place else { return None };
        let signal = if matches!(self.kind, Kind::Pause(_)) { "stop" } else { "kill" };
        Some(format!("{point}:{}:{signal}", self.nth))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Kill(phase) => write!(f, "{}. kill in {phase}", self.number)?,
            Kind::Pause(span) => write!(f, "{}. pause of {} ms", self.number, span.as_millis())?,
            Kind::Term => write!(f, "{}. SIGTERM", self.number)?,
            Kind::Cut => write!(f, "{}. cut of all database connections", self.number)?,
        }
        match self.place {
            Place::Anywhere => write!(f, ", {} ms after its turn", self.after.as_millis()),
            Place::Work => write!(f, ", {} ms after a command began", self.after.as_millis()),
            place => write!(f, ", at {place}, pass {}", self.nth),
        }
    }
}

/// Draws the plan: every phase once as far as the kills go, then phases as they are drawn.
pub(super) fn draw(seed: u64, cast: Cast, measure: Measure, lease: Duration) -> Vec<Fault> {
    let phases = &Phase::of(cast);
    let mut draw = Draw::seeded(seed);
    let mut each = phases.clone();
    draw.shuffle(&mut each);
    let mut faults = Vec::new();
    for index in 0..measure.kills as usize {
        let phase = each.get(index).copied().or_else(|| draw.pick(phases).copied());
        faults.extend(phase.map(|phase| kill(&mut draw, cast, phase)));
    }
    for _ in 0..measure.pauses {
        faults.push(pause(&mut draw, cast, phases, lease));
    }
    // Gentler faults go along: they are what a platform does every day.
    for _ in 0..(measure.kills + measure.pauses).div_ceil(8) {
        faults.push(anywhere(&mut draw, Kind::Term));
        if measure.cuts {
            faults.push(anywhere(&mut draw, Kind::Cut));
        }
    }
    draw.shuffle(&mut faults);
    faults.iter_mut().zip(1..).for_each(|(fault, number)| fault.number = number);
    faults
}

fn kill(draw: &mut Draw, cast: Cast, phase: Phase) -> Fault {
    let place = draw.pick(&phase.places(cast)).copied().unwrap_or(Place::Anywhere);
    let after = match place {
        Place::Work => draw.between(Duration::ZERO, Duration::from_millis(150)),
        _ => draw.between(Duration::from_millis(50), Duration::from_millis(1_500)),
    };
    Fault { number: 0, kind: Kind::Kill(phase), place, nth: draw.below(phase.passes()) + 1, after, put_off: 0 }
}

/// Half of them at a named point, the others anywhere. Longer than a lease, so that others take over meanwhile.
fn pause(draw: &mut Draw, cast: Cast, phases: &[Phase], lease: Duration) -> Fault {
    let span = draw.between(lease * 3 / 2, lease * 5 / 2);
    let points: Vec<(Phase, Place)> = phases
        .iter()
        .flat_map(|phase| phase.places(cast).into_iter().map(|place| (*phase, place)))
        .filter(|(phase, place)| matches!(place, Place::Point(_)) && *phase != Phase::Grant)
        .collect();
    match draw.pick(&points) {
        Some((phase, place)) if draw.below(2) == 0 => {
            let nth = draw.below(phase.passes()) + 1;
            Fault { number: 0, kind: Kind::Pause(span), place: *place, nth, after: Duration::ZERO, put_off: 0 }
        }
        _ => anywhere(draw, Kind::Pause(span)),
    }
}

fn anywhere(draw: &mut Draw, kind: Kind) -> Fault {
    let after = draw.between(Duration::from_millis(50), Duration::from_millis(1_500));
    Fault { number: 0, kind, place: Place::Anywhere, nth: 1, after, put_off: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);
    const CAST: Cast = Cast { witnessed: true, mails: true, webhooks: false };

    fn plan(seed: u64, kills: u32) -> Vec<Fault> {
        draw(seed, CAST, Measure { kills, pauses: 3, cuts: true }, LEASE)
    }

    fn phases(plan: &[Fault]) -> Vec<Phase> {
        plan.iter().filter_map(|fault| if let Kind::Kill(phase) = fault.kind { Some(phase) } else { None }).collect()
    }

    #[test]
    fn a_seed_draws_one_plan_and_another_seed_another() {
        assert_eq!(plan(1, 20), plan(1, 20));
        assert_ne!(plan(1, 20), plan(2, 20));
    }

    #[test]
    fn every_phase_is_in_the_plan_as_soon_as_there_are_kills_enough() {
        for seed in 1..50 {
            let mut hit = phases(&plan(seed, 12));
            hit.sort_unstable();
            assert_eq!(hit, Phase::ALL);
            assert_eq!(phases(&plan(seed, 30)).len(), 30);
        }
    }

    #[test]
    fn a_pause_outlasts_the_lease() {
        let pauses = (1..50).flat_map(|seed| plan(seed, 0)).filter_map(|fault| match fault.kind {
            Kind::Pause(span) => Some(span),
            _ => None,
        });
        assert!(pauses.into_iter().all(|span| span > LEASE));
    }
}
