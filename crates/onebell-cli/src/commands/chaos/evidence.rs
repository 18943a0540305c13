//! Everything that there is to judge by, read once after the storm: the database, the receivers, the witness and chaos's own log.

use std::collections::BTreeMap;

use onebell::model::RunId;
use onebell::model::recovery::RecoveryRequest;
use onebell::store::{MessageFilter, MessageView, Prevented, ReplicaView, RunDetail, RunFilter, SkipView, Store};

use super::cast::COMMITS;
use super::scene::{EffectSeen, Entry, Execution, Receipt, Scene};
use crate::answer::Failure;

/// More than any storm leaves.
const ALL: u32 = 1_000_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) runs: Vec<RunDetail>,
    pub(super) messages: Vec<MessageView>,
    pub(super) recoveries: Vec<RecoveryRequest>,
    pub(super) replicas: Vec<ReplicaView>,
    pub(super) skips: Vec<SkipView>,
    pub(super) prevented: Prevented,
    /// Commits of `sql` steps, by `job/step`.
    pub(super) commits: BTreeMap<String, u64>,
    pub(super) executions: Vec<Execution>,
    pub(super) effects: Vec<EffectSeen>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) log: Vec<Entry>,
}

impl Evidence {
    pub(super) async fn gather(store: &dyn Store, scene: &Scene) -> Result<Self, Failure> {
        let mut runs = Vec::new();
        for run in store.runs(&RunFilter { limit: ALL, ..RunFilter::default() }).await? {
            runs.extend(store.run(&RunId::from_text(&run.id)).await?);
        }
        runs.sort_by_key(|run| (run.run.created_at, run.run.id.clone()));
        let text = store.query_rows(&format!("SELECT step, count(*) AS commits FROM {COMMITS} GROUP BY step")).await?;
        let seen = {
            let record = scene.record();
            let (executions, effects) = (record.executions.clone(), record.effects.clone());
            Self { executions, effects, receipts: record.receipts.clone(), log: record.log.clone(), ..Self::default() }
        };
        Ok(Self {
            runs,
            messages: store.messages(&MessageFilter { status: None, run: None, limit: ALL }).await?,
            recoveries: store.recoveries(ALL).await?,
            replicas: store.replicas().await?,
            skips: store.skips(None, ALL).await?,
            prevented: store.status().await?.prevented,
            commits: commits(&text)?,
            ..seen
        })
    }

    /// Receipts by the receiver's name for the message.
    pub(super) fn accepted(&self) -> BTreeMap<&str, Vec<&Receipt>> {
        let mut accepted: BTreeMap<&str, Vec<&Receipt>> = BTreeMap::new();
        for receipt in &self.receipts {
            accepted.entry(receipt.id.as_str()).or_default().push(receipt);
        }
        accepted
    }

    /// What people call the replica with this id.
    pub(super) fn name_of<'e>(&'e self, id: &'e str) -> &'e str {
        let replica = self.replicas.iter().find(|replica| replica.id == id);
        replica.and_then(|replica| replica.label.split('/').next()).unwrap_or(id)
    }
}

/// To whom a message goes; a webhook goes to its channel.
pub(super) fn recipient(message: &MessageView) -> String {
    let payload: serde_json::Value = serde_json::from_str(&message.payload).unwrap_or_default();
    payload.get("to").and_then(serde_json::Value::as_str).unwrap_or(&message.channel).to_owned()
}

/// Counts by step; PostgreSQL writes numbers as text.
fn commits(rows: &str) -> Result<BTreeMap<String, u64>, Failure> {
    let rows: Vec<BTreeMap<String, serde_json::Value>> = serde_json::from_str(rows).map_err(Failure::usage)?;
    let count = |value: &serde_json::Value| value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    let pair = |row: BTreeMap<String, serde_json::Value>| {
        Some((row.get("step")?.as_str()?.to_owned(), row.get("commits").and_then(count)?))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}
