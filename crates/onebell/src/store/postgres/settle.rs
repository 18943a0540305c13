//! Settlements: a set is one transaction, and what cannot be settled with its neighbours is settled alone.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::claim::Fences;
use super::columns::{int, values};
use super::endings::{Endings, Held};
use super::error::{Class, Failure, Outcome};
use super::run_graph::{self, Subject};
use super::statements as sql;
use super::transaction::{End, Tx, Verb};
use super::{PostgresStore, ledger, work};
use crate::model::message::NewMessage;
use crate::model::run::RunStatus;
use crate::model::step::{AttemptOutcome, Verdict};
use crate::model::{Conflict, Effect, Moment, StepId};
use crate::store::{Result, Settled, Settlement, StepOutput, Work};

pub(super) const SETTLE: Verb = Verb::with_points("settle_steps", "settle.before_commit", "settle.after_commit");

/// So many in one transaction, and so many bytes of output.
const SET_MAX: usize = 500;
const BYTES_MAX: usize = 32 << 20;

/// Why a verdict of success is not written as such.
#[derive(Debug, Clone)]
pub(super) enum Refusal {
    /// Trying again cannot help.
    Permanent(String),
    /// It may help.
    Passing(String),
}

/// A settlement on its way.
#[derive(Debug, Clone)]
pub(super) struct Item<'s> {
    settlement: &'s Settlement,
    place: usize,
    refused: Option<Refusal>,
    /// Rows that the user's statements returned.
    pub(super) rows: Option<String>,
}

impl<'s> Item<'s> {
    fn new(place: usize, settlement: &'s Settlement) -> Self {
        Self { settlement, place, refused: None, rows: None }
    }

    /// The same attempt, ended without its success.
    pub(super) fn refuse(self, refusal: Refusal) -> Self {
        Self { refused: Some(refusal), rows: None, ..self }
    }

    pub(super) fn place(&self) -> usize {
        self.place
    }

    pub(super) fn settlement(&self) -> &'s Settlement {
        self.settlement
    }

    pub(super) fn step(&self) -> &'s StepId {
        self.settlement.claim.step()
    }

    fn succeeds(&self) -> bool {
        self.refused.is_none() && self.settlement.verdict == Verdict::Succeeded
    }

    /// Only success commits anything beside itself.
    pub(super) fn effects(&self) -> &'s [Effect] {
        if self.succeeds() { &self.settlement.effects } else { &[] }
    }

    /// As [`Self::effects`].
    pub(super) fn messages(&self) -> &'s [NewMessage] {
        if self.succeeds() { &self.settlement.messages } else { &[] }
    }

    /// As [`Self::effects`].
    pub(super) fn work(&self) -> Option<&'s Work> {
        if self.succeeds() { self.settlement.work.as_ref() } else { None }
    }

    fn verdict(&self) -> Cow<'s, Verdict> {
        match &self.refused {
            None => Cow::Borrowed(&self.settlement.verdict),
            Some(Refusal::Permanent(error)) => Cow::Owned(Verdict::Failed { error: error.clone() }),
            Some(Refusal::Passing(error)) => Cow::Owned(Verdict::Retry { error: error.clone(), after: None }),
        }
    }

    fn refused(&self) -> Option<String> {
        self.refused.as_ref().map(|(Refusal::Permanent(error) | Refusal::Passing(error))| error.clone())
    }

    fn bytes(&self) -> usize {
        let StepOutput { rows, stdout, stderr, summary } = &self.settlement.output;
        rows.as_ref().map_or(0, String::len) + stdout.len() + stderr.len() + summary.len()
    }
}

/// Settles in the order given.
pub(super) async fn settle_steps(store: &PostgresStore, settlements: &[Settlement]) -> Result<Vec<Settled>> {
    let mut answers: BTreeMap<usize, Settled> = BTreeMap::new();
    for set in sets(settlements) {
        settle_set(store, set, &mut answers).await.map_err(Failure::judged)?;
    }
    let missing = || Failure::broken("a settlement was left out").judged();
    (0..settlements.len()).map(|place| answers.remove(&place).ok_or_else(missing)).collect()
}

/// Sets in the order given: bounded, a step at most once, user statements alone.
fn sets(settlements: &[Settlement]) -> Vec<Vec<Item<'_>>> {
    let mut sets: Vec<Vec<Item<'_>>> = Vec::new();
    let (mut steps, mut bytes) = (BTreeSet::new(), 0);
    let mut alone = true;
    for (place, settlement) in settlements.iter().enumerate() {
        let item = Item::new(place, settlement);
        bytes += item.bytes();
        let full = sets.last().is_some_and(|set| set.len() >= SET_MAX) || bytes > BYTES_MAX;
        if alone || full || item.work().is_some() || steps.contains(item.step()) {
            sets.push(Vec::new());
            steps.clear();
            bytes = item.bytes();
        }
        alone = item.work().is_some();
        steps.insert(item.step());
        if let Some(set) = sets.last_mut() {
            set.push(item);
        }
    }
    sets
}

