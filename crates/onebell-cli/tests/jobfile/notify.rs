//! `notify`, the spans that it goes by, and `ping`: read as written, taken over from `[defaults]`, and refused where they would do nothing.

use std::time::Duration;

use onebell::model::alarm::{AlarmKind, Form, Notify, PingWord};
use onebell::model::message::InDoubtPolicy;

use onebell_cli::jobfile::PingConfig;
use onebell_cli::secret::SecretRef;

use crate::{CHANNEL, parse, the_one, told};

const HOOK: &str = "[channels.ops]\nkind = \"http\"\nurl = \"https://example.com/hooks/ops\"\n";

/// A job due every hour, with these lines from line 11 on, beside both channels.
fn job(lines: &str) -> String {
    format!("{CHANNEL}{HOOK}[jobs.j]\nevery = \"1h\"\n{lines}\ncommand = [\"true\"]\n")
}

fn notify(text: &str) -> Option<Notify> {
    parse(text).jobs.remove(0).notify
}

#[test]
fn an_alarm_by_webhook_is_read_as_the_documents_write_it() {
    let file = job("notify = { channel = \"ops\", on = [\"failed\", \"parked\", \"in_doubt\", \"skipped\"], after_skips = 3 }");
    let read = notify(&file).unwrap();
    let on = [AlarmKind::Failed, AlarmKind::Parked, AlarmKind::InDoubt, AlarmKind::Skipped];
    assert_eq!((read.channel.as_str(), read.on.into_iter().collect::<Vec<_>>()), ("ops", on.to_vec()));
    assert_eq!((read.after_skips, read.form, read.on_in_doubt), (3, Form::Webhook, InDoubtPolicy::Resend));
    assert_eq!(notify(&job("notify = { channel = \"ops\", on = [\"skipped\"] }")).unwrap().after_skips, 1);
}

#[test]
fn an_alarm_by_mail_names_who_gets_it() {
    let read = notify(&job("notify = { channel = \"mail\", to = \"Ops <ops@example.com>\", on = [\"failed\"] }")).unwrap();
    assert_eq!((read.form, read.on_in_doubt), (Form::Mail { to: "Ops <ops@example.com>".to_owned() }, InDoubtPolicy::Hold));
    assert_eq!(
        the_one(&job("notify = { channel = \"mail\", on = [\"failed\"] }")),
        "11:10 to is missing; write to = \"ops@example.com\""
    );
    assert_eq!(
        the_one(&job("notify = { channel = \"ops\", to = \"ops@example.com\", on = [\"failed\"] }")),
        "11:29 to is a word of mail; remove it: a channel of kind http has its url"
    );
    assert!(the_one(&job("notify = { channel = \"mail\", to = \"ops\", on = [\"failed\"] }")).starts_with("11:35 to: "));
}

#[test]
fn a_job_takes_from_the_defaults_what_it_leaves_out_and_may_be_silent() {
    let defaults = "[defaults]\nnotify = { channel = \"ops\", on = [\"failed\", \"late_finish\"] }\n";
    let read = |lines: &str| notify(&format!("{defaults}{}", job(lines)));
    assert_eq!(read("").unwrap().on.len(), 2);
    let own = read("notify = { on = [\"skipped\"], after_skips = 2 }").unwrap();
    assert_eq!((own.channel.as_str(), own.on.len(), own.after_skips), ("ops", 1, 2));
    assert_eq!(read("notify = { on = [] }"), None);
    assert_eq!(read("finish_within = \"2h\"").unwrap().on.len(), 2);
}

#[test]
fn what_is_late_is_read_as_spans() {
    let lines =
        "start_within = \"15m\"\nfinish_within = \"2h\"\nnotify = { channel = \"ops\", on = [\"late_start\", \"late_finish\"] }";
    let job = parse(&job(lines)).jobs.remove(0);
    assert_eq!((job.start_within, job.finish_within), (Some(Duration::from_secs(900)), Some(Duration::from_secs(7200))));
    assert!(the_one(&self::job("start_within = \"0s\"")).starts_with("11:16 start_within: it is zero"));
}

#[test]
fn what_a_success_decides_is_read_as_spans() {
    let on = "notify = { channel = \"ops\", on = [\"failed\", \"recovered\", \"too_short\", \"overdue\"] }";
    let job = parse(&job(&format!("runs_at_least = \"30s\"\nexpect_within = \"26h\"\n{on}"))).jobs.remove(0);
    assert_eq!((job.runs_at_least, job.expect_within), (Some(Duration::from_secs(30)), Some(Duration::from_secs(26 * 3600))));
    assert!(job.keeps_vigil());
    assert!(the_one(&self::job("expect_within = \"0s\"")).starts_with("11:17 expect_within: it is zero"));
}

