use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;
use onebell::time::{SystemTimer, Timer, host_now};

use super::approach::Approach;
use super::config::{SmtpConfig, SmtpConfigError};
use super::content;
use super::letter::Letter;
use super::tls::Encryption;

/// Delivers messages as mail. One connection per message.
pub struct SmtpChannel {
    config: SmtpConfig,
    encryption: Option<Encryption>,
    timer: Arc<dyn Timer>,
}

impl SmtpChannel {
    /// A channel by this configuration. Reads the certificates that it trusts, connects to nothing.
    ///
    /// # Errors
    /// What is wrong with the configuration and what to write instead.
    pub fn new(config: SmtpConfig) -> Result<Self, SmtpConfigError> {
        Self::with_timer(config, Arc::new(SystemTimer))
    }

    /// The same under another timer.
    ///
    /// # Errors
    /// As [`SmtpChannel::new`].
    pub fn with_timer(config: SmtpConfig, timer: Arc<dyn Timer>) -> Result<Self, SmtpConfigError> {
        config.check()?;
        let encryption = Encryption::of(&config)?;
        Ok(Self { config, encryption, timer })
    }
}

#[async_trait]
impl Channel for SmtpChannel {
    fn window(&self) -> Duration {
        self.config.window
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        let letter = match Letter::of(message, &self.config.from, host_now()) {
            Ok(letter) => letter,
            Err(error) => return Delivery::Rejected { error },
        };
        let content = content::stuffed(&letter.content);
        let approach = Approach::new(&self.config, self.encryption.as_ref(), &*self.timer);
        let wire = match approach.run(&letter).await {
            Ok(wire) => wire,
            Err(delivery) => return delivery,
        };
        let until = self.timer.elapsed() + self.config.window;
        // The server waits for content now: without the permit the connection is dropped as it is, a QUIT would be content.
        let Some(permit) = gate.open().await else { return Delivery::GivenBack };
        content::send(wire, &content, &permit, &*self.timer, until).await
    }
}
