//! A job file of five jobs, written from the reference page alone by somebody who came from crontab and CronJobs: every mistake that
//! was made on the way, with the words that bring on.

use onebell_cli::jobfile::{JobFile, doubts, promises};

use crate::{parse, told};

/// What it begins with.
const CHANNELS: &str = "[channels.mail]\nkind = \"smtp\"\nhost = \"127.0.0.1\"\nfrom = \"a@example.com\"\n\
    [channels.ops]\nkind = \"http\"\nurl = \"https://ops.example.com/hooks\"\n";

/// Each mistake is told with all of these words, and nothing else is.
#[track_caller]
fn answered(text: &str, words: &[&str]) {
    let told = told(&format!("{CHANNELS}{text}\n"));
    let [one] = told.as_slice() else { panic!("{text}: {told:#?}") };
    for word in words {
        assert!(one.contains(word), "{text}: {one}");
    }
}

/// The same of a job's one step.
#[track_caller]
fn job(text: &str, words: &[&str]) {
    answered(&format!("[jobs.b]\n{text}"), words);
}

/// It is accepted, and this is said of it.
#[track_caller]
fn doubted(text: &str, words: &[&str]) {
    let file: JobFile = parse(&format!("{CHANNELS}{text}\n"));
    let queues = file.replica.queues.clone().unwrap_or_else(|| vec!["default".to_owned()]);
    let mut said: Vec<String> = file.jobs.iter().flat_map(|job| doubts(job, &queues)).collect();
    said.extend(file.jobs.iter().flat_map(promises).flat_map(|promise| promise.warnings));
    match words {
        [] => assert!(said.is_empty(), "{text}: {said:#?}"),
        words => {
            for word in words {
                assert!(said.iter().any(|said| said.contains(word)), "{word}: {text}: {said:#?}");
            }
        }
    }
}

#[test]
fn names_from_elsewhere_are_answered_with_ours_or_with_what_to_do() {
    for (line, words) in [
        ("max_retries = 3", "did you mean \"retry\"?"),
        ("retry_delay = \"1m\"", "did you mean \"retry\"?"),
        ("on_failure = \"ops\"", "did you mean \"notify\"?"),
        ("start_date = 2026-12-01", "did you mean \"from\"?"),
        ("startingDeadlineSeconds = 300", "did you mean \"start_within\"?"),
        ("enabled = false", "onebell pause JOB"),
        ("suspend = true", "onebell pause JOB"),
        ("user = \"root\"", "runs as its replica does"),
        ("between = \"06:00-22:00\"", "\"*/15 6-22 * * *\""),
        ("retry = { attempts = 2, max = \"10m\" }", "did you mean \"backoff\"?"),
    ] {
        job(&format!("schedule = \"0 3 * * *\"\ncommand = [\"./b\"]\n{line}"), &["unknown key", words]);
    }
    answered(
        "[jobs.b]\ncommand = [\"./b\"]\nafter = [\"a\"]\n[jobs.a]\ncommand = [\"./a\"]",
        &["jobs do not wait for each other"],
    );
}

#[test]
fn a_key_at_the_wrong_place_is_told_its_own() {
    job(
        "http = \"https://api.example.com\"\nschedule = \"@daily\"\nmethod = \"POST\"",
        &["unknown key \"method\"", "`http = { … }`"],
    );
    answered("[jobs.b.http]\nurl = \"https://api.example.com\"\ntimeout = \"5s\"", &["unknown key \"timeout\"", "move it there"]);
    let below = "[jobs.b]\n[[jobs.b.steps]]\nname = \"a\"\ncommand = [\"./a\"]\nnotify = { channel = \"ops\", on = [\"failed\", \"parked\"] }";
    answered(below, &["unknown key \"notify\"", "it stands in", "`[jobs.NAME]`"]);
    job("command = [\"./b\"]\nscope = \"x\"", &["unknown key \"scope\"", "`apply"]);
}

#[test]
fn another_type_is_answered_with_an_example() {
    for (line, words) in [
        ("retry = 3", "write retry = { attempts = 5"),
        ("exit_codes = { retry = 75 }", "write retry = ["),
        ("undo = [\"./u\"]", "write undo = {"),
        ("env = [{ name = \"A\", value = \"b\" }]", "write env = {"),
        ("notify = \"ops\"", "write notify = { channel ="),
        ("timeout = 3600", "\"1h30m\""),
    ] {
        job(&format!("command = [\"./b\"]\n{line}"), &["expected", words]);
    }
    answered("[jobs.b.steps]\nname = \"a\"", &["two brackets: [[jobs.NAME.steps]]"]);
    job("description = \"nothing\"", &["write command, http, sql, apply or message, or steps under [[jobs.b.steps]]"]);
    let unnamed = told("[jobs.b]\n[[jobs.b.steps]]\ncommand = [\"a\"]\n[[jobs.b.steps]]\ncommand = [\"b\"]\n");
    assert!(unnamed.len() == 2 && unnamed.iter().all(|told| told.contains("name is missing")), "{unnamed:#?}");
}

