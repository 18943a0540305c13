use crate::host::Hosts;

async fn a_failure_is_everybodys_who_waited_and_is_tried_again_when_it_is_asked_for_again(hosts: Hosts) {
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.02; done; [ -e good ] || exit 3";
    let all: Vec<_> = (0..3).map(|_| hosts.begin("k", &[], script)).collect();
    hosts.until_lines("ran", 1).await;
    hosts.until_here(3).await;
    std::fs::write(hosts.path("go"), "").unwrap();
    let codes: Vec<_> = all.into_iter().map(|one| one.end().code).collect();
    assert_eq!(codes, [Some(3); 3]);
    assert_eq!(hosts.read("ran"), "x\n");
    std::fs::write(hosts.path("good"), "").unwrap();
    assert_eq!(hosts.once("k", &[], script).code, Some(0));
    assert_eq!(hosts.read("ran"), "x\nx\n");
}

async fn output_and_codes_pass_through_as_if_nobody_stood_between(hosts: Hosts) {
    let ended = hosts.once("out", &[], "echo out; echo err >&2; printf 'no end'; exit 7");
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(7), "out\nno end", "err\n"));
    let ended = hosts.once("signal", &[], "kill -9 $$");
    assert_eq!(ended.code, Some(137), "{ended:?}");
    let ended = hosts.once("variables", &[], "echo $ONEBELL_DATABASE; echo $ONEBELL_ATTEMPT");
    assert_eq!(ended.stdout, format!("{}\n1\n", hosts.url));
    // A pipe whose writer is gone already, and a file that was read in part.
    for (key, line, read) in [("pipe", "echo fed | \"$@\"", "fed\n"), ("file", "{ read first; \"$@\"; } < lines", "two\nthree\n")]
    {
        std::fs::write(hosts.path("lines"), "one\ntwo\nthree\n").unwrap();
        let typed = hosts.onebell(&["once", "--key", key, "--", "cat"]);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line, "sh"]).arg(typed.get_program()).args(typed.get_args()).current_dir(hosts.path("."));
        shell.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = shell.output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
            (Some(0), read),
            "{key}: {output:?}"
        );
    }
    let args = ["once", "--key", "missing", "--", "/no/such/program"];
    let output = hosts.onebell(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("/no/such/program"), "what was never begun cannot say it itself: {told:?}");
}

/// The command is gone, and its last lines are still in our hands.
async fn what_was_written_last_is_passed_on_however_late_it_is_read(hosts: Hosts) {
    // As much as the pipe to us holds, and some of what we hold besides.
    const BYTES: usize = 90_000;
    let one = hosts.begin("k", &[], &format!("echo $$ > pid; exec head -c {BYTES} /dev/zero"));
    hosts.until_lines("pid", 1).await;
    let pid: u32 = hosts.read("pid").trim().parse().unwrap();
    hosts.until("the command is gone", || !std::path::Path::new(&format!("/proc/{pid}")).exists()).await;
    let gone = std::time::Instant::now();
    hosts.until("longer than streams are drained for", || gone.elapsed() > std::time::Duration::from_secs(1)).await;
    let ended = one.end();
    assert_eq!((ended.code, ended.stdout.len()), (Some(0), BYTES));
}

async fn wrong_usage_is_our_own_and_runs_nothing(hosts: Hosts) {
    for args in [
        &["once", "--key", "k"][..],
        &["once", "--", "touch", "ran"],
        &["once", "--key", "a\nb", "--", "touch", "ran"],
        &["once", "--key", "k", "--frobnicate", "--", "touch", "ran"],
        &["once", "--key", "k", "--time-zone", "UTC", "--", "touch", "ran"],
        &["once", "--key", "k", "--lease", "1ms", "--", "touch", "ran"],
    ] {
        assert_eq!(hosts.onebell(args).output().unwrap().status.code(), Some(125), "{args:?}");
    }
    let output = hosts.onebell(&["once", "--key", "k", "--", "touch", "ran"]).env_remove("ONEBELL_DATABASE").output().unwrap();
    assert_eq!(output.status.code(), Some(125), "a database of its own would let every host run");
    assert!(String::from_utf8_lossy(&output.stderr).contains("ONEBELL_DATABASE"), "{output:?}");
    assert!(!hosts.path("ran").exists());
    let runs = hosts.typed(&["runs", "--format", "json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&runs).unwrap()["runs"],
        serde_json::json!([]),
        "no run was opened either"
    );
}

#[tokio::test]
async fn while_the_database_is_away_it_is_refused_or_run_as_one_says() {
    let hosts = Hosts::new(None).await;
    // Nobody listens there.
    let away = ["--database", "postgres://nobody@127.0.0.1:1/none"];
    let refused = hosts.once("k", &away, "echo x >> ran; exit 5");
    assert_eq!(refused.code, Some(125));
    assert!(refused.stderr.contains("--if-unavailable run"), "{}", refused.stderr);
    assert_eq!(hosts.read("ran"), "");
    let flags: Vec<&str> = away.iter().chain(&["--if-unavailable", "run"]).copied().collect();
    assert_eq!(hosts.once("k", &flags, "echo x >> ran; exit 5").code, Some(5));
    assert_eq!(hosts.read("ran"), "x\n");
}

crate::everywhere!(
    a_failure_is_everybodys_who_waited_and_is_tried_again_when_it_is_asked_for_again,
    output_and_codes_pass_through_as_if_nobody_stood_between,
    what_was_written_last_is_passed_on_however_late_it_is_read,
    wrong_usage_is_our_own_and_runs_nothing,
);
