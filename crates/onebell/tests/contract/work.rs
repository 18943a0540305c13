//! Statements of the user's own: first in the settling transaction, and committed with it or not at all.

use onebell::model::step::StepStatus;
use onebell::store::{Settled, Settlement, StoreError, Work};

use super::given::*;
use super::world::World;

contract!(
    a_query_of_the_users_own_reads_rows_and_changes_nothing,
    a_refused_statement_fails_its_own_step_and_leaves_nothing,
    a_statement_that_returns_rows_hands_them_to_the_next_step,
    i4_user_statements_commit_with_the_step_once,
    i5_a_conflict_takes_the_users_statements_back,
);

impl World {
    async fn balance(&self) -> i64 {
        self.number("SELECT coalesce(sum(amount), 0) FROM balance").await
    }

    /// A claimed step beside a table of the user's own that refuses negative amounts.
    async fn claimed_beside_a_table(&self) -> (onebell::model::RunId, onebell::model::Claim) {
        self.sql("CREATE TABLE balance (account text PRIMARY KEY, amount integer NOT NULL CHECK (amount >= 0))").await.unwrap();
        let run = self.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
        let claim = self.claim_one(&self.replica("a").await).await.claim;
        (run, claim)
    }
}

fn does(settlement: Settlement, statements: &str) -> Settlement {
    Settlement { work: Some(Work::Sql(statements.to_owned())), ..settlement }
}

const PAYS: &str = "INSERT INTO balance VALUES ('acct-7', 60); INSERT INTO balance VALUES ('acct-8', 40)";

async fn i4_user_statements_commit_with_the_step_once(world: World) {
    let (run, claim) = world.claimed_beside_a_table().await;
    let pays = does(records(&claim, vec![effect("paid", 100)]), PAYS);
    assert_eq!(world.settle(pays.clone()).await, applied(StepStatus::Succeeded));
    assert_eq!(world.settle(pays).await, Settled::Already, "a lost acknowledgement: not paid again");
    assert_eq!((world.balance().await, world.store.effects_total("ledger").await.unwrap()), (100, (1, 100)));
    assert_eq!(world.step_status(&run, "b").await, "pending");
}

async fn a_refused_statement_fails_its_own_step_and_leaves_nothing(world: World) {
    let (run, claim) = world.claimed_beside_a_table().await;
    world.open_run(&job("beside", vec![step("a")])).await;
    let beside = world.claim_one(&world.replica("b").await).await.claim;
    let refused = does(
        Settlement { messages: vec![mail("m")], ..records(&claim, vec![effect("paid", 100)]) },
        "INSERT INTO balance VALUES ('acct-7', 60); INSERT INTO balance VALUES ('acct-8', -40)",
    );
    let mut answers = world.store.settle_steps(vec![refused, records(&beside, vec![effect("beside", 1)])]).await.unwrap();
    assert_eq!(answers.remove(1), applied(StepStatus::Succeeded));
    let Settled::Applied { status: StepStatus::Failed, refused: Some(why), .. } = answers.remove(0) else {
        panic!("not refused")
    };
    assert!(!why.is_empty());
    assert_eq!((world.balance().await, world.rows("outbox", "true").await), (0, 0));
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 1));
    assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("failed", "failed"));
}

async fn i5_a_conflict_takes_the_users_statements_back(world: World) {
    world.open_run(&job("first", vec![step("a")])).await;
    let first = world.claim_one(&world.replica("a").await).await.claim;
    world.settle(records(&first, vec![effect("paid", 1)])).await;
    let (run, claim) = world.claimed_beside_a_table().await;
    let settled = world.settle(does(records(&claim, vec![effect("paid", 100)]), PAYS)).await;
    assert_eq!(status_of(&settled), StepStatus::Failed);
    assert_eq!((world.balance().await, world.run_status(&run).await.as_str()), (0, "failed"));
}

async fn a_statement_that_returns_rows_hands_them_to_the_next_step(world: World) {
    let (run, claim) = world.claimed_beside_a_table().await;
    let statements = format!("{PAYS}; SELECT account, amount FROM balance ORDER BY account");
    assert_eq!(status_of(&world.settle(does(succeeds(&claim), &statements)).await), StepStatus::Succeeded);
    let rows = world.store.step_rows(&run, "a").await.unwrap().expect("rows");
    // Where several statements run, PostgreSQL gives every value as text; SQLite gives numbers as numbers.
    let rows = rows.replace("\"60\"", "60").replace("\"40\"", "40");
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    assert_eq!(rows, serde_json::json!([{"account": "acct-7", "amount": 60}, {"account": "acct-8", "amount": 40}]));
}

async fn a_query_of_the_users_own_reads_rows_and_changes_nothing(world: World) {
    let (_, claim) = world.claimed_beside_a_table().await;
    world.settle(does(succeeds(&claim), PAYS)).await;
    let rows = world.store.query_rows("SELECT account, amount, NULL AS note FROM balance ORDER BY 1").await.unwrap();
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    let expected =
        serde_json::json!([{"account": "acct-7", "amount": 60, "note": null}, {"account": "acct-8", "amount": 40, "note": null}]);
    assert_eq!(rows, expected);
    for writes in
        ["DELETE FROM balance", "INSERT INTO balance VALUES ('acct-9', 1)", "DELETE FROM balance RETURNING account, amount"]
    {
        let refused = world.store.query_rows(writes).await;
        assert!(matches!(refused, Err(StoreError::Broken { .. })), "{writes}: {refused:?}");
    }
    let nonsense = world.store.query_rows("SELECT nonsense FROM balance").await;
    assert!(matches!(nonsense, Err(StoreError::Broken { .. })), "{nonsense:?}");
    assert_eq!(world.balance().await, 100);
}
