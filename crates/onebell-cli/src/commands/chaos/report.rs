//! What chaos answers: JSON in the contract's words, or a page for people.

use std::collections::BTreeMap;

use onebell::store::Prevented;
use serde::Serialize;

use super::judge::{Check, Doubt, Finding, Messages, Repeated, Twice, Verdict, Violation};
use super::plan::Fault;
use super::storm::Done;
use crate::answer::{Answer, Failure};

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) replicas: u32,
    pub(super) kills: u64,
    pub(super) pauses: u64,
    /// Kills by phase of the protocol.
    pub(super) hits: BTreeMap<&'static str, u64>,
    pub(super) seed: u64,
    pub(super) runs: u64,
    pub(super) messages: Messages,
    pub(super) violations: Vec<Violation>,
    pub(super) findings: Vec<Finding>,
    /// Each message in doubt, and whether the receiver has it.
    pub(super) in_doubt: Vec<Doubt>,
    /// Steps that were executed more than once for the same run: what *at least once* means.
    pub(super) repeated: Vec<Repeated>,
    /// Declared effects that happened more than once.
    pub(super) effects_twice: Vec<Twice>,
    pub(super) prevented: Kept,
    pub(super) checks: Vec<Check>,
    /// Stops beyond the plan, for a replica that was to die in a grant and had nothing to grant.
    pub(super) provoked: u64,
    pub(super) terms: u64,
    pub(super) cuts: u64,
    /// Runs that a person would have had to give a new budget.
    pub(super) renewed: u64,
    /// Runs that wait for a person at the end: a message in doubt, or a step that is held when it is lost.
    pub(super) parked: u64,
    pub(super) real_steps: bool,
    pub(super) elapsed_ms: u64,
    pub(super) plan: Vec<String>,
}

/// What would have been done twice without keys, fences and locks.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Kept {
    /// Messages put again under a key that was there.
    pub(super) messages: u64,
    /// Slots that another scheduler had opened.
    pub(super) slots: u64,
    /// Late results of attempts that were over.
    pub(super) superseded: u64,
}

/// What the command line asked for, and how long it took.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) replicas: u32,
    pub(super) seed: u64,
    pub(super) runs: u64,
    pub(super) parked: u64,
    pub(super) real_steps: bool,
    pub(super) elapsed_ms: u64,
}

