//! Crontabs, a user's and the system's, as Vixie's cron and cronie read them; where those two differ, a finding says so.

mod assignment;
mod entry;
mod percent;
mod times;

use super::codes;
use super::command;
use super::file::File;
use super::finding::Finding;
use super::found::{Found, Kind, Step, Work, Zone};
use super::next::rule_of;
use super::{Part, shown};
use assignment::Assignment;
use entry::Entry;

/// Every cron takes commands of so many characters.
const COMMAND_MAX: usize = 998;

/// Whether a line is one that only a crontab has.
pub(super) fn looks_like_one(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with('#') {
        return false;
    }
    entry::read(line, false).is_ok_and(|entry| entry.problem.is_none() && times::read(entry.times).is_ok())
}

/// Each job carries its variables: more are no environment.
const VARIABLES_MAX_BYTES: usize = 16 << 10;

/// What is known after the lines read so far.
#[derive(Default)]
struct Reader {
    part: Part,
    variables: Vec<(String, String)>,
    shell: Option<String>,
    zone: Option<String>,
    mail_to: Option<String>,
    /// Told at the next job, or at the last one.
    waiting: Vec<Finding>,
    random_delay: bool,
}

pub(super) fn read(file: &File, system: bool) -> Part {
    let (text, marked) = file.text();
    let mut reader = Reader::default();
    if marked {
        reader.waiting.push(codes::BOM.says("the file begins with a byte order mark: cron cannot read its first line"));
    }
    if text.contains("\r\n") {
        let lines = text.matches("\r\n").count();
        reader.waiting.push(codes::CRLF.says(format!("{lines} lines end with a carriage return: cron ignores or breaks them")));
    }
    if file.folder() == "cron.d" && !file.base().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        let message = format!("Debian's cron reads no file named {:?} in cron.d, because of its other characters", file.base());
        reader.waiting.push(codes::FILE_IGNORED.says(message));
    }
    let lines: Vec<&str> = text.split('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        if reader.part.is_full() {
            break;
        }
        reader.line(file, index + 1, line.strip_suffix('\r').unwrap_or(line), system);
    }
    if lines.last().is_some_and(|last| !last.trim().is_empty()) {
        let message = format!("line {} does not end: cron will ignore it, and Debian's cron the whole file", lines.len());
        reader.at_the_end(codes::NO_FINAL_NEWLINE.says(message));
    }
    reader.finish(file)
}

impl Reader {
    fn line(&mut self, file: &File, number: usize, line: &str, system: bool) {
        let line = line.trim_start_matches([' ', '\t']);
        if line.trim().is_empty() || line.starts_with('#') {
            return;
        }
        if let Some(assignment) = assignment::read(line) {
            return self.assign(assignment, number);
        }
        let mut found = Found::new(file, number, Kind::Cron);
        found.findings.append(&mut self.waiting);
        match entry::read(line, system) {
            Ok(entry) => self.job(found, &entry, line),
            Err(finding) => {
                found.is_job = false;
                found.timing.text = shown(line).chars().take(80).collect();
                found.findings.push(finding);
                self.part.unread = true;
                self.part.jobs.push(found);
            }
        }
    }

    fn assign(&mut self, assignment: Assignment, number: usize) {
        let Assignment { name, value, quoted } = assignment;
        if value.is_empty() && !quoted && (name == "MAILTO" || name == "MAILFROM") {
            let message =
                format!("line {number}: {name}= without quotes: some builds of cron refuse the line, others send no mail");
            self.waiting.push(codes::MAILTO_EMPTY.with(message, format!("write {name}=\"\"")));
        }
        if value.contains('$') {
            let message = format!("line {number}: {name} is {value:?} as it stands: cron puts no variables in");
            self.waiting.push(codes::VARIABLE_LITERAL.says(message));
        }
        if !quoted && value.contains(" #") {
            let message = format!("line {number}: {name} is {value:?}, with what looks like a comment");
            self.waiting.push(codes::VARIABLE_COMMENT.says(message));
        }
        match name.as_str() {
            "CRON_TZ" => self.zone = Some(value),
            "SHELL" => self.shell = Some(value),
            "MAILTO" => self.mail_to = Some(value),
            "RANDOM_DELAY" => self.random_delay = true,
            // The user's, whatever is written.
            "MAILFROM" | "CONTENT_TYPE" | "CONTENT_TRANSFER_ENCODING" | "LOGNAME" | "USER" => {}
            _ if self.variables.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + value.len()
                > VARIABLES_MAX_BYTES =>
            {
                self.part.unread = true;
                self.waiting.push(
                    codes::UNREADABLE.says(format!("line {number}: {name} is left out: there are more than 16 KiB of variables")),
                );
            }
            _ => {
                self.variables.retain(|(known, _)| *known != name);
                self.variables.push((name, value));
            }
        }
    }

