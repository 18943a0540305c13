//! Secrets are taken out of captured output before it is stored: as they are, in base64, and escaped as in a URL, in JSON or by a
//! shell, see `forms`. What a command encodes otherwise (hex, compressed) or prints with something in between passes.

mod forms;

use memchr::memmem;

use super::output::Captured;
use forms::{ESCAPE_MAX, Read, needles};

const MASK: &[u8] = b"***";
/// Shorter values are words that may stand anywhere.
const WORD_MAX: usize = 7;

/// Replaces every occurrence of a secret by `***`, also overlapping ones and one that runs from `head` into `tail`.
///
/// Where bytes were left out (or may still follow), a secret may have been cut: whatever at such an edge could be a piece of one
/// is masked too. That may take a few innocent bytes, never the other way. `total` and `omitted` still count what the command
/// wrote.
pub fn mask(output: &mut Captured, secrets: &[String]) {
    let secrets = needles(secrets);
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

/// The same for words about what happened. Words that end in `…` were cut.
pub fn mask_text(text: &str, secrets: &[String]) -> String {
    let (words, cut) = text.strip_suffix('…').map_or((text, false), |words| (words, true));
    let mut kept = Captured { head: words.as_bytes().to_vec(), open: cut, ..Captured::default() };
    mask(&mut kept, secrets);
    String::from_utf8_lossy(&kept.head).into_owned() + if cut { "…" } else { "" }
}

/// Whether a secret stands in it. One as short as a word does not count: it may be there for another reason.
pub fn holds(text: &str, secrets: &[String]) -> bool {
    let long: Vec<String> = secrets.iter().filter(|secret| secret.len() > WORD_MAX).cloned().collect();
    marked(text.as_bytes(), &needles(&long), Edges { start: false, end: false }).contains(&true)
}

/// Which ends of a piece are cuts.
#[derive(Clone, Copy)]
struct Edges {
    start: bool,
    end: bool,
}

/// For each byte, whether it belongs to a secret.
fn marked(bytes: &[u8], secrets: &[Vec<u8>], cut: Edges) -> Vec<bool> {
    let mut hidden = vec![false; bytes.len()];
    for read in Read::all_of(bytes, cut.end) {
        for secret in secrets {
            for at in found(&read.bytes, secret) {
                hidden[read.span(at, at + secret.len())].fill(true);
            }
            let longest = secret.len().saturating_sub(1).min(read.bytes.len());
            if cut.end
                && let Some(length) = (1..=longest).rev().find(|n| read.bytes.ends_with(&secret[..*n]))
            {
                hidden[read.span(read.bytes.len() - length, read.bytes.len())].fill(true);
            }
        }
    }
    for secret in secrets {
        if cut.start {
            hidden[..cut_off(bytes, secret)].fill(true);
        }
        // A piece shorter than the secret may be its middle.
        if cut.start && cut.end && secret.windows(bytes.len().max(1)).any(|window| window == bytes) {
            hidden.fill(true);
        }
    }
    hidden
}

/// Where it begins, also inside of another occurrence.
fn found(bytes: &[u8], secret: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(secret);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = bytes.get(from..).and_then(|rest| finder.find(rest)) {
        places.push(from + at);
        from += at + 1;
    }
    places
}

/// How many bytes at the beginning could be the end of the secret.
fn cut_off(bytes: &[u8], secret: &[u8]) -> usize {
    let mut most = 0;
    // The cut may lie inside of an escape: its rest is no byte of the secret.
    let of_escape = |byte: &&u8| byte.is_ascii_hexdigit() || matches!(byte, b'u' | b'x' | b'{' | b'}' | b'\\');
    let rest = bytes.iter().take(ESCAPE_MAX - 1).take_while(of_escape).count();
    for skip in 0..=rest {
        let piece = &bytes[skip..bytes.len().min(skip + secret.len() * ESCAPE_MAX)];
        for read in Read::all_of(piece, false) {
            let longest = secret.len().saturating_sub(1).min(read.bytes.len());
            if let Some(length) = (1..=longest).rev().find(|n| read.bytes.starts_with(&secret[secret.len() - n..])) {
                most = most.max(skip + read.span(0, length).end);
            }
        }
    }
    most
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

    const SECRET: &str = "s3cr3t-ß-123";

    #[test]
    fn k15_05_a_secret_is_found_in_the_forms_that_programs_give_it() {
        for found in [
            "czNjcjN0LcOfLTEyMw==",
            "Basic dXNlcjpzM2NyM3Qtw58tMTIz",
            "Basic dXM6czNjcjN0LcOfLTEyMw==",
            "https://h/?a=s3cr3t-%C3%9F-123",
            "%73%33cr3t%2D%c3%9f-123",
            r#"{"a":"s3cr3t-\u00df-123"}"#,
            r#""s3cr3t-\u{df}-123""#,
            r"$'s3cr3t-\303\237-123'",
            r"b's3cr3t-\xc3\x9f-123'",
            "czNjcjN0LcOfLTEyMw%3D%3D",
        ] {
            let shown = text(&masked(1000, &format!("<{found}>"), &[SECRET], false));
            assert!(shown.contains("***") && shown.len() < found.len(), "{found}: {shown}");
            assert!(["3cr3t", "123", "Njcj", "yM3Q", "NyM3"].iter().all(|piece| !shown.contains(piece)), "{found}: {shown}");
        }
        let masked = |text_of: &str, secret: &str| text(&masked(1000, text_of, &[secret], false));
        assert_eq!(masked("Token abcdefgh", "Bearer abcdefgh"), "Token ***");
        assert_eq!(masked("key c2VjcmV0IGtleQ", "whsec_c2VjcmV0IGtleQ"), "key ***");
        assert_eq!(masked("  first-line\r\n  second-line\r\n", "first-line\nsecond-line\n"), "  ***\r\n  ***\r\n");
        assert_eq!(masked("v=hunter2;", "hunter2\n"), "v=***;", "what a shell leaves out is left out");
        assert_eq!(masked("100%: a\\b %zz \\u00 \\", "hunter2"), "100%: a\\b %zz \\u00 \\");
    }

    #[test]
    fn k15_05_no_cut_lets_an_escaped_secret_through() {
        for escaped in ["s3cr3t-%C3%9F-123", r"s3cr3t-\u00df-123", "czNjcjN0LcOfLTEyMw=="] {
            for cap in 0..100 {
                let output = masked(cap, &format!("{}{escaped}{}", ".".repeat(25), ".".repeat(40)), &[SECRET], false);
                for piece in ["s3", "3c", "cr", "r3", "3t", "-1", "12", "23", "%C3", "00df", "zNj", "LcO", "fLT"] {
                    let found = [&output.head, &output.tail].iter().any(|part| String::from_utf8_lossy(part).contains(piece));
                    assert!(!found, "{escaped} {cap} {piece}: {}", text(&output));
                }
            }
        }
    }

    #[test]
    fn k15_05_words_that_were_cut_inside_a_secret_end_before_it() {
        let secrets = [SECRET.to_owned()];
        assert_eq!(mask_text("it said s3cr3t…", &secrets), "it said ***…");
        assert_eq!(mask_text("it said s3cr3t-ß-123", &secrets), "it said ***");
        assert!(holds(r#"[{"a":"s3cr3t-\u00df-123"}]"#, &secrets) && !holds(r#"[{"a":"s3cr3t"}]"#, &secrets));
        assert!(!holds(r#"[{"region":"eu"}]"#, &["eu".to_owned()]), "a word may be there for another reason");
    }
}
