//! What must hold for whatever bytes a reader is given: it ends, it does not panic, and what it accepted is what it says.
//!
//! One function for each reader. The fuzz targets feed them with what libFuzzer finds; a test of the main workspace
//! (`crates/onebell-cli/tests/corpora.rs`) feeds them with the corpora that are kept, on every run of CI.

use std::path::Path;

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use onebell::handler::{Outcome, Page, PageLimit};
use onebell::model::fingerprint::canonical;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::record::{Item, Position, Rule, Shape};
use onebell::model::schedule::Schedule;
use onebell::model::zone_version::ZoneVersion;
use onebell::model::{Effect, Fingerprint, JobDefinition, Key, Moment};
use onebell::replica::ZoneData;
use onebell_cli::audit::{self, File, Form, Importing, Reading};
use onebell_cli::http::{Answer, BodyEnd, Seen, delivery_of};
use onebell_cli::jobfile::{self, JobFile};
use onebell_cli::source::{Format, SourceOptions, pages_of};
use onebell_cli::steps::conclude;
use onebell_cli::steps::spec::HttpStep;
use onebell_cli::template::{RunFacts, Scope, Templates};

/// One reader, fed with bytes.
pub type Attack = fn(&[u8]);

/// All of them, by the name of their corpus.
pub const ATTACKS: &[(&str, Attack)] = &[
    ("job_file", job_file),
    ("expression", expression),
    ("template", template),
    ("fingerprint", fingerprint),
    ("csv_rows", csv_rows),
    ("ndjson_rows", ndjson_rows),
    ("smtp_reply", smtp_reply),
    ("http_answer", http_answer),
    ("date_file", date_file),
    ("zone_file", zone_file),
    ("batch_csv", batch_csv),
    ("batch_ndjson", batch_ndjson),
    ("crontab", crontab),
    ("manifest", manifest),
    ("timer", timer),
];

/// The job file: what is wrong is told with its place; what is right is a definition that survives being stored.
pub fn job_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.lines().count().max(1) + 1;
    match JobFile::parse_partly(text, Path::new("/nowhere/onebell.toml")) {
        Ok(file) => {
            for problem in &file.bad_jobs {
                assert!((1..=lines).contains(&problem.line), "line {} of {lines}", problem.line);
                assert!(!problem.message.is_empty() && !problem.to_string().is_empty());
            }
            for job in &file.jobs {
                let stored = serde_json::to_string(job).expect("a definition is stored as JSON");
                let read: JobDefinition = serde_json::from_str(&stored).expect("what was stored is read");
                assert_eq!(read, *job);
                assert!(!jobfile::promises(job).is_empty());
                for schedule in &job.schedules {
                    assert!(!jobfile::describe(schedule).is_empty());
                    assert!(Schedule::parse(schedule, &job.name, jiff::tz::db()).is_ok(), "{schedule:?} was accepted");
                }
            }
        }
        Err(report) => {
            assert!(!report.problems.is_empty());
            for problem in &report.problems {
                assert!((1..=lines).contains(&problem.line), "line {} of {lines}", problem.line);
                assert!(!problem.message.is_empty() && !problem.to_string().is_empty());
            }
        }
    }
}

/// Schedules: three lines, an expression, a zone, and an instant in seconds. `next` is strictly after, `last` is at or
/// before, and each finds what the other found.
pub fn expression(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.split('\n');
    let expression = lines.next().unwrap_or_default();
    let zone = lines.next().filter(|zone| !zone.is_empty()).unwrap_or("UTC");
    let seconds = lines.next().and_then(|text| text.trim().parse::<i64>().ok()).unwrap_or(1_795_978_800);
    // Within the years that calendars are made for: 1900 to 2400.
    let after = Moment::from_micros(seconds.clamp(-2_208_988_800, 13_569_465_600) * 1_000_000);
    if jiff::tz::db().get(zone).is_err() {
        // Looking for names that are alike takes most of the time: once is enough.
        let when = When::Cron { expression: expression.to_owned(), seconds: false };
        return fires(&ScheduleDefinition { when, time_zone: zone.to_owned(), dst: Dst::Vixie }, after);
    }
    if let Ok(every) = jobfile::duration(expression) {
        fires(&ScheduleDefinition { when: When::Every(every), time_zone: zone.to_owned(), dst: Dst::Vixie }, after);
    }
    // A rule begins at the instant that the third line names, as if it were local.
    let start = after.to_string();
    let rrule = When::Rrule { rule: expression.to_owned(), start: start.trim_end_matches('Z').to_owned() };
    fires(&ScheduleDefinition { when: rrule, time_zone: zone.to_owned(), dst: Dst::Vixie }, after);
    for seconds in [false, true] {
        for dst in Dst::ALL {
            let when = When::Cron { expression: expression.to_owned(), seconds };
            fires(&ScheduleDefinition { when, time_zone: zone.to_owned(), dst: *dst }, after);
        }
    }
}

