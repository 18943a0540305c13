//! `onebell audit PATH…`: jobs that others schedule, and what is to be known about each. It changes nothing and asks no database.

mod gather;

use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::Schedule;
use onebell::replica::ZoneData;

use crate::answer::{Answer, Failure, json, line, terminal_width};
use crate::args::{Audit, Common, Format, Sources};
use crate::audit::{Inventory, Reading, html, inventory, table};

/// Shows the inventory as a table, as JSON, and as a page.
pub fn audit(common: &Common, args: &Audit) -> Answer {
    let after = match &args.from {
        // A slot at that very instant counts.
        Some(text) => {
            host_clock(&args.sources)?.interval(text, text).map_err(Failure::usage)?.0 - std::time::Duration::from_micros(1)
        }
        None => onebell::time::host_now(),
    };
    let (found, failed) = found(&args.sources, after, args.count as usize)?;
    if let Some(path) = &args.html {
        std::fs::write(path, html(&found))
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    if common.format == Format::Json {
        json(&found.json())?;
    } else {
        table(&found, terminal_width()).iter().for_each(line);
    }
    // What was named and cannot be read is wrong usage, whatever else was found.
    if !failed.is_empty() {
        return Err(Failure::usage(failed.join("\n")));
    }
    match found.counts() {
        [_, 0, 0] => Ok(()),
        [_, warnings, errors] => Err(Failure::Findings(format!("{errors} errors and {warnings} warnings"))),
    }
}

/// What the paths hold, and which of them could not be read.
pub(super) fn found(sources: &Sources, after: Moment, count: usize) -> Result<(Inventory, Vec<String>), Failure> {
    host_clock(sources)?;
    let gather::Gathered { files, failed } = gather::gather(&sources.paths);
    let zones = ZoneData::newest().zones();
    let how = Reading { form: sources.form, host_zone: sources.time_zone.as_deref(), after, count, zones };
    Ok((inventory(&files, &how), failed))
}

/// A schedule in the hosts' zone, which is good for reading local times; refused when there is no such zone.
fn host_clock(sources: &Sources) -> Result<Schedule, Failure> {
    let time_zone = sources.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    let hourly = When::Every(std::time::Duration::from_secs(3600));
    let definition = ScheduleDefinition { when: hourly, time_zone, dst: Dst::default() };
    Schedule::parse(&definition, "", ZoneData::newest().zones()).map_err(Failure::usage)
}
