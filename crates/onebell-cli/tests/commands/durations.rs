//! How long runs took, and what happened to one in the order of time.

use crate::site::{Place, Site};

const BRISK: &str = "[jobs.work]\ncommand = [\"sleep\", \"0.3\"]\ntimeout = \"1m\"\n";

async fn runs_and_one_run_say_how_long_and_in_which_order(place: Place) {
    let site = Site::new(
        place,
        "[jobs.work]\nshell = true\ncommand = \"test $ONEBELL_ATTEMPT = 2\"\nretry = { attempts = 2, backoff = \"1ms\" }\n",
    )
    .await;
    let run = site.run_once("work", "k");
    let runs = site.onebell(&["runs", "--format", "json"]).ended(0).json()["runs"].clone();
    assert!(runs[0]["duration_ms"].is_u64(), "{runs}");
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert!(shown["run"]["duration_ms"].is_u64() && shown["steps"][0]["attempts"][0]["duration_ms"].is_u64(), "{shown}");
    let timeline = shown["timeline"].as_array().unwrap();
    let kinds: Vec<&str> = timeline.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["run", "run", "claim", "attempt", "claim", "attempt", "run"], "{timeline:#?}");
    assert!(timeline.windows(2).all(|pair| pair[0]["offset_ms"].as_i64() <= pair[1]["offset_ms"].as_i64()));
    assert_eq!(timeline[0]["offset_ms"], 0);
    let out =
        site.onebell(&["show", &run]).ended(0).says(&["AFTER", "+0.000s", "attempt 1 claimed", "attempt 2 succeeded"]).out();
    let last = out.lines().rfind(|line| line.starts_with('+')).unwrap();
    assert!(last.ends_with("run succeeded"), "{out}");
    let status = site.onebell(&["status", "--format", "json"]).ended(0).json();
    assert_eq!((&status["took"][0]["job"], status["took"][0]["duration_ms"].as_array().unwrap().len()), (&"work".into(), 1));
}

crate::everywhere!(runs_and_one_run_say_how_long_and_in_which_order);

#[test]
fn bars_are_drawn_on_terminals_only_and_only_of_what_they_have() {
    let site = Site::plain(BRISK);
    site.run_once("work", "k");
    let on_terminal = |locale: &str, command: &str| {
        let program = env!("CARGO_BIN_EXE_onebell");
        let mut shell = std::process::Command::new("script");
        shell.args(["-qec", &format!("stty cols 200; {program} {command}"), "/dev/null"]).current_dir(site.folder());
        shell.env("LC_ALL", locale).env_remove("ONEBELL_DATABASE").stdin(std::process::Stdio::null());
        site.answer(shell).ended(0).out()
    };
    for (command, blocks, plain) in [("runs", "████████", "########"), ("status", "took      █ ", "took      # ")]
    {
        assert!(on_terminal("C.UTF-8", command).contains(blocks), "{}", on_terminal("C.UTF-8", command));
        assert!(on_terminal("C", command).contains(plain), "{}", on_terminal("C", command));
        let words: Vec<&str> = command.split(' ').collect();
        let out = site.onebell(&words).ended(0).out();
        assert!(!out.contains('█') && !out.contains('#'), "{out}");
    }
}
