//! Batches that are all or nothing.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Context, Handler, Outcome, Page, PageLimit, Source, SourceError, StopReason, Stopper, Vouch};
use onebell::model::batch::{Counts, RecordOutcome};
use onebell::model::record::{Checkpoint, Item, Record, Rejection};
use onebell::replica::batch::{Batch, BatchHandler};
use onebell::roles::loader::{Begun, LoadError, Loader};
use onebell::store::{Acted, ChunkAnswer, OpenBatch};
use onebell::time::SystemTimer;
use tokio::sync::watch;

use super::batches::*;
use super::given::*;
use super::proxy::{Loses, Proxy};
use super::world::World;

mod postgres_only {
    use super::super::held::Held;
    use super::*;

    contract!(postgres only:
        a_move_whose_commit_or_its_answer_is_lost_happens_once,
        a_move_that_takes_longer_than_the_claim_is_refused_and_leaves_nothing,
        i3_the_move_locks_its_batch_last_and_whoever_lost_it_meanwhile_moves_nothing,
    );

    async fn a_move_whose_commit_or_its_answer_is_lost_happens_once(world: World) {
        accounts(&world).await;
        let proxy = Proxy::before(world.url());
        let store = world.another_through(&proxy.url()).await;
        for (n, loses) in (0..).zip([Loses::Answer, Loses::Commit]) {
            let (claim, ..) = world.opened(&whole(alone("a"))).await;
            let id = |m: u64| format!("E{n}.{m}");
            world.applies(&claim, &with_sql(chunk(0, vec![record(0, &id(0), 100)], false), PUTS)).await;
            let last = with_sql(chunk(1, vec![record(1, &id(1), 100)], true), PUTS);
            proxy.arm(loses);
            assert_eq!(applied_in_the_end(&*store, &claim, &last).await, counts(2, 0, 0, 0, 0), "{loses:?}");
            assert!(proxy.fired(), "{loses:?}");
            assert_eq!(world.paid().await.0, 2 * (n + 1));
        }
        assert_eq!(world.number("SELECT CAST(sum(amount) AS bigint) FROM payments").await, 400);
    }

    async fn a_move_that_takes_longer_than_the_claim_is_refused_and_leaves_nothing(world: World) {
        let open = with(whole(alone("a")), |open| open.timeout = Duration::from_millis(200));
        let (claim, ..) = world.opened(&open).await;
        let row = "INSERT INTO {effects} (scope, key, fingerprint, payload, created_at) VALUES ('pay', 'E2', 'f', '{}', now())";
        let held = Held::by(&world, row).await;
        let last = chunk(0, vec![record(0, "E1", 100), record(1, "E2", 250)], true);
        let ChunkAnswer::Refused(why) = world.store.apply_chunk(&claim, &last).await.unwrap() else { panic!("moved") };
        assert!(why.contains("longer timeout"), "{why}");
        held.roll_back().await;
        assert_eq!(world.applies(&claim, &last).await, counts(2, 0, 0, 0, 0));
    }

    async fn i3_the_move_locks_its_batch_last_and_whoever_lost_it_meanwhile_moves_nothing(world: World) {
        let (first, ..) = world.opened(&whole(alone("a"))).await;
        world.applies(&first, &chunk(0, vec![record(0, "E1", 100)], false)).await;
        // Somebody has just written one of the identities, and nobody knows yet whether it stays.
        let row = "INSERT INTO {effects} (scope, key, fingerprint, payload, created_at) VALUES ('pay', 'E2', 'f', '{}', now())";
        let held = Held::by(&world, row).await;
        let (store, claim) = (Arc::clone(&world.store), first.clone());
        let last = chunk(1, vec![record(1, "E2", 250)], true);
        let moves = tokio::spawn({
            let last = last.clone();
            async move { store.apply_chunk(&claim, &last).await }
        });
        held.until_waiting(1).await;
        // The claim lapses while it moves, and somebody else comes: nothing stands in their way.
        world.pass(seconds(31));
        let (second, at, _) = world.opened(&whole(alone("b"))).await;
        assert_eq!((second.batch(), second.attempt(), at), (first.batch(), 2, Some(checkpoint(1))));
        held.roll_back().await;
        assert_eq!(moves.await.unwrap().unwrap(), ChunkAnswer::Superseded);
        assert_eq!(world.paid().await.0, 0, "what it had moved is undone");
        assert_eq!(world.applies(&second, &last).await, counts(2, 0, 0, 0, 0));
    }
}

