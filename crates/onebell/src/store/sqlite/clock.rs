//! The host's clock as the store's: the newest instant that anybody left, and a person's word that a clock set back is right.

use super::columns::micros;
use super::define::audit;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::Moment;
use crate::store::{Acted, Actor};

/// The newest instant at which anybody renewed.
pub(super) fn newest(tx: &Tx<'_>) -> Outcome<Moment> {
    let newest = tx.first(S::ReadNewestRenewal, &[], |row| Ok(row.get("newest")?))?;
    Ok(newest.unwrap_or(Moment::from_micros(0)))
}

/// Takes back what lies ahead of the clock: cursors, pauses, claims, terms. Runs stay, so a slot that ran is not run again.
pub(super) fn accept(tx: &Tx<'_>, actor: &Actor) -> Outcome<Acted> {
    let newest = newest(tx)?;
    if newest <= tx.now {
        return Ok(Acted::NotNow("is not behind anything in the database".to_owned()));
    }
    let span_us = micros(newest.since(tx.now));
    tx.execute(S::AcceptClock, &[("now", &tx.now), ("newest", &newest)])?;
    tx.execute(S::RewindJobs, &[("now", &tx.now)])?;
    tx.execute(S::RewindRuns, &[("now", &tx.now), ("span_us", &span_us)])?;
    tx.execute(S::RewindVigils, &[("now", &tx.now)])?;
    for statement in [S::RewindSteps, S::RewindMessages] {
        tx.execute(statement, &[("now", &tx.now), ("newest", &newest), ("span_us", &span_us)])?;
    }
    tx.execute(S::RewindTerms, &[("now", &tx.now)])?;
    audit(tx, actor, "accept_clock", "clock", Some(&format!("it was {newest}")))?;
    Ok(Acted::Done)
}