#[test]
fn schedules_and_zones_that_mean_something_else_are_told_what() {
    job("schedule = \"0 3 * * * /usr/local/bin/backup.sh\"\ncommand = [\"./b\"]", &["the command stands by itself"]);
    job("schedule = \"manual\"\ncommand = [\"./b\"]", &["one field instead of 5", "leave schedule out"]);
    job("schedule = \"every 15 minutes\"\ncommand = [\"./b\"]", &["write every = \"15m\""]);
    for (zone, words) in [
        ("Asia/Hanoi", "write \"Asia/Ho_Chi_Minh\""),
        ("ICT", "write \"Asia/Ho_Chi_Minh\""),
        ("Asia/Beijing", "write \"Asia/Shanghai\""),
        ("Asia/Ho Chi Minh", "write \"Asia/Ho_Chi_Minh\""),
        ("Europe/Berlni", "did you mean \"Europe/Berlin\"?"),
    ] {
        job(&format!("schedule = \"0 3 * * *\"\ncommand = [\"./b\"]\ntime_zone = \"{zone}\""), &[words]);
    }
    doubted("[jobs.b]\nevery = \"15m\"\nschedule = \"*/15 6-22 * * *\"\ncommand = [\"./b\"]", &["both are due"]);
}

#[test]
fn what_is_written_in_another_language_is_told_once() {
    for text in ["jobs:\n  sync:\n    schedule: \"*/15 * * * *\"\n", "# mine\n---\njobs:\n", "schedule: 0 3 * * *\n"] {
        let told = told(text);
        assert!(told.len() == 1 && told[0].contains("this looks like YAML; the job file is TOML"), "{told:#?}");
    }
}

#[test]
fn a_secret_in_somebody_elses_way_of_writing_is_not_taken_as_it_stands() {
    for (text, words) in [
        ("$SMTP_PASSWORD", "write { env = \"SMTP_PASSWORD\" }"),
        ("${SMTP_PASSWORD}", "write { env = \"SMTP_PASSWORD\" }"),
        ("env:SMTP_PASSWORD", "write { env = \"SMTP_PASSWORD\" }"),
        ("file:/run/secrets/pg", "write { file = \"/run/secrets/pg\" }"),
    ] {
        let channel =
            format!("[channels.m]\nkind = \"smtp\"\nhost = \"127.0.0.1\"\nfrom = \"a@example.com\"\npassword = \"{text}\"");
        answered(&channel, &["would be taken as it stands", words]);
        job(&format!("command = [\"./b\"]\nenv = {{ X = \"{text}\" }}"), &[words]);
    }
    let bearer = "http = { url = \"https://api.example.com\", headers = { Authorization = \"Bearer ${API_TOKEN}\" } }";
    job(bearer, &["write { env = \"API_TOKEN\" }", "the whole value, such as \"Bearer …\""]);
    doubted("[jobs.b]\ncommand = [\"./b\"]\nenv = { PRICE = \"5$\", X = \"a:b\", Y = \"$\" }", &[]);
}

#[test]
fn the_host_of_a_mail_server_is_a_name_alone() {
    for (host, words) in [
        ("smtp://smtp.example.com:587", "write host = \"smtp.example.com\" and port = 587"),
        ("smtp.example.com:587", "write host = \"smtp.example.com\" and port = 587"),
        ("https://smtp.example.com/", "write host = \"smtp.example.com\""),
    ] {
        answered(&format!("[channels.m]\nkind = \"smtp\"\nhost = \"{host}\"\nfrom = \"a@example.com\""), &[words]);
    }
    parse("[channels.m]\nkind = \"smtp\"\nhost = \"::1\"\nfrom = \"a@example.com\"\n");
}

