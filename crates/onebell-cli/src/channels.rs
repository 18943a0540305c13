//! The channels of a job file, built once at the start of a replica.

mod discreet;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use onebell::handler::Channel;

use crate::http::{self, HttpChannel, HttpConfig, PingChannel, Route, Signer, Target};
use crate::jobfile::{self, ChannelConfig, JobFile, PingConfig};
use crate::secret::SecretRef;
use crate::smtp::{Secret, SmtpChannel, SmtpConfig, Tls, render_check};
use crate::steps::ChannelFacts;
use discreet::Discreet;

/// By name.
pub type Channels = BTreeMap<String, Arc<dyn Channel>>;

/// One channel for each that the file declares. Passwords are read now, so that a missing one is said at the start.
pub fn build(file: &JobFile) -> Result<Channels, String> {
    let one = |(name, config): (&String, &ChannelConfig)| {
        let wrong = |error: String| format!("channel {name:?}: {error}");
        let channel: Arc<dyn Channel> = match config {
            ChannelConfig::Smtp(smtp) => {
                let config = smtp_config(smtp, &file.folder).map_err(wrong)?;
                Arc::new(SmtpChannel::new(config).map_err(|error| wrong(error.to_string()))?)
            }
            ChannelConfig::Http(http) => {
                let config = HttpConfig { secrets: file.secret_values(), ..http_config(http, &file.folder).map_err(wrong)? };
                Arc::new(HttpChannel::new(config).map_err(|error| wrong(error.to_string()))?)
            }
        };
        Ok((name.clone(), channel))
    };
    let mut channels: BTreeMap<_, _> = file.channels.iter().map(one).collect::<Result<_, String>>()?;
    channels.extend(pings(file)?);
    let secrets = file.secret_values();
    let discreet = |inner| Arc::new(Discreet { inner, secrets: secrets.clone() }) as Arc<dyn Channel>;
    Ok(channels.into_iter().map(|(name, channel)| (name, discreet(channel))).collect())
}

/// The channels of pings. All of them go by one way: certificates are read once.
fn pings(file: &JobFile) -> Result<Channels, String> {
    let mut addresses = Vec::new();
    for (name, config) in &file.pings {
        let wrong = |error: String| format!("{name}: {error}");
        let [success, fail] = ping_addresses(config, &file.folder).map_err(wrong)?;
        addresses.push((name.clone(), [success, fail]));
    }
    let targets = || addresses.iter().flat_map(|(_, targets)| targets).flatten();
    let route = Route::new(targets().any(Target::is_encrypted), None, None, None).map_err(|error| format!("ping: {error}"))?;
    let secrets = file.secret_values();
    let channel = |target: Option<Target>| {
        let config = target.map(|target| HttpConfig { secrets: secrets.clone(), ..HttpConfig::new(target) });
        config.map(|config| HttpChannel::over(config, route.clone()).map(Arc::new)).transpose().map_err(|error| error.to_string())
    };
    let one = |(name, [success, fail]): (String, [Option<Target>; 2])| {
        Ok((name, Arc::new(PingChannel { success: channel(success)?, fail: channel(fail)? }) as Arc<dyn Channel>))
    };
    addresses.into_iter().map(one).collect()
}

/// Of a success and of a failure.
fn ping_addresses(config: &PingConfig, folder: &Path) -> Result<[Option<Target>; 2], String> {
    let one = |address: &Option<SecretRef>| address.as_ref().map(|address| target(address, folder)).transpose();
    match config {
        PingConfig::Base(base) => {
            let success = target(base, folder)?;
            let fail: Target = http::fail_below(&base.resolve(folder).map_err(|error| error.to_string())?).parse()?;
            Ok([Some(success), Some(if base.is_secret() { fail.secret() } else { fail })])
        }
        PingConfig::Each { success, fail } => Ok([one(success)?, one(fail)?]),
    }
}

/// What each channel asks of its messages before they enter the outbox.
pub fn facts(file: &JobFile) -> BTreeMap<String, ChannelFacts> {
    let fact = |config: &ChannelConfig| match config {
        ChannelConfig::Smtp(_) => ChannelFacts { default_in_doubt: config.default_in_doubt(), check: render_check },
        ChannelConfig::Http(_) => ChannelFacts { default_in_doubt: config.default_in_doubt(), check: http::render_check },
    };
    file.channels.iter().map(|(name, config)| (name.clone(), fact(config))).collect()
}

fn smtp_config(smtp: &jobfile::SmtpConfig, folder: &Path) -> Result<SmtpConfig, String> {
    let from = smtp.from.parse().map_err(|error| format!("from: {error}"))?;
    let mut config = SmtpConfig::new(&smtp.host, smtp.port, from);
    config.username.clone_from(&smtp.username);
    if let Some(password) = &smtp.password {
        config.password = Some(Secret::new(password.resolve(folder).map_err(|error| format!("password: {error}"))?));
    }
    config.tls = match smtp.tls {
        jobfile::Tls::None => Tls::None,
        jobfile::Tls::Opportunistic => Tls::Opportunistic,
        jobfile::Tls::StartTls => Tls::Starttls,
        jobfile::Tls::Tls => Tls::Tls,
    };
    config.hello.clone_from(&smtp.hello);
    config.ca_file = smtp.ca_file.as_ref().map(|path| folder.join(path));
    config.window = smtp.window.unwrap_or(config.window);
    config.timeout = smtp.timeout.unwrap_or(config.timeout);
    Ok(config)
}

/// An address; of one that is named elsewhere only the host is shown.
fn target(address: &SecretRef, folder: &Path) -> Result<Target, String> {
    let target: Target = address.resolve(folder).map_err(|error| error.to_string())?.parse()?;
    Ok(if address.is_secret() { target.secret() } else { target })
}

fn http_config(http: &jobfile::HttpConfig, folder: &Path) -> Result<HttpConfig, String> {
    let under = |key: &str, error: &dyn std::fmt::Display| format!("{key}: {error}");
    let mut config = HttpConfig::new(target(&http.url, folder).map_err(|error| under("url", &error))?);
    config.method = http.method.parse().map_err(|_| "method: none".to_owned())?;
    if let Some(secret) = &http.secret {
        let secret = secret.resolve(folder).map_err(|error| under("secret", &error))?;
        config.signer = Some(Signer::new(&secret).map_err(|error| under("secret", &error))?);
    }
    if config.url.is_exposed() && http.headers.values().any(SecretRef::is_secret) {
        return Err("url: the secrets of its headers would cross the network in the clear; name an https:// address".to_owned());
    }
    for (name, value) in &http.headers {
        let value = value.resolve(folder).map_err(|error| under(&format!("headers.{name}"), &error))?;
        config.headers.push((name.clone(), value));
    }
    config.ca_file = http.ca_file.as_ref().map(|path| folder.join(path));
    config.proxy = http.proxy.as_ref().map(|proxy| proxy.parse()).transpose().map_err(|error: String| under("proxy", &error))?;
    config.allow_hosts.clone_from(&http.allow_hosts);
    config.ask = http.ask.as_ref().map(|ask| ask.parse()).transpose().map_err(|error: String| under("ask", &error))?;
    config.window = http.window.unwrap_or(config.window);
    config.timeout = http.timeout.unwrap_or(config.timeout);
    Ok(config)
}
