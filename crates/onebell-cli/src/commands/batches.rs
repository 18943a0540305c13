//! `onebell batches` and `onebell effects`: what was read, and what came of it.

use onebell::store::{Acted, BatchView, FindingView};
use serde::Serialize;

use super::read::instant;
use super::{actor, apply, store};
use crate::answer::{Answer, Failure, Table, cell, json, line};
use crate::args::{Batches, Common, Effects, Format, OnBatch};

#[derive(Serialize)]
struct Shown {
    batch: BatchView,
    records: Vec<FindingView>,
}

/// `onebell batches`
pub async fn batches(common: &Common, args: Batches) -> Answer {
    let store = store(common).await?;
    match args.act {
        None => {
            let list = store.batches(None, args.scope.as_deref(), args.limit).await?;
            if common.format == Format::Json {
                return json(&serde_json::json!({ "batches": list }));
            }
            print(&list);
            Ok(())
        }
        Some(OnBatch::Show { batch, limit }) => {
            let view = store.batches(Some(&batch), None, 1).await?.pop().ok_or_else(|| no_such(&batch))?;
            let records = store.findings(&batch, None, limit).await?;
            if common.format == Format::Json {
                return json(&Shown { batch: view, records });
            }
            print(std::slice::from_ref(&view));
            let mut table = Table::new(["line", "byte", "outcome", "key", "why"]);
            for record in records {
                let key = cell(record.key);
                table.row([record.line.to_string(), record.byte.to_string(), record.outcome.to_string(), key, record.reason]);
            }
            if !table.is_empty() {
                line("");
                table.print();
            }
            Ok(())
        }
        Some(OnBatch::Cancel { batch, acting }) => match store.cancel_batch(&batch, &actor(&acting)).await? {
            Acted::Done => {
                line(format!("batch {batch} is cancelled; what was applied stays. Go on with: onebell batches resume {batch}"));
                Ok(())
            }
            Acted::NotFound => Err(no_such(&batch)),
            Acted::NotNow(why) => Err(Failure::usage(format!("batch {batch}: {why}"))),
        },
        Some(OnBatch::Resume { batch, acting }) => {
            let view = store.batches(Some(&batch), None, 1).await?.pop().ok_or_else(|| no_such(&batch))?;
            if view.status == "done" {
                return Err(Failure::usage(format!("batch {batch} is done; apply its source again to read it anew")));
            }
            if view.status == "cancelled"
                && let Acted::NotNow(why) = store.resume_batch(&batch, &actor(&acting)).await?
            {
                return Err(Failure::usage(format!("batch {batch}: {why}")));
            }
            apply::go_on(common, &store, &batch).await
        }
    }
}

/// An error for an id that nobody knows.
pub(super) fn no_such(batch: &str) -> Failure {
    Failure::usage(format!("no batch {batch:?}; see: onebell batches"))
}

fn print(list: &[BatchView]) {
    let mut table =
        Table::new(["batch", "scope", "status", "applied", "already", "conflicts", "rejected", "failed", "next line", "source"]);
    for view in list {
        let counts = view.counts;
        table.row([
            view.id.clone(),
            view.scope.clone(),
            view.status.clone(),
            counts.applied.to_string(),
            counts.already.to_string(),
            counts.conflicts.to_string(),
            counts.rejected.to_string(),
            counts.failed.to_string(),
            cell(view.checkpoint.as_ref().map(|checkpoint| checkpoint.position.line)),
            view.source.clone(),
        ]);
    }
    table.print();
}

/// `onebell effects --scope S`
pub async fn effects(common: &Common, args: &Effects) -> Answer {
    let store = store(common).await?;
    let since = instant(store.as_ref(), args.since).await?;
    let until = instant(store.as_ref(), args.until).await?;
    let view = store.effects(&args.scope, since, until).await?;
    if common.format == Format::Json {
        return json(
            &serde_json::json!({ "scope": view.scope, "count": view.count, "total": view.total, "failed": view.failed }),
        );
    }
    line(format!("{}: {} effects, total {}, {} failed", view.scope, view.count, view.total, view.failed));
    Ok(())
}
