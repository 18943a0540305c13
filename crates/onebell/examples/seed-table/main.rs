//! The fault table that Onebell began from, on the real engine: `cargo run --example seed-table -- [URL]`
//! (`sqlite:PATH` or `postgres://…`; by default a scratch SQLite file). Five lines, each asserted before it is printed.
//!
//! What is injected is a serialization failure inside the settling transaction (before or after the user's own write), a
//! lost answer after the commit, and the death of the worker right after the commit. The race runs for real.

mod lab;
mod race;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lab::{Fault, Lab};
use onebell::model::step::{StepStatus, Verdict};
use onebell::store::{Acted, Settled, Triggered};

type Outcome = Result<(), Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let scratch = tempfile::tempdir()?;
    let url = arguments.next().unwrap_or_else(|| format!("sqlite:{}", scratch.path().join("lab.db").display()));
    if let (Some("worker"), Some(name)) = (arguments.next().as_deref(), arguments.next()) {
        // The child of `killed_after_commit`: it dies inside `settle`.
        let lab = Lab::open(&url, &name).await?;
        lab.pay("event-1", 100, None).await?;
        return Err("the armed fault did not end this process".into());
    }
    for fault in [Fault::BeforeWrite, Fault::AfterWrite] {
        faulty_transaction(&url, fault).await?;
    }
    lost_answer(&url).await?;
    killed_after_commit(&url).await?;
    println!("after_commit: attempts=2 replay=already effect_count=1");
    exhausted_permanent_conflict(&url).await?;
    for _ in 0..2 {
        race::race(&url).await?;
    }
    println!("race: blocked_B_by_A=observed applied/already effect_count=1 sum=100");
    Ok(())
}

/// The transaction fails with a serialization failure once: it is tried twice, and a replay finds it done.
async fn faulty_transaction(url: &str, fault: Fault) -> Outcome {
    let lab = Lab::open(url, "fault").await?;
    let tries = Arc::new(AtomicU32::new(0));
    let settled = lab.pay("event-1", 100, Some((fault, Arc::clone(&tries)))).await?;
    assert!(matches!(settled, Settled::Applied { status: StepStatus::Succeeded, .. }), "{settled:?}");
    let attempts = tries.load(Ordering::SeqCst);
    assert_eq!(attempts, 2, "the transaction is tried twice");
    assert!(matches!(lab.request("event-1", 100).await?, Triggered::Already(_)));
    assert_eq!(lab.totals().await?, (1, 100));
    println!("{}: attempts={attempts} replay=already effect_count=1", fault.name());
    lab.erase().await
}

/// The answer to a committed settlement is lost: the same worker asks again under its fence.
async fn lost_answer(url: &str) -> Outcome {
    let lab = Lab::open(url, "answer").await?;
    let settlement = lab.claimed("event-1", 100, None).await?;
    let first = lab.store.settle_steps(vec![settlement.clone()]).await?;
    assert!(matches!(first[0], Settled::Applied { status: StepStatus::Succeeded, .. }), "{first:?}");
    let again = lab.store.settle_steps(vec![settlement]).await?;
    assert_eq!(again, [Settled::Already]);
    assert_eq!(lab.totals().await?, (1, 100));
    lab.erase().await
}

/// The worker is killed right after the commit: the same key requested again finds the work done.
async fn killed_after_commit(url: &str) -> Outcome {
    let lab = Lab::open(url, "killed").await?;
    let worker = std::process::Command::new(std::env::current_exe()?)
        .args([url, "worker", &lab.name])
        .env("ONEBELL_FAULT", "settle.after_commit:1:kill")
        .status()?;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&worker), Some(9), "{worker}");
    let Triggered::Already(run) = lab.request("event-1", 100).await? else {
        return Err("the key was not found again".into());
    };
    assert_eq!(lab.status(&run).await?, "succeeded");
    assert_eq!(lab.totals().await?, (1, 100));
    lab.erase().await
}

async fn exhausted_permanent_conflict(url: &str) -> Outcome {
    let lab = Lab::open(url, "budget").await?;
    let retry = || Verdict::Retry { error: "40001".to_owned(), after: None };
    let mut claims = 0;
    loop {
        let mut settlement = lab.claimed("event-1", 100, None).await?;
        claims += 1;
        settlement.verdict = retry();
        settlement.effects.clear();
        let settled = lab.store.settle_steps(vec![settlement]).await?;
        if matches!(settled[0], Settled::Applied { status: StepStatus::Exhausted, .. }) {
            break;
        }
    }
    assert_eq!(claims, 3, "three tries are spent");
    assert_eq!(lab.totals().await?, (0, 0), "nothing was applied");
    let Triggered::Already(run) = lab.request("event-1", 100).await? else {
        return Err("the exhausted run was lost".into());
    };
    assert_eq!(lab.status(&run).await?, "parked", "not lost: it waits for a budget");
    // Another amount under the same id is refused in every state, and changes nothing.
    assert!(matches!(lab.request("event-1", 999).await?, Triggered::Conflict(_)));
    assert_eq!(lab.store.retry_run(&run, &lab.actor()).await?, Acted::Done);
    assert!(matches!(lab.pay("event-1", 100, None).await?, Settled::Applied { status: StepStatus::Succeeded, .. }));
    assert!(matches!(lab.request("event-1", 999).await?, Triggered::Conflict(_)));
    let mut refused = lab.claimed("event-2", -1, None).await?;
    refused.verdict = Verdict::Failed { error: "a negative amount".to_owned() };
    refused.effects.clear();
    lab.store.settle_steps(vec![refused]).await?;
    for _ in 0..2 {
        let Triggered::Already(failed) = lab.request("event-2", -1).await? else {
            return Err("the failed run was not found again".into());
        };
        assert_eq!(lab.status(&failed).await?, "failed", "failed, and failed again on replay");
    }
    assert!(matches!(lab.request("event-2", 999).await?, Triggered::Conflict(_)));
    assert_eq!(lab.totals().await?, (1, 100));
    println!("exhausted=3 exhausted|0 permanent_failed=yes payload_conflict=refused");
    lab.erase().await
}
