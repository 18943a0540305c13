//! Processes that read sources into scopes, each through the real role. They are killed, frozen until their claims are
//! others', and begin anew; people cancel what they read, and want it to go on.

mod person;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use onebell::handler::{PageLimit, SourceError};
use onebell::model::ReplicaId;
use onebell::roles::loader::{Begun, LoadError, Loader, Loading};
use onebell::store::{BatchStore, EffectsView, OpenBatch, Reader};
use onebell::time::{ManualTimer, Timer};

use crate::dice::Dice;
use crate::executor::{Hand, at_once};
use crate::faulty::FaultyStore;
use crate::feed::{Feed, Reading};
use crate::ground::Ground;
use person::Person;

/// How many there are at once.
const LOADERS: usize = 3;

/// One place where a process may be.
struct Place {
    number: usize,
    timer: Arc<ManualTimer>,
    /// What it reads, and its future.
    hand: Option<(usize, Hand<Ended>)>,
    /// Began when nothing disturbed any longer. What a process from before ends late may be the source's last reading but one.
    calm: bool,
    /// Does not move before.
    frozen: Duration,
    /// Nobody is there before.
    until: Duration,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The source was read to its end.
    Done,
    /// Begun with other identities.
    Differs,
    /// Not to its end.
    Otherwise,
}

/// All of them.
pub struct Loaders {
    ground: Arc<Ground>,
    feeds: Vec<Arc<Feed>>,
    places: Vec<Place>,
    person: Person,
    elapsed: Duration,
    begun: u32,
    /// What is still to be read to its end, once nothing disturbs any longer.
    left: Option<BTreeSet<usize>>,
    /// What is to be read anew.
    anew: BTreeSet<usize>,
}

impl Loaders {
    /// Of this history; in most there are none.
    pub fn of(ground: &Arc<Ground>, dice: &mut Dice, number: usize) -> Option<Self> {
        if !dice.chance(300) {
            return None;
        }
        let feeds = Feed::several(dice);
        let known = feeds.iter().map(|feed| (feed.source.clone(), Arc::clone(feed))).collect();
        ground.inner().shadow.feeds = known;
        let place = |nth: usize| Place {
            number: number + 1 + nth,
            timer: Arc::new(ManualTimer::default()),
            hand: None,
            calm: false,
            frozen: Duration::ZERO,
            until: Duration::from_millis(900) * u32::try_from(nth).unwrap_or(0),
        };
        Some(Self {
            ground: Arc::clone(ground),
            feeds,
            places: (0..LOADERS).map(place).collect(),
            person: Person::new(ground, number),
            elapsed: Duration::ZERO,
            begun: 0,
            left: None,
            anew: BTreeSet::new(),
        })
    }

    /// Time passes for them, also while they are frozen.
    pub fn passes(&mut self, span: Duration) {
        self.elapsed += span;
        self.places.iter().for_each(|place| place.timer.advance(span));
        self.person.timer.advance(span);
        self.take_up_what_is_open();
    }

    /// Once nothing disturbs any longer: somebody may have begun a source once more, or a call of his came late, after another one
    /// had read it to its end.
    fn take_up_what_is_open(&mut self) {
        let Some(left) = &mut self.left else { return };
        let inner = self.ground.inner();
        for (_, batch) in inner.now().batches.iter().filter(|(_, batch)| batch.is_open()) {
            let of_batch = |feed: &Arc<Feed>| feed.source == batch.source && feed.scope.as_str() == batch.scope;
            left.extend(self.feeds.iter().position(of_batch));
        }
    }

    /// All end at once.
    pub fn leave(&mut self) {
        for place in &mut self.places {
            let span = Duration::from_millis(self.ground.inner().dice.below(5_000));
            (place.hand, place.frozen, place.until) = (None, Duration::ZERO, self.elapsed + span);
        }
        self.person.leave();
    }

    /// Nothing disturbs any longer: every source is read to its end once more.
    pub fn calm(&mut self) {
        self.left = Some((0..self.feeds.len()).collect());
        for place in &mut self.places {
            (place.frozen, place.until) = (Duration::ZERO, self.elapsed);
        }
    }

    /// Every source was read to its end, and nobody does anything.
    pub fn rests(&self) -> bool {
        let nobody = self.places.iter().all(|place| place.hand.is_none());
        nobody && self.person.ready() == 0 && self.left.as_ref().is_none_or(BTreeSet::is_empty)
    }

