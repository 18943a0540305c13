//! Channels and steps of kind `http`.

use std::time::Duration;

use onebell::model::message::InDoubtPolicy;
use onebell_cli::jobfile::{ChannelConfig, Promise, promises};
use onebell_cli::secret::SecretRef;
use onebell_cli::steps::spec::{Body, HttpStep, MessageStep};

use crate::{parse, the_one, told};

const OPS: &str = "[channels.ops]\nkind = \"http\"\nurl = \"https://example.com/hook\"\n";

fn channel(lines: &str) -> String {
    format!("{OPS}{lines}\n")
}

/// A webhook step whose lines are these, from line 8 on.
fn webhook(lines: &str) -> String {
    format!(
        "{OPS}[jobs.j]\n[[jobs.j.steps]]\nname = \"tell\"\n[jobs.j.steps.message]\nchannel = \"ops\"\nkey = \"k/{{{{ run.id }}}}\"\n{lines}\n"
    )
}

fn request(inside: &str) -> String {
    format!("[jobs.j]\nhttp = {{ url = \"https://example.com/x\", {inside} }}\n")
}

#[test]
fn a_receiver_is_read_as_it_is_written() {
    let file = parse(&channel(
        r#"
method = "PUT"
secret = { env = "HOOK_SECRET" }
headers = { Authorization = { file = "token" }, X-Team = "ops" }
ca_file = "ca.pem"
proxy = "http://proxy.example.com:3128"
allow_hosts = ["example.com", "*.example.com"]
ask = "https://api.example.com/hooks/{{ key }}"
window = "20s"
timeout = "5s"
"#,
    ));
    let ChannelConfig::Http(ops) = &file.channels["ops"] else { panic!("{file:?}") };
    assert_eq!((&ops.url, ops.method.as_str()), (&SecretRef::Text("https://example.com/hook".to_owned()), "PUT"));
    assert_eq!((ops.window, ops.timeout), (Some(Duration::from_secs(20)), Some(Duration::from_secs(5))));
    assert_eq!(ops.ask.as_deref(), Some("https://api.example.com/hooks/{{ key }}"));
    assert_eq!(file.secrets, [SecretRef::Env("HOOK_SECRET".into()), SecretRef::File("token".into())]);
}

#[test]
fn a_wrong_receiver_is_told_where_and_what_to_write() {
    let wrong = |lines: &str| the_one(&channel(lines));
    assert_eq!(the_one("[channels.ops]\nkind = \"http\"\n"), "1:1 url is missing; write url = \"https://example.com/hook\"");
    assert!(wrong("secret = \"whsec_not base64\"").starts_with("4:10 secret: what follows whsec_ is no base64"));
    assert!(wrong("headers = { Host = \"x\" }").starts_with("4:13 Host is set by onebell"));
    assert!(wrong("headers = { Content-Type = \"x\" }").contains("write content_type ="));
    assert!(wrong("headers = { X-A = \"a\\nb\" }").contains("line break"));
    assert!(wrong("headers = { X-A = \"a\", x-a = \"b\" }").contains("x-a is there twice"));
    assert!(wrong("proxy = \"https://p.example.com\"").starts_with("4:9 proxy: only a plain proxy is known"));
    assert!(wrong("ask = \"https://example.com/hook\"").starts_with("4:7 ask: it does not name the message"));
    assert!(wrong("ask = \"https://example.com/{{ row.id }}\"").contains("write {{ key }}"));
    assert!(wrong("timeout = \"1m\"").starts_with("4:11 timeout: longer than a claim"));
    assert!(wrong("method = \"GET\"").contains("write one of \"PATCH\", \"POST\", \"PUT\""));
    assert!(wrong("allow_hosts = []").starts_with("4:15 allow_hosts: no host may be reached"));
    assert!(wrong("allow_hosts = [\"https://x\"]").contains("is no host name"));
    assert!(wrong("allow_hosts = [\"other.example.com\"]").starts_with("3:1 url: example.com is not among allow_hosts"));
    assert!(
        wrong("allow_hosts = [\"example.com\"]\nask = \"https://a.b/{{ key }}\"")
            .starts_with("5:1 ask: a.b is not among allow_hosts")
    );
    assert_eq!(
        wrong("hots = 1"),
        "4:1 unknown key \"hots\"; write one of \"allow_hosts\", \"ask\", \"ca_file\", \"headers\", \"kind\", \"method\", \"proxy\", \"secret\", \"timeout\", \"url\", \"window\""
    );
    let url = |url: &str| the_one(&format!("[channels.ops]\nkind = \"http\"\nurl = \"{url}\"\n"));
    assert!(url("example.com").starts_with("3:7 url: it does not begin with https://"));
    assert!(url("https://u:p@example.com").contains("Authorization = { env"));
    assert!(url("https://{{ row.host }}/").contains("the same for every message"));
    let clear = "[channels.ops]\nkind = \"http\"\nurl = \"http://example.com\"\nheaders = { A = { env = \"T\" } }\n";
    assert_eq!(the_one(clear), "3:1 headers: a secret would cross the network in the clear; write an https:// address");
    parse(&clear.replace("example.com", "127.0.0.1:8080"));
}

