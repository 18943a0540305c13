//! Bodies of requests and webhooks.

use onebell::model::fingerprint::canonical;

use super::spec::Body;

/// The name of its template: one that is JSON prints values as JSON.
pub(super) fn name(body: &Body) -> &'static str {
    if body.json { "json" } else { "body" }
}

/// Whether what was rendered is what it says it is.
pub(crate) fn check(body: &Body, text: &str) -> Result<(), String> {
    if !body.json {
        return Ok(());
    }
    canonical(text).map(drop).map_err(|error| {
        let line = text.as_bytes().iter().take(error.offset).filter(|byte| **byte == b'\n').count() + 1;
        format!(
            "json: line {line} of what it prints is not JSON: {}; write values without quotes of their own: {{{{ row.name }}}}",
            error.refusal
        )
    })
}