#[test]
fn a_template_that_no_run_can_render_is_refused_before_the_first_night() {
    let message = |key: &str, text: &str| {
        format!(
            "[jobs.b]\nschedule = \"@daily\"\nfor_each = {{ csv = \"c.csv\" }}\nmessage = {{ channel = \"mail\", key = \"{key}\", to = \"{{{{ row.email }}}}\", subject = \"s\", text = \"{text}\" }}"
        )
    };
    let good = "{{ row.id }}/{{ run.scheduled_for[:7] }}";
    answered(
        &message("{{ row.id }}/{{ run.month }}", "x"),
        &["key: ", "run.month does not exist; run has id, input, scheduled_for"],
    );
    answered(&message("{{ row.id }}/{{ run.sheduled_for[:7] }}", "x"), &["run.sheduled_for does not exist"]);
    answered(&message(good, "Dear {{ name }}"), &["text: ", "name does not exist", "write {{ row.name }}"]);
    answered(&message("{{ run.scheduled_for | strftime('%Y-%m') }}", "x"), &["filter strftime is unknown"]);
    job(
        "http = { url = \"https://api.example.com\", headers = { A = \"Bearer {{ env.API_TOKEN }}\" } }",
        &["env does not exist", "a header takes { env = \"NAME\" }"],
    );
    job("http = { url = \"https://api.example.com/{{ row.id }}\" }", &["row does not exist", "{% for row in rows %}"]);
    doubted(&message(good, "Dear ${row.name}"), &["sent as it stands"]);
    let without = "[jobs.b]\n[[jobs.b.steps]]\nname = \"q\"\ncommand = [\"./q\"]\n[[jobs.b.steps]]\nname = \"m\"\nmessage = { channel = \"mail\", key = \"{{ row.id }}/{{ run.id }}\", to = \"a@example.com; b@example.com\", subject = \"s\", text = \"x\" }";
    doubted(without, &["write for_each = { output_of = \"q\" }", "`to` is not one address"]);
    answered(
        "[jobs.b]\nmessage = { channel = \"mail\", to = \"a@example.com\", subject = \"s\", text = \"x\" }",
        &["key is missing", "run.scheduled_for or run.id"],
    );
}

#[test]
fn a_command_that_is_no_shell_line_is_not_taken_for_one() {
    job("command = \"pg_dump app | gzip > /b/app.sql.gz\"", &["add shell = true: it has words of a shell"]);
    for (argv, words) in [
        ("[\"pg_dump\", \"app\", \"|\", \"gzip\"]", "\"|\" is an argument like any other"),
        ("[\"pg_dump app | gzip\"]", "the program's name would be"),
        ("[\"./b\", \"~/out\"]", "\"~/out\" is handed over as it stands"),
        ("[\"./b\", \"{{ run.id }}\"]", "ONEBELL_SCHEDULED_FOR"),
        ("\"pg_dump app | gzip > x\"\nshell = true", "an error before it is not seen"),
        ("\"set -o pipefail; a | b\"\nshell = true", "may know no pipefail"),
    ] {
        doubted(&format!("[jobs.b]\ncommand = {argv}"), &[words]);
    }
    for fine in ["[\"bash\", \"-c\", \"set -o pipefail; a | b\"]", "\"a || b\"\nshell = true", "[\"./b\", \"a b\"]"] {
        doubted(&format!("[jobs.b]\ncommand = {fine}"), &[]);
    }
}

#[test]
fn what_would_be_silent_is_said() {
    let notify = |on: &str| format!("[jobs.b]\ncommand = [\"./b\"]\nnotify = {{ channel = \"ops\", on = [{on}] }}");
    doubted(&notify("\"failed\""), &["a run whose tries are used up is parked"]);
    doubted(&notify("\"failed\", \"parked\""), &[]);
    doubted("[jobs.b]\ncommand = [\"./b\"]\nqueue = \"heavy\"", &["queue \"heavy\"", "--queues heavy"]);
    doubted("[replica]\nqueues = [\"heavy\"]\n[jobs.b]\ncommand = [\"./b\"]\nqueue = \"heavy\"", &[]);
    doubted("[jobs.b]\ncommand = [\"./b\"]\nundo = { command = [\"./u\"] }", &["no step comes after it"]);
    let apply = |rest: &str| format!("[jobs.b]\napply = {{ file = \"in/*.csv\", scope = \"l\", {rest} }}");
    doubted(&apply("id = \"id\", amount = \"amount\""), &["write scale = 2"]);
    doubted(&apply("id = \"id, bank\""), &["id = [\"id\", \"bank\"]"]);
    doubted(&apply("id = \"id\", fail_if = \"row.amount < 0\""), &["without \"row.\""]);
    doubted(&apply("id = \"id\", amount = \"amount\", scale = 2"), &[]);
}
