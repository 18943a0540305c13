//! While the command runs: renewals go to its keeper, the wish to end it as well, and its progress to the store. None of them
//! waits for another.

use std::path::Path;
use std::time::Duration;

use onebell::handler::{Context, StopReason, Vouch};
use onebell::time::Timer;
use tokio::sync::watch;

use super::{CommandSettings, progress};
use crate::keeper::{Allowance, BootTime, CommandEnd, Kept, RenewalHandle};

/// What the replica's last renewal allows. The keeper's clock is read first: whatever happens in between, even a freeze, only
/// makes the allowance shorter.
pub(super) fn allowance(vouch: Vouch, timer: &dyn Timer) -> Allowance {
    let now = BootTime::now();
    let age = timer.elapsed().saturating_sub(vouch.renewed_at);
    Allowance::since(now, vouch.term_after.saturating_sub(age), vouch.kill_after.saturating_sub(age))
}

/// Returns when nothing of the command is left.
pub(super) async fn to_the_end(kept: Kept, settings: &CommandSettings, context: &Context, touched: &Path) -> CommandEnd {
    let handle = kept.renewals();
    let stop = context.stop();
    let mut end = std::pin::pin!(kept.wait());
    let mut renewals = std::pin::pin!(forward(context.vouch(), &*settings.timer, &handle));
    let mut reports = std::pin::pin!(async {
        if settings.transparent {
            progress::always(&*settings.timer, context).await;
        } else {
            progress::report(touched, &*settings.timer, context).await;
        }
    });
    let (mut asked, mut superseded) = (false, false);
    loop {
        tokio::select! {
            biased;
            end = &mut end => return end,
            reason = stop.requested(), if !asked => {
                asked = true;
                handle.stop(grace(reason, settings.grace));
            }
            () = &mut reports, if !superseded => {
                superseded = true;
                handle.stop(Duration::ZERO);
            }
            () = &mut renewals => {}
        }
    }
}

/// Somebody else may begin at once on what is no longer ours: no grace then.
fn grace(reason: StopReason, usual: Duration) -> Duration {
    match reason {
        StopReason::Superseded => Duration::ZERO,
        StopReason::Deadline | StopReason::Cancelled | StopReason::OwnStop => usual,
    }
}

/// Never returns. When nobody vouches any longer the keeper hears nothing more, and ends the command in time.
async fn forward(mut vouch: watch::Receiver<Vouch>, timer: &dyn Timer, handle: &RenewalHandle) {
    loop {
        let latest = *vouch.borrow_and_update();
        handle.renew(allowance(latest, timer));
        if vouch.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