    /// How many could go on.
    pub fn ready(&self) -> usize {
        self.woken().count() + self.person.ready()
    }

    fn woken(&self) -> impl Iterator<Item = usize> + '_ {
        let moves = |place: &Place| match &place.hand {
            _ if place.frozen > self.elapsed => false,
            Some((_, hand)) => hand.is_woken(),
            None => place.until <= self.elapsed && self.next().is_some(),
        };
        self.places.iter().enumerate().filter(move |(_, place)| moves(place)).map(|(nth, _)| nth)
    }

    /// What is to be read: anything, or what is left.
    fn next(&self) -> Option<usize> {
        let Some(left) = &self.left else { return Some(0) };
        let taken = |feed: &usize| self.places.iter().any(|place| place.hand.as_ref().is_some_and(|(taken, _)| taken == feed));
        left.iter().copied().find(|feed| !taken(feed))
    }

    /// Lets one go on.
    pub fn go(&mut self, nth: usize) {
        let woken = self.woken().count();
        let Some(place) = self.woken().nth(nth) else { return self.person.go(nth - woken) };
        let calm = self.places[place].calm;
        let Some((feed, hand)) = &mut self.places[place].hand else { return self.begin(place) };
        let feed = *feed;
        let Some(ended) = hand.poll() else { return };
        let pause = if self.left.is_some() { 1_000 } else { self.ground.inner().dice.below(12_000) };
        self.places[place].hand = None;
        self.places[place].until = self.elapsed + Duration::from_millis(pause);
        match (ended, &mut self.left) {
            (Ended::Done, Some(left)) if calm => drop(left.remove(&feed)),
            (Ended::Differs, _) => drop(self.anew.insert(feed)),
            _ => {}
        }
    }

    fn begin(&mut self, place: usize) {
        let Some(next) = self.next() else { return };
        let calm = self.left.is_some();
        self.begun += 1;
        let name = format!("loader-{}", self.begun);
        let place = &mut self.places[place];
        let mut inner = self.ground.inner();
        let dice = &mut inner.dice;
        let nth = if calm { next } else { dice.index(self.feeds.len()) };
        let feed = Arc::clone(&self.feeds[nth]);
        let open = OpenBatch {
            scope: feed.scope.clone(),
            source: feed.source.clone(),
            identity: if !calm && dice.chance(40) { "{\"id\":[\"other\"]}" } else { "{\"id\":[\"id\"]}" }.to_owned(),
            settings: "{}".to_owned(),
            reader: Reader::Alone(ReplicaId::from_text(name.clone())),
            timeout: Duration::from_millis(2_500 + dice.below(5_000)),
            restart: self.anew.remove(&nth) || (!calm && dice.chance(60)),
            atomic: feed.atomic,
        };
        let rejected_max = if calm { None } else { *dice.pick(&[None, None, None, Some(1)]) };
        let limit = PageLimit { items: 1 + dice.index(4), bytes: *dice.pick(&[20, 1_000]) };
        let patience = Duration::from_millis(dice.below(6_000));
        inner.tally.count("loader", "begun");
        drop(inner);
        self.ground.note(|| format!("{name} begins {} in pages of {}, anew: {}", feed.source, limit.items, open.restart));
        let store = Arc::new(FaultyStore::new(Arc::clone(&self.ground), Arc::clone(&place.timer), place.number));
        let timer = Arc::clone(&place.timer);
        let loader = Loader { store, timer: Arc::clone(&timer) as _, limit, sql: feed.sql.clone(), rejected_max, patience };
        let process = Process { ground: Arc::clone(&self.ground), timer, loader, feed, name, calm };
        place.calm = calm;
        place.hand = Some((nth, Hand::new(async move { process.run(&open).await }.boxed())));
    }

    /// Something happens to one of them, or somebody meddles.
    pub fn fate(&mut self) {
        let (kind, nth, span) = {
            let mut inner = self.ground.inner();
            (inner.dice.below(10), inner.dice.index(LOADERS), Duration::from_millis(1_000 + inner.dice.below(14_000)))
        };
        let place = &mut self.places[nth];
        match kind {
            0..3 if place.hand.is_some() => {
                self.ground.note(|| format!("the loader at {} crashes", place.number));
                self.ground.inner().tally.count("loader", "crash");
                (place.hand, place.frozen, place.until) = (None, Duration::ZERO, self.elapsed + span / 4);
            }
            3..6 if place.hand.is_some() => {
                self.ground.note(|| format!("the loader at {} is frozen for {span:?}", place.number));
                self.ground.inner().tally.count("loader", "pause");
                place.frozen = self.elapsed + span;
            }
            _ => self.person.act(),
        }
    }
}