    fn job(&mut self, mut found: Found, entry: &Entry<'_>, line: &str) {
        self.due(&mut found, entry);
        if let Some(problem) = &entry.problem {
            found.timing.refused = true;
            found.findings.push(problem.clone());
        }
        let work = if entry.command.is_empty() {
            Work::Elsewhere("the line has no command".to_owned())
        } else if entry.command.contains(char::REPLACEMENT_CHARACTER) {
            found.findings.push(codes::NOT_UTF8.says("the line has bytes that are no UTF-8; its command is not imported"));
            Work::Elsewhere("its command is no UTF-8".to_owned())
        } else {
            self.command(&mut found.findings, entry)
        };
        found.steps.push(Step { env: self.variables.clone(), ..Step::new(work) });
        if line.chars().count() > COMMAND_MAX {
            let message = format!("the line has {} characters; Vixie's cron takes {COMMAND_MAX}", line.chars().count());
            found.findings.push(codes::LINE_TOO_LONG.says(message));
        }
        found.name = command::told(&found.steps).name;
        match entry.user {
            Some(user) => found.left_behind.push(format!("cron ran it as user {user}, in that user's home folder")),
            None => {
                found.findings.extend(entry.looks_like_a_user());
                found.left_behind.push("cron ran it in the home folder of the crontab's user".to_owned());
            }
        }
        if let Some(to) = self.mail_to.as_ref().filter(|to| !to.is_empty()) {
            found.left_behind.push(format!("MAILTO={to}: its output was mailed; see notify and `onebell logs`"));
        }
        if self.random_delay {
            found.findings.push(codes::SPREAD.says("RANDOM_DELAY puts each start off by a random number of minutes (cronie)"));
        }
        self.part.jobs.push(found);
    }

    fn due(&self, found: &mut Found, entry: &Entry<'_>) {
        found.timing.text = entry.times.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        found.timing.dst = rule_of(Kind::Cron);
        found.timing.by_calendar = true;
        found.timing.zone = self.zone.clone().map_or(Zone::Host, Zone::Named);
        if self.zone.is_some() {
            let message = "CRON_TZ counts for cronie; for Debian's cron the times are the host's";
            found.findings.push(codes::ZONE_IGNORED.says(message));
        }
        match times::read(entry.times) {
            Ok(times) => {
                found.timing.whens.extend(times.when);
                found.findings.extend(times.finding);
            }
            Err(finding) => {
                found.timing.refused = true;
                found.findings.push(finding);
            }
        }
    }

    fn command(&self, findings: &mut Vec<Finding>, entry: &Entry<'_>) -> Work {
        let percent::Read { text, stdin, intended } = percent::read(entry.command);
        if let Some(stdin) = &stdin {
            let message = format!("the command is really `{}`, with {stdin:?} on its standard input", shown(&text));
            findings
                .push(codes::PERCENT.with(message, "write \\% for every % that is meant; import keeps what cron really runs"));
        }
        let intended = stdin.is_some().then_some(intended);
        Work::Shell { shell: self.shell.clone().filter(|shell| shell != "/bin/sh"), text, stdin, intended }
    }

    fn at_the_end(&mut self, finding: Finding) {
        match self.part.jobs.last_mut() {
            Some(last) => last.findings.push(finding),
            None => self.waiting.push(finding),
        }
    }

    fn finish(mut self, file: &File) -> Part {
        if self.part.jobs.is_empty() && (file.named || !self.waiting.is_empty()) {
            self.waiting.push(codes::NOTHING_FOUND.says("no line of it is a job"));
        }
        for finding in std::mem::take(&mut self.waiting) {
            match self.part.jobs.last_mut() {
                Some(last) => last.findings.push(finding),
                None => self.part.jobs.push(Found::unread(file, 1, finding)),
            }
        }
        self.part
    }
}
