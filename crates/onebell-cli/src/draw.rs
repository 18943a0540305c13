//! Numbers drawn from a seed: the same seed draws the same ones, and neighbouring seeds have nothing in common (splitmix64).

use std::time::Duration;

/// A row of drawn numbers.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// The row of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`; 0 when there is none.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit.max(1)
    }

    /// A span of whole milliseconds, `from` and `to` included.
    pub fn between(&mut self, from: Duration, to: Duration) -> Duration {
        let span = u64::try_from(to.saturating_sub(from).as_millis()).unwrap_or(u64::MAX - 1);
        from + Duration::from_millis(self.below(span + 1))
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let index = usize::try_from(self.below(of.len() as u64)).unwrap_or(0);
        of.get(index)
    }

    /// Another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let other = usize::try_from(self.below(last as u64 + 1)).unwrap_or(0);
            things.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_and_its_neighbour_something_else() {
        let row = |seed| {
            let mut draw = Draw::seeded(seed);
            (0..8).map(|_| draw.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
    }

    #[test]
    fn shuffling_loses_and_invents_nothing() {
        let mut things: Vec<u32> = (0..50).collect();
        Draw::seeded(3).shuffle(&mut things);
        assert!(!things.is_sorted());
        things.sort_unstable();
        assert!(things.into_iter().eq(0..50));
    }

    #[test]
    fn a_span_lies_between_its_ends() {
        let mut draw = Draw::seeded(1);
        let (from, to) = (Duration::from_millis(5), Duration::from_millis(7));
        assert!((0..100).map(|_| draw.between(from, to)).all(|span| (from..=to).contains(&span)));
        assert_eq!(draw.between(to, from), to);
    }
}
