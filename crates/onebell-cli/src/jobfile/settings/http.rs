//! `kind = "http"`: where webhooks go.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use toml::de::DeValue;

use super::super::fields::{Fields, Flaws, Node, Read, expected};
use super::super::kind::headers;
use super::super::problem::Flaw;
use super::super::values::{name, span, text, texts, word};
use super::secret;
use crate::http::{Question, Route, Signer, Target, check_value};
use crate::secret::SecretRef;

pub(in crate::jobfile) const METHODS: &[&str] = &["POST", "PUT", "PATCH"];

/// A receiver of webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// Where they go.
    pub url: SecretRef,
    /// `POST`, `PUT` or `PATCH`.
    pub method: String,
    /// Signs them.
    pub secret: Option<SecretRef>,
    /// Sent with every one.
    pub headers: BTreeMap<String, SecretRef>,
    /// Certificates to trust instead of the host's, PEM.
    pub ca_file: Option<PathBuf>,
    /// A plain HTTP proxy.
    pub proxy: Option<String>,
    /// Nobody else is reached.
    pub allow_hosts: Option<Vec<String>>,
    /// Where to ask whether a message arrived.
    pub ask: Option<String>,
    /// How long a request and its answer may take.
    pub window: Option<Duration>,
    /// For the connection, and for the answer to a question.
    pub timeout: Option<Duration>,
}

impl HttpConfig {
    /// Values that must not be shown: a header that is written down may be a password all the same.
    pub(super) fn secrets(&self) -> Vec<SecretRef> {
        let named = self.headers.values().filter(|value| value.is_secret());
        let url = Some(&self.url).filter(|url| url.is_secret());
        self.secret.iter().chain(named).chain(url).cloned().collect()
    }
}

pub(super) fn read(fields: &Fields<'_>) -> Option<HttpConfig> {
    let flaws = fields.flaws;
    let target = fields.need("url", "\"https://example.com/hook\"", |node| url(node, flaws));
    let headers = fields.read("headers", |node| {
        headers(node, flaws, |_, node| {
            let value = secret(node, flaws)?;
            match &value {
                SecretRef::Text(written) if written.contains("{{") => {
                    let remedy = "write what differs between messages into the headers of the message";
                    Err(Flaw::new(node.span(), "a channel's headers are the same for every message", remedy))
                }
                SecretRef::Text(written) => {
                    check_value(written).map(|()| value).map_err(|wrong| Flaw::new(node.span(), wrong, ""))
                }
                _ => Ok(value),
            }
        })
    });
    let headers = headers.unwrap_or_default();
    let ask = fields.read("ask", ask);
    refuse_in_the_clear(fields, &headers, target.as_ref().and_then(written), ask.as_deref());
    let config = HttpConfig {
        url: target.unwrap_or_else(|| SecretRef::Text(String::new())),
        method: fields.read("method", word(METHODS)).unwrap_or("POST").to_owned(),
        secret: fields.read("secret", |node| signing(node, flaws)),
        headers,
        ca_file: fields.read("ca_file", name).map(PathBuf::from),
        proxy: fields.read("proxy", proxy),
        allow_hosts: fields.read("allow_hosts", allow_hosts),
        ask,
        window: fields.read("window", span),
        timeout: fields.read("timeout", |node| {
            let timeout = span(node)?;
            let long = timeout > Duration::from_secs(25);
            let remedy = "write \"25s\" or less; how long the request itself may take is window";
            if long { Err(Flaw::new(node.span(), "longer than a claim on a message lasts", remedy)) } else { Ok(timeout) }
        }),
    };
    refuse_unlisted(fields, &config);
    fields.finish();
    Some(config)
}

/// The hosts that are written must be among those that may be reached.
fn refuse_unlisted(fields: &Fields<'_>, config: &HttpConfig) {
    let Some(hosts) = &config.allow_hosts else { return };
    let asked = config.ask.as_ref().map(|ask| ask.replace("{{", "").replace("}}", "").replace(' ', ""));
    for (key, written) in [("url", written(&config.url).map(str::to_owned)), ("ask", asked)] {
        let Some(target) = written.and_then(|written| written.parse::<Target>().ok()) else { continue };
        if let Err(wrong) = Route::listed(hosts, target.host()) {
            let at = fields.key_span(key).unwrap_or(fields.span.clone());
            fields.flaws.push(Flaw::new(at, format!("{key}: {wrong}"), ""));
        }
    }
}