/// One process from its start to its end.
struct Process {
    ground: Arc<Ground>,
    timer: Arc<ManualTimer>,
    loader: Loader,
    feed: Arc<Feed>,
    name: String,
    calm: bool,
}

impl Process {
    async fn run(&self, open: &OpenBatch) -> Ended {
        let mut source = Reading::of(&self.ground, &self.feed);
        let mut loading = match self.loader.open(open, &mut source).await {
            Ok(Begun::Loading(loading)) => loading,
            Ok(begun) => {
                self.complain(format!("{begun:?} is no answer to a process of its own"));
                return Ended::Otherwise;
            }
            Err(error) => return self.ends(&error),
        };
        while !loading.is_done() {
            let (rests, stops, span) = {
                let mut inner = self.ground.inner();
                (inner.dice.chance(350), inner.dice.chance(30), inner.dice.below(1_500))
            };
            if rests {
                self.timer.sleep(Duration::from_millis(span)).await;
            }
            let passed = if stops && !self.calm { Ok(()) } else { self.loader.pass(&mut loading, &mut source).await };
            match passed {
                Ok(()) if !stops || self.calm => {}
                Ok(()) => {
                    self.loader.release(&loading).await;
                    return Ended::Otherwise;
                }
                Err(error) => {
                    self.loader.release(&loading).await;
                    return self.ends(&error);
                }
            }
        }
        self.read_all(&loading)
    }

    fn ends(&self, error: &LoadError) -> Ended {
        self.ground.note(|| format!("{} ends: {error}", self.name));
        match error {
            LoadError::Differs { .. } => return Ended::Differs,
            LoadError::Source(SourceError::Changed(_)) | LoadError::Statements(_) => self.complain(error.to_string()),
            LoadError::Superseded => self.ground.inner().tally.count("loader", "superseded"),
            LoadError::Busy { .. } => self.ground.inner().tally.count("loader", "busy"),
            LoadError::Withheld { .. } => {
                self.ground.inner().tally.count("loader", "withheld");
                return Ended::Done;
            }
            LoadError::TooManyRejected { .. } => self.ground.inner().tally.count("loader", "too many rejected"),
            LoadError::Source(_) | LoadError::Store(_) => {}
        }
        Ended::Otherwise
    }

    /// What it says at its end counts every record of the source.
    fn read_all(&self, loading: &Loading) -> Ended {
        let counts = loading.counts();
        let counted = counts.applied + counts.already + counts.findings();
        let there = self.feed.items.len();
        self.ground.note(|| format!("{} has read {} to its end: {counts:?}", self.name, self.feed.source));
        let store = self.ground.store();
        match at_once(store.effects(self.feed.scope.as_str(), None, None)) {
            Ok(view) => self.total(&view),
            Err(error) => self.complain(format!("the total of {} cannot be told: {error}", self.feed.scope)),
        }
        if usize::try_from(counted) != Ok(there) {
            self.complain(format!("{counted} of {there} records are told at the end of {}", loading.batch()));
        }
        Ended::Done
    }

    /// The total that people see is the one that the rows come to.
    fn total(&self, view: &EffectsView) {
        let (mut count, mut total, mut failed) = (0_u64, 0_i128, 0_u64);
        for (_, row) in self.ground.inner().now().effects.iter().filter(|(_, row)| row.scope == self.feed.scope.as_str()) {
            match row.failed {
                Some(_) => failed += 1,
                None => (count, total) = (count + 1, total + i128::from(row.amount.unwrap_or_default())),
            }
        }
        if (view.count, view.failed, view.total.as_str()) != (count, failed, total.to_string().as_str()) {
            self.complain(format!("{view:?} is told, and the rows are {count} with {total}, {failed} failed"));
        }
    }

    fn complain(&self, what: String) {
        self.ground.inner().shadow.complaints.push(("i13", format!("{}: {what}", self.name)));
    }
}
