//! systemd timers with their services.

use onebell::model::job::When;
use onebell_cli::audit::{File, Importing, Inventory, inventory};

use crate::world::{argv, codes, imported, next, only, reading, told};

/// A timer and what lies beside it.
fn timer(name: &str, text: &str, beside: &[(&str, &str)]) -> Inventory {
    let companions = beside.iter().map(|(name, text)| File::new(*name, *text)).collect();
    let file = File { companions, ..File::new(name, text) };
    inventory(&[file], &reading(None, Some("Europe/Berlin")))
}

const SERVICE: &str = "[Service]\nType=oneshot\nTimeoutStartSec=30min\nExecStart=/usr/bin/backup --all\n";

fn backup(lines: &str) -> Inventory {
    timer("backup.timer", &format!("[Timer]\n{lines}\n"), &[("backup.service", SERVICE)])
}

#[test]
fn calendars_fire_in_the_zone_they_name_or_the_hosts() {
    for (lines, slots) in [
        ("OnCalendar=daily", ["2026-11-29T23:00:00Z", "2026-11-30T23:00:00Z"]),
        ("OnCalendar=Mon..Fri 02:00", ["2026-11-30T01:00:00Z", "2026-12-01T01:00:00Z"]),
        ("OnCalendar=*-*-* 02:00:00 Asia/Ho_Chi_Minh", ["2026-11-29T19:00:00Z", "2026-11-30T19:00:00Z"]),
        ("OnCalendar=06:00\nOnCalendar=18:00", ["2026-11-29T17:00:00Z", "2026-11-30T05:00:00Z"]),
        ("OnCalendar=06:00\nOnCalendar=\nOnCalendar=18:00", ["2026-11-29T17:00:00Z", "2026-11-30T17:00:00Z"]),
        ("OnCalendar=Mon *-*-13 02:00 UTC\nOnCalendar=*-02~3 04:00 UTC", ["2027-02-26T04:00:00Z", "2027-09-13T02:00:00Z"]),
        ("OnCalendar=Fri *-*~07/1 17:00 UTC", ["2026-12-25T17:00:00Z", "2027-01-29T17:00:00Z"]),
        ("OnCalendar=*-*-* *:*:0/30 UTC", ["2026-11-29T12:00:30Z", "2026-11-29T12:01:00Z"]),
        ("OnCalendar=hourly\nOnCalendar=*:15:30", ["2026-11-29T12:15:30Z", "2026-11-29T13:00:00Z"]),
    ] {
        let found = backup(lines);
        assert_eq!(next(only(&found)), slots, "{lines}");
        let (made, jobs) = imported(&found, Importing { host_zone: Some("Europe/Berlin"), ..Importing::default() });
        assert!(!jobs[0].schedules.is_empty(), "{}", made.text);
    }
}

#[test]
fn a_timer_gets_its_three_answers_from_its_service() {
    let good = backup("OnCalendar=daily UTC\nPersistent=true");
    assert_eq!(codes(only(&good)), ["runs-twice", "second-host"]);
    let (_, jobs) = imported(&good, Importing::default());
    assert_eq!(argv(&jobs[0]), ["/usr/bin/backup", "--all"]);
    assert_eq!((jobs[0].steps[0].timeout.as_secs(), jobs[0].steps[0].retry.attempts), (1800, 1));
    assert_eq!(jobs[0].missed, onebell::model::job::Missed::Latest);

    let often = backup("OnCalendar=*:0/10");
    assert!(
        told(only(&often), "bound-past-period")
            .contains("TimeoutStartSec= allows 30m, and the period is 10m: slots in between are left out")
    );
    let unbound = timer(
        "b.timer",
        "[Timer]\nOnCalendar=daily\n",
        &[("b.service", "[Service]\nType=oneshot\nExecStart=/b\nRuntimeMaxSec=1h\nRestart=on-failure\n")],
    );
    assert!(told(only(&unbound), "unbounded").contains("TimeoutStartSec= (Type=oneshot)"), "RuntimeMaxSec= bounds no oneshot");
    assert!(codes(only(&unbound)).contains(&"retried-whole") && codes(only(&unbound)).contains(&"missed-lost"));
    let simple = timer("b.timer", "[Timer]\nOnCalendar=daily\n", &[("b.service", "[Service]\nExecStart=/b\nRuntimeMaxSec=1h\n")]);
    assert!(!codes(only(&simple)).contains(&"unbounded"));
}