/// A file of excluded days, either kind: what is read are days in order, what is refused has its line.
pub fn date_file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.lines().count().max(1);
    for calendar in [false, true] {
        match jobfile::days_of_file(text, calendar) {
            Ok(days) => {
                assert!(days.len() <= lines, "{} days in {lines} lines", days.len());
                for day in &days {
                    let (first, last) = day.split_once("..").unwrap_or((day, day));
                    let read = |word: &str| word.parse::<jiff::civil::Date>().expect("a day");
                    assert!(read(first) <= read(last), "{day}");
                }
            }
            Err((line, problem)) => assert!((1..=lines).contains(&line) && !problem.is_empty(), "line {line} of {lines}"),
        }
    }
}

/// A compiled zone in a folder that `TZDIR` may name, and the file beside it that says the version: what cannot be read is refused,
/// and in a zone that is read slots are found as in any other.
pub fn zone_file(bytes: &[u8]) {
    let folder = std::env::temp_dir().join(format!("onebell-zones-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for name in ["Zone", "+VERSION"] {
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    let data = match ZoneData::from_folder(&folder) {
        Ok(data) => data,
        Err(problem) => return assert!(!problem.is_empty()),
    };
    let version = ZoneVersion::read(data.version());
    assert!(data.version() == "unknown" || version > ZoneVersion::read("unknown"), "{}", data.version());
    for seconds in [-86_400 * 365 * 30, 0, 1_795_978_800, 4_102_444_800] {
        let after = Moment::from_micros(seconds * 1_000_000);
        for (expression, dst) in
            ["30 2 * * *", "*/20 * * * *"].iter().flat_map(|expression| Dst::ALL.iter().map(move |dst| (*expression, *dst)))
        {
            let when = When::Cron { expression: expression.to_owned(), seconds: false };
            fires_by(&ScheduleDefinition { when, time_zone: "Zone".to_owned(), dst }, after, data.zones());
        }
    }
}

fn fires(definition: &ScheduleDefinition, after: Moment) {
    fires_by(definition, after, jiff::tz::db());
}

fn fires_by(definition: &ScheduleDefinition, after: Moment, zones: &jiff::tz::TimeZoneDatabase) {
    let schedule = match Schedule::parse(definition, "job", zones) {
        Ok(schedule) => schedule,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Some(last) = schedule.last(after) {
        assert!(last.at <= after, "{definition:?}: last({after}) is {}", last.at);
    }
    let mut at = after;
    for _ in 0..4 {
        let Some(next) = schedule.next(at) else { return };
        assert!(next.at > at, "{definition:?}: next({at}) is {}", next.at);
        let back = schedule.last(next.at);
        assert_eq!(back.map(|slot| slot.at), Some(next.at), "{definition:?}: last(next({at}))");
        at = next.at;
    }
}

/// Templates: the first line is a row, the rest the template. The same row gives the same text.
pub fn template(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (row, source) = text.split_once('\n').unwrap_or(("{}", text));
    let mut templates = Templates::new();
    for name in ["subject", "html"] {
        if let Err(error) = templates.add(name, source) {
            return assert!(!error.to_string().is_empty());
        }
        let run = RunFacts { id: "run".to_owned(), scheduled_for: None, input: Some(row.to_owned()) };
        let scope = Scope::new("job", "step", &run, row);
        let one = templates.render(name, &scope);
        assert_eq!(one, templates.render(name, &scope));
        if let Err(error) = one {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Fingerprints: the canonical form is canonical, and is the same value.
pub fn fingerprint(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match canonical(text) {
        Ok(form) => {
            assert_eq!(canonical(&form).as_deref(), Ok(form.as_str()), "of {text:?}");
            assert_eq!(Fingerprint::of_json(text), Fingerprint::of_json(&form));
            assert!(serde_json::from_str::<serde_json::Value>(&form).is_ok(), "{form:?} is no JSON");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{text:?} is no JSON and has a form");
        }
        Err(error) => {
            assert!(error.offset <= text.len() && !error.to_string().is_empty());
            assert!(Fingerprint::of_json(text).is_err());
        }
    }
}

/// CSV: every row is an object of texts, with the columns of the header.
pub fn csv_rows(bytes: &[u8]) {
    match onebell_cli::steps::csv_rows(bytes) {
        Ok(rows) => rows.iter().for_each(|row| assert!(canonical(row).is_ok_and(|form| form.starts_with('{')), "{row:?}")),
        Err(why) => assert!(!why.is_empty()),
    }
}

/// NDJSON and JSON arrays of rows: every row is an object, spelled as it was, and writing them as lines loses none.
pub fn ndjson_rows(bytes: &[u8]) {
    match onebell_cli::steps::ndjson_rows(bytes) {
        Ok(rows) => {
            rows.iter().for_each(|row| assert!(canonical(row).is_ok_and(|form| form.starts_with('{')), "{row:?}"));
            let array = format!("[{}]", rows.join(","));
            assert_eq!(onebell_cli::steps::ndjson_rows(array.as_bytes()).as_ref(), Ok(&rows));
        }
        Err(why) => assert!(!why.is_empty()),
    }
}

/// Answers of a mail server: each is taken whole or not at all, and showing one never breaks a line.
pub fn smtp_reply(bytes: &[u8]) {
    for (code, words) in onebell_cli::smtp::answers(bytes) {
        assert!((200..600).contains(&code), "{code}");
        assert!(!words.contains(['\r', '\n']), "{words:?}");
    }
}

/// What a receiver or a service answers: two bytes for the status and how it ended, header lines, an empty line, a body. Whatever it
/// is, the message and the step are told something, a wait is bounded, no secret is repeated, and rows are rows.
pub fn http_answer(bytes: &[u8]) {
    const SECRET: &str = "hunter2-hunter2";
    let Some(([high, low], rest)) = bytes.split_first_chunk::<2>() else { return };
    let status = 100 + u16::from_be_bytes([*high, *low]) % 900;
    let (head, body) = rest.split_at(rest.windows(2).position(|two| two == b"\n\n").unwrap_or(0));
    let mut headers = HeaderMap::new();
    for line in head.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (HeaderName::from_bytes(&line[..colon]), HeaderValue::from_bytes(&line[colon + 1..]));
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    let end = match high % 3 {
        0 => BodyEnd::Whole,
        1 => BodyEnd::Cut,
        _ => BodyEnd::Broken("reset".to_owned()),
    };
    let body = body.strip_prefix(b"\n\n").unwrap_or(body).to_vec();
    let answer = Answer { status, headers, body, end };
    assert!(answer.wait().is_none_or(|wait| wait.as_secs() <= 3600), "{answer:?}");
    let secrets = [SECRET.to_owned()];
    let told = format!("{:?}", delivery_of(&answer, &secrets));
    assert!(!told.contains(SECRET) && !told.is_empty(), "{told}");
    for output in [false, true] {
        let step: HttpStep =
            serde_json::from_value(serde_json::json!({ "method": "POST", "url": "https://example.com", "output": output }))
                .expect("a step");
        let outcome = conclude(&Seen::Answer(answer.clone()), &step, &secrets);
        if let Outcome::Done(done) = &outcome {
            assert!((200..300).contains(&status), "{status} is done");
            if let Some(rows) = &done.output.rows {
                canonical(rows).expect("rows are an array that can be stored");
                assert!(output && rows.starts_with('['), "{rows}");
            }
        }
    }
}

/// A batch of CSV rows. The first byte says how it is read.
pub fn batch_csv(bytes: &[u8]) {
    let delimiter = if bytes.first().is_some_and(|byte| byte & 1 == 1) { b';' } else { b',' };
    batch(Format::Csv { delimiter }, bytes);
}

/// A batch of lines of JSON. The first byte says how it is read.
pub fn batch_ndjson(bytes: &[u8]) {
    batch(Format::Ndjson, bytes);
}

/// Places grow and are where a line begins, every byte is accounted for, a record is what its effect will be, and pages of
/// another size hold the same.
fn batch(format: Format, bytes: &[u8]) {
    let Some((how, bytes)) = bytes.split_first() else { return };
    let amount = (how & 2 == 2).then(|| ("amount".to_owned(), how >> 6));
    let fail_if = (how & 4 == 4).then(|| Rule::parse("amount < 0 or not id = 'E1'").expect("a rule"));
    let shape = Shape { id: vec!["id".to_owned()], amount, fail_if };
    let options = SourceOptions {
        format: Some(format),
        accept_last_line: how & 8 == 8,
        record_max_bytes: if how & 16 == 16 { 24 } else { 4096 },
        ..SourceOptions::new(shape)
    };
    let (pages, ended) = pages_of(bytes, &options, PageLimit { items: 3, bytes: 64 });
    let all = |pages: &[Page]| pages.iter().flat_map(|page| page.items.clone()).collect::<Vec<_>>();
    // What is unpacked is another text.
    let packed = matches!(bytes, [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
    let mut before = Position::default();
    for item in all(&pages) {
        let place = match &item {
            Item::Record(record) => {
                let scope = Key::new("scope").expect("a key");
                let effect = Effect::new(scope, record.key.clone(), record.amount, record.payload.clone());
                assert_eq!(effect.map(|effect| effect.fingerprint), Ok(record.fingerprint), "{record:?}");
                record.place
            }
            Item::Rejected(rejection) => {
                assert!(rejection.reason.starts_with(&format!("line {}: ", rejection.place.line)), "{rejection:?}");
                rejection.place
            }
        };
        let from = usize::try_from(place.byte).expect("a place in memory");
        let grows = before == Position::default() || (place.byte > before.byte && place.line > before.line);
        assert!(grows, "{before:?}, {place:?}");
        assert!(packed || from == 0 || bytes[..from].ends_with(b"\n") || bytes[..from] == *b"\xef\xbb\xbf", "{place:?}");
        before = place;
    }
    if ended.is_ok() {
        let end = pages.last().map(|page| page.after.position.byte);
        assert!(packed || end == Some(bytes.len() as u64), "{end:?} of {}", bytes.len());
    }
    let (others, other_end) = pages_of(bytes, &options, PageLimit { items: 1000, bytes: 1 << 20 });
    assert_eq!((all(&others), other_end), (all(&pages), ended));
}

/// Crontabs, as a user's and as the system's.
pub fn crontab(bytes: &[u8]) {
    scheduled(File::new("file", bytes), Form::Crontab);
    scheduled(File::new("file", bytes), Form::SystemCrontab);
}

/// Kubernetes manifests.
pub fn manifest(bytes: &[u8]) {
    scheduled(File::new("file", bytes), Form::CronJob);
}

/// A timer and a service, in one text: each is read as the other, too.
pub fn timer(bytes: &[u8]) {
    let companions = vec![File::new("file.service", bytes), File::new("file.timer.d/a.conf", bytes)];
    scheduled(File { companions, ..File::new("file.timer", bytes) }, Form::Systemd);
    scheduled(File::new("file.timer", bytes), Form::Systemd);
}

/// What is found has its place and its reason, shows nothing that acts, and becomes a job file that its reader takes.
fn scheduled(file: File, form: Form) {
    // YAML ends lines at a carriage return too.
    let lines = file.bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() + 1;
    let after = Moment::from_micros(1_795_978_800_000_000);
    let how = Reading { form: Some(form), host_zone: None, after, count: 3, zones: jiff::tz::db() };
    let found = audit::inventory(&[file], &how);
    assert!(!found.jobs.is_empty());
    for job in &found.jobs {
        assert!((1..=lines).contains(&job.line), "line {} of {lines}", job.line);
        assert!(job.is_job || !job.findings.is_empty());
        assert!(job.next.iter().all(|slot| *slot > after) && job.next.is_sorted());
        assert!(job.findings.iter().all(|finding| !finding.message.is_empty() && !finding.fix.is_empty()), "{job:?}");
    }
    let answer = serde_json::to_string(&found.json()).expect("an answer is JSON");
    assert!(serde_json::from_str::<serde_json::Value>(&answer).is_ok_and(|answer| answer["jobs"].is_array()));
    let acts =
        |text: &str| text.chars().any(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    assert!(audit::table(&found, 60).iter().all(|line| !acts(line)));
    assert!(audit::html(&found).lines().all(|line| !acts(line) && !line.contains("<script")));
    for intended_percent in [false, true] {
        let made = audit::import(&found, Importing { host_zone: Some("Europe/Berlin"), intended_percent });
        match JobFile::parse(&made.text, Path::new("/nowhere/onebell.toml")) {
            Ok(read) => assert_eq!(read.jobs.len(), made.jobs.len()),
            Err(report) => panic!("{report}\n{}", made.text),
        }
    }
}
