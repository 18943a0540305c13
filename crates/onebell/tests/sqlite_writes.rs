//! What a chunk writes to the disk: counted by the kernel for the whole process, so this file has one test.
#![cfg(all(feature = "sqlite", target_os = "linux"))]

#[cfg(test)]
mod writes {
    use std::fs;
    use std::time::Duration;

    use onebell::model::batch::Counts;
    use onebell::model::record::{Checkpoint, Item, Position, Record};
    use onebell::model::{Effect, Key, ReplicaId};
    use onebell::store::sqlite::{SqliteStore, rusqlite};
    use onebell::store::{BatchOpened, BatchStore as _, Chunk, ChunkAnswer, OpenBatch, Reader};

    const THERE: u64 = 50_000;
    const NEW: u64 = 1_000;

    /// Bytes that this process has written so far.
    fn written() -> u64 {
        let io = fs::read_to_string("/proc/self/io").unwrap();
        io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap().parse().unwrap()
    }

    /// In no order, as people's are.
    fn record(n: u64) -> Record {
        let id = format!("E{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let payload = format!("{{\"id\":\"{id}\",\"note\":\"payment {n}\"}}");
        let effect = Effect::new(Key::new("pay").unwrap(), Key::new(&id).unwrap(), Some(1), payload).unwrap();
        let Effect { key, fingerprint, amount, payload, .. } = effect;
        Record { place: Position { byte: n * 10, line: n + 1 }, key, fingerprint, amount, payload, failed: None }
    }

    fn chunk(records: impl Iterator<Item = u64>, from: Option<u64>, to: u64, last: bool) -> Chunk {
        let at = |n: u64| Checkpoint { position: Position { byte: n * 10, line: n + 1 }, prefix: None, header: None };
        Chunk { from: from.map(at), items: records.map(record).map(Item::Record).collect(), after: at(to), last, sql: None }
    }

    #[tokio::test]
    async fn a_chunk_without_statements_of_the_users_writes_what_it_changes_and_no_copies_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o.db");
        let store = SqliteStore::builder(&path).inline().open_and_migrate().unwrap();
        let open = OpenBatch {
            scope: Key::new("pay").unwrap(),
            source: "/data/pay.csv".to_owned(),
            identity: "{}".to_owned(),
            settings: "{}".to_owned(),
            reader: Reader::Alone(ReplicaId::from_text("one")),
            timeout: Duration::from_secs(60),
            restart: false,
            atomic: false,
        };
        let BatchOpened::Opened { claim, .. } = store.open_batch(&open).await.unwrap() else { panic!("not opened") };
        let fill = chunk(0..THERE, None, THERE, false);
        assert!(matches!(store.apply_chunk(&claim, &fill).await.unwrap(), ChunkAnswer::Applied(_)));
        let emptied = rusqlite::Connection::open(&path).unwrap();
        emptied.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        let next = chunk(THERE..THERE + NEW, Some(THERE), THERE + NEW, true);
        let before = written();
        let answer = store.apply_chunk(&claim, &next).await.unwrap();
        let bytes = written() - before;
        let all = Counts { applied: THERE + NEW, ..Counts::default() };
        assert_eq!(answer, ChunkAnswer::Applied(all));
        let log = fs::metadata(folder.path().join("o.db-wal")).unwrap().len();
        assert!(log > NEW * 100, "{log}");
        // Each page once into the log, and once into the file when the log is brought home.
        assert!(bytes < log * 21 / 10, "{bytes} bytes were written for a log of {log}");
    }
}
