//! I6: the Supervisor only asks, at most once per (kind, id, attempt), and only for what is overdue or abandoned.

use super::{Check, Commit, must};
use crate::call::{Detail, Port};
use onebell::model::recovery::{Grant, RequestKind};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct I06 {
    beats: BTreeMap<String, i64>,
}

impl Check for I06 {
    fn name(&self) -> &'static str {
        "i06"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        if commit.call.port == Port::Supervisor {
            asked(commit)?;
        }
        if let Detail::Granted { request, answer } = &commit.call.detail {
            self.granted(commit, request, *answer)?;
        }
        for change in &commit.changes.replicas {
            let Some(after) = &change.after else { continue };
            let dead = change.before.as_ref().is_some_and(|before| !before.is_live());
            let beat = self.beats.insert(change.key.clone(), after.beat);
            must(!dead || beat == Some(after.beat), || format!("{} was lost or had left, and its beat was renewed", change.key))?;
            let back = dead && after.is_live();
            must(!back, || format!("{} came back from the dead", change.key))?;
        }
        Ok(())
    }
}

fn asked(commit: &Commit<'_>) -> Result<(), String> {
    let Detail::Asked { sweep } = &commit.call.detail else { return Ok(()) };
    let at = commit.at.micros();
    for change in commit.changes.requests.iter() {
        let Some(row) = &change.after else { return Err(format!("request {} was taken away by asking", change.key)) };
        must(row.status == "open", || format!("request {} was granted by asking", change.key))?;
        let again = change.before.is_some();
        must(!again || row.kind == "run", || format!("request {} was asked again", change.key))?;
        if row.kind == "step" {
            let step = commit.now.steps.get(&row.id).filter(|step| step.attempt == row.attempt);
            let owner = step.and_then(|step| step.locked_by.as_deref()).unwrap_or_default();
            let abandoned = commit.now.replicas.get(owner).is_none_or(|replica| !replica.is_live());
            let lapsed = sweep.judge_time && step.and_then(|step| step.complete_by).is_some_and(|by| by <= at);
            must(step.is_some() && (abandoned || lapsed), || format!("{} is neither overdue nor abandoned", change.key))?;
        }
    }
    Ok(())
}

impl I06 {
    fn granted(
        &self,
        commit: &Commit<'_>,
        request: &onebell::model::recovery::RecoveryRequest,
        answer: Grant,
    ) -> Result<(), String> {
        let key = format!("{} {} {}", request.kind, request.id, request.attempt);
        match answer {
            Grant::Refused => must(commit.now.requests.get(&key).is_none(), || format!("{key} was refused and stays")),
            Grant::Granted { .. } if request.kind == RequestKind::Replica => {
                let lost = commit.changes.replicas.iter().find(|change| change.key == request.id);
                let Some(change) = lost else { return Ok(()) };
                let beat = change.after.as_ref().map(|row| row.beat);
                let seen = i64::try_from(request.attempt).ok();
                must(beat == seen, || format!("{} was found lost at beat {seen:?}, but its beat was {beat:?}", request.id))
            }
            Grant::Granted { .. } => Ok(()),
        }
    }
}
