//! Receivers of chaos's own in place of every channel, one for each kind. They count, they outlive every sender, and each step of
//! a conversation with them may be a replica's last. A further kind of channel joins here: a receiver that is started, a port, a
//! configuration that leads to it, and the name under which it knows a message.

use std::sync::Arc;
use std::time::Duration;

use onebell::store::MessageView;
use serde::{Deserialize, Serialize};

use super::phase::Place;
use super::scene::Scene;
use crate::answer::Failure;
use crate::jobfile::{ChannelConfig, HttpConfig, SmtpConfig, Tls};
use crate::mailbox::{Behaviour, Hold, HookAction, Mailbox, Phase as MailPhase, PhaseEvent};
use crate::receiver::{self, Receiver};
use crate::secret::SecretRef;

/// Whose domain the Message-IDs carry.
pub(super) const FROM_DOMAIN: &str = "chaos.onebell.test";
/// How long others wait at a receiver while a message is needed for somebody's death.
const PACE: Duration = Duration::from_millis(700);

/// The running receivers; they end when this is dropped.
pub(super) struct Receivers {
    mailbox: Mailbox,
    webhooks: Receiver,
}

/// Where they listen.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Ports {
    mail: u16,
    webhooks: u16,
}

impl Receivers {
    pub(super) async fn start(scene: &Arc<Scene>) -> Result<Self, Failure> {
        let seen = Arc::clone(scene);
        let mailbox = Mailbox::start(([127, 0, 0, 1], 0), Behaviour::hooked(move |event| mail(&seen, event))).await;
        let wrong = |error| Failure::usage(format!("chaos's mail server cannot listen on 127.0.0.1: {error}"));
        let seen = Arc::clone(scene);
        let webhooks = receiver::Behaviour::hooked(move |event| webhook(&seen, event));
        let webhooks = Receiver::start(([127, 0, 0, 1], 0), webhooks).await;
        let deaf = |error| Failure::usage(format!("chaos's receiver of webhooks cannot listen on 127.0.0.1: {error}"));
        Ok(Self { mailbox: mailbox.map_err(wrong)?, webhooks: webhooks.map_err(deaf)? })
    }

    pub(super) fn ports(&self) -> Ports {
        Ports { mail: self.mailbox.address().port(), webhooks: self.webhooks.address().port() }
    }
}

impl Ports {
    /// The channel as `replica` gets it: of the same kind, and to nobody but chaos.
    pub(super) fn in_place_of(self, channel: &ChannelConfig, replica: &str, window: Duration) -> ChannelConfig {
        match channel {
            ChannelConfig::Smtp(_) => ChannelConfig::Smtp(SmtpConfig {
                host: "127.0.0.1".to_owned(),
                port: self.mail,
                from: format!("Onebell chaos <chaos@{FROM_DOMAIN}>"),
                username: None,
                password: None,
                tls: Tls::None,
                hello: Some(replica.to_owned()),
                ca_file: None,
                window: Some(window),
                timeout: None,
            }),
            ChannelConfig::Http(_) => ChannelConfig::Http(HttpConfig {
                url: SecretRef::Text(format!("http://127.0.0.1:{}/{replica}", self.webhooks)),
                method: "POST".to_owned(),
                secret: None,
                headers: Default::default(),
                ca_file: None,
                proxy: None,
                allow_hosts: None,
                ask: None,
                window: Some(window),
                timeout: None,
            }),
        }
    }
}

/// The name under which its receiver knows a message.
pub(super) fn receipt_id(message: &MessageView) -> String {
    crate::smtp::message_id(&message.key, FROM_DOMAIN)
}

/// What the receiver of webhooks does at a phase. The path is the replica's name.
fn webhook(scene: &Scene, event: &receiver::PhaseEvent) -> receiver::Act {
    let replica = event.target.trim_start_matches('/');
    if event.phase == receiver::Phase::Done {
        let id = crate::smtp::message_id(&crate::http::key_of(&event.key), FROM_DOMAIN);
        scene.received(replica, &id);
    }
    let waits = scene.converses(replica, Place::Web(event.phase)) && event.phase == receiver::Phase::Head;
    if waits { receiver::Act::Hold(Hold::For(PACE)) } else { receiver::Act::Continue }
}

/// What the mail server does at a phase. The EHLO name is the replica's.
fn mail(scene: &Scene, event: &PhaseEvent) -> HookAction {
    let accepted = (event.phase == MailPhase::Accepted).then_some(event.detail.as_str());
    if let Some(id) = accepted {
        scene.received(&event.ehlo, id);
    }
    let waits = scene.converses(&event.ehlo, Place::Mail(event.phase)) && event.phase == MailPhase::Connected;
    if waits { HookAction::Hold(Hold::For(PACE)) } else { HookAction::Continue }
}
