use onebell::store::RunFilter;

use crate::site::{Place, Site};

/// K04-01, scaled: two replicas are started at the same instant for a slot that is due a moment later.
async fn i1_two_replicas_started_at_once_open_one_run_per_slot(place: Place) {
    for round in 0..10 {
        let at = onebell::time::host_now() + std::time::Duration::from_millis(1500);
        let jobs = format!("[jobs.bell]\nat = \"{at}\"\ncommand = [\"sh\", \"-c\", \"echo rung >> rung\"]\n");
        let site = Site::new(place, &jobs).await;
        let _replicas = [site.replica("a", &[]), site.replica("b", &[])];
        let store = site.store().await;
        let filter = RunFilter { limit: 10, ..RunFilter::default() };
        let over = async || {
            let runs = store.runs(&filter).await.unwrap();
            runs.iter().any(|run| run.status == "succeeded").then_some(runs)
        };
        let runs = site.until("the slot has run", over).await;
        assert_eq!(runs.len(), 1, "round {round}: {runs:?}");
        assert_eq!(site.read("rung"), "rung\n", "round {round}");
        assert!(store.skips(None, 10).await.unwrap().is_empty());
    }
}

/// A job every second. Its first run hangs until its replica is killed.
const EVERY_SECOND: &str = r#"
[replica]
lease = "2s"

[jobs.bell]
every = "1s"
timeout = "10m"
shell = true
command = '''
if [ ! -e hung ]; then touch hung; sleep 60; fi
'''
"#;

async fn k05_07_a_job_whose_holder_was_killed_fires_again_and_every_slot_is_accounted_for(place: Place) {
    let site = Site::new(place, EVERY_SECOND).await;
    let replicas = [site.replica("a", &[]), site.replica("b", &[])];
    let store = site.store().await;
    let filter = RunFilter { limit: 1_000, ..RunFilter::default() };
    let hung = async || site.path("hung").exists().then_some(());
    site.until("the first run hangs", hung).await;
    let skipped = async || store.skips(None, 1_000).await.unwrap().iter().any(|skip| skip.reason == "overlap").then_some(());
    site.until("a slot is skipped beside it", skipped).await;
    let first = store.runs(&filter).await.unwrap().pop().unwrap();
    let detail = store.run(&onebell::model::RunId::from_text(&first.id)).await.unwrap().unwrap();
    let holder = crate::site::owner(store.as_ref(), &detail).await;
    replicas.iter().find(|replica| replica.id() == holder).unwrap().signal(rustix::process::Signal::KILL);
    let again = async || {
        let runs = store.runs(&filter).await.unwrap();
        (runs.iter().filter(|run| run.status == "succeeded").count() >= 3).then_some(runs)
    };
    let runs = site.until("it fires again", again).await;
    let slots: Vec<i64> = runs.iter().filter_map(|run| run.scheduled_for).map(|slot| slot.micros() / 1_000_000).collect();
    let (oldest, newest) = (slots.iter().min().unwrap(), slots.iter().max().unwrap());
    let mut accounted: std::collections::BTreeSet<i64> = slots.iter().copied().collect();
    for skip in store.skips(None, 1_000).await.unwrap() {
        accounted.extend(skip.from.micros() / 1_000_000..=skip.to.micros() / 1_000_000);
    }
    assert!((*oldest..=*newest).all(|second| accounted.contains(&second)), "i11: a slot was lost: {accounted:?}");
}

crate::everywhere!(
    k05_07_a_job_whose_holder_was_killed_fires_again_and_every_slot_is_accounted_for,
    i1_two_replicas_started_at_once_open_one_run_per_slot
);