impl Report {
    pub(super) fn new(frame: Frame, plan: &[Fault], done: &Done, verdict: Verdict, prevented: Prevented) -> Self {
        Self {
            replicas: frame.replicas,
            kills: done.kills,
            pauses: done.pauses,
            hits: done.hits.iter().map(|(phase, hits)| (phase.word(), *hits)).collect(),
            seed: frame.seed,
            runs: frame.runs,
            messages: verdict.messages,
            violations: verdict.violations,
            findings: verdict.findings,
            in_doubt: verdict.in_doubt,
            repeated: verdict.repeated,
            effects_twice: verdict.twice,
            prevented: Kept { messages: verdict.put_again, slots: prevented.slots, superseded: prevented.superseded },
            checks: verdict.checks,
            provoked: done.provoked,
            terms: done.terms,
            cuts: done.cuts,
            renewed: done.renewed.len() as u64,
            parked: frame.parked,
            real_steps: frame.real_steps,
            elapsed_ms: frame.elapsed_ms,
            plan: plan.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.done();
        lines.extend(self.facts());
        lines.push(String::new());
        for check in &self.checks {
            let how = if check.violations == 0 { "held".to_owned() } else { counted_u64(check.violations, "violation") };
            lines.push(format!("  {:<8} {} ({} looked at): {how}", check.invariant, check.promise, check.looked_at));
        }
        for violation in &self.violations {
            lines.push(String::new());
            lines.push(format!("VIOLATION {}: {}", violation.invariant, violation.what));
            lines.extend(violation.advice.iter().map(|advice| format!("  What to do: {advice}")));
            lines.extend(violation.timeline.iter().map(|line| format!("    {line}")));
        }
        for finding in &self.findings {
            lines.push(String::new());
            lines.push(format!("FINDING {}: {}", finding.code, finding.what));
            lines.push(format!("  What to do: {}", finding.remedy));
        }
        lines
    }

    fn done(&self) -> Vec<String> {
        let hits: Vec<String> = self.hits.iter().map(|(phase, hits)| format!("{phase} {hits}")).collect();
        let mut done = vec![format!("{} killed", counted_u64(self.kills, "replica"))];
        done.push(counted_u64(self.pauses, "pause"));
        if self.provoked > 0 {
            done.push(format!("{} to have something to grant", counted_u64(self.provoked, "stop")));
        }
        done.push(format!("{} SIGTERM", self.terms));
        if self.cuts > 0 {
            done.push(format!("{} of all database connections", counted_u64(self.cuts, "cut")));
        }
        let seconds = self.elapsed_ms / 1_000;
        vec![
            format!("{} replicas, {}, seed {}, {seconds} s.", self.replicas, counted_u64(self.runs, "run"), self.seed),
            format!("Done to them: {}.", done.join(", ")),
            format!("Kills by phase: {}.", hits.join(", ")),
        ]
    }

    fn facts(&self) -> Vec<String> {
        let messages = &self.messages;
        let mut lines = vec![format!(
            "Receivers accepted {} messages: {} twice, {} missing, {} in doubt.",
            messages.accepted, messages.duplicates, messages.missing, messages.in_doubt
        )];
        if messages.repeated_by_policy > 0 {
            lines.push(format!("Of the repeated ones, {} are what on_in_doubt = \"resend\" means.", messages.repeated_by_policy));
        }
        for doubt in &self.in_doubt {
            let arrived = if doubt.arrived { "arrived" } else { "did not arrive" };
            lines.push(format!("  in doubt: {} to {} ({arrived}, as chaos's own receiver knows)", doubt.key, doubt.to));
        }
        let kept = &self.prevented;
        lines.push(format!(
            "Without keys and fences there would have been {} messages, {} runs and {} late results too many.",
            kept.messages, kept.slots, kept.superseded
        ));
        for repeated in &self.repeated {
            lines.push(format!(
                "Step {} was executed again in {} ({} beyond the first): a command is run at least once.",
                repeated.step,
                counted_u64(repeated.runs, "run"),
                counted_u64(repeated.again, "execution"),
            ));
        }
        if !self.real_steps && !self.repeated.is_empty() {
            lines.push(
                "  Stand-ins ran in place of the commands. To see whether the real ones can be repeated, let them say what must \
                 happen once (onebell probe KEY) and add --real-steps."
                    .to_owned(),
            );
        }
        if self.parked > 0 {
            let runs = counted_u64(self.parked, "run");
            lines.push(format!(
                "{runs} parked, as the job file wants it: a message in doubt, or a lost step, waits for a person."
            ));
        }
        if self.renewed > 0 {
            lines.push(format!(
                "Faults alone spent the budget of {}: a person would have had to retry.",
                counted_u64(self.renewed, "run")
            ));
        }
        lines
    }
}

/// 3 when a promise was broken or something is to be looked at.
pub(super) fn verdict(reports: &[Report]) -> Answer {
    let sum = |of: fn(&Report) -> usize| reports.iter().map(of).sum::<usize>();
    let (violations, findings) = (sum(|report| report.violations.len()), sum(|report| report.findings.len()));
    let touched = reports.iter().filter(|report| !report.violations.is_empty() || !report.findings.is_empty());
    let seeds: Vec<String> = touched.map(|report| report.seed.to_string()).collect();
    if seeds.is_empty() {
        return Ok(());
    }
    let seeds = format!("seed {}", seeds.join(", "));
    Err(Failure::Findings(match violations {
        0 => format!("no violation, {} ({seeds})", counted(findings, "finding")),
        violations => format!("{} ({seeds})", counted(violations, "violation")),
    }))
}

fn counted(count: usize, what: &str) -> String {
    counted_u64(count as u64, what)
}

fn counted_u64(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