contract!(
    a_cancelled_whole_is_applied_anew_and_never_gone_on_with,
    a_record_that_the_users_statements_refuse_refuses_the_whole,
    a_service_reads_a_source_in_a_step_stops_and_goes_on_where_it_was,
    a_source_with_a_rejected_record_is_withheld_and_so_many_as_are_allowed_may_be_missing,
    i3_a_superseded_reader_moves_nothing,
    i4_nothing_of_a_whole_is_there_before_its_last_chunk_and_all_of_it_after,
    i5_a_conflict_withholds_the_whole_and_names_itself,
    i5_a_whole_ends_as_its_chunks_would_have,
    statements_that_take_longer_than_the_claim_are_refused_and_leave_nothing,
    what_was_put_aside_is_swept_when_its_batch_is_over,
);

fn whole(reader: onebell::store::Reader) -> OpenBatch {
    with(opens(reader), |open| open.atomic = true)
}

/// How many records wait.
async fn waiting(world: &World) -> i64 {
    world.rows("staged", "true").await
}

async fn i4_nothing_of_a_whole_is_there_before_its_last_chunk_and_all_of_it_after(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&whole(alone("a"))).await;
    let first = with_sql(chunk(0, vec![record(0, "E1", 100), refused_by_rule(1, "E2", -5)], false), PUTS);
    for _ in 0..2 {
        assert_eq!(world.applies(&claim, &first).await, Counts::default(), "an answer that was lost");
    }
    assert_eq!((world.paid().await.0, world.rows("effects", "true").await, waiting(&world).await), (0, 0, 2));
    assert_eq!(world.number("SELECT count(*) FROM payments").await, 0);
    // The process dies, another one goes on.
    world.store.release_batch(&claim).await.unwrap();
    let (claim, at, _) = world.opened(&whole(alone("b"))).await;
    assert_eq!(at, Some(checkpoint(2)));
    let last = with_sql(chunk(2, vec![record(2, "E1", 100), record(3, "E3", 7)], true), PUTS);
    for _ in 0..2 {
        assert_eq!(world.applies(&claim, &last).await, counts(2, 1, 0, 0, 1), "an answer that was lost");
    }
    assert_eq!(world.paid().await, (2, "107".to_owned(), 1));
    assert_eq!(world.number("SELECT CAST(sum(amount) AS bigint) FROM payments").await, 107);
    let found = world.store.findings(claim.batch(), None, 10).await.unwrap();
    let told: Vec<_> = found.iter().map(|one| (one.line, one.outcome, one.reason.as_str())).collect();
    assert_eq!(told, [(2, RecordOutcome::Failed, "amount < 0")]);
    assert_eq!(found[0].record, record(1, "E2", -5).payload.into_bytes());
}

