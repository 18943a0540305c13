//! One CronJob, field by field.

use std::time::Duration;

use super::super::codes;
use super::super::finding::Finding;
use super::super::found::{Found, Kind, Meanwhile, Zone};
use super::super::next::rule_of;
use super::object::Object;
use super::{pod, times};

const CRON_JOB: &[&str] = &["apiVersion", "kind", "metadata", "spec", "status"];
const CRON_SPEC: &[&str] = &[
    "schedule",
    "timeZone",
    "startingDeadlineSeconds",
    "concurrencyPolicy",
    "suspend",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
];
const JOB_SPEC: &[&str] = &[
    "activeDeadlineSeconds",
    "backoffLimit",
    "backoffLimitPerIndex",
    "completionMode",
    "completions",
    "managedBy",
    "manualSelector",
    "maxFailedIndexes",
    "parallelism",
    "podFailurePolicy",
    "podReplacementPolicy",
    "selector",
    "successPolicy",
    "suspend",
    "template",
    "ttlSecondsAfterFinished",
];
/// What only a CronJob's spec has; `suspend` a Job's spec has too.
const ONLY_CRON: &[&str] = &[
    "schedule",
    "timeZone",
    "startingDeadlineSeconds",
    "concurrencyPolicy",
    "jobTemplate",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
];
/// What only a Job's spec has.
const ONLY_JOB: &[&str] = &[
    "activeDeadlineSeconds",
    "backoffLimit",
    "completionMode",
    "completions",
    "parallelism",
    "podFailurePolicy",
    "template",
    "ttlSecondsAfterFinished",
];
const HOMES: &[(&str, &[&str])] =
    &[("spec", ONLY_CRON), ("spec.jobTemplate.spec", ONLY_JOB), ("spec.jobTemplate.spec.template.spec", pod::FIELDS)];

/// A CronJob's Jobs get eleven more characters.
const NAME_MAX: usize = 52;

/// Reads the CronJob into `found`; true: something of it could not be read.
pub(super) fn read(object: &Object<'_>, kind: &str, found: &mut Found) -> bool {
    let told = &mut Vec::new();
    version(object, kind, told);
    if let Some(metadata) = object.object("metadata") {
        let name = metadata.word("name").or_else(|| metadata.word("generateName")).unwrap_or_default();
        name.clone_into(&mut found.name);
        check_name(&metadata, told);
    } else {
        told.push(codes::FIELD_MISSING.with("metadata is missing", "write metadata with a name"));
    }
    object.strangers(CRON_JOB, HOMES, told);
    let Some(spec) = object.object("spec") else {
        told.push(codes::FIELD_MISSING.with("spec is missing", "write spec with schedule and jobTemplate"));
        found.timing.refused = true;
        found.findings.append(told);
        return false;
    };
    spec.strangers(CRON_SPEC, &HOMES[1..], told);
    let unread = due(&spec, found, told) | is_template(&found.name);
    found.paused = spec.flag("suspend", told).unwrap_or(false);
    policies(&spec, found, told);
    template(&spec, found, told);
    found.findings.append(told);
    unread
}

fn version(object: &Object<'_>, kind: &str, told: &mut Vec<Finding>) {
    if kind != "CronJob" {
        told.push(codes::KIND_REFUSED.says(format!("there is no kind {kind:?}")));
    }
    match object.word("apiVersion") {
        Some("batch/v1") => {}
        Some(old @ ("batch/v1beta1" | "batch/v2alpha1")) => {
            told.push(codes::API_REMOVED.says(format!(
                "apiVersion {old} is gone since Kubernetes {}",
                if old == "batch/v1beta1" { "1.25" } else { "1.21" }
            )));
        }
        Some(other) => told.push(codes::KIND_REFUSED.says(format!("{other:?} has no CronJob"))),
        None => told.push(codes::FIELD_MISSING.with("apiVersion is missing", "write apiVersion: batch/v1")),
    }
}

fn check_name(metadata: &Object<'_>, told: &mut Vec<Finding>) {
    let Some(name) = metadata.text("name", told) else {
        if !metadata.has("generateName") {
            told.push(codes::FIELD_MISSING.with("metadata.name is missing", "write a name"));
        }
        return;
    };
    if is_template(name) {
        told.push(codes::TEMPLATE.says(format!("the name is a template: {name:?}")));
        return;
    }
    let label = |label: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(fits) && !label.starts_with('-') && !label.ends_with('-')
    };
    if name.len() > NAME_MAX || !name.split('.').all(label) {
        told.push(codes::NAME_REFUSED.says(format!("the API server refuses the name {name:?}")));
    }
}

