//! The channels of a job file, built once at the start of a replica.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use onebell::handler::Channel;

use crate::jobfile::{self, ChannelConfig, JobFile};
use crate::smtp::{Secret, SmtpChannel, SmtpConfig, Tls, render_check};
use crate::steps::ChannelFacts;

/// One channel for each that the file declares. Passwords are read now, so that a missing one is said at the start.
pub fn build(file: &JobFile) -> Result<BTreeMap<String, Arc<dyn Channel>>, String> {
    let one = |(name, config): (&String, &ChannelConfig)| {
        let ChannelConfig::Smtp(smtp) = config;
        let wrong = |error: String| format!("channel {name:?}: {error}");
        let config = smtp_config(smtp, &file.folder).map_err(wrong)?;
        let channel: Arc<dyn Channel> = Arc::new(SmtpChannel::new(config).map_err(|error| wrong(error.to_string()))?);
        Ok((name.clone(), channel))
    };
    file.channels.iter().map(one).collect()
}

/// What each channel asks of its messages before they enter the outbox.
pub fn facts(file: &JobFile) -> BTreeMap<String, ChannelFacts> {
    let fact = |config: &ChannelConfig| match config {
        ChannelConfig::Smtp(_) => ChannelFacts { default_in_doubt: config.default_in_doubt(), check: render_check },
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
