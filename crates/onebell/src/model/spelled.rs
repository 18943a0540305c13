//! Spans as people write them.

use std::time::Duration;

const UNITS: [(&str, u128); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

/// In its two largest units: `1h 5m`, `9s`, `no time`.
pub fn spelled(span: Duration) -> String {
    let mut rest = span.as_millis();
    let mut parts = Vec::new();
    for (unit, worth) in UNITS {
        if rest >= worth {
            parts.push(format!("{}{unit}", rest / worth));
            rest %= worth;
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "no time".to_owned() } else { parts.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_its_two_largest_units() {
        let spelled = |ms| spelled(Duration::from_millis(ms));
        assert_eq!([spelled(0), spelled(900), spelled(1_250), spelled(90_000_000)], ["no time", "900ms", "1s 250ms", "1d 1h"]);
        assert_eq!([spelled(3_900_000), spelled(3_600_000)], ["1h 5m", "1h"]);
    }
}