/// A token that everybody on the way can read is none.
fn refuse_in_the_clear(fields: &Fields<'_>, headers: &BTreeMap<String, SecretRef>, url: Option<&str>, ask: Option<&str>) {
    let url = url.and_then(|url| url.parse::<Target>().ok()).is_some_and(|target| target.is_exposed());
    let ask = ask.and_then(|ask| ask.parse::<Question>().ok()).is_some_and(|question| question.is_exposed());
    let in_the_clear = [("url", url), ("ask", ask)].into_iter().find(|(_, exposed)| *exposed);
    if let (Some((key, _)), true) = (in_the_clear, headers.values().any(SecretRef::is_secret)) {
        let at = fields.key_span(key).unwrap_or(fields.span.clone());
        fields.flaws.push(Flaw::new(at, "headers: a secret would cross the network in the clear", "write an https:// address"));
    }
}

/// What is written down is judged at once; what is named, by the replica that has it.
fn url<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<SecretRef> {
    let found = secret(node, flaws)?;
    match written(&found) {
        Some(text) if text.contains("{{") => {
            let remedy = "write the address out; what differs between messages goes into json, body or headers";
            Err(Flaw::new(node.span(), "a channel's url is the same for every message", remedy))
        }
        Some(text) => text.parse::<Target>().map(|_| found.clone()).map_err(|wrong| Flaw::new(node.span(), wrong, "")),
        None => Ok(found),
    }
}

fn written(value: &SecretRef) -> Option<&str> {
    if let SecretRef::Text(text) = value { Some(text) } else { None }
}

fn ask(node: &Node<'_>) -> Read<String> {
    let found = text(node)?;
    found.parse::<Question>().map(|_| found).map_err(|wrong| Flaw::new(node.span(), wrong, ""))
}

/// What is written down is judged at once; what is named, by the replica that has it.
pub(in crate::jobfile) fn signing<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<SecretRef> {
    let value = secret(node, flaws)?;
    match &value {
        SecretRef::Text(written) => Signer::new(written).map(|_| value).map_err(|wrong| Flaw::new(node.span(), wrong, "")),
        _ => Ok(value),
    }
}

/// A plain HTTP proxy.
pub(in crate::jobfile) fn proxy(node: &Node<'_>) -> Read<String> {
    let found = text(node)?;
    if found.contains('@') {
        return Err(Flaw::new(
            node.span(),
            "a proxy that wants a login is not supported",
            "write \"http://proxy.example.com:3128\"",
        ));
    }
    let target = found.parse::<Target>().map_err(|wrong| Flaw::new(node.span(), wrong, ""))?;
    if target.is_encrypted() || !target.is_root() {
        let remedy = "write \"http://proxy.example.com:3128\"; what goes through it to https:// is encrypted all the same";
        return Err(Flaw::new(node.span(), "only a plain proxy is known, without a path", remedy));
    }
    Ok(found)
}

/// Hosts that may be reached.
pub(in crate::jobfile) fn allow_hosts(node: &Node<'_>) -> Read<Vec<String>> {
    if !matches!(node.get_ref(), DeValue::Array(_)) {
        return Err(expected("an array of host names", node.get_ref(), node.span()));
    }
    let hosts = texts(node)?;
    let example = "write names such as \"api.example.com\" or \"*.example.com\"";
    if hosts.is_empty() {
        return Err(Flaw::new(node.span(), "no host may be reached", example));
    }
    let is_host = |host: &String| {
        let host = host.strip_prefix("*.").unwrap_or(host);
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':'))
    };
    match hosts.iter().find(|host| !is_host(host)) {
        Some(wrong) => Err(Flaw::new(node.span(), format!("{wrong:?} is no host name"), example)),
        None => Ok(hosts),
    }
}