async fn settle_set<'s>(store: &PostgresStore, set: Vec<Item<'s>>, answers: &mut BTreeMap<usize, Settled>) -> Outcome<()> {
    let mut open = vec![set];
    while let Some(mut set) = open.pop() {
        let items = set.as_slice();
        let settled = match items {
            [item] if item.work().is_some() => work::settle(store, item).await,
            _ => store.transact(SETTLE, |tx| async move { settle_in(&tx, items).await }).await,
        };
        match settled {
            Ok(SetEnd::Settled(settled)) => answers.extend(set.iter().map(|item| item.place).zip(settled)),
            Ok(SetEnd::Refused(refused)) => open.extend(apart(set, refused)),
            Err(failure) if failure.class == Class::Refused && set.len() > 1 => {
                let second = set.split_off(set.len() / 2);
                open.extend([second, set]);
            }
            Err(failure) if failure.class == Class::Refused && set.iter().all(Item::succeeds) => {
                let refusal = Refusal::Permanent(failure.message);
                open.push(set.into_iter().map(|item| item.refuse(refusal.clone())).collect());
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Those that were refused, to be ended without their success; and the rest, as it was.
fn apart(set: Vec<Item<'_>>, mut refused: BTreeMap<usize, Refusal>) -> Vec<Vec<Item<'_>>> {
    let (mut ended, mut rest) = (Vec::new(), Vec::new());
    for item in set {
        match refused.remove(&item.place) {
            Some(refusal) => ended.push(item.refuse(refusal)),
            None => rest.push(item),
        }
    }
    [ended, rest].into_iter().filter(|set| !set.is_empty()).collect()
}

/// What became of a set.
#[derive(Debug)]
pub(super) enum SetEnd {
    /// In the order of the items.
    Settled(Vec<Settled>),
    /// Nothing was written; by place, what cannot succeed.
    Refused(BTreeMap<usize, Refusal>),
}

/// One transaction: runs, then steps under their fences, then what they put, then the ends, then what follows.
pub(super) async fn settle_in(tx: &Tx, items: &[Item<'_>]) -> Outcome<End<SetEnd>> {
    let runs = run_graph::lock(tx, items.iter().map(|item| item.settlement.claim.run())).await?;
    let (now, held) = fence(tx, items).await?;
    let mut answers: BTreeMap<usize, Settled> = BTreeMap::new();
    if let Some(now) = now {
        let ours: Vec<&Item<'_>> = items.iter().filter(|item| held.contains_key(item.step())).collect();
        let puts = ledger::put(tx, now, &ours).await?;
        let refused: BTreeMap<usize, Refusal> =
            ours.iter().zip(&puts).filter_map(|(item, put)| Some((item.place, refusal(put.conflict.as_ref()?)))).collect();
        if !refused.is_empty() {
            return Ok(End::Rollback(SetEnd::Refused(refused)));
        }
        let mut endings = Endings::default();
        for (item, put) in ours.iter().zip(&puts) {
            let Some(step) = held.get(item.step()) else { continue };
            let cancelling = runs.get(&step.run).is_some_and(|run| run.status == RunStatus::Cancelling);
            let ending = step.running(cancelling).settle(&item.verdict(), put.delivers, now);
            let output = &item.settlement.output;
            endings.add(step, &ending, Some((output, item.rows.as_deref().or(output.rows.as_deref()))));
            let applied = Settled::Applied {
                status: ending.to,
                effects_already: put.effects_already,
                messages_already: put.messages_already,
                refused: item.refused(),
            };
            answers.insert(item.place, applied);
        }
        endings.write(tx, now).await?;
        let moved: BTreeSet<_> = held.values().map(|step| &step.run).collect();
        let subjects: Vec<Subject> =
            runs.into_values().filter(|run| moved.contains(&run.id)).map(Subject::as_it_stands).collect();
        run_graph::advance(tx, now, &subjects).await?;
    }
    let late: Vec<&Item<'_>> = items.iter().filter(|item| !held.contains_key(item.step())).collect();
    answers.extend(settle_late(tx, &late).await?);
    Ok(End::Commit(SetEnd::Settled(answers.into_values().collect())))
}

fn refusal(conflict: &Conflict) -> Refusal {
    Refusal::Permanent(conflict.to_string())
}

/// Locks the steps whose claims hold. The first statement that touches a step: it waits for our own old backend.
async fn fence(tx: &Tx, items: &[Item<'_>]) -> Outcome<(Option<Moment>, BTreeMap<StepId, Held>)> {
    let clock = tx.clock();
    let fences = Fences::of(items.iter().map(|item| &item.settlement.claim));
    let values = values![clock, fences.step, fences.attempt, fences.replica];
    let (mut now, mut held) = (None, BTreeMap::new());
    for row in tx.rows(&sql::FENCE_STEPS, values).await? {
        now = Some(row.moment("now")?);
        let step = Held::read(&row)?;
        held.insert(step.step().clone(), step);
    }
    Ok((now, held))
}

/// Claims that do not hold: settled before by this very attempt, or not ours any longer.
pub(super) async fn settle_late(tx: &Tx, items: &[&Item<'_>]) -> Outcome<Vec<(usize, Settled)>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let fences = Fences::of(items.iter().map(|item| &item.settlement.claim));
    let mut history = BTreeMap::new();
    for row in tx.rows(&sql::READ_ATTEMPT, values![fences.step, fences.attempt]).await? {
        let key = (row.get::<String>("step_id")?, row.get::<i64>("attempt")?);
        let outcome = row.word("outcome", AttemptOutcome::from_word)?;
        history.insert(key, (row.get::<Option<String>>("replica")?, outcome));
    }
    let (mut answers, mut superseded) = (Vec::new(), Vec::new());
    for item in items {
        let claim = &item.settlement.claim;
        let settled = history
            .get(&(claim.step().to_string(), int(claim.attempt())))
            .is_some_and(|(replica, outcome)| replica.as_deref() == Some(claim.replica().as_str()) && outcome.is_settlement());
        if !settled {
            superseded.push(*item);
        }
        answers.push((item.place, if settled { Settled::Already } else { Settled::Superseded }));
    }
    record_superseded(tx, &superseded).await?;
    Ok(answers)
}

async fn record_superseded(tx: &Tx, items: &[&Item<'_>]) -> Outcome<()> {
    if items.is_empty() {
        return Ok(());
    }
    let clock = tx.clock();
    let fences = Fences::of(items.iter().map(|item| &item.settlement.claim));
    let runs: Vec<&str> = items.iter().map(|item| item.settlement.claim.run().as_str()).collect();
    let verdicts: Vec<&str> = items.iter().map(|item| word(&item.settlement.verdict)).collect();
    let values = values![clock, fences.step, fences.attempt, runs, fences.replica, verdicts];
    tx.execute(&sql::INSERT_SUPERSEDED, values).await.map(|_| ())
}

/// What an agent had to say, as the history words it.
fn word(verdict: &Verdict) -> &'static str {
    let outcome = match verdict {
        Verdict::Succeeded => AttemptOutcome::Succeeded,
        Verdict::Retry { .. } => AttemptOutcome::Retry,
        Verdict::Failed { .. } => AttemptOutcome::Failed,
        Verdict::GivenBack => AttemptOutcome::GivenBack,
        Verdict::Stopped { .. } => AttemptOutcome::Stopped,
        Verdict::Cancelled => AttemptOutcome::Cancelled,
    };
    outcome.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Claim, ReplicaId, RunId};

    fn settlement(step: &str, work: bool) -> Settlement {
        Settlement {
            claim: Claim::issued(StepId::from_text(step), RunId::from_text("r"), 1, ReplicaId::from_text("a")),
            verdict: Verdict::Succeeded,
            effects: Vec::new(),
            messages: Vec::new(),
            work: work.then(|| Work::Sql("SELECT 1".into())),
            output: StepOutput::default(),
        }
    }

    fn places(settlements: &[Settlement]) -> Vec<Vec<usize>> {
        sets(settlements).iter().map(|set| set.iter().map(|item| item.place).collect()).collect()
    }

    #[test]
    fn a_set_holds_a_step_once_and_user_statements_alone() {
        let settlements = [("a", false), ("b", false), ("a", false), ("c", true), ("d", false)].map(|(s, w)| settlement(s, w));
        assert_eq!(places(&settlements), [vec![0, 1], vec![2], vec![3], vec![4]]);
    }

    #[test]
    fn i10_a_set_is_bounded_in_number_and_in_bytes() {
        let many: Vec<Settlement> = (0..1_001).map(|n| settlement(&n.to_string(), false)).collect();
        assert_eq!(places(&many).iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 1]);
        let mut large = settlement("x", false);
        large.output.rows = Some(" ".repeat(20 << 20));
        let mut other = large.clone();
        other.claim = settlement("y", false).claim;
        assert_eq!(places(&[large, other]), [vec![0], vec![1]]);
    }
}
