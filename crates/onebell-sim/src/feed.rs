//! Sources of records that are made up for a history: the same every time that they are read, whatever their records are.

use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Page, PageLimit, Source, SourceError};
use onebell::model::record::{Checkpoint, Item, Position, Record, Rejection};
use onebell::model::{Effect, Fingerprint, Key};

use crate::dice::Dice;
use crate::executor::turn;
use crate::ground::Ground;

/// The statements over a chunk refuse this amount.
pub const REFUSED: i64 = 777;
/// Bytes of a record.
const WIDTH: usize = 10;
/// Identities of a scope.
const IDENTITIES: u64 = 14;

/// A source.
#[derive(Debug)]
pub struct Feed {
    /// Its name.
    pub source: String,
    /// What its identities are unique in.
    pub scope: Key,
    /// Statements over each chunk.
    pub sql: Option<String>,
    /// In its order.
    pub items: Vec<Item>,
    /// All of it or nothing.
    pub atomic: bool,
    /// Only an empty page says that nothing follows.
    ends_late: bool,
}

/// What a feed's records may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mix {
    /// Anything.
    Anything,
    /// Nothing that statements refuse.
    NotRefused,
    /// Nothing that would withhold a whole: each identity has one payload.
    Faultless,
}

impl Feed {
    /// Those of one history: two with one scope, so that they meet each other's identities, one with its own table, and one that is
    /// all or nothing, with the same table.
    pub fn several(dice: &mut Dice) -> Vec<Arc<Self>> {
        let shapes = [("left", "shared", false), ("right", "shared", false), ("rows", "booked", true)];
        let mut feeds: Vec<_> =
            shapes.iter().filter_map(|(source, scope, sql)| Self::new(dice, source, scope, *sql, Mix::Anything)).collect();
        let mix = if dice.chance(600) { Mix::Faultless } else { Mix::NotRefused };
        feeds.extend(Self::new(dice, "whole", "together", true, mix).map(|feed| Self { atomic: true, ..feed }));
        feeds.into_iter().map(Arc::new).collect()
    }

    fn new(dice: &mut Dice, source: &str, scope: &str, sql: bool, mix: Mix) -> Option<Self> {
        let scope = Key::new(scope).ok()?;
        let insert = || format!("INSERT INTO sim_loads (scope, key, amount) SELECT '{scope}', key, amount FROM chunk");
        let sql = sql.then(insert);
        let length = if dice.chance(50) { 0 } else { 5 + dice.index(14) };
        let items = (0..length).filter_map(|place| item(dice, &scope, place, mix)).collect();
        Some(Self { source: source.to_owned(), sql, scope, items, atomic: false, ends_late: dice.chance(300) })
    }

    /// The items that begin between two places, if both are places of it.
    pub fn between(&self, from: i64, to: i64) -> Option<&[Item]> {
        let place = |byte: i64| usize::try_from(byte).ok().filter(|byte| byte.is_multiple_of(WIDTH)).map(|byte| byte / WIDTH);
        self.items.get(place(from)?..place(to)?)
    }

    /// What is written down after so many items.
    pub fn checkpoint(&self, items: usize) -> Checkpoint {
        let prefix = Fingerprint::of_json(&format!("[\"{}\",{items}]", self.source)).ok();
        Checkpoint { position: position(items), prefix, header: None }
    }

    /// Where it ends.
    pub fn end(&self) -> u64 {
        position(self.items.len()).byte
    }
}

fn position(place: usize) -> Position {
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    Position { byte: place * 10, line: place + 1 }
}

/// Most are plain; some say again what another one says, some say it differently, some are refused.
fn item(dice: &mut Dice, scope: &Key, place: usize, mix: Mix) -> Option<Item> {
    let identity = dice.below(IDENTITIES);
    let key = format!("E{identity:02}");
    let plain = i64::try_from(100 + identity).unwrap_or(100);
    let amount = match dice.below(100) {
        _ if mix == Mix::Faultless => {
            if identity.is_multiple_of(5) {
                -plain
            } else {
                plain
            }
        }
        88..93 if mix == Mix::NotRefused => plain,
        0..68 => plain,
        68..80 => plain + 1_000,
        80..88 => -plain,
        88..93 => REFUSED,
        _ => {
            let reason = format!("line {}: a field is missing", place + 1);
            let place = position(place);
            return Some(Item::Rejected(Rejection { place, key: Some(key), reason, raw: b"x\0\xff".to_vec() }));
        }
    };
    let payload = format!("{{\"id\":\"{key}\"}}");
    let Effect { key, fingerprint, amount, payload, .. } =
        Effect::new(scope.clone(), Key::new(&key).ok()?, Some(amount), payload).ok()?;
    let failed = amount.is_some_and(|amount| amount < 0).then(|| "amount < 0".to_owned());
    Some(Item::Record(Record { place: position(place), key, fingerprint, amount, payload, failed }))
}

/// A feed as one process reads it.
pub struct Reading {
    ground: Arc<Ground>,
    feed: Arc<Feed>,
    at: usize,
}

impl Reading {
    /// At its start.
    pub fn of(ground: &Arc<Ground>, feed: &Arc<Feed>) -> Self {
        Self { ground: Arc::clone(ground), feed: Arc::clone(feed), at: 0 }
    }
}

#[async_trait]
impl Source for Reading {
    async fn open(&mut self, from: Option<&Checkpoint>) -> Result<(), SourceError> {
        let Some(from) = from else {
            self.at = 0;
            return Ok(());
        };
        let place = (0..=self.feed.items.len()).find(|place| self.feed.checkpoint(*place) == *from);
        self.at = place.ok_or_else(|| SourceError::Changed(format!("{from:?} is no place of {}", self.feed.source)))?;
        Ok(())
    }

    async fn page(&mut self, limit: PageLimit) -> Result<Page, SourceError> {
        let (waits, breaks, is_empty) = {
            let mut inner = self.ground.inner();
            let trouble = inner.trouble.work;
            (inner.dice.chance(200), inner.dice.chance(trouble / 6), inner.dice.chance(trouble / 6))
        };
        if waits {
            turn().await;
        }
        if breaks {
            return Err(SourceError::Unreadable("the medium is gone".to_owned()));
        }
        let most = limit.items.min(limit.bytes / WIDTH).max(1);
        let rest = &self.feed.items[self.at..];
        let items: Vec<Item> = rest.iter().take(if is_empty { 0 } else { most }).cloned().collect();
        let ended = items.len() == rest.len();
        let last = ended && (!self.feed.ends_late || items.is_empty());
        self.at += items.len();
        Ok(Page { items, after: self.feed.checkpoint(self.at), last })
    }
}
