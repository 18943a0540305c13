//! I9: a message is claimed before it is sent; an unknown outcome is never hidden, and resent only by decision. Whether
//! its mark was committed before the content arrived, `shadow` asks when it arrives.

use super::{Check, Commit, End, must};
use crate::shadow::Received;

#[derive(Default)]
pub(super) struct I09;

impl Check for I09 {
    fn name(&self) -> &'static str {
        "i09"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.messages {
            let Some(row) = &change.after else { continue };
            let received = commit.shadow.received.get(&change.key).cloned().unwrap_or_default();
            let Received { times, decided, called_sent } = received;
            let before = change.before.as_ref().map_or("", |before| before.status.as_str());
            let again = matches!(row.status.as_str(), "ready" | "claimed");
            let hidden = again && row.on_in_doubt == "hold" && times > decided;
            must(!hidden, || format!("message {} (hold) arrived, is {}, and nobody decided so", change.key, row.status))?;
            let dropped = row.status == "dropped" && row.dropped_by.as_deref() == Some("run");
            must(!dropped || times == 0, || format!("message {} arrived and is dropped with its run", change.key))?;
            let sent = row.status == "sent" && before != "sent";
            must(!sent || times > 0 || called_sent, || format!("message {} is sent, but nothing arrived", change.key))?;
            let marked = row.status == "sending" && before != "sending";
            must(!marked || before == "claimed", || format!("message {} is sending without a claim", change.key))?;
            must(!(marked && row.run_gone), || format!("message {} of a run that is gone is sending", change.key))?;
            let lapsed =
                marked && change.before.as_ref().and_then(|old| old.complete_by).is_some_and(|by| by <= commit.at.micros());
            must(!lapsed, || format!("message {} is sending under a lapsed claim", change.key))?;
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> Result<(), String> {
        for (key, row) in end.now.messages.iter() {
            let received = end.shadow.received.get(key).cloned().unwrap_or_default();
            let sent = row.status != "sent" || received.times > 0 || received.called_sent;
            must(sent, || format!("message {key} is sent, but nothing arrived"))?;
        }
        Ok(())
    }
}
