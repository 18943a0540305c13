//! `ping`: where a monitor outside listens for signs of life of a job. The address stays in the file: the definition names a channel.

use std::collections::BTreeSet;

use onebell::model::JobDefinition;
use onebell::model::alarm::{Ping, PingWord};
use onebell::model::retry::RetryPolicy;
use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read};
use super::keys;
use super::problem::Flaw;
use super::settings::secret;
use crate::http::Target;
use crate::secret::SecretRef;

/// Where the pings of a job go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PingConfig {
    /// A success to the address, a failure to `/fail` below it.
    Base(SecretRef),
    /// An address for each word that is sent.
    Each {
        /// Of a success.
        success: Option<SecretRef>,
        /// Of a failure.
        fail: Option<SecretRef>,
    },
}

impl PingConfig {
    /// Addresses that are to be kept out of logs.
    pub(super) fn secrets(&self) -> Vec<SecretRef> {
        let all = match self {
            Self::Base(base) => vec![Some(base)],
            Self::Each { success, fail } => vec![success.as_ref(), fail.as_ref()],
        };
        all.into_iter().flatten().filter(|address| address.is_secret()).cloned().collect()
    }

    fn words(&self) -> BTreeSet<PingWord> {
        match self {
            Self::Base(_) => PingWord::ALL.iter().copied().collect(),
            Self::Each { success, fail } => {
                let sent = [(PingWord::Success, success.is_some()), (PingWord::Fail, fail.is_some())];
                sent.into_iter().filter(|(_, sent)| *sent).map(|(word, _)| word).collect()
            }
        }
    }
}

/// How the channels of pings are called; no other channel may be called so.
pub const CHANNELS: &str = "ping/";

/// The channel of a job's pings.
pub fn channel(job: &str) -> String {
    format!("{CHANNELS}{job}")
}

/// A monitor wants to hear of now: what could not be told for an hour says nothing of it.
fn patience() -> RetryPolicy {
    RetryPolicy { attempts: 30, within_us: Some(3_600_000_000), ..RetryPolicy::default() }
}

/// The key of a job.
pub(super) fn read<'t>(fields: &Fields<'t>, job: &mut JobDefinition) -> Option<PingConfig> {
    let config = fields.read("ping", |node| config(node, fields.flaws))?;
    job.ping = Some(Ping { on: config.words(), retry: patience(), ..Ping::new(channel(&job.name)) });
    Some(config)
}

fn config<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<PingConfig> {
    let own = ["success", "fail"];
    let is_each =
        |node: &Node<'_>| matches!(node.get_ref(), DeValue::Table(table) if own.iter().any(|key| table.contains_key(*key)));
    if !is_each(node) {
        return address(node, flaws).map(PingConfig::Base);
    }
    let fields = Fields::open(node, &keys::PING, flaws)?;
    let [success, fail] = own.map(|key| fields.read(key, |node| address(node, flaws)));
    fields.finish();
    Ok(PingConfig::Each { success, fail })
}

/// What is written down is judged at once; what is named, by the replica that has it.
fn address<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<SecretRef> {
    let address = secret(node, flaws)?;
    match &address {
        SecretRef::Text(written) => written.parse::<Target>().map(|_| address).map_err(|wrong| Flaw::new(node.span(), wrong, "")),
        _ => Ok(address),
    }
}
