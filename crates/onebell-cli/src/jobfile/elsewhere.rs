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
    ("startingdeadlineseconds", "start_within"),
    ("activedeadlineseconds", "timeout"),
    ("ttl", "timeout"),
    ("retries", "retry"),
    ("max_attempts", "attempts"),
    ("max_retries", "attempts"),
    ("max_attempts", "retry"),
    ("max_retries", "retry"),
    ("retry_delay", "retry"),
    ("retry_policy", "retry"),
    ("backofflimit", "retry"),
    ("max", "backoff"),
    ("delay", "backoff"),
    ("max_delay", "backoff"),
    ("on_failure", "notify"),
    ("onfailure", "notify"),
    ("alert", "notify"),
    ("alerts", "notify"),
    ("start_date", "from"),
    ("end_date", "until"),
    ("holidays", "except"),
    ("exclude", "except"),
    ("skip_dates", "except"),
    ("type", "kind"),
    ("tasks", "steps"),
    ("entrypoint", "command"),
    ("run", "command"),
    ("depends_on", "after"),
    ("needs", "after"),
    ("rollback", "undo"),
    ("compensate", "undo"),
    ("email", "message"),
    ("mail", "message"),
    ("query", "sql"),
    ("webhook", "http"),
];

/// What there is no key for, and what to do.
const SAID: &[(&str, &str)] = &[
    ("enabled", "there is no such key: a job is held with onebell pause JOB"),
    ("disabled", "there is no such key: a job is held with onebell pause JOB"),
    ("suspend", "there is no such key: a job is held with onebell pause JOB"),
    ("user", "there is no such key: a command runs as its replica does"),
    ("between", "write the hours into the schedule: \"*/15 6-22 * * *\""),
    ("hours", "write the hours into the schedule: \"*/15 6-22 * * *\""),
    ("jitter", "there is no such key: waits are spread by themselves, and H in a schedule spreads jobs"),
    ("singleton", "there is no such key: a slot has one run over all replicas"),
    ("lock", "there is no such key: a slot has one run over all replicas"),
];

/// What to say of a key that is not called otherwise here.
pub(super) fn said(word: &str) -> Option<&'static str> {
    let plain = word.to_lowercase();
    SAID.iter().find(|(theirs, _)| *theirs == plain).map(|(_, remedy)| *remedy)
}

/// Which of `right` others call `word`.
pub(super) fn called<'r>(word: &str, right: &[&'r str]) -> Option<&'r str> {
    let plain = word.to_lowercase().replace(['-', ' '], "_");
    let mut ours = NAMES.iter().filter(|(theirs, _)| *theirs == plain).map(|(_, ours)| *ours);
    ours.find_map(|ours| right.iter().copied().find(|right| *right == ours))
}
