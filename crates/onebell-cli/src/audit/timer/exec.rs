//! `ExecStart=`: words and quotes as systemd has them, specifiers, and variables that systemd puts in itself.

use super::super::found::Work;

/// The command of a line of the unit `unit`.
pub(super) fn read(line: &str, unit: &str) -> Work {
    let plain = line.trim_start_matches(['@', '-', ':', '+', '!', '|']);
    let prefix = &line[..line.len() - plain.len()];
    let mut argv = words(plain);
    // The second word is only what the program is told it is called.
    if prefix.contains('@') && argv.len() > 1 {
        argv.remove(1);
    }
    let mut known = Vec::new();
    for word in &argv {
        match specified(word, unit) {
            Ok(word) => known.push(word),
            Err(specifier) => return Work::Elsewhere(format!("systemd puts %{specifier} into its command")),
        }
    }
    let has_variables = !prefix.contains(':') && known.iter().skip(1).any(|word| word.contains('$'));
    match known.first() {
        None => Work::Elsewhere("its command is empty".to_owned()),
        Some(_) if has_variables => {
            let text = known.iter().map(|word| for_a_shell(word)).collect::<Vec<_>>().join(" ");
            Work::Shell { shell: None, text, stdin: None, intended: None }
        }
        Some(_) => Work::Argv(known),
    }
}

/// `%%`, and what follows from the unit's name; else the letter that is not known here.
fn specified(word: &str, unit: &str) -> Result<String, char> {
    let stem = unit.rsplit_once('.').map_or(unit, |(stem, _)| stem);
    let mut text = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match (c, c == '%') {
            (_, true) => match chars.next() {
                Some('%') => text.push('%'),
                Some('n') => text.push_str(unit),
                Some('N') => text.push_str(stem),
                Some('p') => text.push_str(stem.split('@').next().unwrap_or_default()),
                other => return Err(other.unwrap_or('%')),
            },
            (c, false) => text.push(c),
        }
    }
    Ok(text)
}

/// A word for `/bin/sh` in which the same variables are put in as systemd does: `${X}` as a part of the word, `$X` alone as words.
fn for_a_shell(word: &str) -> String {
    let name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if word.strip_prefix('$').is_some_and(name) {
        return word.to_owned();
    }
    if !word.contains('$') {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut text = String::from("\"");
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("$$") {
            text.push_str("\\$");
            rest = after;
        } else if let Some((variable, after)) =
            rest.strip_prefix("${").and_then(|after| after.split_once('}')).filter(|(variable, _)| name(variable))
        {
            text.push_str(&format!("${{{variable}}}"));
            rest = after;
        } else {
            if matches!(c, '$' | '"' | '\\' | '`') {
                text.push('\\');
            }
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    text.push('"');
    text
}

/// The words of a line, by systemd's rules for quotes and backslashes.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => {
                let escaped = chars.next().map_or('\\', unescaped);
                word.get_or_insert_default().push(escaped);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

const fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        's' => ' ',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        match read(line, "backup@.service") {
            Work::Argv(argv) => format!("{argv:?}"),
            Work::Shell { text, .. } => text,
            Work::Elsewhere(why) => why,
        }
    }

    #[test]
    fn words_quotes_and_specifiers_are_systemds() {
        assert_eq!(of("/usr/bin/a 'b c' \"d\" e\\sf"), r#"["/usr/bin/a", "b c", "d", "e f"]"#);
        assert_eq!(of("-+/usr/bin/a %% %n"), r#"["/usr/bin/a", "%", "backup@.service"]"#);
        assert_eq!(of("@/bin/sh zsh -c x"), r#"["/bin/sh", "-c", "x"]"#);
        assert_eq!(of("/x %i"), "systemd puts %i into its command");
        assert_eq!(of(""), "its command is empty");
    }

    #[test]
    fn variables_are_put_in_by_a_shell_as_systemd_puts_them_in() {
        assert_eq!(of("/x --to=${A}/b $ARGS 'c d' $$1"), "'/x' \"--to=${A}/b\" $ARGS 'c d' \"\\$1\"");
        assert_eq!(of(":/x $A"), r#"["/x", "$A"]"#);
    }
}
