use rustix::process::Signal;

use crate::host::Hosts;

/// The first execution stays until it is ended; a later one says whether the first one's process is still there.
const FIRST_STAYS: &str = "echo $$ >> ran
if [ $(wc -l < ran) = 1 ]; then while :; do sleep 0.02; done; fi
if kill -0 $(head -n 1 ran) 2>/dev/null; then echo alive; else echo gone; fi";

async fn an_heir_takes_over_from_who_is_killed_and_finds_its_command_gone(hosts: Hosts) {
    let first = hosts.begin("k", &[], FIRST_STAYS);
    hosts.until_lines("ran", 1).await;
    let heir = hosts.begin("k", &[], FIRST_STAYS);
    hosts.until_here(2).await;
    first.signal(Signal::KILL);
    let heir = heir.end();
    assert_eq!((heir.code, heir.stdout.as_str()), (Some(0), "gone\n"), "{heir:?}");
    assert_eq!(hosts.read("ran").lines().count(), 2);
}

async fn who_comes_after_a_death_runs_it_again(hosts: Hosts) {
    let first = hosts.begin("k", &[], FIRST_STAYS);
    hosts.until_lines("ran", 1).await;
    first.signal(Signal::KILL);
    drop(first);
    let later = hosts.once("k", &[], FIRST_STAYS);
    assert_eq!((later.code, later.stdout.as_str()), (Some(0), "gone\n"), "{later:?}");
}

async fn a_stopped_one_ends_its_command_and_leaves_the_rest_to_its_heir(hosts: Hosts) {
    let first = hosts.begin("k", &[], FIRST_STAYS);
    hosts.until_lines("ran", 1).await;
    let heir = hosts.begin("k", &[], FIRST_STAYS);
    hosts.until_here(2).await;
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, Some(143), "as a shell says it");
    let heir = heir.end();
    assert_eq!((heir.code, heir.stdout.as_str()), (Some(0), "gone\n"), "{heir:?}");
}

async fn what_may_run_at_most_once_waits_for_a_person_after_a_death(hosts: Hosts) {
    let hold = ["--on-lost", "hold"];
    for signal in [Signal::KILL, Signal::TERM] {
        let key = format!("{signal:?}");
        drop(std::fs::remove_file(hosts.path("ran")));
        let first = hosts.begin(&key, &hold, FIRST_STAYS);
        hosts.until_lines("ran", 1).await;
        let heir = hosts.begin(&key, &hold, FIRST_STAYS);
        hosts.until_here(2).await;
        first.signal(signal);
        for held in [heir.end(), hosts.once(&key, &hold, FIRST_STAYS)] {
            assert_eq!(held.code, Some(125), "{held:?}");
            assert!(held.stderr.contains("onebell retry"), "{}", held.stderr);
        }
        assert_eq!(hosts.read("ran").lines().count(), 1, "{key}");
        let text = hosts.typed(&["runs", "--job", "once", "--status", "failed", "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
        hosts.typed(&["retry", answer["runs"][0]["id"].as_str().unwrap()]);
        assert_eq!(hosts.once(&key, &hold, FIRST_STAYS).code, Some(0), "a person said so");
        assert_eq!(hosts.read("ran").lines().count(), 2, "{key}");
    }
}

crate::everywhere!(
    an_heir_takes_over_from_who_is_killed_and_finds_its_command_gone,
    who_comes_after_a_death_runs_it_again,
    a_stopped_one_ends_its_command_and_leaves_the_rest_to_its_heir,
    what_may_run_at_most_once_waits_for_a_person_after_a_death,
);
