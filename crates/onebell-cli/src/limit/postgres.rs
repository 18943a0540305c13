//! PostgreSQL's limit: raw statements, one flight each, on connections of their own.

use std::ops::Range;

use futures_util::SinkExt;
use futures_util::future::try_join_all;
use hyper::body::Bytes;
use onebell::store::postgres::tokio_postgres::types::{ToSql, Type};
use onebell::store::postgres::tokio_postgres::{Client, Error};
use onebell::time::{SystemTimer, Timer};

use super::{OWNER, lost, rate, records, sets};

/// Bytes that are sent at once.
const PIECE: usize = 1 << 20;

/// Makes the ledger, if it is not there.
///
/// # Errors
/// The server's.
pub async fn make_ledger(client: &Client) -> Result<(), Error> {
    client.batch_execute(include_str!("postgres/make_ledger.sql")).await
}

/// Records per second: COPY of everything into a temporary table, and one INSERT from it, in one transaction.
///
/// # Errors
/// The server's.
pub async fn insert(client: &Client, scope: &str, numbers: Range<usize>) -> Result<f64, Error> {
    let mut lines = String::new();
    for n in numbers.clone() {
        lines.push_str(&format!("{}\t\\\\x{}\t{}\t{}\n", records::key(n), records::fingerprint(n), n, records::payload(n)));
    }
    let begun = SystemTimer.elapsed();
    client.batch_execute(include_str!("postgres/begin_records.sql")).await?;
    copy(client, "COPY items FROM STDIN", lines).await?;
    client.execute_typed(include_str!("postgres/insert_records.sql"), &[(&scope, Type::TEXT)]).await?;
    client.batch_execute("COMMIT").await?;
    Ok(rate(numbers.len(), SystemTimer.elapsed().saturating_sub(begun)))
}

/// Sends lines to a COPY.
///
/// # Errors
/// The server's.
pub async fn copy(client: &Client, into: &str, lines: String) -> Result<(), Error> {
    let mut sink = std::pin::pin!(client.copy_in(into).await?);
    let all = Bytes::from(lines);
    for at in (0..all.len()).step_by(PIECE) {
        sink.send(all.slice(at..all.len().min(at + PIECE))).await?;
    }
    sink.finish().await.map(drop)
}

/// Steps per second: each caller claims a set and settles it, a transaction each, in turns over a share of its own.
///
/// # Errors
/// The server's words, and a message when a row was not found as it must be.
pub async fn steps(callers: &[Client], steps: usize, set: usize) -> Result<f64, String> {
    let told = |error: Error| error.to_string();
    let Some(first) = callers.first() else { return Err("nobody calls".to_owned()) };
    let count = steps as i64;
    first.batch_execute(include_str!("postgres/make_steps.sql")).await.map_err(told)?;
    first.execute_typed(include_str!("postgres/fill_steps.sql"), &[(&count, Type::INT8)]).await.map_err(told)?;
    first.batch_execute("ANALYZE public.steps").await.map_err(told)?;
    let share = steps.div_ceil(callers.len());
    let begun = SystemTimer.elapsed();
    try_join_all(callers.iter().enumerate().map(|(at, client)| call(client, at * share..steps.min((at + 1) * share), set)))
        .await?;
    Ok(rate(steps, SystemTimer.elapsed().saturating_sub(begun)))
}

async fn call(client: &Client, share: Range<usize>, set: usize) -> Result<(), String> {
    let (claim, settle) = (include_str!("postgres/claim_steps.sql"), include_str!("postgres/settle_steps.sql"));
    for set in sets(share, set) {
        for (verb, sql) in [("a claim", claim), ("a settlement", settle)] {
            let params: [(&(dyn ToSql + Sync), Type); 3] = [(&OWNER, Type::TEXT), (&set.0, Type::INT8), (&set.1, Type::INT8)];
            let changed = client.execute_typed(sql, &params).await.map_err(|error| error.to_string())?;
            lost(verb, changed, set).map_or(Ok(()), Err)?;
        }
    }
    Ok(())
}
