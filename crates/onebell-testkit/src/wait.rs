//! Waiting for a condition, never for time alone.

use std::thread;
use std::time::{Duration, Instant};

/// Looks at `condition` until it holds, every 20 ms. Blocks the thread.
///
/// # Panics
/// When it does not hold within `limit`; `what` says what was waited for.
#[expect(clippy::disallowed_methods, reason = "other processes are waited for here, and they know nothing of a Timer")]
pub fn until(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_when_the_condition_holds() {
        let mut looks = 0;
        until("three looks", Duration::from_secs(10), || {
            looks += 1;
            looks == 3
        });
        assert_eq!(looks, 3);
    }

    #[test]
    #[should_panic(expected = "a miracle: not within")]
    fn waiting_in_vain_says_what_for() {
        until("a miracle", Duration::ZERO, || false);
    }
}