#[test]
fn intervals_are_counted_and_boots_are_events_of_one_host() {
    let found = backup("OnBootSec=5min\nOnUnitActiveSec=15min\nRandomizedDelaySec=30");
    let job = only(&found);
    assert_eq!(job.timing.text, "OnUnitActiveSec=15min, OnBootSec=5min");
    assert!(
        job.next.is_empty() && ["counted", "at-boot", "spread"].iter().all(|code| codes(job).contains(code)),
        "{:?}",
        codes(job)
    );
    assert_eq!(job.period.map(|period| period.as_secs()), Some(900));
    let (made, jobs) = imported(&found, Importing::default());
    assert_eq!(jobs[0].schedules[0].when, When::Every(std::time::Duration::from_secs(900)));
    assert!(made.text.contains("# not carried over: RandomizedDelaySec=30"), "{}", made.text);
}

#[test]
fn what_is_beside_the_timer_counts_and_what_is_missing_is_told() {
    let changed = timer(
        "etc/backup.timer",
        "[Timer]\nOnCalendar=daily\nUnit=other.service\n",
        &[
            ("etc/other.service", SERVICE),
            ("etc/backup.timer.d/10.conf", "[Timer]\nOnCalendar=\nOnCalendar=hourly\n"),
            (
                "etc/other.service.d/50.conf",
                "[Service]\nExecStart=\nExecStart=/usr/bin/other %n\nEnvironment=\"A=b c\" D=e\nUser=app\n",
            ),
        ],
    );
    let job = only(&changed);
    assert_eq!((job.timing.text.as_str(), codes(job).iter().filter(|code| **code == "drop-in").count()), ("hourly", 2));
    let (made, jobs) = imported(&changed, Importing::default());
    assert_eq!(argv(&jobs[0]), ["/usr/bin/other", "other.service"]);
    assert!(made.text.contains("env = { A = \"b c\", D = \"e\" }") && made.text.contains("User=app"), "{}", made.text);

    let alone = timer("backup.timer", "[Timer]\nOnCalendar=daily\n", &[]);
    assert_eq!((told(only(&alone), "unit-missing").contains("backup.service is not beside it"), alone.complete), (true, false));
    assert!(imported(&alone, Importing::default()).1.is_empty());
    let template = timer("sync@.timer", "[Timer]\nOnCalendar=daily\n", &[("sync@.service", "[Service]\nExecStart=/sync %i\n")]);
    assert!(codes(only(&template)).contains(&"instances"));
    assert!(imported(&template, Importing::default()).0.left_out[0].contains("systemd puts %i into its command"));
}

#[test]
fn what_systemd_ignores_and_what_cron_cannot_say_is_told() {
    for (lines, code) in [
        ("OnCalendar=whenever", "schedule-refused"),
        ("OnCalendar=2027..2029-*-13 02:00", "calendar-unsaid"),
        ("OnCalendar=02:00 UTC\nOnCalendar=03:00 Asia/Tokyo", "calendar-unsaid"),
        ("OnCalendar=02:00 Asia/Tokio", "zone-unknown"),
        ("OnUnitActiveSec=5 parsecs", "schedule-refused"),
        ("Persistent=true", "schedule-missing"),
        ("OnCalendar=daily\nnonsense", "unit-line"),
        ("OnCalendar=25:00", "schedule-refused"),
    ] {
        let found = backup(lines);
        assert!(codes(only(&found)).contains(&code), "{lines}: {:?}", codes(only(&found)));
        imported(&found, Importing::default());
    }
    assert_eq!(codes(only(&timer("a.service", SERVICE, &[]))), ["nothing-found"]);
}

#[test]
fn several_commands_become_steps_in_their_order() {
    let service =
        "[Service]\nType=oneshot\nExecStartPre=-/bin/mkdir -p /x\nExecStart=/a ${HOME}/in\nExecStart=/b\nWorkingDirectory=/srv\n";
    let found = timer("a.timer", "[Timer]\nOnCalendar=daily\n", &[("a.service", service)]);
    let (_, jobs) = imported(&found, Importing::default());
    let names: Vec<&str> = jobs[0].steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names, ["before", "start-1", "start-2"]);
    assert!(
        jobs[0].steps[1].spec.contains("'/a' \\\"${HOME}/in\\\"") && jobs[0].steps[2].spec.contains("\"cwd\":\"/srv\""),
        "{:?}",
        jobs[0].steps
    );
}
