//! The database's URL: what the driver reads, and what it does not know (`sslrootcert`, `verify-ca`, `verify-full`).

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, Trust};
use crate::store::{Result, StoreError};

/// Where to connect and how.
pub(super) struct Target {
    pub(super) config: Config,
    /// None: never TLS.
    pub(super) tls: Option<MakeRustlsConnect>,
}

/// The parameters that are ours.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ours {
    mode: Option<String>,
    root: Option<PathBuf>,
}

const CONNECT_LIMIT: Duration = Duration::from_secs(5);
/// What the driver takes when the URL says nothing; firewalls forget an idle connection long before.
const DRIVERS_KEEPALIVE: Duration = Duration::from_secs(2 * 60 * 60);
const KEEPALIVE: Duration = Duration::from_secs(30);

impl Target {
    /// Reads a URL. `silence`: how long sent data may stay unacknowledged before the connection counts as dead.
    pub(super) fn parse(url: &str, silence: Duration) -> Result<Self> {
        let (rest, ours) = split(url)?;
        let mut config: Config = rest.parse().map_err(|error| refused(&error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::broken(
                "the database URL names no host; write postgres://USER@HOST/NAME, or postgres:///NAME?host=/FOLDER for a socket",
            ));
        }
        if config.get_application_name().is_none() {
            config.application_name("onebell");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_LIMIT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(silence);
        }
        if config.get_keepalives_idle() == DRIVERS_KEEPALIVE {
            config.keepalives_idle(KEEPALIVE);
        }
        let tls = Self::tls(&mut config, &ours)?;
        Ok(Self { config, tls })
    }

    /// As libpq: a root makes `require` verify the chain; a socket on this host needs none of it.
    fn tls(config: &mut Config, ours: &Ours) -> Result<Option<MakeRustlsConnect>> {
        let local = |host: &Host| matches!(host, Host::Unix(_));
        let mode = ours.mode.as_deref().unwrap_or("prefer");
        let sockets_only = config.get_hostaddrs().is_empty() && config.get_hosts().iter().all(local);
        if mode == "disable" || sockets_only {
            config.ssl_mode(SslMode::Disable);
            return Ok(None);
        }
        config.ssl_mode(if matches!(mode, "prefer" | "allow") { SslMode::Prefer } else { SslMode::Require });
        let root = ours.root.as_deref();
        let trust = match (mode, root) {
            ("prefer" | "allow" | "require", None) => Trust::Anybody,
            ("prefer" | "allow", Some(_)) => Trust::Anybody,
            ("require" | "verify-ca", Some(root)) => Trust::Chain(root),
            ("verify-full", Some(root)) => Trust::ChainAndName(root),
            ("verify-ca" | "verify-full", None) => {
                return Err(StoreError::broken(format!(
                    "sslmode={mode} needs the certificates to trust; add sslrootcert=FILE (PEM) to the database URL"
                )));
            }
            (other, _) => {
                return Err(StoreError::broken(format!(
                    "sslmode={other} is not known; write disable, prefer, require, verify-ca or verify-full"
                )));
            }
        };
        tls::connector(trust).map(Some)
    }
}

/// Takes our parameters out of the query part; the driver would refuse them.
fn split(url: &str) -> Result<(String, Ours)> {
    let Some((head, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), Ours::default()));
    };
    let mut ours = Ours::default();
    let mut kept = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sslmode", mode)) => ours.mode = Some(decoded(mode)?),
            Some(("sslrootcert", file)) => ours.root = Some(decoded(file)?.into()),
            _ => kept.push(pair),
        }
    }
    let rest = if kept.is_empty() { head.to_owned() } else { format!("{head}?{}", kept.join("&")) };
    Ok((rest, ours))
}

fn decoded(text: &str) -> Result<String> {
    let bad = || StoreError::broken(format!("the database URL has a malformed part {text:?}; percent-encode it as UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |digit: Option<u8>| digit.and_then(|digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else { return Err(bad()) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// The driver's words, never the URL: it may hold a password.
fn refused(error: &tokio_postgres::Error) -> StoreError {
    let why = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    StoreError::broken(format!("the database URL cannot be read: {why}; write postgres://USER@HOST:PORT/NAME"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(url, Duration::from_secs(9))
    }

    #[test]
    fn a_socket_in_a_folder_needs_no_tls_and_no_host_name() {
        for url in [
            "postgresql:///db?host=/dir&user=postgres",
            "postgres://postgres@%2Fdir:5433/db",
            "postgres:///db?host=/dir&sslmode=require",
        ] {
            let target = parse(url).unwrap();
            assert!(matches!(&target.config.get_hosts()[0], Host::Unix(dir) if dir.to_str() == Some("/dir")), "{url}");
            assert!(target.tls.is_none());
        }
    }

    #[test]
    fn tls_is_preferred_unless_the_url_says_otherwise() {
        let mode = |url| parse(url).map(|target| (target.config.get_ssl_mode(), target.tls.is_some())).unwrap();
        assert_eq!(mode("postgres://u@h/d"), (SslMode::Prefer, true));
        assert_eq!(mode("postgres://u@h/d?sslmode=disable"), (SslMode::Disable, false));
        assert_eq!(mode("postgres://u@h/d?sslmode=require&application_name=x"), (SslMode::Require, true));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_remedy_and_without_the_password() {
        let refusal = |url| parse(url).err().unwrap().to_string();
        assert!(refusal("postgres://u@h/d?sslmode=verify-full").contains("sslrootcert"));
        assert!(refusal("postgres://u@h/d?sslmode=verify-full&sslrootcert=/no/such/file").contains("/no/such/file"));
        assert!(refusal("postgres://u@h/d?sslmode=sometimes").contains("verify-full"));
        assert!(refusal("postgres:///d").contains("host"));
        let odd = refusal("postgres://u:secret@h/d?colour=red");
        assert!(!odd.contains("secret") && odd.contains("colour"), "{odd}");
    }

    #[test]
    fn our_parameters_are_taken_out_and_decoded() {
        let (rest, ours) = split("postgres://u@h/d?sslmode=verify-full&a=b&sslrootcert=%2Fetc%2Fca%20one.pem").unwrap();
        assert_eq!(rest, "postgres://u@h/d?a=b");
        assert_eq!(ours, Ours { mode: Some("verify-full".into()), root: Some("/etc/ca one.pem".into()) });
        assert!(split("postgres://h?sslrootcert=%zz").is_err());
    }
}
