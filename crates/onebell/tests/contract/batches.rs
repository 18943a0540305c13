//! Batches: chunks of records that are applied once, whoever reads them and however often.

use onebell::model::batch::{Counts, RecordOutcome};
use onebell::model::record::{Checkpoint, Item, Position, Record, Rejection};
use onebell::model::{BatchClaim, Effect, ReplicaId};
use onebell::store::{Acted, BatchOpened, Chunk, ChunkAnswer, OpenBatch, Reader};

use super::given::*;
use super::proxy::{Loses, Proxy};
use super::world::World;

mod postgres_only {
    use super::*;

    contract!(postgres only:
        a_chunk_that_cannot_be_serialized_for_real_is_repeated_and_applied_once,
        a_chunk_that_is_never_let_through_stays_pending_and_can_be_gone_on_with,
        k10_01_a_chunk_whose_commit_or_its_answer_is_lost_is_applied_once,
        two_readers_that_deadlock_for_real_are_both_applied,
    );
}

contract!(
    a_batch_that_was_given_back_goes_on_from_its_checkpoint_and_a_finished_one_is_read_again,
    a_batch_with_other_identities_is_not_gone_on_with_unless_it_begins_anew,
    a_cancelled_batch_takes_no_chunk_until_a_person_resumes_it,
    a_chunk_that_is_repeated_counts_once,
    a_failed_record_keeps_its_identity_and_counts_in_no_total,
    a_step_reads_a_batch_under_its_own_claim_and_moves_it_on,
    every_finding_is_kept_with_its_place,
    i2_a_batch_has_one_reader_until_its_claim_lapses,
    i3_a_superseded_reader_changes_nothing,
    i4_a_chunk_is_committed_whole_or_not_at_all,
    i5_an_identity_twice_is_the_same_in_one_chunk_and_in_two,
    i5_another_payload_is_a_conflict_that_names_both_and_changes_nothing,
    i13_totals_of_a_period_are_computed_from_effects,
    one_record_that_the_users_statements_refuse_is_rejected_and_the_others_are_applied,
    statements_that_are_wrong_as_such_leave_nothing_behind,
    two_readers_with_the_same_identities_in_opposite_orders_end_without_an_error,
);

/// A record that stands `n` lines and ten times as many bytes into its source.
pub(super) fn record(n: u64, id: &str, amount: i64) -> Record {
    let payload = format!("{{\"id\":\"{id}\",\"amount\":{amount}}}");
    let effect = Effect::new(key("pay"), key(id), Some(amount), payload).unwrap();
    let Effect { key, fingerprint, amount, payload, .. } = effect;
    Record { place: Position { byte: n * 10, line: n + 1 }, key, fingerprint, amount, payload, failed: None }
}

pub(super) fn refused_by_rule(n: u64, id: &str, amount: i64) -> Record {
    Record { failed: Some("amount < 0".to_owned()), ..record(n, id, amount) }
}

pub(super) fn checkpoint(n: u64) -> Checkpoint {
    Checkpoint { position: Position { byte: n * 10, line: n + 1 }, prefix: None, header: None }
}

/// The records from `from` on, which stand in the source one after the other.
pub(super) fn chunk(from: u64, records: Vec<Record>, last: bool) -> Chunk {
    let after = checkpoint(from + records.len() as u64);
    let from = (from > 0).then(|| checkpoint(from));
    Chunk { from, items: records.into_iter().map(Item::Record).collect(), after, last, sql: None }
}

pub(super) fn opens(reader: Reader) -> OpenBatch {
    OpenBatch {
        scope: key("pay"),
        source: "/data/pay.csv".to_owned(),
        identity: "{\"id\":[\"id\"]}".to_owned(),
        settings: "{}".to_owned(),
        reader,
        timeout: seconds(30),
        restart: false,
        atomic: false,
    }
}

pub(super) fn alone(name: &str) -> Reader {
    Reader::Alone(ReplicaId::from_text(name))
}

pub(super) fn counts(applied: u64, already: u64, conflicts: u64, rejected: u64, failed: u64) -> Counts {
    Counts { applied, already, conflicts, rejected, failed }
}