async fn i5_a_conflict_withholds_the_whole_and_names_itself(world: World) {
    world.whole(&with(opens(alone("a")), |open| open.source = "before".to_owned()), vec![record(0, "E2", 250)]).await;
    let (claim, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&claim, &chunk(0, vec![record(0, "E1", 100), record(1, "E2", 900)], false)).await;
    // One conflict with what is there, and one inside the source itself.
    let last = chunk(2, vec![record(2, "E1", 101), record(3, "E3", 1)], true);
    let answer = world.store.apply_chunk(&claim, &last).await.unwrap();
    let ChunkAnswer::Withheld { conflicts: 2, findings } = answer else { panic!("{answer:?}") };
    assert_eq!(findings.iter().map(|one| one.place.line).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(world.paid().await, (1, "250".to_owned(), 0));
    for _ in 0..2 {
        assert!(world.store.withhold_batch(&claim, 2, &findings).await.unwrap(), "again, when the answer was lost");
    }
    let view = world.store.batches(Some(claim.batch()), None, 1).await.unwrap().remove(0);
    assert_eq!((view.status.as_str(), view.atomic, view.counts), ("cancelled", true, counts(0, 0, 2, 0, 0)));
    let found = world.store.findings(claim.batch(), None, 10).await.unwrap();
    assert!(found[0].reason.contains("900") && found[0].reason.contains("250"), "{}", found[0].reason);
    assert_eq!(world.store.apply_chunk(&claim, &last).await.unwrap(), ChunkAnswer::Superseded);
    // Corrected, it is another reading.
    let (anew, at, _) = world.opened(&whole(alone("a"))).await;
    assert_eq!((anew.batch() != claim.batch(), at), (true, None));
    assert_eq!(
        world.applies(&anew, &chunk(0, vec![record(0, "E1", 100), record(1, "E2", 250)], true)).await,
        counts(1, 1, 0, 0, 0)
    );
}

async fn i3_a_superseded_reader_moves_nothing(world: World) {
    let (first, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&first, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    world.pass(seconds(31));
    let (second, at, _) = world.opened(&whole(alone("b"))).await;
    assert_eq!(at, Some(checkpoint(1)));
    for last in [false, true] {
        let theirs = chunk(1, vec![record(1, "E9", 900)], last);
        assert_eq!(world.store.apply_chunk(&first, &theirs).await.unwrap(), ChunkAnswer::Superseded);
    }
    assert!(!world.store.withhold_batch(&first, 1, &[]).await.unwrap());
    assert_eq!((world.paid().await.0, waiting(&world).await), (0, 1));
    assert_eq!(world.applies(&second, &chunk(1, vec![record(1, "E2", 250)], true)).await, counts(2, 0, 0, 0, 0));
    assert_eq!(world.paid().await, (2, "350".to_owned(), 0));
}

async fn a_record_that_the_users_statements_refuse_refuses_the_whole(world: World) {
    accounts(&world).await;
    let (claim, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&claim, &with_sql(chunk(0, vec![record(0, "E1", 100), record(1, "E2", -1)], false), PUTS)).await;
    let last = with_sql(chunk(2, vec![record(2, "E3", 1)], true), PUTS);
    let answer = world.store.apply_chunk(&claim, &last).await.unwrap();
    let ChunkAnswer::Refused(why) = answer else { panic!("{answer:?}") };
    assert!(why.to_lowercase().contains("check"), "{why}");
    assert_eq!((world.paid().await.0, world.number("SELECT count(*) FROM payments").await), (0, 0));
    // The statements are mended: the batch goes on.
    let takes_all = PUTS.replace("FROM chunk", "FROM chunk WHERE amount >= 0");
    assert_eq!(world.applies(&claim, &with_sql(last, &takes_all)).await, counts(3, 0, 0, 0, 0));
    assert_eq!(world.number("SELECT CAST(sum(amount) AS bigint) FROM payments").await, 101);
}

async fn a_cancelled_whole_is_applied_anew_and_never_gone_on_with(world: World) {
    let (claim, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&claim, &chunk(0, vec![record(0, "E1", 100)], false)).await;
    assert_eq!(world.store.cancel_batch(claim.batch(), &actor()).await.unwrap(), Acted::Done);
    let Acted::NotNow(why) = world.store.resume_batch(claim.batch(), &actor()).await.unwrap() else { panic!("resumed") };
    assert!(why.contains("anew"), "{why}");
    let (anew, at, _) = world.opened(&whole(alone("a"))).await;
    assert_eq!((anew.batch() != claim.batch(), at), (true, None));
    assert_eq!(world.applies(&anew, &chunk(0, vec![record(0, "E1", 100)], true)).await, counts(1, 0, 0, 0, 0));
}

async fn what_was_put_aside_is_swept_when_its_batch_is_over(world: World) {
    let (claim, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&claim, &chunk(0, vec![record(0, "E1", 1), record(1, "E2", 1)], false)).await;
    assert!(!world.store.sweep_batch(claim.batch()).await.unwrap());
    assert_eq!(waiting(&world).await, 2, "not before it is over");
    world.applies(&claim, &chunk(2, vec![record(2, "E3", 1)], true)).await;
    assert_eq!(waiting(&world).await, 3);
    assert!(!world.store.sweep_batch(claim.batch()).await.unwrap(), "nothing more");
    assert_eq!((waiting(&world).await, world.paid().await.0), (0, 3));
    // What one left behind that was given up, the next one of its source takes along.
    let (given_up, ..) = world.opened(&whole(alone("a"))).await;
    world.applies(&given_up, &chunk(0, vec![record(0, "E1", 1), record(1, "E9", 1)], false)).await;
    let (anew, ..) = world.opened(&with(whole(alone("a")), |open| open.restart = true)).await;
    world.applies(&anew, &chunk(0, vec![record(0, "E1", 1)], false)).await;
    assert!(!world.store.sweep_batch(anew.batch()).await.unwrap());
    assert_eq!(waiting(&world).await, 1, "its own, for it is not over");
}

/// Identities that come twice, alike and not; of records that the rule refuses, too; beside what was there. Without conflicts, if
/// those are not wanted.
fn mixed(seed: u64, conflicts: bool) -> Vec<Record> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let one = |n: u64| {
        let id = draw(12);
        let amount = if conflicts && draw(6) == 0 { 7 } else { i64::try_from(id).unwrap() * 10 - 30 };
        let record = record(n, &format!("E{id:02}"), amount);
        Record { failed: (amount < 0).then(|| "amount < 0".to_owned()), ..record }
    };
    (0..20).map(one).collect()
}

async fn i5_a_whole_ends_as_its_chunks_would_have(world: World) {
    for seed in 1..=15 {
        let scope = |name: &str| key(&format!("{name}{seed}"));
        let (in_chunks, in_one) =
            (with(opens(alone("a")), |open| open.scope = scope("c")), with(whole(alone("a")), |open| open.scope = scope("w")));
        for open in [&in_chunks, &in_one] {
            let before = with(open.clone(), |open| (open.atomic, open.source) = (false, "before".to_owned()));
            world.whole(&before, vec![record(0, "E03", 0), record(1, "E01", -20), record(2, "E11", 80)]).await;
        }
        let records = mixed(seed, false);
        let (claim, ..) = world.opened(&in_chunks).await;
        let mut told = Counts::default();
        for (n, record) in (0..).zip(records.clone()) {
            told = world.applies(&claim, &chunk(n, vec![record], n == 19)).await;
        }
        let expected = world.store.findings(claim.batch(), None, 100).await.unwrap();
        let (claim, ..) = world.opened(&in_one).await;
        for (n, part) in (0..).zip(records.chunks(5)) {
            let counted = world.applies(&claim, &chunk(n * 5, part.to_vec(), n == 3)).await;
            assert!(n < 3 || counted == told, "seed {seed}: {counted:?} and {told:?}");
        }
        assert_eq!(world.store.findings(claim.batch(), None, 100).await.unwrap(), expected, "seed {seed}");
        let total = async |name: &str| {
            let view = world.store.effects(scope(name).as_str(), None, None).await.unwrap();
            (view.count, view.total, view.failed)
        };
        assert_eq!(total("c").await, total("w").await, "seed {seed}");
        // With a conflict nothing is applied, and as many are told as the chunks would have told.
        let records = mixed(seed, true);
        let anew = with(in_chunks.clone(), |open| open.scope = scope("C"));
        let (claim, ..) = world.opened(&anew).await;
        let told = world.applies(&claim, &chunk(0, records.clone(), true)).await;
        let (claim, ..) = world.opened(&with(in_one.clone(), |open| open.scope = scope("W"))).await;
        match world.store.apply_chunk(&claim, &chunk(0, records, true)).await.unwrap() {
            ChunkAnswer::Withheld { conflicts, findings } => {
                assert_eq!((conflicts, findings.len() as u64), (told.conflicts, told.conflicts), "seed {seed}");
            }
            ChunkAnswer::Applied(counted) => assert_eq!((counted, told.conflicts), (told, 0), "seed {seed}"),
            other => panic!("seed {seed}: {other:?}"),
        }
    }
}

/// A source in memory.
struct Items(Vec<Item>, u64);

#[async_trait]
impl Source for Items {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        self.1 = from.map_or(0, |from| from.position.byte / 10);
        Ok(())
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        let from = usize::try_from(self.1).unwrap();
        let items: Vec<Item> = self.0.iter().skip(from).take(limit.items).cloned().collect();
        self.1 += items.len() as u64;
        Ok(Page { items, after: checkpoint(self.1), last: self.1 == self.0.len() as u64 })
    }
}

