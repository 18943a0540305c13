//! The job file: whatever went in, what comes out is one that its reader takes, and nothing in it runs that did not run before.

use onebell_cli::audit::{File, Form, Importing, inventory};

use crate::world::{cron_job, crontab, imported, manifest, reading};

const FIXTURES: [(&str, Form, &str); 3] = [
    ("crontab", Form::Crontab, include_str!("fixtures/crontab")),
    ("system-crontab", Form::SystemCrontab, include_str!("fixtures/system-crontab")),
    ("cronjobs.yaml", Form::CronJob, include_str!("fixtures/cronjobs.yaml")),
];

#[test]
fn every_fixture_becomes_a_job_file_that_its_reader_takes() {
    for (name, form, text) in FIXTURES {
        let found = inventory(&[File::new(name, text)], &reading(Some(form), None));
        for intended_percent in [false, true] {
            let (made, jobs) = imported(&found, Importing { host_zone: Some("Europe/Berlin"), intended_percent });
            assert!(jobs.len() > 1, "{name}");
            for job in jobs.iter().filter(|job| !job.schedules.is_empty()) {
                let source = found.jobs.iter().find(|found| job.name.starts_with(&found.name) && !found.next.is_empty());
                assert!(source.is_some_and(|source| source.paused == job.begins_paused), "{name}: {}\n{}", job.name, made.text);
            }
        }
    }
    let all: Vec<File> = FIXTURES.iter().map(|(name, _, text)| File::new(*name, *text)).collect();
    let (made, _) = imported(&inventory(&all, &reading(None, None)), Importing::default());
    let mut names = made.jobs.clone();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), made.jobs.len(), "{:?}", made.jobs);
}

#[test]
fn a_refused_or_unread_job_never_gets_a_schedule() {
    let found = crontab("@reboot /a\n0 25 * * * /b\nnonsense\n0 1 * * * /c\n");
    let (made, jobs) = imported(&found, Importing::default());
    let scheduled: Vec<(&str, usize)> = jobs.iter().map(|job| (job.name.as_str(), job.schedules.len())).collect();
    assert_eq!(scheduled, [("a", 0), ("b", 0), ("c", 1)], "{}", made.text);
}

#[test]
fn nothing_of_a_file_ends_a_text_or_a_comment_or_hides_in_one() {
    let bad = "x\\\"]\\n[jobs.evil]\\ncommand = [\\\"rm\\\"]\\u202e\\0";
    let text = cron_job("schedule: \"0 1 * * *\"")
        .replace("--all", bad)
        .replace("app:1", bad)
        .replace("name: backup", &format!("name: \"{bad}\""));
    let (made, jobs) = imported(&manifest(&text), Importing::default());
    assert!(jobs.is_empty(), "a NUL byte is no argument: {}", made.text);
    let text = text.replace("\\0", "");
    let (made, jobs) = imported(&manifest(&text), Importing::default());
    assert_eq!(jobs.len(), 1, "{}", made.text);
    assert!(!made.text.contains('\u{202e}') && !made.text.contains('\u{1b}'));
    let found = crontab("0 1 * * * printf '\u{1b}[31m\u{202e}' # [jobs.evil]\n");
    let (made, jobs) = imported(&found, Importing::default());
    assert!(jobs.len() == 1 && !made.text.contains(['\u{1b}', '\u{202e}']), "{}", made.text);
}

#[test]
fn policies_are_those_of_where_it_comes_from() {
    use onebell::model::job::{Missed, Overlap};
    let (_, jobs) =
        imported(&crontab("0 1 * * * timeout 10m /a\n"), Importing { host_zone: Some("Asia/Tokyo"), ..Importing::default() });
    let job = &jobs[0];
    assert_eq!((job.missed, job.overlap, job.steps[0].retry.attempts), (Missed::Skip, Overlap::Skip, 1));
    assert_eq!((job.steps[0].timeout.as_secs(), job.schedules[0].time_zone.as_str()), (660, "Asia/Tokyo"));
    let spec = "schedule: \"0 1 * * *\"\nconcurrencyPolicy: Replace\nstartingDeadlineSeconds: 7200";
    let (_, jobs) = imported(&manifest(&cron_job(spec)), Importing::default());
    let job = &jobs[0];
    assert_eq!((job.missed, job.overlap, job.missed_window.as_secs()), (Missed::Latest, Overlap::Replace, 7200));
}
