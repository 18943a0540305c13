//! A host's clock that was set back. Where it is the store's clock, slots would be judged by a time that has been before.

use std::time::Duration;

use super::Moment;

/// How far `now` lies behind the newest instant that was written, when that is more than a lease: such a clock plans nothing.
pub fn behind(now: Moment, newest: Moment, lease: Duration) -> Option<Duration> {
    let span = newest.since(now);
    (span > lease).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_behind_when_it_lies_more_than_a_lease_before_the_newest_stamp() {
        let (now, lease) = (Moment::from_micros(1_800_000_000_000_000), Duration::from_secs(10));
        for (seconds, told) in [(0, None), (10, None), (11, Some(11)), (86_400, Some(86_400))] {
            let newest = now + Duration::from_secs(seconds);
            assert_eq!(behind(now, newest, lease), told.map(Duration::from_secs), "{seconds}");
        }
        assert_eq!(behind(now, now - Duration::from_secs(86_400), lease), None, "ahead of everything is the usual state");
    }
}
