//! A line with times, in the system's form a user, and a command.

use super::super::codes;
use super::super::finding::Finding;
use super::super::shown;

/// A line cut into its parts.
#[derive(Debug)]
pub(super) struct Entry<'l> {
    /// Five fields, or a name such as `@daily`.
    pub(super) times: &'l str,
    /// Who runs it; only in the system's form.
    pub(super) user: Option<&'l str>,
    /// The rest of the line.
    pub(super) command: &'l str,
    /// Why cron does not run it.
    pub(super) problem: Option<Finding>,
}

/// Users that nobody names a program after.
const USERS: &[&str] = &["root", "nobody", "daemon", "www-data", "postgres", "apache", "nginx", "ubuntu", "ec2-user"];

/// Users that are programs too.
const USERS_OR_PROGRAMS: &[&str] = &["mysql", "git", "backup", "deploy", "jenkins", "app", "admin"];

pub(super) fn read(line: &str, system: bool) -> Result<Entry<'_>, Finding> {
    // A leading dash keeps cronie from logging the start.
    let line = line
        .strip_prefix('-')
        .filter(|rest| rest.starts_with(|c: char| c == '*' || c == '@' || c.is_ascii_digit()))
        .unwrap_or(line);
    let fields = if line.starts_with('@') { 1 } else { 5 };
    let (times, rest) = cut(line, fields).ok_or_else(|| refused(line))?;
    if !line.starts_with('@') && !times.starts_with(|c: char| c == '*' || c == '?' || c.is_ascii_alphanumeric()) {
        return Err(refused(line));
    }
    let rest = rest.trim_end();
    let entry = Entry { times, user: None, command: rest, problem: None };
    if rest.is_empty() {
        let message = format!("{:?} has times and no command", shown(line));
        return Ok(Entry { problem: Some(codes::COMMAND_MISSING.says(message)), ..entry });
    }
    if !system {
        return Ok(entry);
    }
    let (user, command) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    if command.is_empty() || user.contains(['/', '$', '=', '"', '\'']) {
        let message = format!("{:?} stands where the user does, and cron takes it for one", shown(user));
        return Ok(Entry { problem: Some(codes::USER_MISSING.says(message)), ..entry });
    }
    Ok(Entry { user: Some(user), command: command.trim_start(), ..entry })
}

/// The first `count` words, and what follows them; nothing: there are fewer.
fn cut(line: &str, count: usize) -> Option<(&str, &str)> {
    let mut rest = line;
    for _ in 0..count {
        rest = rest.trim_start_matches([' ', '\t']);
        if rest.is_empty() {
            return None;
        }
        rest = &rest[rest.find([' ', '\t']).unwrap_or(rest.len())..];
    }
    let times = &line[..line.len() - rest.len()];
    Some((times, rest.trim_start_matches([' ', '\t'])))
}

fn refused(line: &str) -> Finding {
    let start: String = shown(line).chars().take(60).collect();
    codes::LINE_REFUSED.says(format!("{start:?} is neither a comment nor NAME=value nor five fields and a command"))
}

impl Entry<'_> {
    /// A word that is a user in the other form of crontabs.
    pub(super) fn looks_like_a_user(&self) -> Option<Finding> {
        let (first, rest) = self.command.split_once([' ', '\t'])?;
        let before_a_path = rest.trim_start().starts_with(['/', '.', '[']);
        (USERS.contains(&first) || (USERS_OR_PROGRAMS.contains(&first) && before_a_path)).then(|| {
            let message = format!("{first:?} looks like the user of a system crontab; in a user's crontab it is run as a program. Which of the two is this file?");
            codes::USER_COLUMN.says(message)
        })
    }
}
