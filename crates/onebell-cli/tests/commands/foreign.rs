//! Text that others wrote is shown as text: names, inputs, keys, output, rows, answers. Nothing of it acts on a terminal or a page.

use onebell::model::shown::{acts, shell_word};
use onebell_cli::receiver::{Behaviour, Receiver};
use serde_json::{Value, json};

use crate::site::{Answer, Mail, Place, Site};

const NAME: &str = "<img src=x onerror=1>\u{1b}[31m\u{202e}";
const NAME_SPELLED: &str = "<img src=x onerror=1>\\u{1b}[31m\\u{202e}";
/// A spreadsheet's formula, a page's end, a screen cleared, a title with a bell, eight-bit controls, direction marks, no width.
const HOSTILE: &str = "=1+1 </pre><script>1</script>\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2066}\u{200b}";
const SPELLED: &str = "=1+1 </pre><script>1</script>\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{9b}2J\\u{202e}\\u{2066}\\u{200b}";
const ID: &str = "=1+1\u{202e}'; x";

fn jobs(channels: &str) -> String {
    // JSON strings are TOML's, but for DEL.
    let text = |text: &str| serde_json::to_string(text).unwrap();
    format!(
        r#"{channels}
[jobs.{name}]
description = {hostile}
notify = {{ channel = "mail", to = "ops@example.com", on = ["failed"] }}
shell = true
command = "cat hostile; cat hostile >&2; exit 65"
queue = {hostile}

[jobs.told]
notify = {{ channel = "hook", on = ["failed"] }}

[[jobs.told.steps]]
name = {hostile}
shell = true
command = "cat hostile >&2; exit 65"

[[jobs.many.steps]]
name = {hostile}
shell = true
command = "cat rows > $ONEBELL_OUTPUT"

[[jobs.many.steps]]
name = "tell"
for_each = {{ output_of = {hostile} }}
message = {{ channel = "mail", key = "k/{{{{ row.id }}}}", to = "a@example.com", subject = "{{{{ row.id }}}}", text = "{{{{ row.k }}}}" }}
"#,
        name = text(NAME),
        hostile = text(HOSTILE),
    )
}

