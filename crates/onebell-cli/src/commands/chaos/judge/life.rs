//! I12: nothing is stuck. And whether the storm hit what it was to hit.

use super::super::evidence::Evidence;
use super::super::phase::Phase;
use super::super::storm::Done;
use super::super::timeline;
use super::{Finding, Verdict, Violation};

/// So many are told one by one.
const TOLD: usize = 10;

pub(super) fn judge(evidence: &Evidence, done: &Done, verdict: &mut Verdict) {
    let mut stuck = Vec::new();
    let open = |status: &str| matches!(status, "queued" | "running" | "cancelling" | "failing" | "undoing");
    for run in &evidence.runs {
        let waits = run.steps.iter().any(|step| matches!(step.status.as_str(), "exhausted" | "held" | "failed"));
        let why = match run.run.status.as_str() {
            status if open(status) => format!("run {} is still {status}", run.run.id),
            "parked" if !waits => format!("run {} is parked, and no step of it says why", run.run.id),
            _ => continue,
        };
        stuck.push(Violation { invariant: "I12", what: why, advice: None, timeline: timeline::of_run(evidence, &run.run.id) });
    }
    for message in &evidence.messages {
        if matches!(message.status.as_str(), "ready" | "claimed" | "sending") {
            let what = format!("message {:?} is still {}", message.key, message.status);
            stuck.push(Violation { invariant: "I12", what, advice: None, timeline: timeline::of_message(evidence, message) });
        }
    }
    for request in evidence.recoveries.iter().filter(|request| request.granted_at.is_none()) {
        let what = format!("the recovery request for {} {} was neither granted nor refused", request.kind, request.id);
        stuck.push(Violation { invariant: "I12", what, advice: None, timeline: Vec::new() });
    }
    for replica in evidence.replicas.iter().filter(|replica| replica.lost_at.is_none() && replica.left_at.is_none()) {
        let what = format!("replica {} is gone, and was neither found lost nor did it leave", replica.label);
        stuck.push(Violation { invariant: "I12", what, advice: None, timeline: Vec::new() });
    }
    let beyond = stuck.len().saturating_sub(TOLD);
    stuck.truncate(TOLD);
    if let Some(last) = stuck.last_mut().filter(|_| beyond > 0) {
        last.what = format!("{} (and {beyond} more that are stuck)", last.what);
    }
    let looked_at = evidence.runs.len() + evidence.messages.len() + evidence.recoveries.len();
    verdict.check("I12", "nothing is stuck", looked_at, stuck);
    let ended = done.ended.iter().map(|(name, how, words)| Violation {
        invariant: "process",
        what: format!("replica {name} {how}"),
        advice: None,
        timeline: words.lines().map(str::to_owned).collect(),
    });
    let ended = ended.collect();
    verdict.check("process", "a replica ends only when it is told to", evidence.replicas.len(), ended);
}

/// Phases that no kill hit prove nothing.
pub(super) fn coverage(done: &Done, phases: &[Phase], kills: u32, verdict: &mut Verdict) {
    let never: Vec<&str> =
        phases.iter().filter(|phase| done.hits.get(phase).is_none_or(|hits| *hits == 0)).map(|phase| phase.word()).collect();
    if never.is_empty() || kills == 0 {
        return;
    }
    let remedy = if (kills as usize) < phases.len() {
        format!("{} phases need as many kills: --kills {} or more", phases.len(), phases.len())
    } else {
        "let there be more to hit: --runs, another --seed, or a job with more messages and longer commands".to_owned()
    };
    verdict.findings.push(Finding { code: "phase-never-hit", what: format!("no kill came in: {}", never.join(", ")), remedy });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_was_never_hit_is_a_finding_unless_no_kill_was_asked_for() {
        let coverage = |kills, hits: &[(Phase, u64)]| {
            let mut verdict = Verdict::default();
            let done = Done { hits: hits.iter().copied().collect(), ..Done::default() };
            super::coverage(&done, &[Phase::Claim, Phase::Slot], kills, &mut verdict);
            verdict.findings
        };
        assert!(coverage(2, &[(Phase::Claim, 1), (Phase::Slot, 1)]).is_empty());
        assert!(coverage(0, &[]).is_empty());
        let missed = coverage(2, &[(Phase::Claim, 2), (Phase::Slot, 0)]);
        assert_eq!(missed[0].what, "no kill came in: slot");
        assert!(coverage(1, &[(Phase::Claim, 1)])[0].remedy.contains("--kills 2"));
    }
}
