//! Holds the evidence against what is promised. Every check says what it looked at; every violation carries its timeline.

mod effects;
mod expected;
mod life;
mod messages;
mod slots;
mod steps;

use serde::Serialize;

use super::evidence::Evidence;
use super::phase::Phase;
use super::storm::Done;
use crate::jobfile::JobFile;

pub(super) use effects::Twice;
pub(super) use expected::Expected;
pub(super) use messages::{Doubt, Messages};
pub(super) use steps::Repeated;

/// A promise that did not hold.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Violation {
    pub(super) invariant: &'static str,
    pub(super) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
    pub(super) timeline: Vec<String>,
}

/// Something to be looked at that is no broken promise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) what: String,
    pub(super) remedy: String,
}

/// What was checked.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    pub(super) invariant: &'static str,
    pub(super) promise: &'static str,
    /// How many things it looked at.
    pub(super) looked_at: u64,
    pub(super) violations: u64,
}

/// What came out.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) messages: Messages,
    pub(super) in_doubt: Vec<Doubt>,
    pub(super) repeated: Vec<Repeated>,
    pub(super) twice: Vec<Twice>,
    /// Messages that were put again under a key that was there.
    pub(super) put_again: u64,
    pub(super) checks: Vec<Check>,
    pub(super) violations: Vec<Violation>,
    pub(super) findings: Vec<Finding>,
}

impl Verdict {
    fn check(&mut self, invariant: &'static str, promise: &'static str, looked_at: usize, found: Vec<Violation>) {
        let (looked_at, violations) = (looked_at as u64, found.len() as u64);
        self.checks.push(Check { invariant, promise, looked_at, violations });
        self.violations.extend(found);
    }
}

/// Judges everything. `phases`: those that the job file can come through; `kills`: how many were asked for.
pub(super) fn judge(
    file: &JobFile,
    evidence: &Evidence,
    expected: &Expected,
    done: &Done,
    (phases, kills): (&[Phase], u32),
) -> Verdict {
    let mut verdict = Verdict::default();
    slots::judge(file, evidence, &mut verdict);
    steps::judge(file, evidence, &mut verdict);
    messages::judge(evidence, expected, &mut verdict);
    effects::judge(evidence, &mut verdict);
    life::judge(evidence, done, &mut verdict);
    life::coverage(done, phases, kills, &mut verdict);
    verdict
}