#[test]
fn a_secret_is_refused_in_the_clear_however_the_scheme_is_written() {
    let token = "headers = { A = { env = \"T\" } }";
    let channel = format!("[channels.ops]\nkind = \"http\"\nurl = \"HTTP://example.com\"\n{token}\n");
    assert!(the_one(&channel).starts_with("3:1 headers: a secret would cross the network in the clear"));
    let asked = channel.replace("HTTP:", "https:") + "ask = \"Http://example.com/{{ key }}\"\n";
    assert!(the_one(&asked).starts_with("5:1 headers: a secret would cross the network in the clear"));
    let step = request(token).replace("https://example.com/x", "HtTp://example.com/{{ job }}");
    assert!(the_one(&step).contains("a secret would cross the network in the clear"));
}

#[test]
fn what_no_attempt_could_carry_is_told_when_the_file_is_read() {
    let wrong = |inside: &str| the_one(&request(inside));
    assert!(wrong("secret = \"whsec_not base64\"").contains("secret: what follows whsec_ is no base64"));
    assert!(wrong("headers = { X-A = \"a\\nb\" }").contains("X-A: it contains a line break"));
    assert!(wrong("allow_hosts = [\"other.example.com\"]").contains("url: example.com is not among allow_hosts"));
    assert!(wrong("method = \"HEAD\", output = true").contains("output: the answer to HEAD has no rows"));
    assert!(the_one(&webhook("body = \"\"\nheaders = { X-A = \"a\\nb\" }")).contains("X-A: it contains a line break"));
    assert!(wrong("json = '{\"a\": }'").contains("json: line 1 of what it prints is not JSON"));
    assert!(the_one(&webhook("json = '{\"a\": 1, \"a\": 2}'")).contains("is not JSON"));
    let channel = |line: &str| the_one(&self::channel(line));
    assert!(channel("headers = { X-A = \"{{ row.id }}\" }").contains("a channel's headers are the same for every message"));
    assert!(channel("proxy = \"http://u:p@proxy:3128\"").contains("proxy: a proxy that wants a login is not supported"));
}

