use rustix::process::Signal;

use crate::site::{Place, Site};

/// One step at a time, three more claimed in advance. A step works until the file `go` is there.
const JOBS: &str = r#"
[replica]
concurrency = 1
prefetch = 3

[jobs.work]
timeout = "10m"
shell = true
command = '''
echo started >> started
while [ ! -e go ]; do sleep 0.02; done
echo done >> done
'''
"#;

async fn sigterm_lets_work_end_and_gives_back_at_no_cost_what_never_started(place: Place) {
    let site = Site::new(place, JOBS).await;
    let mut first = site.replica("first", &["--drain", "50s"]);
    let store = site.store().await;
    let mut runs = Vec::new();
    for n in 0..4 {
        runs.push(site.trigger(store.as_ref(), "work", &format!("k{n}")).await);
    }
    let four_claimed = async || (store.status().await.unwrap().steps["running"] == 4).then_some(());
    site.until("one runs and three are claimed in advance", four_claimed).await;
    site.until_line("started", 1).await;
    first.signal(Signal::TERM);
    let given_back = async || (store.status().await.unwrap().steps["pending"] == 3).then_some(());
    site.until("three are given back while one goes on", given_back).await;
    assert!(first.ended().is_none(), "the work in hand goes on");
    std::fs::write(site.path("go"), "").unwrap();
    let status = site.until("the drained replica ends", async || first.ended()).await;
    assert!(status.success(), "{status} {}", site.logs());
    assert_eq!(site.read("done").lines().count(), 1);
    let left = store.replicas().await.unwrap();
    assert!(left[0].left_at.is_some() && left[0].lost_at.is_none());
    let _second = site.replica("second", &[]);
    for run in &runs {
        let detail = site.until_status(store.as_ref(), run, "succeeded").await;
        assert_eq!(detail.steps[0].tries, 1, "{detail:?}");
    }
    assert_eq!(site.read("started").lines().count(), 4);
    assert!(store.recoveries(10).await.unwrap().is_empty());
}

async fn a_second_sigterm_stops_the_work_at_once_at_no_try(place: Place) {
    let site = Site::new(place, JOBS).await;
    let mut first = site.replica("first", &["--drain", "50s"]);
    let store = site.store().await;
    let run = site.trigger(store.as_ref(), "work", "k").await;
    site.until_line("started", 1).await;
    first.signal(Signal::TERM);
    let draining = async || site.read("first.log").contains("draining").then_some(());
    site.until("it drains", draining).await;
    first.signal(Signal::TERM);
    site.until("it ends", async || first.ended()).await;
    let detail = store.run(&run).await.unwrap().unwrap();
    assert_eq!((detail.steps[0].status.as_str(), detail.steps[0].tries), ("pending", 0), "{detail:?} {}", site.logs());
    assert_eq!(detail.steps[0].attempts[0].outcome, "stopped");
    assert!(!site.path("done").exists());
}

crate::everywhere!(
    sigterm_lets_work_end_and_gives_back_at_no_cost_what_never_started,
    a_second_sigterm_stops_the_work_at_once_at_no_try,
);
