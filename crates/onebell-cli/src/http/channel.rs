use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Method;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;
use onebell::time::{SystemTimer, Timer, host_now};

use super::ask::{Arrived, Question};
use super::config::{HttpConfig, HttpConfigError};
use super::exchange::{Call, Seen};
use super::key;
use super::open::within;
use super::route::Route;
use super::shown;
use super::verdict::{self, deferred};
use super::webhook::Webhook;

/// So much of an answer is read.
const ANSWER_MAX: usize = 16 * 1024;

/// Delivers messages as webhooks. One connection per message.
pub struct HttpChannel {
    config: HttpConfig,
    route: Route,
    timer: Arc<dyn Timer>,
}

impl HttpChannel {
    /// A channel by this configuration. Reads the certificates that it trusts, connects to nothing.
    ///
    /// # Errors
    /// What is wrong with the configuration and what to write instead.
    pub fn new(config: HttpConfig) -> Result<Self, HttpConfigError> {
        Self::with_timer(config, Arc::new(SystemTimer))
    }

    /// The same under another timer.
    ///
    /// # Errors
    /// As [`HttpChannel::new`].
    pub fn with_timer(config: HttpConfig, timer: Arc<dyn Timer>) -> Result<Self, HttpConfigError> {
        let encrypted = config.url.is_encrypted() || config.ask.as_ref().is_some_and(Question::is_encrypted);
        let route = Route::new(encrypted, config.ca_file.as_deref(), config.proxy.clone(), config.allow_hosts.clone())?;
        Ok(Self { timer, ..Self::over(config, route)? })
    }

    /// The same by a way that several share.
    ///
    /// # Errors
    /// As [`HttpChannel::new`].
    pub fn over(mut config: HttpConfig, route: Route) -> Result<Self, HttpConfigError> {
        config.check()?;
        config.secrets = shown::with_tokens(config.secrets);
        Ok(Self { config, route, timer: Arc::new(SystemTimer) })
    }

    /// What goes out for this message.
    fn call(&self, message: &Outgoing) -> Result<Call, String> {
        let webhook = Webhook::read(&message.payload)?;
        let mut call = Call::new(self.config.method.clone(), self.config.url.clone(), webhook.body);
        call.set("content-type", &webhook.content_type)?;
        let own = self.config.headers.iter().map(|(name, value)| (name, value));
        own.chain(&webhook.headers).try_for_each(|(name, value)| call.set(name, value))?;
        self.vouch(&mut call, message);
        Ok(call)
    }

    fn vouch(&self, call: &mut Call, message: &Outgoing) {
        call.identify(&message.key, message.attempt);
        if let Some(signer) = &self.config.signer {
            call.sign(signer, &key::webhook_id(&message.key), host_now().micros() / 1_000_000);
        }
    }

    /// Asks the receiver whether the message arrived, within `span`.
    async fn ask(&self, question: &Question, message: &Outgoing, span: Duration) -> Arrived {
        let target = match question.about(&message.key) {
            Ok(target) => target,
            Err(error) => return Arrived::NotKnown(error, None),
        };
        let mut call = Call::new(Method::GET, target, "");
        let headers = self.config.headers.iter().try_for_each(|(name, value)| call.set(name, value));
        if let Err(error) = headers {
            return Arrived::NotKnown(error, None);
        }
        self.vouch(&mut call, message);
        let until = self.timer.elapsed() + span;
        let seen = match within(&*self.timer, span, self.route.open(&call.target)).await {
            Ok(connection) => connection.exchange(&call, ANSWER_MAX, &*self.timer, until).await,
            Err(error) => Seen::Nothing(error),
        };
        Arrived::of(&seen, &self.config.secrets)
    }

    /// Before it is sent again. Nothing: it has to be sent.
    async fn settled_already(&self, message: &Outgoing) -> Option<Delivery> {
        let question = self.config.ask.as_ref().filter(|_| message.attempt > 1)?;
        match self.ask(question, message, self.config.timeout).await {
            Arrived::Yes(told) => Some(Delivery::Accepted { receipt: format!("the receiver, asked, has it: {told}") }),
            Arrived::No => None,
            Arrived::NotKnown(why, after) => Some(Delivery::Deferred {
                error: format!("asked whether it arrived before, the receiver does not say: {why}"),
                after,
            }),
        }
    }

    /// After an outcome that is not known. Only a yes changes it: what was sent may still be on its way.
    async fn asked_after(&self, message: &Outgoing, error: String, left: Duration) -> Delivery {
        let Some(question) = self.config.ask.as_ref().filter(|_| !left.is_zero()) else { return Delivery::Unknown { error } };
        match self.ask(question, message, left.min(self.config.timeout)).await {
            Arrived::Yes(told) => Delivery::Accepted { receipt: format!("{error}; the receiver, asked, has it: {told}") },
            Arrived::No => Delivery::Unknown { error: format!("{error}; asked at once, the receiver did not have it") },
            Arrived::NotKnown(why, _) => Delivery::Unknown { error: format!("{error}; asked, the receiver did not say: {why}") },
        }
    }
}

#[async_trait]
impl Channel for HttpChannel {
    fn window(&self) -> Duration {
        self.config.window
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        let call = match self.call(message) {
            Ok(call) => call,
            Err(error) => return Delivery::Rejected { error },
        };
        if let Some(settled) = self.settled_already(message).await {
            return settled;
        }
        let connection = match within(&*self.timer, self.config.timeout, self.route.open(&call.target)).await {
            Ok(connection) => connection,
            Err(error) => return deferred(format!("no connection to {}: {error}", self.config.url)),
        };
        let until = self.timer.elapsed() + self.config.window;
        let Some(permit) = gate.open().await else { return Delivery::GivenBack };
        if !permit.holds() {
            return deferred("nothing was sent: the send window was over before it began, was this host asleep?");
        }
        match connection.exchange(&call, ANSWER_MAX, &*self.timer, until).await {
            Seen::Nothing(error) => deferred(format!("nothing was sent: {error}")),
            Seen::Answer(answer) => match verdict::of(&answer, &self.config.secrets) {
                Delivery::Unknown { error } => self.asked_after(message, error, until.saturating_sub(self.timer.elapsed())).await,
                word => word,
            },
            Seen::Broken(error) => {
                let error = format!("the request went out, then: {error}");
                self.asked_after(message, error, until.saturating_sub(self.timer.elapsed())).await
            }
        }
    }
}