/// When it is due; true: a template says it.
fn due(spec: &Object<'_>, found: &mut Found, told: &mut Vec<Finding>) -> bool {
    found.timing.dst = rule_of(Kind::Kubernetes);
    found.timing.zone = Zone::Controller;
    found.line = spec.line_of("schedule").unwrap_or(spec.line);
    let zone = spec.text("timeZone", told);
    let Some(schedule) = spec.text("schedule", told) else {
        if !spec.has("schedule") {
            told.push(codes::SCHEDULE_MISSING.says("spec.schedule is missing: the API server refuses it"));
        }
        found.timing.refused = true;
        return false;
    };
    schedule.clone_into(&mut found.timing.text);
    if let Some(template) = [Some(schedule), zone].into_iter().flatten().find(|text| is_template(text)) {
        told.push(
            codes::TEMPLATE.says(format!("line {}: a template, {template:?}: what it becomes is not in the file", found.line)),
        );
        found.timing.refused = true;
        return true;
    }
    match zone {
        Some("Local" | "") => {
            let shown = zone.unwrap_or_default();
            told.push(codes::ZONE_UNKNOWN.says(format!("timeZone {shown:?} is refused by the API server")));
            found.timing.refused = true;
        }
        Some(zone) => found.timing.zone = Zone::Named(zone.to_owned()),
        None => {}
    }
    times::read(schedule, zone.is_some(), &mut found.timing, told);
    false
}

fn policies(spec: &Object<'_>, found: &mut Found, told: &mut Vec<Finding>) {
    match spec.text("concurrencyPolicy", told) {
        None | Some("Allow") => {}
        Some("Forbid") => found.platform.meanwhile = Meanwhile::Skips,
        Some("Replace") => found.platform.meanwhile = Meanwhile::Replaces,
        Some(other) => {
            let message = format!("concurrencyPolicy {other:?} is refused by the API server");
            told.push(codes::TYPE_WRONG.with(message, "write Allow, Forbid or Replace"));
        }
    }
    if let Some(seconds) = spec.whole("startingDeadlineSeconds", told) {
        if seconds < 10 {
            let message = format!(
                "startingDeadlineSeconds: {seconds}: the controller checks about every 10 s, so a run may never start in time"
            );
            told.push(codes::DEADLINE_SHORT.says(message));
        }
        found.platform.late = Some(Duration::from_secs(seconds.try_into().unwrap_or(0)));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        if let Some(kept) = spec.whole(field, told) {
            found.left_behind.push(format!("{field}: {kept}: see keep_runs under [replica]"));
        }
    }
}

fn template(spec: &Object<'_>, found: &mut Found, told: &mut Vec<Finding>) {
    let Some(template) = spec.object("jobTemplate") else {
        told.push(
            codes::FIELD_MISSING.with("spec.jobTemplate is missing", "write jobTemplate with spec.template.spec.containers"),
        );
        return;
    };
    template.strangers(&["metadata", "spec"], HOMES, told);
    let Some(job) = template.object("spec") else {
        told.push(codes::FIELD_MISSING.with("spec.jobTemplate.spec is missing", "write it, with a template"));
        return;
    };
    job.strangers(JOB_SPEC, &[HOMES[0], HOMES[2]], told);
    if let Some(seconds) = job.whole("activeDeadlineSeconds", told).and_then(|seconds| u64::try_from(seconds).ok()) {
        found.platform.bound = Some((Duration::from_secs(seconds), "activeDeadlineSeconds".to_owned()));
    }
    // Six, if nobody says it.
    let limit = job.whole("backoffLimit", told).and_then(|limit| u64::try_from(limit).ok());
    found.platform.repeats = Some((limit.unwrap_or(6), limit.is_some()));
    let count = |name, told: &mut Vec<Finding>| job.whole(name, told).and_then(|count| u64::try_from(count).ok()).unwrap_or(1);
    let copies = count("parallelism", told).max(count("completions", told));
    if job.text("completionMode", told) != Some("Indexed") {
        found.platform.copies = copies;
    }
    if copies > 1 {
        found.left_behind.push(format!("it starts {copies} pods; here it is one step"));
    }
    if job.flag("suspend", told) == Some(true) {
        found.left_behind.push("jobTemplate.spec.suspend: its Jobs are created suspended".to_owned());
    }
    if let Some(seconds) = job.whole("ttlSecondsAfterFinished", told) {
        found.left_behind.push(format!("ttlSecondsAfterFinished: {seconds}: see keep_runs under [replica]"));
    }
    let pods = job.object("template");
    if let Some(pods) = &pods {
        pods.strangers(&["metadata", "spec"], HOMES, told);
    }
    match pods.and_then(|pods| pods.object("spec")) {
        Some(spec) => {
            spec.strangers(pod::FIELDS, &HOMES[..2], told);
            pod::read(&spec, found, told);
        }
        None => {
            told.push(codes::FIELD_MISSING.with("spec.jobTemplate.spec.template.spec is missing", "write it, with containers"))
        }
    }
}

/// Go's and Helm's, and a shell's.
fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("${")
}
