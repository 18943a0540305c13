//! The pod of a CronJob: what its containers run, and what of it stays behind.

use std::time::Duration;

use super::super::codes;
use super::super::finding::Finding;
use super::super::found::{Found, Step, Work};
use super::object::Object;
use super::scalar::{Typed, typed};
use super::tree::{Node, Value};

/// Fields of a pod's spec.
pub(super) const FIELDS: &[&str] = &[
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "containers",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "hostnameOverride",
    "imagePullSecrets",
    "initContainers",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes",
];

/// What a replica of Onebell has to have itself.
const SURROUNDINGS: &[&str] = &[
    "affinity",
    "hostNetwork",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "resources",
    "runtimeClassName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
    "volumes",
    "volumeMounts",
    "envFrom",
    "livenessProbe",
    "lifecycle",
];

pub(super) fn read(spec: &Object<'_>, found: &mut Found, told: &mut Vec<Finding>) {
    match spec.word("restartPolicy") {
        Some("OnFailure" | "Never") => {}
        Some(other) => {
            let message = format!("restartPolicy {other:?} is refused for a Job");
            told.push(codes::TYPE_WRONG.with(message, "write Never, or OnFailure"));
        }
        None => told.push(
            codes::FIELD_MISSING
                .with("restartPolicy is missing, and its default is refused for a Job", "write restartPolicy: Never"),
        ),
    }
    if let Some(seconds) = spec.whole("activeDeadlineSeconds", told).and_then(|seconds| u64::try_from(seconds).ok()) {
        let own = (Duration::from_secs(seconds), "activeDeadlineSeconds of the pod".to_owned());
        found.platform.bound = found.platform.bound.take().into_iter().chain([own]).min();
    }
    stays(spec, "", found);
    let containers = spec.items("containers");
    let before = spec.items("initContainers");
    if containers.is_empty() {
        told.push(codes::FIELD_MISSING.with("the pod has no containers", "write at least one"));
    }
    if containers.len() > 1 {
        found.left_behind.push("its containers run side by side; here they are steps one after the other".to_owned());
    }
    for node in before.iter().chain(containers) {
        let Some(container) = Object::of(node, "container.") else { continue };
        let step = step(&container, found, told);
        found.steps.push(step);
    }
    if let [only] = found.steps.as_mut_slice() {
        only.name = None;
    }
}

fn step(container: &Object<'_>, found: &mut Found, told: &mut Vec<Finding>) -> Step {
    let name = container.word("name").unwrap_or_default();
    let image = container.word("image").unwrap_or_default();
    found
        .left_behind
        .push(format!("container {name:?} runs in the image {image:?}: its programs must be there on every replica"));
    stays(container, &format!("container {name:?}: "), found);
    let env = variables(container, name, found, told);
    let known = |wanted: &str| env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let command = words(container, "command", told);
    let arguments = words(container, "args", told).unwrap_or_default();
    let work = match command.filter(|command| !command.is_empty()) {
        Some(command) => Work::Argv(command.iter().chain(&arguments).map(|word| expanded(word, known)).collect()),
        None => Work::Elsewhere(format!("the image {image:?} has the command, and the manifest has not")),
    };
    let cwd = container.word("workingDir").filter(|cwd| !cwd.is_empty()).map(str::to_owned);
    Step { name: Some(name.to_owned()), work, env, cwd }
}

/// What of `object` a job file cannot say.
fn stays(object: &Object<'_>, whose: &str, found: &mut Found) {
    for (key, line) in object.keys().filter(|(key, _)| SURROUNDINGS.contains(key) && !object.is_empty(key)) {
        found.left_behind.push(format!("{whose}{key} (line {line})"));
    }
}

/// Variables that have their values here; the others stay behind.
fn variables(container: &Object<'_>, whose: &str, found: &mut Found, told: &mut Vec<Finding>) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = Vec::new();
    for node in container.items("env") {
        let Some(variable) = Object::of(node, "env.") else { continue };
        let Some(name) = variable.word("name") else { continue };
        if variable.has("valueFrom") {
            found.left_behind.push(format!("container {whose:?}: variable {name} comes from {}", source(&variable)));
            continue;
        }
        let value = variable.text("value", told).unwrap_or_default();
        let value = expanded(value, |wanted| env.iter().rev().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str()));
        env.push((name.to_owned(), value));
    }
    env
}

/// Where a value is kept, without the value.
fn source(variable: &Object<'_>) -> String {
    let from = variable.object("valueFrom");
    let kind = from.as_ref().and_then(|from| from.keys().next()).map_or("elsewhere", |(key, _)| key);
    let inner = from.as_ref().and_then(|from| from.object(kind));
    let word = |key| inner.as_ref().and_then(|inner| inner.word(key)).unwrap_or_default().to_owned();
    format!("{kind} {} {}", word("name"), word("key")).trim_end().to_owned()
}

/// A list of texts.
fn words(container: &Object<'_>, name: &str, told: &mut Vec<Finding>) -> Option<Vec<String>> {
    if !container.has(name) {
        return None;
    }
    Some(container.items(name).iter().filter_map(|node| word(node, name, told)).collect())
}

fn word(node: &Node, name: &str, told: &mut Vec<Finding>) -> Option<String> {
    if let Value::Scalar(scalar) = &node.value {
        if let Typed::Text(text) = typed(scalar) {
            return Some(text.to_owned());
        }
        let message = format!("line {}: {name} has {:?}, which is no text: the API server refuses it", node.line, scalar.text);
        told.push(codes::TYPE_WRONG.with(message, "put it in quotes"));
        return Some(scalar.text.clone());
    }
    told.push(codes::TYPE_WRONG.with(format!("line {}: {name} has a list or a map in it", node.line), "write texts"));
    None
}

/// `$(NAME)` with what is known, as the kubelet does; `$$` is a dollar sign, and what is unknown stays as it is.
fn expanded<'k>(word: &str, known: impl Fn(&str) -> Option<&'k str>) -> String {
    let mut text = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some((name, after)) = after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            match known(name) {
                Some(value) => text.push_str(value),
                None => text.push_str(&format!("$({name})")),
            }
            rest = after;
        } else {
            text.push('$');
            rest = after;
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_put_in_as_the_kubelet_does() {
        let of = |word| expanded(word, |name| (name == "A").then_some("x y"));
        assert_eq!(of("a $(A) $(B) $$(A) $A $"), "a x y $(B) $(A) $A $");
        assert_eq!(of("$(A"), "$(A");
    }
}
