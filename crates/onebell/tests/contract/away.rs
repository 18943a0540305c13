//! PostgreSQL that refuses, cuts off or lets wait: a call ends in time, says what the caller may do, and is safe to repeat.

use onebell::model::step::StepStatus;
use onebell::store::{Prevented, Settled, Settlement, StoreError, Triggered, Work};

use super::given::*;
use super::held::{Held, until};
use super::proxy::{Loses, Proxy};
use super::world::World;

contract!(postgres only:
    a_settlement_whose_connection_is_cut_is_written_once,
    i0_a_claim_whose_commit_is_lost_is_read_back,
    k10_01_a_settlement_whose_commit_or_its_answer_is_lost_is_written_once,
    k10_02_a_request_whose_commit_or_its_answer_is_lost_opens_one_run,
    i10_a_call_that_waits_too_long_for_a_lock_ends_and_is_safe_to_repeat,
    writes_refused_while_reads_answer_lose_nothing,
);

impl World {
    /// Cuts every connection of every store on this database.
    async fn cut_off(&self) {
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        self.number(cut).await;
    }
}

async fn i10_a_call_that_waits_too_long_for_a_lock_ends_and_is_safe_to_repeat(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let held = Held::by(&world, "SELECT 1 FROM {runs} FOR UPDATE").await;
    let refused = world.store.settle_steps(vec![records(&claim, vec![effect("e1", 100)])]).await;
    assert!(matches!(refused, Err(StoreError::Contended { .. } | StoreError::Unavailable { .. })), "{refused:?}");
    held.commit().await;
    assert_eq!(world.step_status(&run, "a").await, "running");
    assert_eq!(world.settle(records(&claim, vec![effect("e1", 100)])).await, applied(StepStatus::Succeeded));
}

async fn a_settlement_whose_connection_is_cut_is_written_once(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let held = Held::by(&world, "SELECT 1 FROM {runs} FOR UPDATE").await;
    let (store, done) = (world.another().await, records(&claim, vec![effect("e1", 100)]));
    let again = done.clone();
    let call = tokio::spawn(async move { store.settle_steps(vec![done]).await });
    held.until_waiting(1).await;
    // With the connection that it waits on, the lock goes too.
    world.cut_off().await;
    match call.await.unwrap() {
        Ok(answers) => assert_eq!(answers, [applied(StepStatus::Succeeded)], "it was repeated by the store"),
        Err(error) => assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}"),
    }
    // The first call of a store after a cut may find its pooled connections dead, and must see past them.
    let settled = world.settle(again).await;
    assert!(matches!(settled, Settled::Already | Settled::Applied { .. }), "{settled:?}");
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
}

async fn writes_refused_while_reads_answer_lose_nothing(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let name = world.client().await.query_one("SELECT current_database()::text", &[]).await.unwrap().get::<_, String>(0);
    world.sql(&format!("ALTER DATABASE {name} SET default_transaction_read_only = on")).await.unwrap();
    world.cut_off().await;
    let store = world.another_as_it_is().await;
    until("the server is read-only for new connections", async || {
        matches!(store.renew(&a, &Prevented::default()).await, Err(StoreError::Unavailable { .. }))
    })
    .await;
    let refused = store.settle_steps(vec![records(&claim, vec![effect("e1", 100)])]).await;
    assert!(matches!(refused, Err(StoreError::Unavailable { .. })), "{refused:?}");
    assert_eq!(store.run(&run).await.unwrap().unwrap().run.status, "running", "reads answer");
    let client = world.client().await;
    client.batch_execute("SET default_transaction_read_only = off").await.unwrap();
    client.batch_execute(&format!("ALTER DATABASE {name} RESET ALL")).await.unwrap();
    world.cut_off().await;
    assert_eq!(settle_on(&store, records(&claim, vec![effect("e1", 100)])).await, applied(StepStatus::Succeeded));
    assert!(world.renews(&a).await.is_some(), "nobody was declared lost");
}

/// The call is repeated as an agent does, until it has an answer.
async fn settled(store: &dyn onebell::store::Store, settlement: &Settlement) -> Settled {
    loop {
        match store.settle_steps(vec![settlement.clone()]).await {
            Ok(mut answers) => return answers.remove(0),
            Err(error) => assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}"),
        }
    }
}

async fn k10_01_a_settlement_whose_commit_or_its_answer_is_lost_is_written_once(world: World) {
    world.sql("CREATE TABLE balance (amount integer NOT NULL)").await.unwrap();
    world.register(&job("j", vec![step("a")])).await;
    let proxy = Proxy::before(world.url());
    let store = world.another_through(&proxy.url()).await;
    let pays = || Some(Work::Sql("INSERT INTO balance VALUES (100)".to_owned()));
    for (n, (loses, work)) in
        [(Loses::Answer, None), (Loses::Commit, None), (Loses::Answer, pays()), (Loses::Commit, pays())].into_iter().enumerate()
    {
        let run = world.trigger("j", &format!("{n}")).await;
        let claim = world.claim_one(&world.replica("a").await).await.claim;
        let done = Settlement { work, ..records(&claim, vec![effect(&format!("e{n}"), 100)]) };
        proxy.arm(loses);
        let answer = settled(&*store, &done).await;
        assert!(proxy.fired());
        assert!(
            matches!(answer, Settled::Already | Settled::Applied { status: StepStatus::Succeeded, .. }),
            "{loses:?}: {answer:?}"
        );
        assert_eq!(settled(&*store, &done).await, Settled::Already);
        let count = u64::try_from(n).unwrap() + 1;
        assert_eq!(world.store.effects_total("ledger").await.unwrap(), (count, i128::from(count) * 100));
        assert_eq!(world.step(&run, "a").await.attempts.len(), 1, "{loses:?}");
    }
    assert_eq!(world.number("SELECT sum(amount) FROM balance").await, 200);
}

async fn k10_02_a_request_whose_commit_or_its_answer_is_lost_opens_one_run(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let proxy = Proxy::before(world.url());
    let store = world.another_through(&proxy.url()).await;
    for (n, loses) in [Loses::Answer, Loses::Commit].into_iter().enumerate() {
        let ask = request("j", &format!("{n}"), None);
        proxy.arm(loses);
        let answer = loop {
            match store.trigger(&ask).await {
                Ok(answer) => break answer,
                Err(error) => assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}"),
            }
        };
        assert!(proxy.fired());
        let (Triggered::Opened(run) | Triggered::Already(run)) = answer else { panic!("{answer:?}") };
        assert_eq!(store.trigger(&ask).await.unwrap(), Triggered::Already(run));
    }
    assert_eq!(world.rows("runs", "true").await, 2);
}

async fn i0_a_claim_whose_commit_is_lost_is_read_back(world: World) {
    world.open_run(&job("j", vec![step("a"), step("b")])).await;
    let proxy = Proxy::before(world.url());
    let store = world.another_through(&proxy.url()).await;
    let a = world.replica("a").await;
    for (loses, held_before) in [(Loses::Answer, 0), (Loses::Commit, 1)] {
        proxy.arm(loses);
        let claimed = store.claim_steps(&world.asks(&a, 1)).await;
        assert!(proxy.fired());
        let held = store.held_steps(&a).await.unwrap();
        match claimed {
            Ok(answer) => assert!(answer.claimed.iter().all(|step| held.contains(step)), "what it gave it holds"),
            Err(error) => assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}"),
        }
        assert!(held.len() >= held_before);
        assert!(held.iter().all(|step| step.claim.attempt() == 1 && step.tries == 1), "one claim, one try: {held:?}");
    }
}