#[test]
fn a_webhook_is_made_of_json_or_a_body_and_is_sent_again_when_in_doubt() {
    let file = parse(&webhook("json = '{\"name\": {{ job }}}'\nheaders = { X-Run = \"{{ run.id }}\" }"));
    let step = &file.jobs[0].steps[0];
    let spec: MessageStep = serde_json::from_str(&step.spec).unwrap();
    let body = Body { template: "{\"name\": {{ job }}}".into(), json: true, content_type: "application/json".into() };
    assert_eq!((spec.body, spec.on_in_doubt), (Some(body), Some(InDoubtPolicy::Resend)));
    assert_eq!(spec.headers["X-Run"], "{{ run.id }}");
    assert_eq!(promises(&file.jobs[0])[0].promise, Promise::AtLeastOnce);

    let plain = parse(&webhook("body = \"a={{ job }}\"\ncontent_type = \"application/x-www-form-urlencoded\""));
    let spec: MessageStep = serde_json::from_str(&plain.jobs[0].steps[0].spec).unwrap();
    assert_eq!(spec.body.unwrap().content_type, "application/x-www-form-urlencoded");

    let held = webhook("body = \"x\"").replace("name = \"tell\"", "name = \"tell\"\non_in_doubt = \"hold\"");
    assert_eq!(promises(&parse(&held).jobs[0])[0].promise, Promise::AtMostOnce);
}

#[test]
fn the_words_of_mail_are_refused_in_a_webhook_and_those_of_a_webhook_in_a_mail() {
    let told = told(&webhook("to = \"a@example.com\"\nsubject = \"s\"\njson = \"{}\""));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(
        told[0].starts_with("10:1 to is a word of mail; a channel of kind http has its url; write what it is sent as json =")
    );
    assert!(told[1].starts_with("11:1 subject is a word of mail; remove it"));
    assert!(the_one(&webhook("")).contains("json or body is missing; write json = '{\"name\": {{ row.name }}}'"));
    assert!(the_one(&webhook("json = \"{}\"\nbody = \"\"")).ends_with("json beside body; keep one of the two"));
    assert!(the_one(&webhook("json = \"{{ job\"")).contains("syntax error"));
    assert!(the_one(&webhook("json = \"{}\"\nheaders = { webhook-id = \"x\" }")).contains("webhook-id is set by onebell"));
    let mail = crate::message("channel = \"mail\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext = \"x\"\njson = \"{}\"");
    assert_eq!(the_one(&mail), "15:1 json is a word of webhooks; write text = \"…\" or html = \"…\"");
}

#[test]
fn a_request_is_a_url_or_a_table() {
    let spec = |text: &str| serde_json::from_str::<HttpStep>(&parse(text).jobs[0].steps[0].spec).unwrap();
    let alone = spec("[jobs.j]\nhttp = \"https://example.com/warm?at={{ run.scheduled_for }}\"\n");
    assert_eq!((alone.method.as_str(), alone.body), ("GET", None));
    let whole = spec(&request(
        r#"json = '{"at": {{ run.scheduled_for }}}', headers = { Authorization = { env = "TOKEN" }, X-Job = "{{ job }}" }, secret = { env = "SIGN" }, expect = [200, 404], retry_on = [409], permanent_on = [500], output = true, ca_file = "ca.pem", proxy = "http://p:3128", allow_hosts = ["example.com"]"#,
    ));
    assert_eq!((whole.method.as_str(), whole.output, whole.expect), ("POST", true, vec![200, 404]));
    assert_eq!((whole.retry_on, whole.permanent_on), (vec![409], vec![500]));
    assert_eq!(whole.headers["Authorization"], SecretRef::Env("TOKEN".into()));
    let file = parse(&request("secret = { env = \"SIGN\" }, headers = { A = { env = \"TOKEN\" }, B = \"text\" }"));
    assert_eq!(file.secrets, [SecretRef::Env("SIGN".into()), SecretRef::Env("TOKEN".into())]);
    let promise = &promises(&file.jobs[0])[0];
    assert!(promise.promise == Promise::AtLeastOnce && promise.meaning.contains("Idempotency-Key"), "{promise:?}");
    let undone =
        "[jobs.j]\nhttp = \"https://example.com\"\nundo = { http = { method = \"DELETE\", url = \"https://example.com\" } }\n";
    assert_eq!(parse(undone).jobs[0].steps[0].undo.as_ref().unwrap().handler, "http");
}

