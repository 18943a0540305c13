//! Named points at which a test or `chaos` may end or stop this process. Present in every build, armed only by the
//! environment: `ONEBELL_FAULT=point[:nth][:kill|stop]`, for example `settle.after_commit:3:kill`.
//!
//! It decides nothing and returns nothing: an armed point is where the machine fails, not the program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

struct Armed {
    point: String,
    nth: u64,
    signal: rustix::process::Signal,
    seen: AtomicU64,
}

static ARMED: OnceLock<Option<Armed>> = OnceLock::new();

/// Passes the point `name`, unless it is the one that the environment armed.
pub fn point(name: &'static str) {
    let armed = ARMED.get_or_init(|| std::env::var("ONEBELL_FAULT").ok().and_then(|text| parse(&text)));
    if let Some(armed) = armed
        && armed.point == name
        && armed.seen.fetch_add(1, Ordering::SeqCst) + 1 == armed.nth
    {
        tracing::warn!(point = name, "armed fault point reached");
        if let Err(error) = rustix::process::kill_process(rustix::process::getpid(), armed.signal) {
            tracing::error!(%error, "the armed fault could not be raised");
        }
    }
}

fn parse(text: &str) -> Option<Armed> {
    let mut parts = text.split(':');
    let point = parts.next().filter(|point| !point.is_empty())?.to_owned();
    let nth = parts.next().map_or(Some(1), |nth| nth.parse().ok())?;
    let signal = match parts.next() {
        None | Some("kill") => rustix::process::Signal::KILL,
        Some("stop") => rustix::process::Signal::STOP,
        Some(_) => return None,
    };
    Some(Armed { point, nth, signal, seen: AtomicU64::new(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_armed_by_name_count_and_kind_and_by_nothing_else() {
        let armed = parse("settle.after_commit:3:stop").unwrap();
        assert_eq!((armed.point.as_str(), armed.nth, armed.signal), ("settle.after_commit", 3, rustix::process::Signal::STOP));
        assert_eq!(parse("claim.before_commit").unwrap().nth, 1);
        assert!(parse("").is_none() && parse("x:y").is_none() && parse("x:1:explode").is_none());
    }
}
