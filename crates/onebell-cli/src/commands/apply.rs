//! `onebell apply FILE…`: events into the ledger, or into tables of the user's own, once each.

mod progress;
mod report;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onebell::model::batch::Counts;
use onebell::roles::loader::{Ended, LoadError};
use onebell::store::{Reader, Store};
use onebell::time::{SystemTimer, Timer};

use super::database_or_new;
use crate::answer::{Answer, Failure};
use crate::apply::{Named, Plan, Records, Stream, load};
use crate::args::{Apply, Common};
use crate::signals::Asked;
use progress::Line;
use report::{Part, Report};

/// Between two looks at a source that another process reads.
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// Applies the files one after the other. What cannot be read of one does not stop the next.
pub async fn apply(common: &Common, args: &Apply) -> Answer {
    let typed = typed(args)?;
    if args.source.is_some() && typed.len() > 1 {
        return Err(Failure::usage("--source names one source; apply several files one by one, or leave it out"));
    }
    let plans = readable(typed)?;
    let store = database_or_new(common)?.open().await?;
    let how = How { restart: args.restart, waits: !args.no_wait };
    let parts = carry_out(&store, plans, how).await?;
    let report = Report { scope: args.scope.clone(), parts };
    if let Some(path) = &args.rejects {
        report.write_rejects(store.as_ref(), path).await?;
    }
    report.tell(common, store.as_ref()).await
}

/// One source, or why it is not read, while the others are.
type Each = (Plan, Option<Failure>);

/// One for each source that was typed.
fn typed(args: &Apply) -> Result<Vec<Each>, Failure> {
    let plan = plan(args)?;
    let of = |stream: Stream| Plan { stream: Some(stream), ..plan.clone() };
    if let Some(sql) = &args.query {
        return Ok(vec![(of(Stream::Query(sql.clone())), None)]);
    }
    if !args.command.is_empty() {
        return Ok(vec![(of(Stream::Command(args.command.clone())), None)]);
    }
    let mut plans = Vec::new();
    for pattern in &args.files {
        if pattern == Path::new("-") {
            plans.push((plan.clone(), None));
        } else if let Some(stream) = pattern.to_str().and_then(Stream::of_word) {
            plans.push((of(stream), None));
        } else {
            let files = Plan::files(pattern).map_err(usage)?;
            let each = |named: Named| (Plan { file: Some(named.file), ..plan.clone() }, named.wrong.map(usage));
            plans.extend(files.into_iter().map(each));
        }
    }
    Ok(plans)
}

/// What is wrong with a source is its own, unless it is wrong with all of them: then nothing is begun.
fn readable(typed: Vec<Each>) -> Result<Vec<Each>, Failure> {
    let each = |(plan, wrong): Each| {
        let wrong = wrong.or_else(|| check(&plan).err());
        (plan, wrong)
    };
    let mut plans: Vec<Each> = typed.into_iter().map(each).collect();
    if plans.iter().all(|(_, wrong)| wrong.is_some())
        && let Some(first) = plans.iter_mut().find_map(|(_, wrong)| wrong.take())
    {
        return Err(first);
    }
    Ok(plans)
}

/// Goes on with a batch from its checkpoint, as it was begun.
pub(super) async fn go_on(common: &Common, store: &Arc<dyn Store>, batch: &str) -> Answer {
    let view = store.batches(Some(batch), None, 1).await?.pop().ok_or_else(|| super::batches::no_such(batch))?;
    let plan = Plan::of_settings(&view.settings)
        .ok_or_else(|| Failure::usage(format!("the settings of batch {batch} cannot be read")))?;
    if plan.file.is_none() {
        return Err(Failure::usage(format!("batch {batch} read a stream; apply it again: what was applied is Already")));
    }
    let how = How { restart: false, waits: true };
    let parts = carry_out(store, vec![(plan, None)], how).await?;
    Report { scope: view.scope, parts }.tell(common, store.as_ref()).await
}

fn plan(args: &Apply) -> Result<Plan, Failure> {
    let read = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("--sql: cannot read {}: {error}", path.display())))
    };
    Ok(Plan {
        file: None,
        stream: None,
        source: args.source.clone(),
        amount: args.amount.clone(),
        scale: args.scale,
        sql: args.sql.as_ref().map(read).transpose()?,
        fail_if: args.fail_if.clone(),
        chunk: args.chunk,
        max_rejected: args.max_rejected,
        atomic: args.atomic,
        format: args.input.clone(),
        delimiter: args.delimiter,
        accept_last_line: args.accept_last_line,
        timeout: args.timeout,
        ..Plan::new(args.scope.clone(), args.id.clone())
    })
}

