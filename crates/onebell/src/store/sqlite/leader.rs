//! Leadership over the one duty that cannot be split by row.

use std::time::Duration;

use async_trait::async_trait;

use super::SqliteStore;
use super::agent::is_live;
use super::columns::{count, int};
use super::engine::Verb;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::{Moment, ReplicaId, Term};
use crate::store::{LeaderStore, Result};

/// Who holds a duty.
struct TermRow {
    holder: ReplicaId,
    epoch: u64,
    expires_at: Moment,
}

#[async_trait]
impl LeaderStore for SqliteStore {
    async fn campaign(&self, duty: &str, replica: &ReplicaId, lease: Duration) -> Result<Option<Term>> {
        let (duty, replica) = (duty.to_owned(), replica.clone());
        self.engine.write(Verb::PLAIN, move |tx| campaign(tx, &duty, &replica, lease)).await
    }

    async fn report_duty(&self, term: &Term, lease: Duration) -> Result<bool> {
        let term = term.clone();
        self.engine.write(Verb::PLAIN, move |tx| expire(tx, &term, tx.now + lease)).await
    }

    async fn resign(&self, term: &Term) -> Result<()> {
        let term = term.clone();
        self.engine.write(Verb::PLAIN, move |tx| expire(tx, &term, tx.now).map(drop)).await
    }
}

fn campaign(tx: &Tx<'_>, duty: &str, replica: &ReplicaId, lease: Duration) -> Outcome<Option<Term>> {
    if !is_live(tx, replica)? {
        return Ok(None);
    }
    if let Some(row) = held(tx, duty)?
        && row.expires_at > tx.now
    {
        let own = row.holder == *replica;
        return Ok(own.then(|| Term::issued(duty.to_owned(), row.holder, row.epoch)));
    }
    let values: [(&str, &dyn rusqlite::ToSql); 4] =
        [("duty", &duty), ("replica", replica), ("expires_at", &(tx.now + lease)), ("now", &tx.now)];
    let epoch = tx.first(S::TakeTerm, &values, |row| Ok(count(row, "epoch")?))?;
    Ok(epoch.map(|epoch| Term::issued(duty.to_owned(), replica.clone(), epoch)))
}

fn held(tx: &Tx<'_>, duty: &str) -> Outcome<Option<TermRow>> {
    tx.first(S::LockTerm, &[("duty", &duty)], |row| {
        Ok(TermRow { holder: row.get("holder")?, epoch: count(row, "epoch")?, expires_at: row.get("expires_at")? })
    })
}

/// Whether a term is still the one that counts.
pub(super) fn holds(tx: &Tx<'_>, term: &Term) -> Outcome<bool> {
    Ok(held(tx, term.duty())?.is_some_and(|row| row.holder == *term.holder() && row.epoch == term.epoch()))
}

fn expire(tx: &Tx<'_>, term: &Term, at: Moment) -> Outcome<bool> {
    let values: [(&str, &dyn rusqlite::ToSql); 4] =
        [("duty", &term.duty()), ("replica", term.holder()), ("epoch", &int(term.epoch())), ("expires_at", &at)];
    Ok(tx.execute(S::ExtendTerm, &values)? > 0)
}
