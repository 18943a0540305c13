//! What a power cut leaves of files: everything that was made to stay, and any part of the rest.

use std::collections::BTreeMap;
use std::path::Path;

use crate::recorder::{Told, What};

/// A fixed sequence (xorshift): one seed is one image.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// What becomes of writes that were not made to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// All are gone.
    All,
    /// Each may be gone, or there, or there in part.
    Some(u64),
    /// A disk that lies: all are gone, and those that were said to stay as well.
    Lies,
}

/// The files after a power cut.
pub(crate) struct Image {
    files: BTreeMap<String, Vec<u8>>,
    /// How many writes are gone.
    pub(crate) gone: u64,
}

/// The files named in `before` and what was told of them, up to the cut.
pub(crate) fn after_a_cut(before: &BTreeMap<String, Vec<u8>>, told: &[Told], cut: Cut) -> Image {
    let mut dice = match cut {
        Cut::Some(seed) => Dice(seed | 1 << 40),
        _ => Dice(1),
    };
    let (mut files, mut gone) = (before.clone(), 0);
    for (name, content) in &mut files {
        let own: Vec<&What> = told.iter().filter(|told| told.name == *name).map(|told| &told.what).collect();
        let stays = if cut == Cut::Lies { 0 } else { made_to_stay(&own) };
        for (index, what) in own.iter().enumerate() {
            let kept = match (index < stays, cut) {
                (true, _) => 3,
                (false, Cut::Some(_)) => dice.below(4),
                (false, _) => 0,
            };
            let changes = matches!(what, What::Written { .. } | What::Truncated { .. });
            gone += u64::from(changes && kept < 2);
            apply(content, what, kept);
        }
    }
    Image { files, gone }
}

/// Up to where the last sync that ended reaches: what was written before it began.
fn made_to_stay(own: &[&What]) -> usize {
    let Some(ended) = own.iter().rposition(|what| **what == What::SyncEnded) else { return 0 };
    own[..ended].iter().rposition(|what| **what == What::SyncBegun).unwrap_or(0)
}

/// `kept`: 0 not at all, 1 its first half in sectors, else whole.
fn apply(content: &mut Vec<u8>, what: &What, kept: u64) {
    match what {
        What::Written { at, bytes } if kept > 0 => {
            let sectors = (bytes.len() / 2).next_multiple_of(512).min(bytes.len());
            let bytes = if kept == 1 { &bytes[..sectors] } else { bytes };
            let (begin, end) = (usize::try_from(*at).unwrap(), usize::try_from(*at).unwrap() + bytes.len());
            content.resize(content.len().max(end), 0);
            content[begin..end].copy_from_slice(bytes);
        }
        What::Truncated { to } if kept > 1 => content.resize(usize::try_from(*to).unwrap(), 0),
        _ => {}
    }
}

impl Image {
    /// Writes the files.
    pub(crate) fn write(&self, folder: &Path) {
        for (name, content) in &self.files {
            std::fs::write(folder.join(name), content).unwrap();
        }
    }
}

#[test]
fn a_cut_keeps_what_a_sync_covered_and_drops_what_came_after_it_began() {
    let told = |what| Told { what, name: "f".to_owned() };
    let written = |at, byte| told(What::Written { at, bytes: vec![byte; 2] });
    let history =
        [written(0, 1), told(What::SyncBegun), written(2, 2), told(What::SyncEnded), written(4, 3), told(What::SyncBegun)];
    let before = BTreeMap::from([("f".to_owned(), Vec::new())]);
    let content = |told: &[Told], cut| after_a_cut(&before, told, cut).files["f"].clone();
    assert_eq!(content(&history, Cut::All), [1, 1]);
    assert_eq!(content(&history[..3], Cut::All), [0; 0], "the sync had not ended");
    assert_eq!(content(&history, Cut::Lies), [0; 0]);
    assert_eq!(after_a_cut(&before, &history, Cut::All).gone, 2);
}