/// As the flag is spelled.
fn usage(wrong: crate::apply::Wrong) -> Failure {
    let flag = match wrong.part {
        "file" | "url" | "command" => return Failure::usage(wrong.message),
        "format" => "--input".to_owned(),
        part => format!("--{}", part.replace('_', "-")),
    };
    Failure::usage(format!("{flag}: {}", wrong.message))
}

#[derive(Clone, Copy)]
struct How {
    restart: bool,
    waits: bool,
}

async fn carry_out(store: &Arc<dyn Store>, plans: Vec<Each>, how: How) -> Result<Vec<Part>, Failure> {
    let asked = Asked::listen().map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")))?;
    let (heard, times) = tokio::sync::watch::channel(0_u32);
    tokio::spawn(async move {
        loop {
            asked.next().await;
            heard.send_modify(|times| *times += 1);
        }
    });
    let reader = reader();
    let mut parts = Vec::new();
    for (plan, wrong) in plans {
        let plan = &plan;
        let opened = match wrong {
            Some(wrong) => Err(wrong),
            None => source(plan, store).await,
        };
        let mut source = match opened {
            Ok(source) => source,
            Err(failure) => {
                parts.push(Part::refused(plan, failure));
                continue;
            }
        };
        let mut progress = Line::new(&source_name(plan));
        let mut said = false;
        let ended = loop {
            let batches: Arc<dyn onebell::store::BatchStore> = Arc::<dyn Store>::clone(store);
            let told = |far: crate::apply::Progress| {
                progress.show(far);
                *times.borrow() == 0
            };
            let reading = load(plan, how.restart, reader.clone(), batches, Arc::new(SystemTimer), &mut source, told);
            let mut twice = times.clone();
            let ended = tokio::select! {
                ended = reading => ended.map_err(usage),
                // Whoever asks twice does not want to wait for the chunk: nothing is lost by ending in the middle of it.
                _ = twice.wait_for(|times| *times > 1) => {
                    return Err(Failure::Work("ended in the middle of a chunk; the same command goes on before it".to_owned()));
                }
            };
            match ended {
                Ok(Ended::Failed { error: error @ LoadError::Busy { .. }, .. }) if how.waits && *times.borrow() == 0 => {
                    if !std::mem::replace(&mut said, true) {
                        tracing::warn!("{error}; waiting");
                    }
                    SystemTimer.sleep(BUSY_PAUSE).await;
                }
                ended => break ended,
            }
        };
        progress.end();
        let stopped = matches!(ended, Ok(Ended::Stopped { .. }));
        parts.push(match ended {
            Ok(ended) => Part::new(plan, ended, source.header().map(<[u8]>::to_vec)),
            Err(failure) => Part::refused(plan, failure),
        });
        source.end().await;
        if stopped {
            break;
        }
    }
    Ok(parts)
}

/// Random at every start: hosts and process ids come again.
pub(super) fn reader() -> Reader {
    use std::hash::{BuildHasher, RandomState};
    let random = RandomState::new().hash_one(onebell::time::host_now().micros());
    Reader::Alone(onebell::model::ReplicaId::from_text(format!("{}/{random:016x}", super::run::label())))
}

fn check(plan: &Plan) -> Answer {
    plan.stream.as_ref().map_or(Ok(()), Stream::check).map_err(usage)?;
    plan.scope().map_err(usage)?;
    plan.shape().map_err(usage)?;
    plan.written().map_err(usage)?;
    plan.limit().map_err(usage).map(drop)
}

fn source_name(plan: &Plan) -> String {
    match (&plan.file, &plan.stream) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(stream)) => stream.name(),
        (None, None) => "standard input".to_owned(),
    }
}

async fn source(plan: &Plan, store: &Arc<dyn Store>) -> Result<Records, Failure> {
    let name = source_name(plan);
    let records = match (&plan.file, &plan.stream) {
        (Some(file), _) => Records::of_file(plan, file),
        (None, None) => Records::of_stream(plan, &name, std::io::stdin()),
        (None, Some(Stream::Url(url))) => Records::of_address(plan, &name, url),
        (None, Some(Stream::Command(argv))) => Records::of_command(plan, &name, argv),
        (None, Some(Stream::Query(sql))) => {
            let rows = store.query_rows(sql).await.map_err(|error| Failure::usage(format!("--query: {error}")))?;
            Records::of_rows(plan, &name, &rows)
        }
    };
    records.map_err(usage)
}

/// All together.
fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold(Counts::default(), Counts::plus)
}
