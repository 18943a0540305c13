use crate::keeper::{Captured, mask};

/// So much of an answer's body is told to people.
const CHARACTERS: usize = 200;
/// So much of it is looked through for that: an answer may carry megabytes of rows.
const LOOKED_AT: usize = 8 * 1024;

/// A value such as `Bearer TOKEN` is a secret, and so is its token alone. What is as short as a word is left.
pub(crate) fn with_tokens(mut secrets: Vec<String>) -> Vec<String> {
    let token = |secret: &String| secret.split_once(' ').map(|(_, token)| token.to_owned()).filter(|token| token.len() >= 8);
    secrets.extend(secrets.iter().filter_map(token).collect::<Vec<_>>());
    secrets
}

/// The beginning of a body, on one line and without `secrets`. `cut`: it went on.
pub(crate) fn head(body: &[u8], cut: bool, secrets: &[String]) -> String {
    let seen = &body[..body.len().min(LOOKED_AT)];
    let cut = cut || seen.len() < body.len();
    let mut kept = Captured { head: seen.to_vec(), total: seen.len() as u64, open: cut, ..Captured::default() };
    mask(&mut kept, secrets);
    let text = String::from_utf8_lossy(&kept.head);
    let words: Vec<&str> =
        text.split(|found: char| found.is_whitespace() || found.is_control()).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_short_on_one_line_and_without_secrets() {
        let secrets = ["hunter2".to_owned()];
        assert_eq!(head(b"ok\r\n{\"token\": \"hunter2\"}\0", false, &secrets), "ok {\"token\": \"***\"}");
        let tokens = with_tokens(vec!["Bearer abcdefgh".to_owned(), "a word".to_owned()]);
        assert_eq!(head(b"abcdefgh word", false, &tokens), "*** word");
        assert_eq!(head(b"ends in hunt", true, &secrets), "ends in ***");
        assert_eq!(head("é".repeat(500).as_bytes(), false, &[]).chars().count(), CHARACTERS + 1);
        let rows = [b"ok ".as_slice(), &vec![b' '; 16 << 20], b"end"].concat();
        assert_eq!(head(&rows, false, &secrets), "ok", "what is far behind is not looked for");
        assert_eq!(head(b"\xff\xfe", false, &[]), "\u{fffd}\u{fffd}");
    }
}
