//! What others call our keys, for whoever writes a job file from habit: crontab, systemd, Kubernetes, River, Oban, Sidekiq, Quartz.

/// Theirs, and ours.
const NAMES: &[(&str, &str)] = &[
    ("cron", "schedule"),
    ("crontab", "schedule"),
    ("oncalendar", "schedule"),
    ("interval", "every"),
    ("period", "every"),
    ("run_at", "at"),
    ("timezone", "time_zone"),
    ("tz", "time_zone"),
    ("zone", "time_zone"),
    ("cmd", "command"),
    ("args", "command"),
    ("exec", "command"),
    ("execstart", "command"),
    ("script", "command"),
    ("environment", "env"),
    ("workdir", "cwd"),
    ("workingdirectory", "cwd"),
    ("working_directory", "cwd"),
    ("concurrencypolicy", "overlap"),
    ("concurrency_policy", "overlap"),
    ("catch_up", "missed"),
    ("catchup", "missed"),
    ("misfire", "missed"),
    ("startingdeadlineseconds", "missed_window"),
    ("activedeadlineseconds", "timeout"),
    ("ttl", "timeout"),
    ("retries", "retry"),
    ("max_attempts", "attempts"),
    ("max_retries", "attempts"),
    ("backofflimit", "retry"),
    ("depends_on", "after"),
    ("needs", "after"),
    ("rollback", "undo"),
    ("compensate", "undo"),
    ("email", "message"),
    ("mail", "message"),
    ("query", "sql"),
    ("webhook", "http"),
];

/// Which of `right` others call `word`.
pub(super) fn called<'r>(word: &str, right: &[&'r str]) -> Option<&'r str> {
    let plain = word.to_lowercase().replace(['-', ' '], "_");
    let ours = NAMES.iter().filter(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours);
    ours.into_iter().find_map(|ours| right.iter().copied().find(|right| *right == ours))
}
