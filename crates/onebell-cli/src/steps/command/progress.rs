//! `ONEBELL_PROGRESS`: a file whose every change says that the work goes on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use onebell::handler::Context;
use onebell::store::Extension;
use onebell::time::Timer;

/// Between two looks at the file: a tenth of the step's timeout, within these.
const LOOK: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// What the file is like before the command begins; a look when it runs already may come after the first touch.
pub(super) const UNTOUCHED: SystemTime = SystemTime::UNIX_EPOCH;

/// Reports each change to the store. Returns only when the claim is somebody else's.
pub(super) async fn report(path: &Path, timer: &dyn Timer, context: &Context) {
    let look = (context.step().timeout / 10).clamp(LOOK[0], LOOK[1]);
    let mut seen = Some((UNTOUCHED, 0));
    let mut due = false;
    loop {
        timer.sleep(look).await;
        let now = stamp(path);
        if now != seen {
            seen = now;
            due = true;
            if let Some(percent) = percent(path) {
                tracing::info!(step = %context.step().claim.step(), percent, "progress");
            }
        }
        if !due {
            continue;
        }
        match context.progress().await {
            Ok(Extension::Extended(_)) => due = false,
            Ok(Extension::Superseded) => return,
            // It is reported again with the next look: progress that was made does not get lost.
            Err(error) if error.is_passing() => {}
            Err(error) => {
                due = false;
                tracing::error!(step = %context.step().claim.step(), %error, "progress could not be reported");
            }
        }
    }
}

/// Says all the time that the work goes on: its end is the command's own. Returns only when the claim is somebody else's.
pub(super) async fn always(timer: &dyn Timer, context: &Context) {
    loop {
        timer.sleep(context.step().timeout / 4).await;
        match context.progress().await {
            Ok(Extension::Extended(_)) => {}
            Ok(Extension::Superseded) => return,
            Err(error) => tracing::debug!(%error, "the claim is extended with the next look"),
        }
    }
}

/// Changes with every touch and every write.
fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// What the command wrote, if it is a percentage.
fn percent(path: &Path) -> Option<u8> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(64).read_to_string(&mut text).ok()?;
    text.trim().trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}
