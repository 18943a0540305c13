//! Crontabs, CronJobs and timers, as they are found in the field: what is told about them, and the job file they become.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod crontab;
mod import;
mod manifest;
mod page;
mod program;
mod systemd;
mod world;
