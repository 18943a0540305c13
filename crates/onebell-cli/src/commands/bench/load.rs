//! Records per second: a file of NDJSON, read as `apply` reads it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use onebell::model::batch::Counts;
use onebell::roles::loader::Ended;
use onebell::store::{BatchStore, Store};
use onebell::time::{SystemTimer, Timer};

use super::place::Place;
use crate::answer::Failure;
use crate::apply::{Plan, Records, load};
use crate::args::Bench;
use crate::database::Database;
use crate::limit::{rate, records};

/// Writes the file that each round reads.
pub(super) fn write(place: &Place, args: &Bench) -> Result<PathBuf, Failure> {
    let path = place.path("records.ndjson");
    let wrong =
        |error| Failure::usage(format!("{} cannot be written: {error}; make room, or choose fewer --items", path.display()));
    records::write(&path, 0..args.items).map_err(wrong)?;
    Ok(path)
}

/// All of the file, each round under a scope of its own.
pub(super) async fn per_second(database: &Database, file: &Path, items: usize, round: usize) -> Result<f64, Failure> {
    let id = vec!["event_id".to_owned()];
    let plan =
        Plan { file: Some(file.to_owned()), amount: Some("amount_cents".to_owned()), ..Plan::new(format!("round {round}"), id) };
    let store: Arc<dyn BatchStore> = Arc::<dyn Store>::clone(&database.open().await?);
    let begun = SystemTimer.elapsed();
    let mut source = Records::of_file(&plan, file).map_err(Failure::usage)?;
    let reader = crate::commands::apply::reader();
    let ended = load(&plan, false, reader, store, Arc::new(SystemTimer), &mut source, |_| true).await.map_err(Failure::usage)?;
    let took = SystemTimer.elapsed().saturating_sub(begun);
    let wanted = Counts { applied: items as u64, ..Counts::default() };
    match ended {
        Ended::Done { counts, .. } if counts == wanted => Ok(rate(items, took)),
        other => Err(Failure::Work(format!("{items} new records were not applied: {other:?}"))),
    }
}