async fn read(world: &World, items: &[Item], pages: usize, rejected_max: Option<u64>) -> Result<Counts, LoadError> {
    let limit = PageLimit { items: pages, bytes: 1_000 };
    let (store, timer) = (Arc::clone(&world.store) as Arc<dyn onebell::store::BatchStore>, Arc::new(SystemTimer));
    let loader = Loader { store, timer, limit, sql: None, rejected_max, patience: seconds(0) };
    let mut source = Items(items.to_vec(), 0);
    let Begun::Loading(mut loading) = loader.open(&whole(alone("a")), &mut source).await? else { panic!("finished") };
    while !loading.is_done() {
        loader.pass(&mut loading, &mut source).await?;
    }
    Ok(loading.counts())
}

async fn a_source_with_a_rejected_record_is_withheld_and_so_many_as_are_allowed_may_be_missing(world: World) {
    let torn = |n: u64| {
        Item::Rejected(Rejection {
            place: record(n, "E", 0).place,
            key: None,
            reason: format!("line {}", n + 1),
            raw: b"x".to_vec(),
        })
    };
    let items = [Item::Record(record(0, "E1", 100)), torn(1), Item::Record(record(2, "E3", 1)), torn(3)];
    for (pages, most, told) in [(1, None, 2), (2, None, 2), (4, None, 2), (1, Some(1), 2), (1, Some(0), 1), (3, Some(1), 2)] {
        let read = read(&world, &items, pages, most).await;
        assert_eq!(read, Err(LoadError::Withheld { rejected: told, conflicts: 0 }), "{pages} {most:?}");
        let view = world.store.batches(None, None, 1).await.unwrap().remove(0);
        assert_eq!((view.status.as_str(), view.counts), ("cancelled", counts(0, 0, 0, told, 0)));
        assert_eq!(world.store.findings(&view.id, None, 10).await.unwrap().len() as u64, told, "each is told");
        assert_eq!((world.paid().await.0, waiting(&world).await), (0, 0), "{pages} {most:?}");
        world.pass(seconds(1));
    }
    assert_eq!(read(&world, &items, 1, Some(2)).await, Ok(counts(2, 0, 0, 2, 0)));
    assert_eq!((world.paid().await.0, waiting(&world).await), (2, 0));
}

