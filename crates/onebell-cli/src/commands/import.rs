//! `onebell import PATH…`: the same inventory as a job file. It never overwrites one by itself.

use std::io::Write;
use std::path::Path;

use onebell::model::shown::shell_word;

use super::audit::found;
use crate::answer::{Answer, Failure, complain, json, line};
use crate::args::{Common, Format, Import};
use crate::audit::{Imported, Importing, import as imported};

/// Writes the job file, and says what is still to be done.
pub fn import(common: &Common, args: &Import) -> Answer {
    let (inventory, failed) = found(&args.sources, onebell::time::host_now(), 1)?;
    let how = Importing { host_zone: args.sources.time_zone.as_deref(), intended_percent: args.intended_percent };
    let made = imported(&inventory, how);
    match &args.output {
        Some(path) => {
            write(path, &made.text, args.force)?;
            tell(common, &made, path)?;
        }
        None => {
            line(made.text.trim_end());
            words(&made).iter().for_each(complain);
        }
    }
    if !failed.is_empty() {
        return Err(Failure::usage(failed.join("\n")));
    }
    match made.left_out.len() {
        0 => Ok(()),
        count => Err(Failure::Findings(format!("{count} not imported; each stands as a comment in the job file"))),
    }
}

fn write(path: &Path, text: &str, force: bool) -> Answer {
    let mut options = std::fs::OpenOptions::new();
    let options = if force { options.write(true).create(true).truncate(true) } else { options.write(true).create_new(true) };
    let file = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    file.map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} exists already; add --force to overwrite it", path.display()))
        }
        _ => Failure::usage(format!("cannot write {}: {error}", path.display())),
    })
}

fn tell(common: &Common, made: &Imported, path: &Path) -> Answer {
    if common.format == Format::Json {
        return json(&serde_json::json!({ "jobs": made.jobs, "paused": made.paused, "left_out": made.left_out }));
    }
    let count = made.jobs.len();
    line(format!("written to {}: {count} job{}", path.display(), if count == 1 { "" } else { "s" }));
    words(made).iter().for_each(line);
    line(format!("next: read it through, then onebell -f {} check", path.display()));
    Ok(())
}

/// What is left for a person.
fn words(made: &Imported) -> Vec<String> {
    let paused = made
        .paused
        .iter()
        .map(|job| format!("{job} does not run where it comes from, and begins paused here: onebell resume {}", shell_word(job)));
    paused.chain(made.left_out.iter().map(|why| format!("not imported: {why}"))).collect()
}
