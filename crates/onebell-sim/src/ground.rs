//! What all simulated processes share: the one database, its clock, chance, and those who watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use onebell::model::Moment;
use onebell::store::StoreError;
use onebell::store::sqlite::SqliteStore;
use onebell::time::ManualClock;

use crate::call::{Call, Detail};
use crate::checks::{self, Check, Commit, End};
use crate::dice::{Dice, Digest};
use crate::place::{Ended, Place};
use crate::shadow::Shadow;
use crate::snapshot::{Snapshot, Written};
use crate::tally::Tally;
use onebell::store::{Acted, MessageVerdict};

/// A promise that did not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which.
    pub check: String,
    /// How.
    pub what: String,
}

/// How much goes wrong, in a thousand calls or turns.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trouble {
    /// Calls whose answer is lost although they were executed.
    pub lost_after: u64,
    /// Calls that are never executed and not answered.
    pub lost_before: u64,
    /// Calls refused because somebody else was faster.
    pub contended: u64,
    /// Calls that take their time.
    pub slow: u64,
    /// Handlers and recipients that misbehave.
    pub work: u64,
}

/// Shared by all.
pub struct Ground {
    store: Mutex<Arc<SqliteStore>>,
    place: Mutex<Place>,
    /// The store's clock.
    pub clock: ManualClock,
    inner: Mutex<Inner>,
}

/// What changes as the history goes on.
pub struct Inner {
    /// Chance, as the present turn drew it.
    pub dice: Dice,
    /// How much goes wrong.
    pub trouble: Trouble,
    /// Nobody is answered for now.
    pub away: bool,
    /// The world's own memory.
    pub shadow: Shadow,
    /// The first promise that was broken.
    pub violation: Option<Violation>,
    /// What happened, when it is wanted.
    pub trace: Option<Vec<String>>,
    /// The history as a number.
    pub digest: Digest,
    /// Commits that were checked.
    pub commits: u64,
    /// What happened how often.
    pub tally: Tally,
    elapsed: Duration,
    written: Written,
    snapshot: Snapshot,
    checks: Vec<Box<dyn Check>>,
}

impl Ground {
    /// An empty database of this hour; `mutants` are statements put in place of the store's own.
    pub fn new(start: Moment, in_a_file: bool, mutants: &[(String, String)], traced: bool) -> Result<Self, StoreError> {
        let clock = ManualClock::at(start);
        let place = Place::new(in_a_file, clock.clone(), mutants)?;
        let store = place.open()?;
        let inner = Inner {
            dice: Dice::new(0),
            trouble: Trouble::default(),
            away: false,
            shadow: Shadow::default(),
            violation: None,
            trace: traced.then(Vec::new),
            digest: Digest::default(),
            commits: 0,
            tally: Tally::default(),
            elapsed: Duration::ZERO,
            written: Written::default(),
            snapshot: Snapshot::default(),
            checks: checks::all(),
        };
        Ok(Self { store: Mutex::new(store), place: Mutex::new(place), clock, inner: Mutex::new(inner) })
    }

    /// The real store.
    pub fn store(&self) -> Arc<SqliteStore> {
        Arc::clone(&locked(&self.store))
    }

    /// Whether the database can be closed and opened again.
    pub fn is_file(&self) -> bool {
        locked(&self.place).is_file()
    }

    /// All processes have ended: the database is opened again, and is what it was.
    pub fn open_again(&self, ended: Ended) -> Result<(), StoreError> {
        let mut store = locked(&self.store);
        // Only a handle that nobody else has can be closed.
        let nobody = Place::new(false, self.clock.clone(), &[])?.open()?;
        let before = std::mem::replace(&mut *store, nobody);
        assert_eq!(Arc::strong_count(&before), 1, "somebody outlived the restart");
        *store = locked(&self.place).open_again(before, ended)?;
        drop(store);
        let mut inner = self.inner();
        inner.written = Written::default();
        let Inner { written, snapshot, .. } = &mut *inner;
        let changes = snapshot.refresh(&self.store(), &written.since(&self.store()));
        if !changes.touched().is_empty() {
            inner.violate("i00", format!("the database was opened again and is another: {:?}", changes.touched()));
        }
        Ok(())
    }

