//! When a job is due next, by the engine's own schedules, and what that shows.

use std::collections::BTreeMap;
use std::time::Duration;

use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::{Note, Schedule, ScheduleError, Slot, advice, next_slot};

use super::found::{Found, Kind, Zone};
use super::{Finding, Reading, codes};

/// Slots that are compared for the shortest time between two of them: a day of one every half hour.
const COMPARED: usize = 48;
/// Slots that are looked at for changes of the clock: a year of daily ones.
const LOOKED_AT: usize = 370;
const YEAR: Duration = Duration::from_secs(370 * 86_400);

/// Zones that do not exist, each with what to write: finding names that are alike takes longer than everything else.
pub(super) type Refused = BTreeMap<String, Finding>;

/// Fills in the next slots and the period, and says what is wrong with the schedule.
pub(super) fn reckon(job: &mut Found, how: &Reading<'_>, refused: &mut Refused) {
    if !job.is_job || job.timing.refused || job.timing.whens.is_empty() {
        return;
    }
    if let [When::Every(period)] = job.timing.whens[..] {
        job.period = Some(period);
    }
    if let Zone::Named(zone) = &job.timing.zone
        && let Some(finding) = refused.get(zone)
    {
        job.timing.refused = true;
        job.findings.push(finding.clone());
        return;
    }
    let definitions = definitions(job, how);
    let read =
        definitions.iter().map(|definition| Schedule::parse(definition, &job.name, how.zones)).collect::<Result<Vec<_>, _>>();
    let schedules = match read {
        Ok(schedules) => schedules,
        Err(error) => return refuse(job, &error, refused),
    };
    if !job.timing.by_calendar {
        return;
    }
    let slots = || std::iter::successors(next_slot(&schedules, how.after), |slot| next_slot(&schedules, slot.at));
    let opened = || slots().take(LOOKED_AT).filter(Slot::opens);
    job.next = opened().map(|slot| slot.at).take(how.count).collect();
    let compared: Vec<Moment> = opened().map(|slot| slot.at).take(COMPARED).collect();
    job.period = compared.windows(2).map(|pair| pair[1].since(pair[0])).min();
    surprises(job, &definitions);
    zones(job, how);
    if definitions.iter().any(means_a_time) && moves(&schedules) {
        clock_changes(job, &definitions, how);
    }
}

/// The next slot whose local time does not exist, and the next whose local time comes twice.
fn clock_changes(job: &mut Found, definitions: &[ScheduleDefinition], how: &Reading<'_>) {
    // What Kubernetes leaves out in a gap has a name only under this rule.
    let dst = if job.timing.dst == Dst::Wall { Dst::Skip } else { job.timing.dst };
    let told = definitions.iter().map(|definition| ScheduleDefinition { dst, ..definition.clone() });
    let schedules: Vec<Schedule> = told.filter_map(|told| Schedule::parse(&told, &job.name, how.zones).ok()).collect();
    let slots = std::iter::successors(next_slot(&schedules, how.after), |slot| next_slot(&schedules, slot.at));
    let year = how.after + YEAR;
    let noted: Vec<Slot> = slots.take(LOOKED_AT).take_while(|slot| slot.at <= year).filter(|slot| slot.note.is_some()).collect();
    let is_fold = |slot: &&Slot| matches!(slot.note, Some(Note::FoldFirst | Note::FoldSecond));
    let first = [noted.iter().find(|slot| !is_fold(slot)), noted.iter().find(is_fold)];
    job.findings.extend(first.into_iter().flatten().map(|slot| clock_change(job.platform.kind, *slot)));
}

fn definitions(job: &Found, how: &Reading<'_>) -> Vec<ScheduleDefinition> {
    let time_zone = match &job.timing.zone {
        Zone::Named(name) => name.clone(),
        Zone::Host => how.host_zone.unwrap_or("UTC").to_owned(),
        Zone::Controller => "UTC".to_owned(),
    };
    let definition = |when: &When| ScheduleDefinition { when: when.clone(), time_zone: time_zone.clone(), dst: job.timing.dst };
    job.timing.whens.iter().map(definition).collect()
}