async fn a_service_reads_a_source_in_a_step_stops_and_goes_on_where_it_was(world: World) {
    let batches = Arc::clone(&world.store) as Arc<dyn onebell::store::BatchStore>;
    let handler = BatchHandler::new(batches, |_| {
        Box::pin(async {
            let items = (0..4).map(|n| Item::Record(record(n, &format!("E{n}"), 10))).collect();
            let limit = PageLimit { items: 1, bytes: 1_000 };
            Ok((Batch { limit, ..Batch::new(key("pay"), "feed") }, Box::new(Items(items, 0)) as Box<dyn Source>))
        })
    });
    world.open_run(&job("j", vec![step("a")])).await;
    let replica = world.replica("r").await;
    let run = async |stopped: bool| {
        let claimed = world.claim_one(&replica).await;
        let claim = claimed.claim.clone();
        let (stopper, stop) = Stopper::new();
        if stopped {
            stopper.stop(StopReason::OwnStop);
        }
        let store = Arc::clone(&world.store) as Arc<dyn onebell::store::AgentStore>;
        let (vouch, extended) = (watch::channel(Vouch::default()).1, watch::channel(Duration::ZERO).0);
        (claim, handler.run(Context::new(Arc::new(claimed), store, stop, vouch, extended)).await)
    };
    // It was asked to stop before it began: one chunk is committed all the same, and the batch is given back.
    let (claim, outcome) = run(true).await;
    assert!(matches!(outcome, Outcome::Stopped { .. }), "{outcome:?}");
    assert_eq!(world.paid().await, (1, "10".to_owned(), 0));
    world.settle(gives_back(&claim)).await;
    let (_, outcome) = run(false).await;
    let Outcome::Done(done) = outcome else { panic!("{outcome:?}") };
    assert_eq!(done.output.summary, "4 applied, 0 already, 0 conflicts, 0 rejected, 0 failed");
    assert_eq!(world.paid().await, (4, "40".to_owned(), 0));
    let statuses: Vec<_> = world.store.batches(None, None, 10).await.unwrap().into_iter().map(|view| view.status).collect();
    assert_eq!(statuses, ["done"], "it was one batch over two attempts");
}

/// They write as they go: what is interrupted in the middle of a write is the hard case.
const NEVER_ENDS: &str = "INSERT INTO payments (id, amount) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                          SELECT key || '/' || i, 0 FROM chunk, n";

async fn statements_that_take_longer_than_the_claim_are_refused_and_leave_nothing(world: World) {
    accounts(&world).await;
    for (atomic, source) in [(false, "chunks"), (true, "whole")] {
        let open = with(opens(alone("a")), |open| {
            (open.atomic, open.source, open.timeout) = (atomic, source.to_owned(), Duration::from_millis(300));
        });
        let (claim, ..) = world.opened(&open).await;
        let last = chunk(0, vec![record(0, source, 100)], true);
        let answer = world.store.apply_chunk(&claim, &with_sql(last.clone(), NEVER_ENDS)).await;
        assert!(matches!(answer, Ok(ChunkAnswer::Refused(_))), "{source}: {answer:?}");
        assert_eq!(world.number("SELECT count(*) FROM payments WHERE id LIKE '%/%'").await, 0, "{source}");
        assert_eq!(world.rows("effects", &format!("key = '{source}'")).await, 0, "{source}");
        assert_eq!(world.applies(&claim, &with_sql(last, PUTS)).await, counts(1, 0, 0, 0, 0), "{source}: it goes on");
    }
}
