//! A shorter history that breaks the same promise: turns are left out as long as it still does.

use crate::world::{Story, Told, tell};

/// Histories told in search of a shorter one, at most.
const TRIES: usize = 120;

/// The shortest found, and what it tells.
pub fn shrink(story: &Story) -> Option<(Story, Told)> {
    let first = tell(story).ok()?;
    let check = first.violation.as_ref()?.check.clone();
    let mut best = Story { draws: story.draws[..first.turns].to_vec(), ..story.clone() };
    let mut tries = 0;
    let mut chunk = best.draws.len() / 2;
    while chunk > 0 && tries < TRIES {
        let mut at = 0;
        while at < best.draws.len() && tries < TRIES {
            tries += 1;
            let end = (at + chunk).min(best.draws.len());
            let mut shorter = best.clone();
            shorter.draws.drain(at..end);
            let told = tell(&shorter).ok();
            let same = told.as_ref().and_then(|told| told.violation.as_ref()).is_some_and(|violation| violation.check == check);
            match told.filter(|_| same) {
                Some(told) => {
                    shorter.draws.truncate(told.turns);
                    best = shorter;
                }
                None => at = end,
            }
        }
        chunk /= 2;
    }
    best.traced = true;
    let told = tell(&best).ok()?;
    Some((best, told))
}