#[test]
fn what_is_called_back_is_signed_and_knows_where() {
    const CALLABLE: &str = "[replica]\ncallback_url = \"https://jobs.example.com/onebell\"\n";
    let called = |inside: &str| format!("{CALLABLE}{}", request(&format!("callback = true, {inside}")));
    let signed = "secret = { env = \"SIGN\" }, json = '{\"to\": {{ callback }}}'";
    let file = parse(&called(signed));
    assert_eq!(file.replica.callback_url.as_deref(), Some("https://jobs.example.com/onebell"));
    assert!(serde_json::from_str::<HttpStep>(&file.jobs[0].steps[0].spec).unwrap().callback);
    assert!(
        the_one(&called("body = \"x\""))
            .ends_with("callback: what is called back has to be signed; write secret = { env = \"LEDGER_SECRET\" } beside it")
    );
    let nowhere = the_one(&request(&format!("callback = true, {signed}")));
    assert!(nowhere.contains("callback: nobody is told where replicas can be reached; write callback_url ="), "{nowhere}");
    let not_asked = the_one(&request("json = '{\"to\": {{ callback }}}'"));
    assert!(not_asked.contains("callback does not exist") && not_asked.contains("write callback = true"), "{not_asked}");
    let url = |url: &str| the_one(&format!("[replica]\ncallback_url = \"{url}\"\n[jobs.j]\ncommand = [\"true\"]\n"));
    assert!(url("jobs.example.com").contains("it does not begin with https://"));
    assert!(url("https://jobs.example.com/?a=b").contains("only scheme, host and path are possible"));
    // A table that is wrong elsewhere does not hide that it names the address.
    let wrong = told(&called(signed).replace("[replica]\n", "[replica]\nlease = 5\n"));
    assert!(wrong.len() == 1 && wrong[0].contains("lease"), "{wrong:?}");
}

#[test]
fn a_wrong_request_is_told_where_and_what_to_write() {
    let wrong = |inside: &str| the_one(&request(inside));
    assert!(the_one("[jobs.j]\nhttp = 5\n").starts_with("2:8 http: expected a URL or { url ="));
    assert!(the_one("[jobs.j]\nhttp = \"example.com\"\n").starts_with("2:8 http: it does not begin with https://"));
    let host = "http = { url = \"https://{{ run.input.host }}/x\" }\n";
    assert!(
        the_one(&format!("[jobs.j]\n{host}")).starts_with("2:16 url: a template decides which host is asked; write the host out")
    );
    let listed = host.replace(" }\n", ", allow_hosts = [\"*.example.com\"] }\n");
    parse(&format!("[jobs.j]\n{listed}"));
    assert!(wrong("method = \"GET\", body = \"x\"").contains("method: GET carries no body"));
    assert!(wrong("content_type = \"a/b\"").contains("content_type without a body"));
    assert!(wrong("body = \"x\", content_type = \"json\"").contains("is no media type"));
    assert!(wrong("expect = [99]").contains("a whole number from 200 to 599"));
    assert!(wrong("expect = [500], retry_on = [500]").contains("500 is in expect and in retry_on"));
    let clear = request("headers = { A = { env = \"T\" } }").replace("https://example.com", "http://example.com");
    assert!(the_one(&clear).contains("a secret would cross the network in the clear; write an https:// address"));
    parse(&clear.replace("example.com", "localhost:8080"));
    let hidden = clear
        .replace("http://example.com", "http://localhost{{ job }}")
        .replace("headers", "allow_hosts = [\"localhost\"], headers");
    assert!(the_one(&hidden).contains("in the clear"));
    assert!(wrong("retries = 3").contains("unknown key \"retries\""));
    assert!(the_one("[jobs.j]\nhttp = \"https://a.b\"\ninput = \"x\"\n").contains("input: \"x\" is no step of this job"));
    assert!(the_one("[jobs.j]\nhttp = \"https://a.b\"\ncwd = \"x\"\n").contains("cwd belongs to a command, this is a http step"));
    assert!(the_one("[jobs.j]\nsql = \"SELECT 1\"\ninput = \"x\"\n").contains("input belongs to a command"));
}
