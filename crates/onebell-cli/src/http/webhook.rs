use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::header::{check_name, check_value};

/// More than this is a file, not a message.
const BODY_MAX: usize = 1024 * 1024;

/// The payload of a message for the channel `http`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Webhook {
    /// What is posted, as it is signed.
    pub body: String,
    /// What it is.
    pub content_type: String,
    /// Headers over the channel's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

impl Webhook {
    pub(super) fn read(payload: &str) -> Result<Self, String> {
        let webhook: Self = serde_json::from_str(payload).map_err(|reason| format!("the payload is no webhook: {reason}"))?;
        if webhook.body.len() > BODY_MAX {
            return Err(format!("body is {} bytes long, at most {BODY_MAX} are possible", webhook.body.len()));
        }
        check_value(&webhook.content_type).map_err(|wrong| format!("content_type: {wrong}"))?;
        let mut seen = BTreeSet::new();
        for (name, value) in &webhook.headers {
            check_name(name).map_err(|wrong| format!("headers: {wrong}"))?;
            if !seen.insert(name.to_ascii_lowercase()) {
                return Err(format!("headers names {name} twice; write it once"));
            }
            check_value(value).map_err(|wrong| format!("headers.{name}: {wrong}"))?;
        }
        Ok(webhook)
    }
}

/// Checks a payload before it enters the outbox.
///
/// # Errors
/// The field, what is wrong with it and what to write instead.
pub fn render_check(payload: &str) -> Result<(), String> {
    Webhook::read(payload).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_receiver_could_be_sent_is_refused_and_the_field_named() {
        let refusal = |payload: serde_json::Value| render_check(&payload.to_string()).unwrap_err();
        let with =
            |name: &str, value: &str| serde_json::json!({"body": "", "content_type": "text/plain", "headers": {name: value}});
        assert!(refusal(with("X-Ref", "a\r\nb")).starts_with("headers.X-Ref"));
        assert!(refusal(with("webhook-id", "x")).starts_with("headers: webhook-id"));
        assert!(refusal(serde_json::json!({"body": "", "content_type": "a\nb"})).starts_with("content_type"));
        assert!(refusal(serde_json::json!({"body": "x".repeat(BODY_MAX + 1), "content_type": "a"})).starts_with("body is"));
        assert!(refusal(serde_json::json!({"to": "a@example.com", "subject": "", "text": ""})).contains("no webhook"));
        assert!(render_check(&with("X-Ref", "Kỳ 11").to_string()).is_ok());
    }
}
