use crate::host::Hosts;

async fn three_hosts_at_once_execute_a_key_once_and_it_is_done_for_ever(hosts: Hosts) {
    let script = "echo x >> ran; sleep 0.2";
    let all: Vec<_> = (0..3).map(|_| hosts.begin("report@1", &[], script)).collect();
    for one in all {
        assert_eq!(one.end().code, Some(0));
    }
    assert_eq!(hosts.once("report@1", &[], script).code, Some(0));
    assert_eq!(hosts.read("ran"), "x\n");
    assert_eq!(hosts.once("report@2", &[], script).code, Some(0));
    assert_eq!(hosts.read("ran"), "x\nx\n", "another key is another execution");
}

async fn a_key_stands_for_one_command(hosts: Hosts) {
    assert_eq!(hosts.once("k", &[], "echo one >> ran").code, Some(0));
    let other = hosts.once("k", &[], "echo two >> ran");
    assert_eq!(other.code, Some(125));
    assert!(other.stderr.contains("one key stands for one command"), "{}", other.stderr);
    assert_eq!(hosts.read("ran"), "one\n");
}

/// Keys run beside each other, and no invocation takes another one's work.
async fn who_is_there_for_one_key_runs_no_other(hosts: Hosts) {
    let long = hosts.begin("long", &[], "echo x >> long; while [ ! -e go ]; do sleep 0.02; done");
    hosts.until_lines("long", 1).await;
    let dead = hosts.begin("dead", &[], "echo x >> dead; while [ ! -e go ]; do sleep 0.02; done");
    hosts.until_lines("dead", 1).await;
    dead.signal(rustix::process::Signal::KILL);
    // Found lost by the one that is there for another key: it asks, grants, and leaves the step to who comes for it.
    let lost = || hosts.typed(&["recoveries", "--format", "json"]).contains("\"granted_at\": \"");
    hosts.until("the dead one's step is recovered", lost).await;
    assert_eq!(hosts.once("short", &[], "echo x >> short").code, Some(0));
    assert_eq!(hosts.read("dead").lines().count(), 1, "nobody came for it yet");
    std::fs::write(hosts.path("go"), "").unwrap();
    let again = "echo x >> dead; while [ ! -e go ]; do sleep 0.02; done";
    assert_eq!(hosts.once("dead", &[], again).code, Some(0));
    assert_eq!(hosts.read("dead").lines().count(), 2);
    assert_eq!(long.end().code, Some(0));
    assert_eq!((hosts.read("long").as_str(), hosts.read("short").as_str()), ("x\n", "x\n"));
}

async fn no_wait_leaves_what_runs_elsewhere(hosts: Hosts) {
    let script = "echo x >> ran; while [ ! -e go ]; do sleep 0.02; done";
    let first = hosts.begin("k", &[], script);
    hosts.until_lines("ran", 1).await;
    assert_eq!(hosts.once("k", &["--no-wait"], script).code, Some(0));
    std::fs::write(hosts.path("go"), "").unwrap();
    assert_eq!(first.end().code, Some(0));
    assert_eq!(hosts.read("ran"), "x\n");
}

async fn a_slot_is_part_of_the_key(hosts: Hosts) {
    let yearly = ["--slot", "0 0 1 1 *", "--time-zone", "Asia/Ho_Chi_Minh"];
    for _ in 0..2 {
        assert_eq!(hosts.once("report", &yearly, "echo x >> ran").code, Some(0));
    }
    assert_eq!(hosts.read("ran"), "x\n");
    assert_eq!(hosts.once("report", &["--slot", "0 0 1 2 *"], "echo x >> ran").code, Some(0));
    assert_eq!(hosts.read("ran"), "x\nx\n");
    let wrong = hosts.once("report", &["--slot", "61 * * * *"], "echo x >> ran");
    assert_eq!(wrong.code, Some(125));
    assert!(wrong.stderr.contains("--slot"), "{}", wrong.stderr);
}

crate::everywhere!(
    three_hosts_at_once_execute_a_key_once_and_it_is_done_for_ever,
    a_key_stands_for_one_command,
    who_is_there_for_one_key_runs_no_other,
    no_wait_leaves_what_runs_elsewhere,
    a_slot_is_part_of_the_key,
);