impl World {
    pub(super) async fn opened(&self, open: &OpenBatch) -> (BatchClaim, Option<Checkpoint>, Counts) {
        match self.store.open_batch(open).await.unwrap() {
            BatchOpened::Opened { claim, checkpoint, counts } => (claim, checkpoint, counts),
            other => panic!("not opened: {other:?}"),
        }
    }

    pub(super) async fn applies(&self, claim: &BatchClaim, chunk: &Chunk) -> Counts {
        match self.store.apply_chunk(claim, chunk).await.unwrap() {
            ChunkAnswer::Applied(counts) => counts,
            other => panic!("not applied: {other:?}"),
        }
    }

    pub(super) async fn whole(&self, open: &OpenBatch, records: Vec<Record>) -> Counts {
        let (claim, ..) = self.opened(open).await;
        self.applies(&claim, &chunk(0, records, true)).await
    }

    pub(super) async fn paid(&self) -> (u64, String, u64) {
        let view = self.store.effects("pay", None, None).await.unwrap();
        (view.count, view.total, view.failed)
    }
}

async fn a_batch_that_was_given_back_goes_on_from_its_checkpoint_and_a_finished_one_is_read_again(world: World) {
    let (first, at, _) = world.opened(&opens(alone("a"))).await;
    assert_eq!(at, None);
    world.applies(&first, &chunk(0, vec![record(0, "E1", 100), record(1, "E2", 250)], false)).await;
    assert!(world.store.release_batch(&first).await.unwrap());
    assert!(!world.store.release_batch(&first).await.unwrap(), "only once");
    let (second, at, before) = world.opened(&opens(alone("b"))).await;
    assert_eq!((second.batch(), at, before), (first.batch(), Some(checkpoint(2)), counts(2, 0, 0, 0, 0)));
    assert_eq!(world.applies(&second, &chunk(2, vec![record(2, "E3", 75)], true)).await, counts(3, 0, 0, 0, 0));
    let (third, at, before) = world.opened(&opens(alone("c"))).await;
    assert!(third.batch() != first.batch() && at.is_none() && before == Counts::default());
    let all = vec![record(0, "E1", 100), record(1, "E2", 250), record(2, "E3", 75)];
    assert_eq!(world.applies(&third, &chunk(0, all, true)).await, counts(0, 3, 0, 0, 0));
    assert_eq!(world.paid().await, (3, "425".to_owned(), 0));
    let statuses: Vec<_> =
        world.store.batches(None, Some("pay"), 10).await.unwrap().into_iter().map(|view| view.status).collect();
    assert_eq!(statuses, ["done", "done"]);
}

