//! Which format a file has, by its name first and else by what it holds.

use clap::ValueEnum;

use super::file::File;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A user's crontab: five fields and a command
    Crontab,
    /// `/etc/crontab` or a file of `/etc/cron.d`: a user stands before the command
    SystemCrontab,
    /// Kubernetes manifests, YAML or JSON
    #[value(name = "cronjob")]
    CronJob,
    /// systemd timers
    Systemd,
}

/// What `file` is; nothing: something else, which somebody keeps in the same folder.
pub(super) fn of(file: &File) -> Option<Form> {
    let base = file.base();
    let extension = base.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension {
        "timer" => return Some(Form::Systemd),
        // Read with its timer.
        "service" => return file.named.then_some(Form::Systemd),
        "yaml" | "yml" | "json" => return Some(Form::CronJob),
        _ => {}
    }
    if file.folder() == "cron.d" || (base == "crontab" && matches!(file.folder(), "etc" | "")) {
        return Some(if base == "crontab" && file.folder().is_empty() { guessed(file) } else { Form::SystemCrontab });
    }
    if matches!(file.folder(), "crontabs" | "cron" | "tabs") || extension == "crontab" || extension == "cron" || base == "crontab"
    {
        return Some(guessed(file));
    }
    let found = by_content(file);
    if file.named { Some(found.unwrap_or(Form::Crontab)) } else { found }
}

/// Of a crontab whose place does not tell.
fn guessed(file: &File) -> Form {
    by_content(file).unwrap_or(Form::Crontab)
}

fn by_content(file: &File) -> Option<Form> {
    if file.unreadable().is_some() {
        return None;
    }
    let (text, _) = file.text();
    let mut crontab = None;
    for line in text.lines().map(str::trim_end) {
        let starts = |words: &[&str]| words.iter().any(|word| line.trim_start().starts_with(word));
        if starts(&["[Timer]", "[Unit]", "[Service]", "[Install]"]) {
            return Some(Form::Systemd);
        }
        if starts(&["apiVersion:", "kind:", "\"apiVersion\":", "\"kind\":", "{\"apiVersion\"", "{\"kind\""]) || line == "---" {
            return Some(Form::CronJob);
        }
        if crontab.is_none() && super::crontab::looks_like_one(line) {
            crontab = Some(Form::Crontab);
        }
    }
    crontab
}