#[test]
fn a_ping_names_addresses_that_the_definition_does_not() {
    let read = |ping: &str| {
        let mut file = parse(&job(&format!("formerly = \"old\"\nping = {ping}")));
        let job = file.jobs.remove(0);
        assert!(!serde_json::to_string(&job).unwrap().contains("example.com"));
        // Runs that began under the old name ping as well.
        assert_eq!(file.pings.keys().collect::<Vec<_>>(), ["ping/j", "ping/old"]);
        (job.ping.unwrap(), file.pings.remove("ping/j").unwrap())
    };
    let text = |address: &str| SecretRef::Text(address.to_owned());
    let (ping, config) = read("\"https://example.com/up\"");
    assert_eq!((ping.channel.as_str(), config), ("ping/j", PingConfig::Base(text("https://example.com/up"))));
    assert_eq!(ping.on, PingWord::ALL.iter().copied().collect());
    let (ping, config) = read("{ fail = \"https://example.com/down\" }");
    assert_eq!(config, PingConfig::Each { success: None, fail: Some(text("https://example.com/down")) });
    assert_eq!(ping.on, [PingWord::Fail].into());
    assert_eq!(read("{ env = \"PING\" }").1, PingConfig::Base(SecretRef::Env("PING".to_owned())));
}

#[test]
fn a_ping_that_reaches_nobody_is_refused() {
    assert!(the_one(&job("ping = \"example.com\"")).starts_with("11:8 ping: it does not begin with https://"));
    assert!(the_one(&job("ping = { success = \"https://a\", sucess = 1 }")).contains("unknown key \"sucess\""));
    let told = the_one("[channels.\"ping/j\"]\nkind = \"http\"\nurl = \"https://example.com\"\n[jobs.j]\ncommand = [\"true\"]\n");
    assert!(told.contains("such names belong to the pings of jobs; choose another one"), "{told}");
}

#[test]
fn wrong_words_are_told_with_the_nearest_right_one() {
    assert_eq!(
        the_one(&job("notify = { channel = \"opps\", on = [\"failed\"] }")),
        "11:22 channel: there is no channel \"opps\"; did you mean \"ops\"?"
    );
    let told = the_one(&job("notify = { channel = \"ops\", on = [\"faild\"] }"));
    assert_eq!(told, "11:35 on: \"faild\" is not a choice here; did you mean \"failed\"?");
    let told = the_one(&job("notify = { chanel = \"ops\", channel = \"ops\", on = [\"failed\"] }"));
    assert_eq!(told, "11:12 unknown key \"chanel\"; did you mean \"channel\"?");
    let told = the_one(&job("notify = { channel = \"ops\", on = [\"skipped\"], after_skips = 0 }"));
    assert!(told.starts_with("11:61 after_skips: ") && told.contains("a whole number from 1 to 1000"), "{told}");
    let told = the_one("[defaults]\nnotify = { channel = \"ops\", on = [\"failed\"] }\n");
    assert_eq!(told, "2:22 channel: there is no channel \"ops\"; define it under [channels.ops]");
}

#[test]
fn what_is_missing_is_said_with_what_to_write() {
    let told = told(&job("notify = {}"));
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().any(|told| told.starts_with("11:10 on is missing; write on = [\"failed\"")), "{told:#?}");
    assert!(told.iter().any(|told| told == "11:10 channel is missing; write channel = \"ops\""), "{told:#?}");
}

#[test]
fn a_key_that_would_do_nothing_is_refused() {
    let told = the_one(&job("finish_within = \"2h\""));
    assert!(told.starts_with("11:1 finish_within tells nobody; write notify = "), "{told}");
    let told = the_one(&job("notify = { channel = \"ops\", on = [\"late_start\"] }"));
    assert_eq!(
        told,
        "11:29 late_start is never told without start_within; write start_within = \"10m\", or remove \"late_start\""
    );
    for (key, kind) in [("runs_at_least", "too_short"), ("expect_within", "overdue")] {
        let told = the_one(&job(&format!("{key} = \"2h\"")));
        assert!(told.starts_with(&format!("11:1 {key} tells nobody; write notify = ")) && told.contains(kind), "{told}");
        let told = the_one(&job(&format!("notify = {{ channel = \"ops\", on = [\"{kind}\"] }}")));
        assert!(told.starts_with(&format!("11:29 {kind} is never told without {key}; write {key} = ")), "{told}");
    }
    let told = the_one(&job("notify = { channel = \"ops\", on = [\"recovered\", \"skipped\"] }"));
    assert_eq!(told, "11:29 recovered follows what was told, and nothing is; add \"failed\" and \"parked\", or remove it");
    let told = the_one(&job("notify = { channel = \"ops\", on = [\"failed\"], after_skips = 2 }"));
    assert_eq!(told, "11:46 after_skips counts nothing; add \"skipped\" to on, or remove it");
    let told = the_one("[jobs.j]\nstart_within = \"5m\"\ncommand = [\"true\"]\n");
    assert!(told.starts_with("2:1 start_within without a schedule; remove it"), "{told}");
}