/// Nothing in it would act, and it says these words.
#[track_caller]
fn is_text(answer: Answer, words: &[&str]) {
    let whole = format!("{}{}", answer.out(), answer.stderr);
    let acting: Vec<char> = whole.chars().filter(|c| acts(*c) && !matches!(c, '\n' | '\t')).collect();
    assert!(acting.is_empty(), "{acting:?} in {whole:?}");
    words.iter().for_each(|word| assert!(whole.contains(word), "no {word:?} in {whole}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_01_foreign_text_is_text_in_every_table_answer_log_and_alarm() {
    let (mail, hook) = (Mail::new().await, Receiver::start(([127, 0, 0, 1], 0), keeping()).await.unwrap());
    let channels = format!("{}[channels.hook]\nkind = \"http\"\nurl = \"http://{}/\"\n", mail.channel(), hook.address());
    let site = Site::new(Place::Sqlite, &jobs(&channels)).await;
    site.write("hostile", HOSTILE);
    site.write("rows", json!({ "k": HOSTILE, "id": ID }).to_string());
    is_text(site.onebell(&["check"]).ended(0), &[NAME_SPELLED, SPELLED]);
    let idle = || site.onebell(&["run", "--until-idle", "-vv", "--queues", &format!("default,{HOSTILE}")]).ended(0);
    is_text(idle(), &[]);
    let input = format!("{{\"a\":\"\\\" onmouseover=\\\"1 {}\"}}", "\\u001b[2J\\u202e\u{202e}");
    let typed = ["trigger", NAME, "--key", ID, "--input", &input, "--format", "json"];
    let run = site.onebell(&typed).ended(0).json()["run"].as_str().unwrap().to_owned();
    for job in ["told", "many"] {
        site.onebell(&["trigger", job, "--key", job]).ended(0);
    }
    is_text(idle(), &[]);

    let key = format!("k/{ID}");
    is_text(site.onebell(&["jobs"]).ended(0), &[NAME_SPELLED, SPELLED]);
    is_text(site.onebell(&["runs"]).ended(0), &[NAME_SPELLED]);
    is_text(site.onebell(&["show", &run]).ended(0), &["onmouseover", SPELLED]);
    is_text(site.onebell(&["outbox", "list"]).ended(0), &["k/=1+1\\u{202e}'; x"]);
    is_text(site.onebell(&["outbox", "show", &key]).ended(0), &["payload", "k/=1+1\\u{202e}'; x"]);
    for looked in [&["status"][..], &["replicas"], &["recoveries"], &["skips"], &["doctor"]] {
        is_text(site.onebell(looked).ended(0), &[]);
    }
    for wrong in
        [&["show", HOSTILE][..], &["logs", HOSTILE], &["cancel", HOSTILE], &["trigger", HOSTILE], &["-f", HOSTILE, "check"]]
    {
        is_text(site.onebell(wrong).ended(2), &["=1+1"]);
    }
    let show = ["show", &run];
    for looked in [&["jobs"][..], &["runs"], &show, &["logs", &run], &["outbox", "list"], &["outbox", "show", &key], &["check"]] {
        let answer = site.onebell(&[looked, &["--format", "json"]].concat()).ended(0);
        answer.json();
        is_text(answer, &[]);
    }
    let told = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert_eq!(
        (told["run"]["job"].as_str(), told["input"].as_str()),
        (Some(NAME), Some(input.as_str())),
        "programs get what it is"
    );
    alarms_are_text(&site, &run, &hook);
}

fn keeping() -> Behaviour {
    Behaviour { keep_body: true, ..Behaviour::default() }
}

/// The reason of a failure stands in what people are sent.
fn alarms_are_text(site: &Site, run: &str, hook: &Receiver) {
    let alarm = site.onebell(&["outbox", "show", &format!("alarm/failed/{run}/1"), "--format", "json"]).ended(0).json();
    assert_eq!(alarm["status"], "sent", "{alarm:#}");
    let payload: Value = serde_json::from_str(alarm["payload"].as_str().unwrap()).unwrap();
    assert_eq!(payload["html"], Value::Null, "a mail of plain text: {payload}");
    for field in ["subject", "text"] {
        let text = payload[field].as_str().unwrap();
        assert!(text.contains("<img src=x onerror=1>") && !text.contains(|c| acts(c) && c != '\n'), "{text:?}");
    }
    let posted = hook.records().pop().and_then(|record| record.body).expect("an alarm was posted");
    let posted = String::from_utf8(posted).unwrap();
    assert!(!posted.contains(acts), "{posted:?}");
    let posted: Value = serde_json::from_str(&posted).unwrap();
    assert!(posted["text"].as_str().is_some_and(|text| text.contains(SPELLED)), "{posted:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_01_what_a_step_printed_is_text_on_a_terminal_and_bytes_in_a_pipe() {
    let site = Site::new(Place::Sqlite, "[jobs.loud]\nshell = true\ncommand = \"cat hostile; printf '\\\\033[5mx' >&2\"\n").await;
    let printed = [b"a\tb\r\n", HOSTILE.as_bytes(), b"\xff"].concat();
    site.write("hostile", &printed);
    let run = site.run_once("loud", "k");
    let piped = site.onebell(&["logs", &run]).ended(0).stdout;
    assert!(piped.ends_with(&[&printed, &b"\n-- stderr\n\x1b[5mx\n"[..]].concat()), "{:?}", String::from_utf8_lossy(&piped));
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &format!("{} logs {run}", env!("CARGO_BIN_EXE_onebell")), "/dev/null"]);
    script.current_dir(site.folder()).env("TERM", "xterm").env_remove("ONEBELL_LOG").env("ONEBELL_DATABASE", &site.url);
    let seen = site.answer(script).ended(0).out().replace("\r\n", "\n");
    assert!(seen.contains(&format!("a\tb\n{SPELLED}\u{fffd}\n-- stderr\n\\u{{1b}}[5mx\n")), "{seen:?}");
    assert!(!seen.contains(|c| acts(c) && !matches!(c, '\n' | '\t')), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_01_records_and_file_names_are_text_in_what_is_told_of_a_batch() {
    let site = Site::new(Place::Sqlite, "").await;
    let name = "=1+1 \u{1b}[2J\u{202e}<script>.ndjson";
    let record = |id: &str, amount: &str| json!({ "id": id, "amount": amount }).to_string() + "\n";
    site.write(name, [record("=1+1\u{202e}", "1"), record("b", HOSTILE), "\u{1b}[2J{\n".to_owned()].concat());
    let args = ["apply", name, "--scope", "s\u{202e}", "--id", "id", "--amount", "amount", "--scale", "0"];
    is_text(site.onebell(&args).ended(3), &["rejected"]);
    let listed = site.onebell(&["batches", "--format", "json"]).ended(0);
    let batch = listed.json()["batches"][0]["id"].as_str().unwrap().to_owned();
    is_text(listed, &[]);
    is_text(site.onebell(&["batches"]).ended(0), &["\\u{1b}[2J\\u{202e}<script>.ndjson"]);
    is_text(site.onebell(&["batches", "show", &batch]).ended(0), &["rejected"]);
    is_text(site.onebell(&["batches", "show", &batch, "--format", "json"]).ended(0), &["rejected"]);
    is_text(site.onebell(&["effects", "--scope", "s\u{202e}"]).ended(0), &["1 effects"]);
}

/// Where people are told what to type, nothing that others wrote ends the word it stands in.
#[test]
fn k15_01_what_is_to_be_typed_is_one_word_to_a_shell() {
    for word in ["k'; touch owned; '", "$(touch owned)`touch owned`", "k'\\; touch owned\u{202e}\n\u{1b}\u{e0041}", "-x y", ""] {
        let line = format!("printf '%s|' {} end", shell_word(word));
        let said = std::process::Command::new("bash").args(["-c", &line]).env("LC_ALL", "C.UTF-8").output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), format!("{word}|end|"), "{line}");
        assert!(!line.contains(acts), "{line:?}");
    }
}
