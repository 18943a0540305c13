//! One job from its slot to its end on the PostgreSQL store, on both versions: a chain of two steps with effects, messages
//! and statements of the user's own, the messages delivered, the steps closed.
#![cfg(feature = "postgres")]

#[cfg(test)]
mod smoke {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use onebell::model::job::{JobDefinition, StepDefinition};
    use onebell::model::message::{Delivery, InDoubtPolicy, MessageStatus, NewMessage};
    use onebell::model::overlap::Origin;
    use onebell::model::retry::RetryPolicy;
    use onebell::model::step::{StepStatus, Verdict};
    use onebell::model::{Effect, Fingerprint, JobId, Key, Moment, ReplicaId, RunId};
    use onebell::store::postgres::{PostgresStore, work};
    use onebell::store::*;
    use onebell::time::{ManualClock, StoreClock};
    use onebell_testkit::{VERSIONS, fresh_database};

    const START: Moment = Moment::from_micros(1_800_000_000_000_000);

    fn replica() -> ReplicaId {
        ReplicaId::from_text("replica-1")
    }

    fn key(text: &str) -> Key {
        Key::new(text).unwrap()
    }

    fn message(name: &str) -> NewMessage {
        NewMessage {
            key: key(name),
            channel: "mail".into(),
            payload: "{\"to\":\"a@example.com\"}".into(),
            fingerprint: Fingerprint::of_json("{\"to\":\"a@example.com\"}").unwrap(),
            on_in_doubt: InDoubtPolicy::Hold,
            retry: RetryPolicy::default(),
        }
    }

    async fn register(store: &PostgresStore) -> JobId {
        let job = JobId::of_name("reminders");
        let mut definition = JobDefinition::new("reminders");
        definition.steps.push(StepDefinition::new("compute", "h"));
        let mut remind = StepDefinition::new("remind", "h");
        remind.after.push("compute".into());
        definition.steps.push(remind);
        definition.validate().unwrap();
        let info = ReplicaInfo {
            id: replica(),
            label: "test".into(),
            version: "1".into(),
            tzdata: "2026f".into(),
            jobs: BTreeMap::from([(job.clone(), "h1".to_owned())]),
            handlers: vec!["h".into()],
            channels: vec!["mail".into()],
        };
        store.enlist(&info).await.unwrap();
        let definition = Definition {
            id: job.clone(),
            definition,
            hash: "h1".into(),
            seen: None,
            cursor: START,
            next_slot: Some(START + Duration::from_secs(60)),
            by: replica(),
        };
        assert_eq!(store.define_job(&definition).await.unwrap(), Defined::Registered(1));
        assert_eq!(store.define_job(&definition).await.unwrap(), Defined::Stale);
        job
    }

    async fn open_slot(store: &PostgresStore, job: &JobId) -> RunId {
        let at = START + Duration::from_secs(60);
        let due = store.due_jobs(std::slice::from_ref(job), 10).await.unwrap();
        assert!(due.len() == 1 && due[0].carried && due[0].known_hashes == ["h1"]);
        let plan = SlotPlan {
            job: job.clone(),
            version: 1,
            cursor_seen: START,
            cursor: at,
            next_slot: None,
            open: vec![PlannedSlot { at, origin: Origin::Slot }],
            skips: Vec::new(),
        };
        assert_eq!(store.open_slots(&plan).await.unwrap(), Opened::Applied { opened: 1, skipped: 0 });
        assert_eq!(store.open_slots(&plan).await.unwrap(), Opened::Stale);
        RunId::of_slot(job, at)
    }

    async fn claim(store: &PostgresStore, job: &JobId) -> Vec<ClaimedStep> {
        let request = ClaimSteps {
            replica: replica(),
            jobs: vec![job.clone()],
            handlers: vec!["h".into()],
            queues: vec!["default".into()],
            start: 5,
            prefetch: 5,
            idle: true,
        };
        store.claim_steps(&request).await.unwrap().claimed
    }

    fn settlement(step: &ClaimedStep) -> Settlement {
        Settlement {
            claim: step.claim.clone(),
            verdict: Verdict::Succeeded,
            effects: Vec::new(),
            messages: Vec::new(),
            work: None,
            output: StepOutput::default(),
        }
    }

    fn applied(settled: &[Settled]) -> StepStatus {
        match settled {
            [Settled::Applied { status, refused: None, .. }] => *status,
            other => panic!("{other:?}"),
        }
    }

    async fn deliver(store: &PostgresStore) {
        let request =
            ClaimMessages { replica: replica(), channels: vec!["mail".into()], limit: 10, timeout: Duration::from_secs(60) };
        let claimed = store.claim_messages(&request).await.unwrap();
        assert_eq!(claimed.iter().map(|m| m.claim.key()).collect::<Vec<_>>(), ["reminder/1", "reminder/2"]);
        assert_eq!(store.held_messages(&replica()).await.unwrap(), claimed);
        for message in &claimed {
            assert_eq!(store.mark_sending(&message.claim, Duration::from_secs(30)).await.unwrap(), Marked::Go);
        }
        let words: Vec<_> = claimed.iter().map(|m| (m.claim.clone(), Delivery::Accepted { receipt: "250 ok".into() })).collect();
        let sent = MessageSettled::Applied(MessageStatus::Sent);
        assert_eq!(store.settle_messages(&words).await.unwrap(), [sent, sent]);
        assert_eq!(store.settle_messages(&words).await.unwrap(), [MessageSettled::Already, MessageSettled::Already]);
    }

