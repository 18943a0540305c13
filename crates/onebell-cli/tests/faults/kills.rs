use rustix::process::Signal;

use crate::site::{Place, Process, Site, owner};

/// Attempt 1 works for a minute; a later one says whether the first one's process is still there, and ends.
const LONG: &str = r#"
[replica]
lease = "2s"

[jobs.long]
timeout = "10m"
shell = true
command = '''
if [ "$ONEBELL_ATTEMPT" = 1 ]; then
  dirname "$ONEBELL_PROGRESS" > folder
  echo $$ >> first
  while :; do echo tick >> ticks; sleep 0.05; done
fi
if kill -0 "$(cat first)" 2>/dev/null; then echo alive >> later; else echo gone >> later; fi
wc -l < ticks >> ticks_at_takeover
'''
"#;

async fn k05_01_a_killed_replicas_step_is_taken_over_and_its_child_is_gone_before(place: Place) {
    let site = Site::new(place, LONG).await;
    let replicas = [site.replica("a", &[]), site.replica("b", &[])];
    let store = site.store().await;
    let run = site.trigger(store.as_ref(), "long", "k").await;
    site.until_line("ticks", 3).await;
    let first = owner(store.as_ref(), &store.run(&run).await.unwrap().unwrap()).await;
    let victim = usize::from(replicas[0].id() != first);
    replicas[victim].signal(Signal::KILL);
    let detail = site.until_status(store.as_ref(), &run, "succeeded").await;
    assert_eq!(site.read("later"), "gone\n", "{}", site.logs());
    let folder = std::path::PathBuf::from(site.read("folder").trim());
    assert!(folder.is_absolute() && !folder.exists(), "what was private to the attempt went with it: {}", folder.display());
    let attempts = &detail.steps[0].attempts;
    let outcomes: Vec<&str> = attempts.iter().map(|attempt| attempt.outcome.as_str()).collect();
    assert_eq!(outcomes, ["lost", "succeeded"]);
    assert_ne!(attempts[0].replica, attempts[1].replica);
    let recovered = store.recoveries(10).await.unwrap();
    assert_eq!(recovered.iter().filter(|request| request.granted_at.is_some()).count(), 1, "{recovered:?}");
}

async fn k06_01_a_frozen_replica_that_wakes_changes_no_state_and_its_child_has_stopped_writing(place: Place) {
    let site = Site::new(place, LONG).await;
    let replicas = [site.replica("a", &[]), site.replica("b", &[])];
    let store = site.store().await;
    let run = site.trigger(store.as_ref(), "long", "k").await;
    site.until_line("ticks", 3).await;
    let first = owner(store.as_ref(), &store.run(&run).await.unwrap().unwrap()).await;
    let frozen = replicas.iter().find(|replica| replica.id() == first).unwrap();
    site.freeze(frozen).await;
    let before = site.until_status(store.as_ref(), &run, "succeeded").await;
    assert_eq!(site.read("later"), "gone\n", "{}", site.logs());
    frozen.signal(Signal::CONT);
    // Awake again it finds out that it was lost, and takes a new name: three replicas have been here then.
    site.until("it takes a new name", async || (store.replicas().await.unwrap().len() >= 3).then_some(())).await;
    let superseded = async || (store.status().await.unwrap().prevented.superseded >= 1).then_some(());
    site.until("its late result is refused", superseded).await;
    assert_eq!(store.run(&run).await.unwrap().unwrap(), before);
    let ticks = site.read("ticks").lines().count();
    assert_eq!(site.read("ticks_at_takeover").trim(), ticks.to_string(), "a child went on writing");
}

/// K09-01: the step kills its agent (the keeper's parent); the replica is started again each time, as a platform would.
const POISON: &str = r#"
[replica]
lease = "2s"

[jobs.poison]
retry = { attempts = 3, backoff = "1ms..1ms" }
timeout = "10m"
shell = true
command = '''
echo claimed >> claimed
kill -9 "$(awk '{print $4}' /proc/$PPID/stat)"
sleep 60
'''

[jobs.innocent]
timeout = "10m"
command = ["sh", "-c", "echo $ONEBELL_IDEMPOTENCY_KEY >> innocent"]
"#;

async fn k09_01_a_job_that_kills_its_worker_is_claimed_as_often_as_its_budget_says(place: Place) {
    let site = Site::new(place, POISON).await;
    let mut replicas: Vec<Process> = vec![site.replica("r0", &[])];
    let store = site.store().await;
    let run = site.trigger(store.as_ref(), "poison", "p").await;
    for n in 0..5 {
        site.trigger(store.as_ref(), "innocent", &format!("i{n}")).await;
    }
    let look = async || {
        if replicas.last_mut().unwrap().ended().is_some() {
            let next = site.replica(&format!("r{}", replicas.len()), &[]);
            replicas.push(next);
        }
        let detail = store.run(&run).await.unwrap().unwrap();
        (detail.run.status == "parked").then_some(detail)
    };
    let detail = site.until("the poison is exhausted", look).await;
    assert_eq!(detail.steps[0].status, "exhausted");
    assert_eq!((detail.steps[0].attempt, detail.steps[0].tries), (3, 3));
    assert_eq!(site.read("claimed").lines().count(), 3);
    let idle = async || store.is_idle().await.unwrap().then_some(());
    site.until("the others are done", idle).await;
    let done: std::collections::BTreeSet<String> = site.read("innocent").lines().map(str::to_owned).collect();
    assert_eq!(done.len(), 5, "each was done, at least once: {}", site.logs());
    assert_eq!(store.status().await.unwrap().runs["succeeded"], 5);
}

crate::everywhere!(
    k05_01_a_killed_replicas_step_is_taken_over_and_its_child_is_gone_before,
    k06_01_a_frozen_replica_that_wakes_changes_no_state_and_its_child_has_stopped_writing,
    k09_01_a_job_that_kills_its_worker_is_claimed_as_often_as_its_budget_says,
);
