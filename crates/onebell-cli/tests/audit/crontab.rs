//! Crontabs of users and of the system.

use onebell_cli::audit::{Form, Importing, Work};

use crate::world::{argv, codes, crontab, imported, named, next, one, only, told};

fn text(work: &Work) -> (&str, Option<&str>) {
    match work {
        Work::Shell { text, stdin, .. } => (text, stdin.as_deref()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn k16_01_a_percent_sign_ends_the_command_and_what_was_meant_is_imported_only_when_asked_for() {
    let found = crontab("0 2 * * * pg_dump app > /b/app-$(date +%F).sql\n0 3 * * * date \"+\\%H\" >> /tmp/h\n");
    let [dump, date] = found.jobs.as_slice() else { panic!("{found:?}") };
    assert_eq!(text(&dump.steps[0].work), ("pg_dump app > /b/app-$(date +", Some("F).sql")));
    let message = told(dump, "percent");
    assert!(message.contains("`pg_dump app > /b/app-$(date +`") && message.contains("\"F).sql\""), "{message}");
    assert_eq!((dump.line, dump.name.as_str()), (1, "pg_dump"));
    assert_eq!(text(&date.steps[0].work), ("date \"+%H\" >> /tmp/h", None));
    assert!(!codes(date).contains(&"percent"));

    let (made, jobs) = imported(&found, Importing::default());
    assert_eq!(argv(&jobs[0])[2], "printf '%s\\n' 'F).sql' | '/bin/sh' -c 'pg_dump app > /b/app-$(date +'");
    assert!(
        made.text.contains("If `pg_dump app > /b/app-$(date +%F).sql` is meant, import with --intended-percent"),
        "{}",
        made.text
    );
    assert_eq!(argv(&jobs[1]), ["/bin/sh", "-c", "date \"+%H\" >> /tmp/h"]);
    let (_, jobs) = imported(&found, Importing { intended_percent: true, ..Importing::default() });
    assert_eq!(argv(&jobs[0]), ["/bin/sh", "-c", "pg_dump app > /b/app-$(date +%F).sql"]);
}

const VARIABLES: &str =
    "MAILTO=\nCRON_TZ=\"Asia/Ho_Chi_Minh\"\n PATH = /usr/bin:/bin\n* * * * * /x --out=/y\n*/15 * * * * root /z\n";

#[test]
fn k16_02_variables_are_told_from_jobs_and_a_user_is_one_only_in_the_systems_form() {
    let user = crontab(VARIABLES);
    let [x, z] = user.jobs.as_slice() else { panic!("{user:?}") };
    assert_eq!(text(&x.steps[0].work).0, "/x --out=/y");
    assert_eq!(x.steps[0].env, [("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    assert!(told(x, "mailto-empty").contains("line 1: MAILTO="));
    assert_eq!(x.timing.zone, onebell_cli::audit::Zone::Named("Asia/Ho_Chi_Minh".to_owned()));
    assert_eq!(text(&z.steps[0].work).0, "root /z");
    assert!(told(z, "user-column").contains("Which of the two is this file?"));

    let system = one(Form::SystemCrontab, VARIABLES);
    let [x, z] = system.jobs.as_slice() else { panic!("{system:?}") };
    assert!(told(x, "user-missing").contains("\"/x\" stands where the user does"));
    assert_eq!(text(&z.steps[0].work).0, "/z");
    assert!(z.left_behind.iter().any(|left| left.contains("as user root")), "{:?}", z.left_behind);
    assert!(!codes(z).contains(&"user-column") && !codes(z).contains(&"user-missing"));
    assert_eq!(named("/etc/cron.d/jobs", VARIABLES).jobs[1].name, "z", "the folder tells the form");
}

#[test]
fn k16_02_a_zone_counts_for_the_lines_below_it_only() {
    let found = crontab("0 2 * * * /a\nCRON_TZ=Asia/Ho_Chi_Minh\n0 2 * * * /b\nCRON_TZ=Europe/Berlin\n0 2 * * * /c\n");
    let first: Vec<String> = found.jobs.iter().map(|job| next(job)[0].clone()).collect();
    assert_eq!(first, ["2026-11-30T02:00:00Z", "2026-11-29T19:00:00Z", "2026-11-30T01:00:00Z"]);
    assert!(codes(&found.jobs[0]).contains(&"zone-host") && codes(&found.jobs[1]).contains(&"zone-ignored"));
    let (_, jobs) = imported(&found, Importing::default());
    let zones: Vec<&str> = jobs.iter().map(|job| job.schedules[0].time_zone.as_str()).collect();
    assert_eq!(zones, ["UTC", "Asia/Ho_Chi_Minh", "Europe/Berlin"]);
}

#[test]
fn k16_04_what_cron_ignores_is_told_and_imported_all_the_same() {
    for (text, code, words) in [
        (
            "0 1 * * * /a\n0 2 * * * /b",
            "no-final-newline",
            "line 2 does not end: cron will ignore it, and Debian's cron the whole file",
        ),
        ("0 1 * * * /a\r\n0 2 * * * /b\r\n", "crlf", "2 lines end with a carriage return"),
        ("\u{feff}0 1 * * * /a\n0 2 * * * /b\n", "bom", "byte order mark"),
    ] {
        let found = crontab(text);
        assert!(found.complete && found.counts()[2] == 1, "{found:?}");
        let job = found.jobs.iter().find(|job| codes(job).contains(&code)).unwrap_or_else(|| panic!("{code}: {found:?}"));
        assert!(told(job, code).contains(words), "{}", told(job, code));
        let (_, jobs) = imported(&found, Importing::default());
        let commands: Vec<String> = jobs.iter().map(|job| argv(job)[2].clone()).collect();
        assert_eq!(commands, ["/a", "/b"], "{code}");
        let (made, _) = imported(&found, Importing::default());
        assert_eq!(made.paused.len(), usize::from(code != "crlf"), "{code}: what nobody ran begins paused: {}", made.text);
    }
}

#[test]
fn a_bad_line_stops_no_other_one() {
    let found = crontab("0 1 * * * /a\nwhat is this\n61 2 * * * /b\n@fortnightly /c\n1 2 3\n0 4 * * *\n0 5 * * * /d\n");
    let told: Vec<(usize, &str)> = found.jobs.iter().map(|job| (job.line, *codes(job).first().unwrap())).collect();
    let expected =
        [(2, "line-refused"), (3, "schedule-refused"), (4, "schedule-refused"), (5, "line-refused"), (6, "command-missing")];
    assert_eq!(told[1..6], expected, "{told:?}");
    assert!(!found.complete);
    assert_eq!(found.jobs.iter().filter(|job| !job.next.is_empty()).count(), 2);
    let (made, jobs) = imported(&found, Importing::default());
    let scheduled: Vec<&str> = jobs.iter().filter(|job| !job.schedules.is_empty()).map(|job| job.name.as_str()).collect();
    assert_eq!(scheduled, ["a", "d"], "{}", made.text);
    assert_eq!(made.left_out.len(), 3, "{:?}", made.left_out);
}

#[test]
fn every_line_gets_its_three_answers() {
    let found = crontab(
        "*/5 * * * * /bare\n\
         */5 * * * * flock -n /run/x /locked\n\
         */5 * * * * flock /run/x timeout 1h /waits\n\
         */5 * * * * timeout 4m /bounded\n\
         */5 * * * * onebell once --key k --slot '*/5 * * * *' -- timeout 1m /once\n\
         0 * * * * /left &\n",
    );
    let of = |index: usize| codes(&found.jobs[index]);
    assert_eq!(of(0), ["zone-host", "runs-twice", "overlap-allowed", "unbounded", "second-host"][1..]);
    assert_eq!(of(1), ["runs-twice", "unbounded", "skipped-while-running", "lock-per-host"]);
    assert_eq!(of(2), ["runs-twice", "bound-past-period", "lock-per-host"]);
    assert!(told(&found.jobs[2], "bound-past-period").contains("timeout allows 1h, and the period is 5m: runs then queue up"));
    assert_eq!(of(3), ["runs-twice", "second-host"]);
    assert_eq!(of(4), Vec::<&str>::new());
    assert!(of(5).contains(&"background"));
}

#[test]
fn what_reads_otherwise_than_it_is_meant_is_told() {
    for (line, code) in [
        ("PATH=$HOME/bin:$PATH\n0 1 * * * /a", "variable-literal"),
        ("LEVEL=3 # the usual\n0 1 * * * /a", "variable-comment"),
        ("@reboot /a", "at-boot"),
        ("0~30 2 * * * /a", "drawn"),
        ("* 2 * * * /a", "schedule-surprise"),
        ("0 0 13 * 5 /a", "schedule-surprise"),
        ("CRON_TZ=Asia/Saigonn\n0 1 * * * /a", "zone-unknown"),
        ("RANDOM_DELAY=5\n0 1 * * * /a", "spread"),
    ] {
        let found = crontab(&format!("{line}\n"));
        assert!(codes(only(&found)).contains(&code), "{line}: {:?}", codes(only(&found)));
        imported(&found, Importing::default());
    }
    let long = crontab(&format!("0 1 * * * /a {}\n", "x".repeat(1000)));
    assert!(codes(only(&long)).contains(&"line-too-long"));
    let foreign = one(Form::Crontab, b"0 1 * * * /caf\xe9\n");
    assert!(codes(only(&foreign)).contains(&"not-utf8"));
    assert!(imported(&foreign, Importing::default()).1.is_empty());
    let ignored = named("/etc/cron.d/backup.sh", "0 1 * * * root /a\n0 2 * * * root /b\n");
    assert!(codes(&ignored.jobs[0]).contains(&"file-ignored"));
    let (made, jobs) = imported(&ignored, Importing::default());
    assert!(jobs.is_empty() && made.left_out.len() == 2, "what cron does not read does not run now: {}", made.text);
}

#[test]
fn names_of_days_and_steps_past_their_field_mean_what_cron_makes_of_them() {
    for (line, slots) in [
        ("-*/30 * * * * /a", ["2026-11-29T12:30:00Z", "2026-11-29T13:00:00Z"]),
        ("*/60 * * * * /a", ["2026-11-29T13:00:00Z", "2026-11-29T14:00:00Z"]),
        ("0 0 * jan-dec mon,WED /a", ["2026-11-30T00:00:00Z", "2026-12-02T00:00:00Z"]),
        ("\t0\t0 * * 7\t/a", ["2026-12-06T00:00:00Z", "2026-12-13T00:00:00Z"]),
        ("@weekly /a", ["2026-12-06T00:00:00Z", "2026-12-13T00:00:00Z"]),
        ("0 8 1-7 * */7 /a", ["2026-12-06T08:00:00Z", "2027-01-03T08:00:00Z"]),
    ] {
        assert_eq!(next(only(&crontab(&format!("{line}\n")))), slots, "{line}");
    }
}

#[test]
fn a_file_without_jobs_and_one_that_is_no_text_are_told_as_that() {
    assert_eq!(codes(only(&crontab("# nothing\n\nA=1\n"))), ["nothing-found"]);
    let binary = one(Form::Crontab, b"\x00\x01");
    assert_eq!((codes(only(&binary)), binary.complete), (vec!["unreadable"], false));
    assert_eq!(codes(only(&one(Form::Crontab, b"\xff\xfe0\x00"))), ["unreadable"]);
    let long = one(Form::Crontab, vec![b'#'; onebell_cli::audit::FILE_BYTES_MAX + 1]);
    assert!(told(only(&long), "unreadable").contains("longer than 4 MiB"));
}
