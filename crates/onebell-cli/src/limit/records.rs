//! Records that look like people's: about 95 bytes of JSON each, with identities in no order.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

/// The identity of the record with this number.
pub fn key(n: usize) -> String {
    format!("E{:016x}", (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// The record itself.
pub fn payload(n: usize) -> String {
    format!(
        "{{\"event_id\":\"{}\",\"customer\":\"C{:05}\",\"amount_cents\":{},\"note\":\"payment {n}\"}}",
        key(n),
        n % 10_000,
        n % 5_000
    )
}

/// A fingerprint's size and randomness, without its cost.
pub fn fingerprint(n: usize) -> String {
    (0..4).map(|part| format!("{:016x}", (n as u64 * 4 + part).wrapping_mul(0xD6E8_FEB8_6659_FD93))).collect()
}

/// Writes these records as NDJSON.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, numbers: Range<usize>) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for n in numbers {
        writeln!(file, "{}", payload(n))?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_json_of_about_95_bytes_under_an_identity_of_its_own() {
        let keys: std::collections::BTreeSet<String> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        for n in [0, 7, 49_999] {
            let record: serde_json::Value = serde_json::from_str(&payload(n)).unwrap();
            assert_eq!(
                (record["event_id"].as_str().unwrap(), record["amount_cents"].as_u64()),
                (key(n).as_str(), Some(n as u64 % 5_000))
            );
            assert!((80..105).contains(&payload(n).len()), "{}", payload(n));
            assert_eq!(fingerprint(n).len(), 64);
        }
    }
}