    async fn work_through(store: &PostgresStore, clock: &ManualClock) {
        store.execute("CREATE TABLE ledger (n integer UNIQUE); CREATE TABLE seen (n integer)").await.unwrap();
        let job = register(store).await;
        clock.advance(Duration::from_secs(61));
        let run = open_slot(store, &job).await;
        assert!(!store.is_idle().await.unwrap());

        let first = claim(store, &job).await;
        assert_eq!((first.len(), first[0].name.as_str(), first[0].claim.attempt(), first[0].started), (1, "compute", 1, true));
        assert_eq!(store.held_steps(&replica()).await.unwrap(), first);
        let mut done = settlement(&first[0]);
        done.effects.push(Effect::new(key("payments"), key("p-1"), Some(350), "{\"a\":1}").unwrap());
        done.work = Some(Work::Sql("INSERT INTO ledger VALUES (1); SELECT n, 'x' AS t, NULL AS z FROM ledger".into()));
        assert_eq!(applied(&store.settle_steps(vec![done.clone()]).await.unwrap()), StepStatus::Succeeded);
        assert_eq!(store.settle_steps(vec![done]).await.unwrap(), [Settled::Already]);
        let rows = store.step_rows(&run, "compute").await.unwrap().unwrap();
        assert_eq!(rows, "[{\"n\":\"1\",\"t\":\"x\",\"z\":null}]");

        let second = claim(store, &job).await;
        assert_eq!(second[0].name, "remind");
        assert!(matches!(store.extend_step(&second[0].claim).await.unwrap(), Extension::Extended(_)));
        let mut done = settlement(&second[0]);
        done.messages = vec![message("reminder/2"), message("reminder/1")];
        done.work = Some(work(|transaction| Box::pin(transaction.batch_execute("INSERT INTO seen VALUES (1)"))));
        assert_eq!(applied(&store.settle_steps(vec![done]).await.unwrap()), StepStatus::Delivering);
        assert_eq!(store.close_deliveries(10).await.unwrap(), 0);

        deliver(store).await;
        assert_eq!(store.close_deliveries(10).await.unwrap(), 1);
        let detail = store.run(&run).await.unwrap().unwrap();
        assert_eq!(detail.run.status, "succeeded");
        assert_eq!(detail.messages, BTreeMap::from([("sent".to_owned(), 2)]));
        assert_eq!(
            detail.steps.iter().map(|s| (s.name.as_str(), s.status.as_str())).collect::<Vec<_>>(),
            [("compute", "succeeded"), ("remind", "succeeded")]
        );
        assert_eq!(store.effects_total("payments").await.unwrap(), (1, 350));
        assert_eq!(store.query_rows("SELECT count(*) AS n FROM seen").await.unwrap(), "[{\"n\":1}]");
        assert!(store.is_idle().await.unwrap());
    }

    #[tokio::test]
    async fn a_job_goes_from_its_slot_to_its_end() {
        for version in VERSIONS {
            let database = fresh_database(version).await;
            let clock = ManualClock::at(START);
            let builder = PostgresStore::builder(&database.url).clock(StoreClock::Manual(clock.clone()));
            let store = builder.connect_and_migrate().await.unwrap();
            work_through(&store, &clock).await;
        }
    }

    #[tokio::test]
    async fn the_databases_own_clock_serves_as_well() {
        let database = fresh_database(18).await;
        let store = PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap();
        let job = register(&store).await;
        let before = store.scheduler_now().await.unwrap();
        let request = ClaimSteps {
            replica: replica(),
            jobs: vec![job],
            handlers: vec!["h".into()],
            queues: vec!["default".into()],
            start: 1,
            prefetch: 0,
            idle: true,
        };
        let actor = Actor { name: "test".into(), reason: None };
        let trigger = Trigger { job: "reminders".into(), key: key("now"), input: Some("{\"a\": 1}".into()), actor };
        assert!(matches!(store.trigger(&trigger).await.unwrap(), Triggered::Opened(_)));
        let claimed = store.claim_steps(&request).await.unwrap().claimed;
        assert!(claimed[0].claimed_at >= before);
        assert_eq!(claimed[0].complete_by.since(claimed[0].claimed_at), claimed[0].timeout, "exact to the microsecond");
        assert_eq!(claimed[0].input.as_deref(), Some("{\"a\": 1}"));
        assert_eq!(applied(&store.settle_steps(vec![settlement(&claimed[0])]).await.unwrap()), StepStatus::Succeeded);
    }
}