async fn a_batch_with_other_identities_is_not_gone_on_with_unless_it_begins_anew(world: World) {
    let (first, ..) = world.opened(&opens(alone("a"))).await;
    world.applies(&first, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    world.store.release_batch(&first).await.unwrap();
    let other = with(opens(alone("b")), |open| open.identity = "{\"id\":[\"other\"]}".to_owned());
    let differs = world.store.open_batch(&other).await.unwrap();
    assert!(
        matches!(&differs, BatchOpened::Differs { batch, identity } if batch == first.batch() && identity.contains("[\"id\"]"))
    );
    let (anew, at, _) = world.opened(&with(other.clone(), |open| open.restart = true)).await;
    assert!(anew.batch() != first.batch() && at.is_none());
    // A slip of the pen of which nothing was read binds nobody.
    world.store.release_batch(&anew).await.unwrap();
    let (third, ..) = world.opened(&with(other, |open| open.identity = "{\"id\":[\"a third one\"]}".to_owned())).await;
    assert_ne!(third.batch(), anew.batch());
    assert_eq!(world.store.batches(Some(first.batch()), None, 1).await.unwrap()[0].status, "cancelled");
}

async fn i2_a_batch_has_one_reader_until_its_claim_lapses(world: World) {
    let (first, ..) = world.opened(&opens(alone("a"))).await;
    world.pass(seconds(20));
    world.applies(&first, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    world.pass(seconds(29));
    for restart in [false, true] {
        let busy = world.store.open_batch(&with(opens(alone("b")), |open| open.restart = restart)).await.unwrap();
        let until = world.now() + seconds(1);
        assert_eq!(busy, BatchOpened::Busy { batch: first.batch().to_owned(), by: "a".to_owned(), until }, "a chunk moved it on");
    }
    let elsewhere = with(opens(alone("b")), |open| open.scope = key("other"));
    assert_ne!(world.opened(&elsewhere).await.0.batch(), first.batch(), "another scope is another batch");
    world.pass(seconds(1));
    let (second, at, _) = world.opened(&opens(alone("b"))).await;
    assert_eq!((second.batch(), second.attempt(), at), (first.batch(), 2, Some(checkpoint(1))));
}

async fn i3_a_superseded_reader_changes_nothing(world: World) {
    let (first, ..) = world.opened(&opens(alone("a"))).await;
    world.pass(seconds(31));
    let (second, ..) = world.opened(&opens(alone("b"))).await;
    let theirs = chunk(0, vec![record(0, "E9", 900)], false);
    assert_eq!(world.store.apply_chunk(&first, &theirs).await.unwrap(), ChunkAnswer::Superseded);
    assert!(!world.store.release_batch(&first).await.unwrap());
    assert_eq!(world.paid().await.0, 0);
    world.applies(&second, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    // The same place, but its own chunk there was never committed.
    assert_eq!(world.store.apply_chunk(&first, &theirs).await.unwrap(), ChunkAnswer::Superseded);
    assert_eq!(world.paid().await, (1, "100".to_owned(), 0));
}

async fn a_chunk_that_is_repeated_counts_once(world: World) {
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let negative = refused_by_rule(1, "E2", -5);
    let first = chunk(0, vec![record(0, "E1", 100), negative], false);
    for _ in 0..2 {
        assert_eq!(world.applies(&claim, &first).await, counts(1, 0, 0, 0, 1), "an answer that was lost");
    }
    let last = chunk(2, vec![record(2, "E1", 100)], true);
    for _ in 0..2 {
        assert_eq!(world.applies(&claim, &last).await, counts(1, 1, 0, 0, 1));
    }
    assert_eq!(world.rows("rejections", "true").await, 1);
    let further = chunk(3, vec![record(3, "E4", 1)], false);
    assert_eq!(world.store.apply_chunk(&claim, &further).await.unwrap(), ChunkAnswer::Superseded, "it is done");
}

async fn i5_another_payload_is_a_conflict_that_names_both_and_changes_nothing(world: World) {
    world.whole(&opens(alone("a")), vec![record(0, "E1", 100)]).await;
    let other = record(0, "E1", 900);
    let (kept, refused) = (record(0, "E1", 100).fingerprint.to_string(), other.fingerprint.to_string());
    let (claim, ..) = world.opened(&opens(alone("b"))).await;
    assert_eq!(world.applies(&claim, &chunk(0, vec![other, record(1, "E2", 1)], true)).await, counts(1, 0, 1, 0, 0));
    let found = world.store.findings(claim.batch(), None, 10).await.unwrap();
    assert_eq!((found.len(), found[0].outcome, found[0].key.as_deref()), (1, RecordOutcome::Conflict, Some("E1")));
    let why = &found[0].reason;
    assert!(why.contains(&kept) && why.contains(&refused) && why.contains("amount") && why.contains("900"), "{why}");
    assert_eq!(world.paid().await, (2, "101".to_owned(), 0));
    // An effect that a step wrote is in the same ledger.
    let (claim, ..) = world.opened(&with(opens(alone("c")), |open| open.scope = key("ledger"))).await;
    world.open_run(&job("j", vec![step("a")])).await;
    let step_claim = world.claim_one(&world.replica("r").await).await.claim;
    world.settle(records(&step_claim, vec![effect("E1", 100)])).await;
    assert_eq!(world.applies(&claim, &chunk(0, vec![record(0, "E1", 100)], true)).await, counts(0, 0, 1, 0, 0));
}

async fn i5_an_identity_twice_is_the_same_in_one_chunk_and_in_two(world: World) {
    let all = || {
        let amounts = [("E1", 100), ("E1", 100), ("E2", 250), ("E1", 900), ("E3", -1), ("E3", -1), ("E3", 1), ("E2", 250)];
        let one = |(n, (id, amount)): (u64, (&str, i64))| match amount {
            ..0 => refused_by_rule(n, id, amount),
            _ => record(n, id, amount),
        };
        (0..).zip(amounts).map(one).collect::<Vec<Record>>()
    };
    let expected = counts(2, 2, 2, 0, 2);
    assert_eq!(world.whole(&opens(alone("a")), all()).await, expected);
    let apart = with(opens(alone("b")), |open| open.scope = key("apart"));
    let (claim, ..) = world.opened(&apart).await;
    for (n, record) in (0..).zip(all()) {
        let counted = world.applies(&claim, &chunk(n, vec![record], n == 7)).await;
        assert!(n < 7 || counted == expected, "{counted:?}");
    }
    let totals = async |scope: &str| world.store.effects(scope, None, None).await.unwrap();
    let (one, other) = (totals("pay").await, totals("apart").await);
    assert_eq!((one.count, one.total, one.failed), (other.count, other.total, other.failed));
}

async fn a_failed_record_keeps_its_identity_and_counts_in_no_total(world: World) {
    let records = || vec![record(0, "E1", 100), refused_by_rule(1, "E2", -5)];
    assert_eq!(world.whole(&opens(alone("a")), records()).await, counts(1, 0, 0, 0, 1));
    assert_eq!(world.whole(&opens(alone("a")), records()).await, counts(0, 1, 0, 0, 1), "not tried again");
    // The rule is gone, the identity stays; another payload is another matter.
    assert_eq!(world.whole(&opens(alone("a")), vec![record(0, "E2", -5), record(1, "E2", 5)]).await, counts(0, 0, 1, 0, 1));
    assert_eq!(world.whole(&opens(alone("a")), vec![record(0, "E2-corrected", 5)]).await, counts(1, 0, 0, 0, 0));
    assert_eq!(world.paid().await, (2, "105".to_owned(), 1));
    assert_eq!(world.store.effects_total("pay").await.unwrap(), (2, 105));
}

async fn every_finding_is_kept_with_its_place(world: World) {
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let place = Position { byte: 10, line: 2 };
    let rejection = Rejection { place, key: None, reason: "line 2: a field is missing".to_owned(), raw: b"x\0\xff".to_vec() };
    let mut items = chunk(0, vec![record(0, "E1", 1), record(1, "E2", 1), refused_by_rule(2, "E3", -1)], true);
    items.items[1] = Item::Rejected(rejection);
    assert_eq!(world.applies(&claim, &items).await, counts(1, 0, 0, 1, 1));
    let found = world.store.findings(claim.batch(), None, 10).await.unwrap();
    let told: Vec<_> = found.iter().map(|one| (one.line, one.byte, one.outcome, one.reason.as_str())).collect();
    let expected = [(2, 10, RecordOutcome::Rejected, "line 2: a field is missing"), (3, 20, RecordOutcome::Failed, "amount < 0")];
    assert_eq!((told.as_slice(), found[0].record.as_slice()), (expected.as_slice(), b"x\0\xff".as_slice()));
    assert_eq!(world.store.findings(claim.batch(), Some(10), 10).await.unwrap().len(), 1);
    assert_eq!(world.store.findings(claim.batch(), None, 1).await.unwrap().len(), 1);
    assert_eq!(world.rows("effects", "key = 'E2'").await, 0, "no identity is kept of what was rejected");
}

async fn i13_totals_of_a_period_are_computed_from_effects(world: World) {
    let noon = world.now();
    world.whole(&opens(alone("a")), vec![record(0, "E1", i64::MAX), record(1, "E2", i64::MAX)]).await;
    world.pass(seconds(60));
    world.whole(&opens(alone("a")), vec![record(0, "E3", -7)]).await;
    let sum = async |since, until| {
        let view = world.store.effects("pay", since, until).await.unwrap();
        (view.count, view.total)
    };
    assert_eq!(sum(None, None).await, (3, "18446744073709551607".to_owned()));
    assert_eq!(sum(Some(noon + seconds(1)), None).await, (1, "-7".to_owned()));
    assert_eq!(sum(None, Some(noon + seconds(60))).await, (2, "18446744073709551614".to_owned()));
    assert_eq!(sum(Some(noon + seconds(61)), None).await, (0, "0".to_owned()));
}

async fn a_cancelled_batch_takes_no_chunk_until_a_person_resumes_it(world: World) {
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    world.applies(&claim, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    let batch = claim.batch();
    assert!(matches!(world.store.resume_batch(batch, &actor()).await.unwrap(), Acted::NotNow(_)));
    assert_eq!(world.store.cancel_batch(batch, &actor()).await.unwrap(), Acted::Done);
    assert!(matches!(world.store.cancel_batch(batch, &actor()).await.unwrap(), Acted::NotNow(_)));
    assert_eq!(world.store.cancel_batch("none", &actor()).await.unwrap(), Acted::NotFound);
    let next = chunk(1, vec![record(1, "E2", 250)], false);
    assert_eq!(world.store.apply_chunk(&claim, &next).await.unwrap(), ChunkAnswer::Superseded);
    assert_eq!(world.store.resume_batch(batch, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.store.apply_chunk(&claim, &next).await.unwrap(), ChunkAnswer::Superseded, "to be taken up first");
    let (again, at, _) = world.opened(&opens(alone("b"))).await;
    assert_eq!((again.batch(), at), (batch, Some(checkpoint(1))));
    world.applies(&again, &chunk(1, vec![record(1, "E2", 250)], true)).await;
    assert_eq!(world.rows("audit_log", "action IN ('cancel-batch', 'resume-batch')").await, 2);
    // One that a newer one followed stays closed.
    let (newer, ..) = world.opened(&opens(alone("c"))).await;
    world.store.cancel_batch(newer.batch(), &actor()).await.unwrap();
    world.opened(&opens(alone("c"))).await;
    assert!(matches!(world.store.resume_batch(newer.batch(), &actor()).await.unwrap(), Acted::NotNow(_)));
}

async fn a_step_reads_a_batch_under_its_own_claim_and_moves_it_on(world: World) {
    world.open_run(&job("j", vec![with(step("a"), |step| step.timeout = seconds(30))])).await;
    let a = world.replica("a").await;
    let held = world.claim_one(&a).await.claim;
    let (claim, ..) = world.opened(&opens(Reader::Step(held.clone()))).await;
    world.pass(seconds(20));
    world.applies(&claim, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    world.pass(seconds(20));
    world.applies(&claim, &chunk(1, vec![record(1, "E2", 250)], false)).await;
    let busy = world.store.open_batch(&opens(alone("hand"))).await.unwrap();
    assert!(matches!(busy, BatchOpened::Busy { .. }), "a step and a command line exclude each other: {busy:?}");
    // The step is given to another attempt: nothing of the first one counts any more, though its batch still runs.
    world.settle(gives_back(&held)).await;
    let next = chunk(2, vec![record(2, "E3", 75)], true);
    assert_eq!(world.store.apply_chunk(&claim, &next).await.unwrap(), ChunkAnswer::Superseded);
    assert_eq!(world.store.open_batch(&opens(Reader::Step(held))).await.unwrap(), BatchOpened::Superseded);
    let held = world.claim_one(&a).await.claim;
    let (claim, at, _) = world.opened(&opens(Reader::Step(held.clone()))).await;
    assert_eq!(at, Some(checkpoint(2)), "its own earlier attempt is not waited for");
    assert_eq!(world.applies(&claim, &next).await, counts(3, 0, 0, 0, 0));
    let again = world.store.open_batch(&opens(Reader::Step(held.clone()))).await.unwrap();
    assert_eq!(again, BatchOpened::Finished { batch: claim.batch().to_owned(), counts: counts(3, 0, 0, 0, 0) });
    assert_eq!(world.rows("effects", &format!("step_id = '{}'", held.step())).await, 3);
}

/// A table of the user's own that refuses negative amounts, and what puts a chunk into it.
pub(super) async fn accounts(world: &World) {
    let table = "CREATE TABLE payments (id text PRIMARY KEY, amount bigint NOT NULL CHECK (amount >= 0))";
    world.sql(table).await.unwrap();
}

pub(super) const PUTS: &str = "INSERT INTO payments (id, amount) SELECT key, amount FROM chunk";

pub(super) fn with_sql(mut chunk: Chunk, sql: &str) -> Chunk {
    chunk.sql = Some(sql.to_owned());
    chunk
}

async fn one_record_that_the_users_statements_refuse_is_rejected_and_the_others_are_applied(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let amount = |n: u64| if n == 617 { -1 } else { 1 };
    let mut records: Vec<Record> = (0..1_000).map(|n| record(n, &format!("E{n}"), amount(n))).collect();
    // The refused one again, the same and corrected; and one that the rule keeps from the statements.
    records.push(record(1_000, "E617", -1));
    records.push(record(1_001, "E617", 1));
    records.push(refused_by_rule(1_002, "F", -9));
    let all = with_sql(chunk(0, records, false), PUTS);
    assert_eq!(world.applies(&claim, &all).await, counts(1_000, 0, 0, 2, 1));
    assert_eq!(world.number("SELECT count(*) FROM payments").await, 1_000);
    assert_eq!(world.number("SELECT CAST(sum(amount) AS bigint) FROM payments").await, 1_000);
    assert_eq!(world.paid().await, (1_000, "1000".to_owned(), 1));
    let found = world.store.findings(claim.batch(), None, 10).await.unwrap();
    let lines: Vec<_> = found.iter().map(|one| (one.line, one.outcome)).collect();
    let rejected = RecordOutcome::Rejected;
    assert_eq!(lines, [(618, rejected), (1_001, rejected), (1_003, RecordOutcome::Failed)]);
    assert!(found[0].reason.to_lowercase().contains("check"), "{}", found[0].reason);
    // Over what is there already the statements do not run.
    let again = with_sql(chunk(1_003, vec![record(1_003, "E1", 1), record(1_004, "N", 3)], true), PUTS);
    assert_eq!(world.applies(&claim, &again).await, counts(1_001, 1, 0, 2, 1));
    assert_eq!(world.number("SELECT count(*) FROM payments").await, 1_001);
}

async fn statements_that_are_wrong_as_such_leave_nothing_behind(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let wrong = [
        "INSERT INTO no_such_table SELECT key FROM chunk",
        "INSERT INTO payments SELECT key, amount FROM chunk; COMMIT",
        "INSERT INTO payments SELEKT",
    ];
    for (n, text) in wrong.into_iter().enumerate() {
        let chunk = with_sql(chunk(0, vec![record(0, &format!("W{n}"), 1)], true), text);
        match world.store.apply_chunk(&claim, &chunk).await {
            Ok(ChunkAnswer::Refused(why)) => assert!(!why.is_empty()),
            Err(error) => assert!(text.contains("COMMIT"), "{text}: {error:?}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    // PostgreSQL has carried out a COMMIT among the statements before anybody could refuse it.
    let kept = i64::from(world.is_postgres());
    assert_eq!(world.number("SELECT count(*) FROM payments").await, kept);
    let good = with_sql(chunk(0, vec![record(0, "E2", 1)], true), PUTS);
    assert_eq!(world.applies(&claim, &good).await.applied, 1);
}

async fn i4_a_chunk_is_committed_whole_or_not_at_all(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    // The last statement of the transaction is refused by the database.
    let bytes = if world.is_postgres() { "''" } else { "x''" };
    let in_the_way = "INSERT INTO {rejections} (batch_id, byte, line, outcome, reason, record, recorded_at) \
                      SELECT batch_id, 10, 2, 'rejected', 'in the way', BYTES, created_at FROM {batches}";
    world.sql(&in_the_way.replace("BYTES", bytes)).await.unwrap();
    let records = vec![record(0, "E1", 1), refused_by_rule(1, "E2", -1)];
    let answer = world.store.apply_chunk(&claim, &with_sql(chunk(0, records, true), PUTS)).await;
    assert!(!matches!(answer, Ok(ChunkAnswer::Applied(_))), "{answer:?}");
    assert_eq!(world.paid().await, (0, "0".to_owned(), 0));
    assert_eq!(world.number("SELECT count(*) FROM payments").await, 0);
    let view = world.store.batches(Some(claim.batch()), None, 1).await.unwrap().remove(0);
    assert_eq!((view.status.as_str(), view.counts, view.checkpoint), ("running", Counts::default(), None));
}

async fn two_readers_with_the_same_identities_in_opposite_orders_end_without_an_error(world: World) {
    const CHUNKS: u64 = 10;
    const EACH: u64 = 50;
    accounts(&world).await;
    let mut readers = tokio::task::JoinSet::new();
    for (n, store) in (0..).zip(world.others(2).await) {
        let open = with(opens(alone(&format!("r{n}"))), |open| open.source = format!("file {n}"));
        let BatchOpened::Opened { claim, .. } = store.open_batch(&open).await.unwrap() else { panic!("not opened") };
        readers.spawn(async move {
            let mut counted = Counts::default();
            for part in 0..CHUNKS {
                let ids = (part * EACH..(part + 1) * EACH).map(|place| if n == 0 { place } else { CHUNKS * EACH - 1 - place });
                let records = (part * EACH..).zip(ids).map(|(place, id)| record(place, &format!("E{id:04}"), 1)).collect();
                let chunk = with_sql(chunk(part * EACH, records, part + 1 == CHUNKS), PUTS);
                let ChunkAnswer::Applied(counts) = store.apply_chunk(&claim, &chunk).await.unwrap() else { panic!("lost") };
                counted = counts;
            }
            counted
        });
    }
    let counted = readers.join_all().await;
    let all = counted[0].plus(counted[1]);
    assert_eq!(all, counts(CHUNKS * EACH, CHUNKS * EACH, 0, 0, 0));
    assert_eq!(world.number("SELECT count(*) FROM payments").await, i64::try_from(CHUNKS * EACH).unwrap());
}

pub(super) async fn applied_in_the_end(store: &dyn onebell::store::Store, claim: &BatchClaim, chunk: &Chunk) -> Counts {
    for _ in 0..20 {
        match store.apply_chunk(claim, chunk).await {
            Ok(ChunkAnswer::Applied(counts)) => return counts,
            Err(error) if error.is_passing() => {}
            other => panic!("not applied: {other:?}"),
        }
    }
    panic!("never applied")
}

async fn k10_01_a_chunk_whose_commit_or_its_answer_is_lost_is_applied_once(world: World) {
    accounts(&world).await;
    let proxy = Proxy::before(world.url());
    let store = world.another_through(&proxy.url()).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let kinds = [(Loses::Answer, false), (Loses::Commit, false), (Loses::Answer, true), (Loses::Commit, true)];
    for (n, (loses, sql)) in (0..).zip(kinds) {
        let next = chunk(n, vec![record(n, &format!("E{n}"), 100)], n == 3);
        let next = if sql { with_sql(next, PUTS) } else { next };
        proxy.arm(loses);
        let counted = applied_in_the_end(&*store, &claim, &next).await;
        assert!(proxy.fired(), "{loses:?}");
        assert_eq!(counted, counts(n + 1, 0, 0, 0, 0), "{loses:?}: counted once, and as new");
        assert_eq!(world.paid().await, (n + 1, ((n + 1) * 100).to_string(), 0));
    }
    assert_eq!(world.number("SELECT CAST(sum(amount) AS bigint) FROM payments").await, 200);
}

async fn two_readers_that_deadlock_for_real_are_both_applied(world: World) {
    world.sql("CREATE TABLE accounts (id text PRIMARY KEY, n bigint NOT NULL)").await.unwrap();
    world.sql("INSERT INTO accounts VALUES ('a', 0), ('b', 0)").await.unwrap();
    let adds = |id: &str| format!("UPDATE accounts SET n = n + (SELECT sum(amount) FROM chunk) WHERE id = '{id}'");
    let mut readers = tokio::task::JoinSet::new();
    for (n, ids) in [["a", "b"], ["b", "a"]].into_iter().enumerate() {
        let store = world.another().await;
        let open = with(opens(alone(&format!("r{n}"))), |open| open.source = format!("file {n}"));
        let BatchOpened::Opened { claim, .. } = store.open_batch(&open).await.unwrap() else { panic!("not opened") };
        // Each holds its first row until the other holds its own, or has come through: no order can save them.
        let barrier = format!(
            "SELECT pg_advisory_xact_lock({n}); DO $$ BEGIN FOR i IN 1..100 LOOP \
             EXIT WHEN EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = {} AND granted \
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())); \
             PERFORM pg_sleep(0.01); END LOOP; END $$",
            1 - n
        );
        let text = format!("{}; {barrier}; {}", adds(ids[0]), adds(ids[1]));
        let chunk = with_sql(chunk(0, vec![record(0, &format!("E{n}"), 10)], true), &text);
        readers.spawn(async move { applied_in_the_end(&*store, &claim, &chunk).await });
    }
    for counted in readers.join_all().await {
        assert_eq!(counted, counts(1, 0, 0, 0, 0));
    }
    assert_eq!(world.number("SELECT CAST(sum(n) AS bigint) FROM accounts").await, 40, "each added to both, once");
    let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    super::held::until("the server has counted the deadlock", async || world.number(deadlocks).await > 0).await;
}

async fn a_chunk_that_is_never_let_through_stays_pending_and_can_be_gone_on_with(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    for code in ["40001", "40P01"] {
        let fails = format!("DO $$ BEGIN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '{code}'; END $$");
        let chunk = with_sql(chunk(0, vec![record(0, "E1", 1)], true), &fails);
        let answer = world.store.apply_chunk(&claim, &chunk).await;
        assert!(matches!(answer, Err(onebell::store::StoreError::Contended { .. })), "bounded: {answer:?}");
    }
    let view = world.store.batches(Some(claim.batch()), None, 1).await.unwrap().remove(0);
    assert_eq!((view.counts, view.checkpoint), (Counts::default(), None));
    let good = with_sql(chunk(0, vec![record(0, "E1", 1)], true), PUTS);
    assert_eq!(world.applies(&claim, &good).await, counts(1, 0, 0, 0, 0));
}

/// The one 40001 that the server itself raises between transactions as ours: the row that one waits for moves to another partition.
async fn a_chunk_that_cannot_be_serialized_for_real_is_repeated_and_applied_once(world: World) {
    world.sql("CREATE TABLE accounts (id text, region int, n bigint NOT NULL) PARTITION BY LIST (region)").await.unwrap();
    world.sql("CREATE TABLE north PARTITION OF accounts FOR VALUES IN (1)").await.unwrap();
    world.sql("CREATE TABLE south PARTITION OF accounts FOR VALUES IN (2)").await.unwrap();
    world.sql("INSERT INTO accounts VALUES ('a', 1, 0)").await.unwrap();
    let proxy = onebell_testkit::Proxy::before_url(world.url());
    let name = world.url().rsplit('/').next().and_then(|name| name.split('?').next()).unwrap();
    let store = world.another_through(&proxy.url(name)).await;
    let (claim, ..) = world.opened(&opens(alone("a"))).await;
    let held = super::held::Held::by(&world, "UPDATE accounts SET region = 2 WHERE id = 'a'").await;
    let adds = "UPDATE accounts SET n = n + (SELECT sum(amount) FROM chunk) WHERE id = 'a'";
    let chunk = with_sql(chunk(0, vec![record(0, "E1", 100)], true), adds);
    let applies = tokio::spawn(async move { applied_in_the_end(&*store, &claim, &chunk).await });
    held.until_waiting(1).await;
    held.commit().await;
    assert_eq!(applies.await.unwrap(), counts(1, 0, 0, 0, 0));
    assert!(proxy.refusals("40001") > 0, "the server said so");
    assert_eq!(world.number("SELECT CAST(sum(n) AS bigint) FROM accounts").await, 100);
    assert_eq!(world.paid().await, (1, "100".to_owned(), 0));
}
