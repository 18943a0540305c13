//! Secrets are taken out of captured output before it is stored. Only what appears literally is found: a secret that the command
//! encodes (base64, URL escapes) or prints in pieces passes.

use super::output::Captured;

const MASK: &[u8] = b"***";

/// Replaces every occurrence of a secret by `***`, also overlapping ones and one that runs from `head` into `tail`.
///
/// Where bytes were left out (or may still follow), a secret may have been cut: whatever at such an edge could be a piece of one
/// is masked too. That may take a few innocent bytes, never the other way. `total` and `omitted` still count what the command
/// wrote.
pub fn mask(output: &mut Captured, secrets: &[String]) {
    let secrets: Vec<&[u8]> = secrets.iter().map(String::as_bytes).filter(|secret| !secret.is_empty()).collect();
    if secrets.is_empty() {
        return;
    }
    if output.omitted > 0 {
        let head = marked(&output.head, &secrets, Edges { start: false, end: true });
        let tail = marked(&output.tail, &secrets, Edges { start: true, end: output.open });
        output.head = replaced(&output.head, &head);
        output.tail = replaced(&output.tail, &tail);
        return;
    }
    // Nothing is missing in between: judge both as one. A secret across the seam is replaced once, in the head.
    let seam = output.head.len();
    let joined = [output.head.as_slice(), output.tail.as_slice()].concat();
    let mut hidden = marked(&joined, &secrets, Edges { start: false, end: output.open });
    let across = seam > 0 && hidden.get(seam - 1) == Some(&true) && hidden.get(seam) == Some(&true);
    let run = if across { hidden[seam..].iter().take_while(|hide| **hide).count() } else { 0 };
    let tail_marks = hidden.split_off(seam + run);
    output.head = replaced(&joined[..seam + run], &hidden);
    output.tail = replaced(&joined[seam + run..], &tail_marks);
}

/// Which ends of a piece are cuts.
#[derive(Clone, Copy)]
struct Edges {
    start: bool,
    end: bool,
}

/// For each byte, whether it belongs to a secret.
fn marked(bytes: &[u8], secrets: &[&[u8]], cut: Edges) -> Vec<bool> {
    let mut hidden = vec![false; bytes.len()];
    for secret in secrets {
        for (at, window) in bytes.windows(secret.len()).enumerate() {
            if window == *secret {
                hidden[at..at + secret.len()].fill(true);
            }
        }
        let longest = secret.len().saturating_sub(1).min(bytes.len());
        if cut.end
            && let Some(length) = (1..=longest).rev().find(|n| bytes.ends_with(&secret[..*n]))
        {
            hidden[bytes.len() - length..].fill(true);
        }
        if cut.start
            && let Some(length) = (1..=longest).rev().find(|n| bytes.starts_with(&secret[secret.len() - n..]))
        {
            hidden[..length].fill(true);
        }
        // A piece shorter than the secret may be its middle.
        if cut.start && cut.end && secret.windows(bytes.len().max(1)).any(|window| window == bytes) {
            hidden.fill(true);
        }
    }
    hidden
}

/// Each run of hidden bytes becomes one mask, so that its length tells nothing.
fn replaced(bytes: &[u8], hidden: &[bool]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut before = false;
    for (byte, hide) in bytes.iter().zip(hidden) {
        match (hide, before) {
            (true, false) => out.extend_from_slice(MASK),
            (true, true) => {}
            (false, _) => out.push(*byte),
        }
        before = *hide;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::output::Collector;
    use super::*;

    fn masked(cap: usize, text: &str, secrets: &[&str], open: bool) -> Captured {
        let mut collector = Collector::new(cap);
        collector.push(text.as_bytes());
        let mut output = collector.captured(open);
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        mask(&mut output, &secrets);
        output
    }

    fn text(output: &Captured) -> String {
        String::from_utf8_lossy(&output.to_bytes()).into_owned()
    }

    #[test]
    fn every_occurrence_is_replaced_also_overlapping_ones() {
        let output = masked(200, "a hunter2 b hunter2hunter2 xabcabcy", &["hunter2", "abcab", "bcabc", ""], false);
        assert_eq!(text(&output), "a *** b *** x***y");
        assert_eq!(output.total, 35);
    }

    #[test]
    fn no_cap_and_no_place_lets_two_bytes_of_a_secret_through() {
        let secret = "S3CR3T";
        for cap in 0..40 {
            for before in 0..25 {
                let output = masked(cap, &format!("{}{secret}{}", ".".repeat(before), ".".repeat(20)), &[secret], false);
                for piece in secret.as_bytes().windows(2) {
                    let found = [&output.head, &output.tail].iter().any(|part| part.windows(2).any(|window| window == piece));
                    assert!(!found, "cap {cap}, {before} before: {}", text(&output));
                }
            }
        }
    }

    #[test]
    fn the_end_is_a_cut_only_while_more_may_follow() {
        assert_eq!(text(&masked(100, "key=hunt", &["hunter2"], true)), "key=***");
        assert_eq!(text(&masked(100, "key=hunt", &["hunter2"], false)), "key=hunt");
    }

    #[test]
    fn output_without_secrets_is_left_alone() {
        let output = masked(100, "nothing here", &["hunter2"], false);
        assert_eq!((text(&output).as_str(), output.omitted), ("nothing here", 0));
    }
}
