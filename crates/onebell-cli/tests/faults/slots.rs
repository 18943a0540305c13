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

crate::everywhere!(i1_two_replicas_started_at_once_open_one_run_per_slot);