fn refuse(job: &mut Found, error: &ScheduleError, refused: &mut Refused) {
    let of_zone = error.place.starts_with("time_zone");
    let code = if of_zone { &codes::ZONE_UNKNOWN } else { &codes::SCHEDULE_REFUSED };
    let finding = code.with(format!("{}: {}", error.place, error.problem), error.remedy.clone());
    if let Zone::Named(zone) = &job.timing.zone
        && of_zone
    {
        refused.insert(zone.clone(), finding.clone());
    }
    job.timing.refused = true;
    job.findings.push(finding);
}

/// What expressions mean that they do not say.
fn surprises(job: &mut Found, definitions: &[ScheduleDefinition]) {
    for definition in definitions {
        let asks_for_both = |sentence: &String| job.platform.kind == Kind::Kubernetes && sentence.contains("both name");
        let told = advice(definition).into_iter().filter(|sentence| !asks_for_both(sentence));
        job.findings.extend(told.map(|sentence| codes::SCHEDULE_SURPRISE.says(format!("it {sentence}"))));
    }
}

/// Whose clock counts, where the file does not say.
fn zones(job: &mut Found, how: &Reading<'_>) {
    let clock_matters = job.timing.whens.iter().any(|when| !matches!(when, When::Every(_))) && !every_hour(job);
    match (&job.timing.zone, how.host_zone) {
        (Zone::Controller, _) if clock_matters => {
            let message = format!(
                "no timeZone: {:?} is in the controller's zone, usually UTC{}",
                job.timing.text,
                job.next.first().map_or(String::new(), |slot| format!("; the next one is then {slot}"))
            );
            job.findings.push(codes::ZONE_CONTROLLER.says(message));
        }
        (Zone::Host, None) if clock_matters => {
            let message = format!("{:?} is in the host's zone; the slots shown are those of a host on UTC", job.timing.text);
            job.findings.push(codes::ZONE_HOST.says(message));
        }
        _ => {}
    }
}

/// In all zones of whole hours it is due at the same instants.
fn every_hour(job: &Found) -> bool {
    job.timing.whens.iter().all(|when| match when {
        When::Cron { expression, .. } => {
            let fields: Vec<&str> = super::expression::words(expression).collect();
            matches!(fields[..], [_, "*", "*", "*", "*"] | [_, _, "*", "*", "*", "*"])
        }
        When::Every(_) => true,
        When::At(_) | When::Rrule { .. } => false,
    })
}

/// Neither minute nor hour begins with `*`: a time of day.
fn means_a_time(definition: &ScheduleDefinition) -> bool {
    match &definition.when {
        When::Cron { expression, .. } => {
            let fields: Vec<&str> = super::expression::words(expression).collect();
            let skip = usize::from(fields.len() == 6);
            fields.len() > 2 && fields[skip..skip + 2].iter().all(|field| !field.starts_with('*'))
        }
        When::At(_) | When::Rrule { .. } => true,
        When::Every(_) => false,
    }
}

/// Whether the clocks of any of them are ever changed.
fn moves(schedules: &[Schedule]) -> bool {
    schedules.iter().any(|schedule| schedule.zone().to_fixed_offset().is_err())
}

fn clock_change(kind: Kind, slot: Slot) -> Finding {
    let what = match (slot.note, kind) {
        (Some(Note::FoldFirst | Note::FoldSecond), Kind::Kubernetes) => "comes twice, and Kubernetes starts it both times",
        (Some(Note::FoldFirst | Note::FoldSecond), _) => "comes twice; this platform starts it once",
        (Some(Note::GapSkipped), _) => "does not exist, and the run is left out",
        _ => "does not exist; it starts at the first instant after it",
    };
    codes::CLOCK_CHANGE.says(format!("around {} the local time of this slot {what}", slot.at))
}

/// What the platform's clock rules are called here.
pub(super) const fn rule_of(kind: Kind) -> Dst {
    match kind {
        Kind::Cron => Dst::Vixie,
        // Both passes of a fold, nothing in a gap.
        Kind::Kubernetes => Dst::Wall,
        Kind::Systemd => Dst::Skip,
    }
}
