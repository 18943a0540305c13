use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::alarm::PingWord;
use onebell::model::message::Delivery;
use serde::Deserialize;

use super::channel::HttpChannel;
use super::webhook::Webhook;

/// Delivers the pings of a job, each word to its own address.
pub struct PingChannel {
    /// Of a success.
    pub success: Option<Arc<HttpChannel>>,
    /// Of a failure.
    pub fail: Option<Arc<HttpChannel>>,
}

/// The payload, as far as it is looked at.
#[derive(Deserialize)]
struct Sign {
    ping: PingWord,
}

impl PingChannel {
    /// Whom it goes to, and what.
    fn read(&self, message: &Outgoing) -> Result<(&HttpChannel, Outgoing), String> {
        let sign: Sign = serde_json::from_str(&message.payload).map_err(|error| format!("the payload is no ping: {error}"))?;
        let receiver = match sign.ping {
            PingWord::Success => &self.success,
            PingWord::Fail => &self.fail,
        };
        let receiver = receiver.as_deref().ok_or_else(|| format!("the job file has no address for {}", sign.ping))?;
        let body = Webhook { body: message.payload.clone(), content_type: "application/json".to_owned(), ..Webhook::default() };
        let payload = serde_json::to_string(&body).map_err(|error| error.to_string())?;
        Ok((receiver, Outgoing { payload, ..message.clone() }))
    }
}

/// The address of failures, as monitors of this kind have it: `/fail` below that of successes.
pub fn fail_below(base: &str) -> String {
    let (path, query) = base.split_once('?').map_or((base, None), |(path, query)| (path, Some(query)));
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/fail{query}", path.trim_end_matches('/'))
}

#[async_trait]
impl Channel for PingChannel {
    fn window(&self) -> Duration {
        let windows = [&self.success, &self.fail].into_iter().flatten().map(|channel| channel.window());
        windows.max().unwrap_or_default()
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        match self.read(message) {
            Ok((receiver, message)) => receiver.deliver(&message, gate).await,
            Err(error) => Delivery::Rejected { error },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_goes_below_the_address_and_its_query_stays_a_query() {
        assert_eq!(fail_below("https://hc-ping.com/uuid"), "https://hc-ping.com/uuid/fail");
        assert_eq!(fail_below("https://hc-ping.com/uuid/"), "https://hc-ping.com/uuid/fail");
        assert_eq!(fail_below("https://example.com/push?token=x"), "https://example.com/push/fail?token=x");
    }
}