    /// What changes; held for a moment only, never over a turn.
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        locked(&self.inner)
    }

    /// True so often in a thousand.
    pub fn chance(&self, per_mille: u64) -> bool {
        self.inner().dice.chance(per_mille)
    }

    /// Time passes for the store.
    pub fn passes(&self, span: Duration) {
        self.clock.advance(span);
        self.inner().elapsed += span;
    }

    /// Writes down what happens.
    pub fn note(&self, text: impl FnOnce() -> String) {
        self.inner().note(text);
    }

    /// The store has executed a call: everything is checked.
    pub fn executed(&self, call: &Call) {
        let mut inner = self.inner();
        let store = self.store();
        let written = inner.written.since(&store);
        let Inner { digest, written: counted, .. } = &mut *inner;
        digest.take(call.verb.as_bytes());
        digest.take(counted.counts().as_bytes());
        if written.is_empty() || inner.violation.is_some() {
            inner.tally.take_unwritten(call);
            return;
        }
        inner.commits += 1;
        inner.remember(call);
        let changes = inner.snapshot.refresh(&store, &written);
        inner.tally.take(&changes);
        if inner.trace.is_some() {
            changes.told().into_iter().for_each(|line| inner.note(|| line));
        }
        for change in &changes.messages {
            if let Some(row) = change.after.as_ref().filter(|row| row.status == "sending") {
                inner.shadow.marked.insert((change.key.clone(), row.attempt));
            }
        }
        let Inner { snapshot, checks, shadow, .. } = &mut *inner;
        let commit = Commit { call, now: snapshot, changes: &changes, at: self.clock.now(), shadow };
        let broken = checks.iter_mut().find_map(|check| {
            let name = check.name();
            check.commit(&commit).err().map(|what| Violation { check: name.to_owned(), what })
        });
        for change in changes.messages.iter().filter(|change| change.after.is_none()) {
            shadow.forget_message(&change.key);
        }
        for change in changes.runs.iter().filter(|change| change.after.is_none()) {
            shadow.forget_run(&change.key);
        }
        if let Some(violation) = broken {
            inner.note(|| format!("VIOLATION {}: {}", violation.check, violation.what));
            inner.violation = Some(violation);
        }
    }

    /// An answer reached its caller.
    pub fn acknowledged(&self, call: &Call) {
        let mut inner = self.inner();
        let Inner { snapshot, checks, .. } = &mut *inner;
        checks.iter_mut().for_each(|check| check.acknowledged(call, snapshot));
    }

    /// The store gave an answer that no caller can do anything with.
    pub fn broken(&self, verb: &str, error: &StoreError) {
        self.inner().violate("broken", format!("{verb}: {error}"));
    }

    /// Everything came to rest.
    pub fn ended(&self) {
        let mut inner = self.inner();
        inner.hear();
        let Inner { snapshot, checks, shadow, .. } = &mut *inner;
        let end = End { now: snapshot, shadow };
        let broken = checks.iter_mut().find_map(|check| {
            let name = check.name();
            check.end(&end).err().map(|what| Violation { check: name.to_owned(), what })
        });
        if let (None, Some(broken)) = (&inner.violation, broken) {
            inner.violate(&broken.check, broken.what);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// The tables as they stand.
    pub fn now(&self) -> &Snapshot {
        &self.snapshot
    }

    /// A promise was broken; the first one stays.
    pub fn violate(&mut self, check: &str, what: String) {
        if self.violation.is_none() {
            self.note(|| format!("VIOLATION {check}: {what}"));
            self.violation = Some(Violation { check: check.to_owned(), what });
        }
    }

    /// What went wrong outside of a commit.
    pub fn hear(&mut self) {
        if let Some((check, what)) = self.shadow.complaints.pop() {
            self.violate(check, what);
        }
    }

    fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9.3}s {}", self.elapsed.as_secs_f64(), text()));
        }
    }

    /// What people decide, counts from before the commit is checked.
    fn remember(&mut self, call: &Call) {
        if let Detail::MessageResolved { key, verdict, answer: Acted::Done } = &call.detail {
            let received = self.shadow.received.entry(key.clone()).or_default();
            match verdict {
                MessageVerdict::Sent => received.called_sent = true,
                MessageVerdict::Resend => received.decided += 1,
                MessageVerdict::Drop => {}
            }
        }
    }
}
