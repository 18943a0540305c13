//! Who tests the tester: an engine whose promises are broken on purpose, from inside its database, and chaos has to see each.

use serde_json::Value;

use crate::site::Site;

/// Doubts are resent silently, one customer's mails count as sent without being sent, and skips are not recorded.
const BROKEN: &str = "
CREATE FUNCTION resend() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status = 'in_doubt' THEN NEW.status := 'ready'; NEW.finished_at := NULL; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER resend BEFORE UPDATE ON onebell.outbox FOR EACH ROW EXECUTE FUNCTION resend();

CREATE FUNCTION pretend() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.key LIKE 'reminder/1007/%' THEN NEW.status := 'sent'; NEW.finished_at := now(); END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER pretend BEFORE INSERT ON onebell.outbox FOR EACH ROW EXECUTE FUNCTION pretend();

CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER forget BEFORE INSERT ON onebell.skips FOR EACH ROW EXECUTE FUNCTION forget();
";

#[test]
fn an_engine_that_resends_loses_and_forgets_is_found_out_with_the_timeline_of_each() {
    let site = Site::of_example("debt-reminders");
    std::fs::write(site.path("broken.sql"), BROKEN).unwrap();
    let url = onebell_testkit::server(18);
    let args = ["--database", &url, "--setup", "broken.sql", "--kills", "12", "--pauses", "0", "--runs", "4", "--seed", "5"];
    let report = site.json(3, &args);
    let found = |invariant: &str, words: &str| -> Vec<&Value> {
        let all = report["violations"].as_array().unwrap().iter();
        all.filter(|own| own["invariant"] == invariant && own["what"].as_str().unwrap().contains(words)).collect()
    };
    let (twice, lost) = (found("I9", " 2 times"), found("I9", "counts as sent and never arrived"));
    assert!(!twice.is_empty() && !lost.is_empty() && !found("I11", "neither a run nor").is_empty(), "{report:#}");
    assert!(report["messages"]["duplicates"].as_u64().unwrap() > 0 && report["messages"]["missing"].as_u64().unwrap() > 0);
    let timeline: Vec<&str> = twice[0]["timeline"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let accepted = timeline.iter().filter(|line| line.contains("accepted by the receiver")).count();
    assert!(accepted >= 2 && timeline.iter().any(|line| line.contains("killed") || line.contains("died")), "{timeline:#?}");
}
