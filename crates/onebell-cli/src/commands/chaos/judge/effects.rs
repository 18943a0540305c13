//! Effects that the job itself declared with `onebell probe`: each key is to happen once.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::evidence::Evidence;
use super::super::scene::EffectSeen;
use super::super::timeline;
use super::{Verdict, Violation};

/// A declared effect that happened more than once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Twice {
    pub(in super::super) key: String,
    pub(in super::super) times: u64,
}

pub(super) fn judge(evidence: &Evidence, verdict: &mut Verdict) {
    let mut by_key: BTreeMap<&str, Vec<&EffectSeen>> = BTreeMap::new();
    for effect in &evidence.effects {
        by_key.entry(&effect.key).or_default().push(effect);
    }
    let several: Vec<(&&str, &Vec<&EffectSeen>)> = by_key.iter().filter(|(_, seen)| seen.len() > 1).collect();
    verdict.twice = several.iter().map(|(key, seen)| Twice { key: (**key).to_owned(), times: seen.len() as u64 }).collect();
    let found = several.into_iter().map(|(key, seen)| violation(evidence, key, seen)).collect();
    verdict.check("effects", "an effect declared with `onebell probe` happens once", by_key.len(), found);
}

fn violation(evidence: &Evidence, key: &str, seen: &[&EffectSeen]) -> Violation {
    let first = seen.first().map(|effect| effect.step_id.as_str()).unwrap_or_default();
    let one_step = seen.iter().all(|effect| effect.step_id == first);
    let who: Vec<String> = seen
        .iter()
        .map(|effect| format!("attempt {} of {} on {} at {}", effect.attempt, effect.step_id, effect.replica, effect.at))
        .collect();
    let steps: std::collections::BTreeSet<&str> = seen.iter().map(|effect| effect.step_id.as_str()).collect();
    Violation {
        invariant: "effects",
        what: format!("the effect {key:?} happened {} times: {}", seen.len(), who.join("; ")),
        advice: Some(if one_step { REPEATED } else { TWO_RUNS }.to_owned()),
        timeline: steps.into_iter().flat_map(|step| timeline::of_step(evidence, step)).collect(),
    }
}

const REPEATED: &str = "The first attempt was cut off after its effect and before Onebell could write down that the step was done, so \
    the step was run again. No scheduler can prevent that for an effect outside its database: the work has to be harmless to repeat. \
    Give $ONEBELL_IDEMPOTENCY_KEY, which is the same on every attempt, to whoever carries the effect out (a payment provider's \
    idempotency key, a unique column), and let it refuse the second one; or let a `message` or an `sql` step have the effect. If a gap \
    is better than a repeat: on_lost = \"hold\" and retry = { attempts = 1 }, then a person decides.";

const TWO_RUNS: &str = "Different runs had the same effect. Each run has an idempotency key of its own, so it cannot stop this one: make \
    the key from what must happen once (customer and period, not the run), and let whoever carries the effect out refuse a key that it \
    has seen.";

#[cfg(test)]
mod tests {
    use onebell::model::Moment;

    use super::*;

    fn judged(steps: &[&str]) -> Verdict {
        let effect = |step: &&str| EffectSeen {
            key: "charge/7".to_owned(),
            step_id: (*step).to_owned(),
            attempt: 1,
            replica: "r1".to_owned(),
            at: Moment::from_micros(0),
        };
        let evidence = Evidence { effects: steps.iter().map(effect).collect(), ..Evidence::default() };
        let mut verdict = Verdict::default();
        judge(&evidence, &mut verdict);
        verdict
    }

    #[test]
    fn an_effect_that_happened_twice_is_told_with_what_to_do_about_it() {
        assert!(judged(&["j-1.s"]).violations.is_empty());
        let repeated = judged(&["j-1.s", "j-1.s"]);
        assert!(repeated.violations[0].advice.as_ref().unwrap().contains("ONEBELL_IDEMPOTENCY_KEY"));
        let runs = judged(&["j-1.s", "j-2.s"]);
        assert!(runs.violations[0].advice.as_ref().unwrap().contains("not the run"));
    }
}
