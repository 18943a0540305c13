//! One command: what stands in front of the program, and the program.

use std::time::Duration;

use super::{Lock, Told, of_text, slug};

/// One command of a line.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub(super) bound: Option<Duration>,
    pub(super) lock: Option<Lock>,
    pub(super) once: bool,
    /// It takes no time and does no work: `cd`, `test`, …
    pub(super) trivial: bool,
    pub(super) name: String,
}

/// Programs that run another one, and their short options that take a value.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("env", "uCS", 0),
    ("nice", "n", 0),
    ("ionice", "cnp", 0),
    ("chrt", "TPD", 1),
    ("taskset", "", 1),
    ("sudo", "ugCDhprTU", 0),
    ("doas", "uC", 0),
    ("runuser", "ugG", 0),
    ("setsid", "", 0),
    ("nohup", "", 0),
    ("exec", "a", 0),
    ("time", "fo", 0),
    ("command", "", 0),
    ("chronic", "", 0),
    ("stdbuf", "ioe", 0),
    ("cronic", "", 0),
    ("systemd-cat", "tpP", 0),
];

const TRIVIAL: &[&str] = &[
    ".", ":", "[", "[[", "cd", "date", "echo", "exit", "export", "false", "if", "fi", "logger", "printf", "set", "source",
    "test", "true", "ulimit", "umask", "unset", "then", "else", "mkdir",
];

const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "zsh", "su"];

const INTERPRETERS: &[&str] =
    &["python", "python2", "python3", "perl", "ruby", "php", "node", "java", "run-parts", "sh", "bash", "dash", "ksh", "zsh"];

/// Locks of one host that leave when they are held.
const LEAVING_LOCKS: &[&str] = &["run-one", "lckdo", "lockrun", "solo", "with-lock-ex"];

pub(super) fn read(words: &[String], depth: usize) -> Piece {
    let mut piece = Piece::default();
    let mut rest = words;
    // Each turn takes at least one word.
    while let Some((first, after)) = rest.split_first() {
        let program = base(first);
        if is_assignment(first) || matches!(first.as_str(), "then" | "else" | "do" | "!") {
            rest = after;
        } else if let Some((_, valued, positional)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
            let after = skip_options(after, valued);
            rest = after.get(*positional..).unwrap_or_default();
        } else if matches!(program, "timeout" | "gtimeout") {
            let after = skip_options(after, "ks");
            piece.bound = after.first().and_then(|text| gnu_duration(text)).or(piece.bound);
            rest = after.get(1..).unwrap_or_default();
        } else if program == "flock" {
            let (lock, text, after) = flock(after);
            piece.lock = Some(lock);
            match text {
                Some(text) => return inside(piece, text, depth),
                None if after.is_empty() => return Piece { name: "flock".to_owned(), trivial: false, ..piece },
                None => rest = after,
            }
        } else if program == "setlock" || LEAVING_LOCKS.contains(&program) {
            piece.lock = Some(Lock::Leaves);
            let after = skip_options(after, "f");
            rest = if program == "setlock" || program == "lckdo" { after.get(1..).unwrap_or_default() } else { after };
        } else if program == "onebell" && skip_options(after, "f").first().is_some_and(|word| word == "once") {
            piece.once = true;
            rest = after.iter().position(|word| word == "--").map_or(&[], |at| &after[at + 1..]);
        } else if let Some(text) = shell_text(program, after) {
            return inside(piece, text, depth);
        } else {
            piece.trivial = TRIVIAL.contains(&program);
            piece.name = name(program, after);
            return piece;
        }
    }
    piece.trivial = !piece.once && piece.lock.is_none() && piece.bound.is_none();
    piece
}

/// The command that a shell in between runs.
fn inside(piece: Piece, text: &str, depth: usize) -> Piece {
    if depth == 0 {
        return piece;
    }
    let Told { bound, lock, once, name, .. } = of_text(text, depth - 1);
    Piece { bound: piece.bound.or(bound), lock: piece.lock.or(lock), once: piece.once || once, trivial: false, name }
}

/// What follows `-c` of a shell.
fn shell_text<'w>(program: &str, after: &'w [String]) -> Option<&'w str> {
    if !SHELLS.contains(&program) {
        return None;
    }
    let takes_text = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = after.iter().position(takes_text)?;
    // Before it there are only options, and of `su` a user.
    let only_options = program == "su" || after[..at].iter().all(|word| word.starts_with('-'));
    after.get(at + 1).filter(|_| only_options).map(String::as_str)
}

/// The lock, the text of `-c`, and the command after the lock file.
fn flock(after: &[String]) -> (Lock, Option<&str>, &[String]) {
    let mut lock = Lock::Waits;
    let mut rest = after;
    while let Some((option, after)) = rest.split_first().filter(|(option, _)| option.len() > 1 && option.starts_with('-')) {
        let short = !option.starts_with("--");
        let value = after.first().map_or("", String::as_str);
        let waits = matches!(option.as_str(), "-w" | "--wait" | "--timeout");
        if (short && option.contains('n')) || option == "--nb" || option == "--nonblock" || (waits && value == "0") {
            lock = Lock::Leaves;
        }
        let valued = waits || matches!(option.as_str(), "-E" | "--conflict-exit-code");
        rest = after.get(usize::from(valued)..).unwrap_or_default();
    }
    let after = rest.get(1..).unwrap_or_default();
    match after {
        [option, text, ..] if option == "-c" || option == "--command" => (lock, Some(text), &[]),
        after => (lock, None, after),
    }
}

fn skip_options<'w>(words: &'w [String], valued: &str) -> &'w [String] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        if word == "--" {
            return after;
        }
        let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) else { break };
        let long = matches!(word.as_str(), "--kill-after" | "--signal" | "--user" | "--group" | "--file" | "--database");
        let short = option.chars().count() == 1 && valued.contains(option);
        rest = after.get(usize::from(long || short)..).unwrap_or_default();
    }
    // What `env` is given before its program.
    let assignments = rest.iter().take_while(|word| is_assignment(word)).count();
    &rest[assignments..]
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// `30m`, `1.5h`, `90`; nothing for 0, which is no limit.
fn gnu_duration(text: &str) -> Option<Duration> {
    let (number, worth) = match text.char_indices().last()? {
        (at, 's') => (&text[..at], 1.0),
        (at, 'm') => (&text[..at], 60.0),
        (at, 'h') => (&text[..at], 3600.0),
        (at, 'd') => (&text[..at], 86_400.0),
        _ => (text, 1.0),
    };
    let seconds: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(seconds * worth).ok().filter(|bound| !bound.is_zero())
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// The program's name; of an interpreter its script's.
fn name(program: &str, after: &[String]) -> String {
    if !INTERPRETERS.contains(&program) {
        return without_extension(program);
    }
    let script = match after.iter().position(|word| word == "-m" || word == "-jar") {
        Some(at) => after.get(at + 1),
        None => after.iter().find(|word| !word.starts_with('-')),
    };
    match script {
        Some(script) if program == "run-parts" => slug(base(script.trim_end_matches('/'))),
        Some(script) => without_extension(base(script)),
        None => slug(program),
    }
}

fn without_extension(file: &str) -> String {
    let known = ["sh", "bash", "py", "pl", "rb", "php", "js", "jar", "bin"];
    match file.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() && known.contains(&extension) => slug(stem),
        _ => slug(file),
    }
}
