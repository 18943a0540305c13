use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsConnector;

use super::config::HttpConfigError;
use super::target::Target;

/// How receivers are reached: whom to trust, through which proxy, and who may be reached at all.
#[derive(Clone)]
pub struct Route {
    pub(super) tls: Option<TlsConnector>,
    pub(super) proxy: Option<Target>,
    allow_hosts: Option<Vec<String>>,
}

impl Route {
    /// Reads the certificates to trust if anybody is reached `encrypted`, connects to nothing: a bare container has none, and needs
    /// none for a receiver beside it. `ca_file` stands in place of the system's certificates. Proxies are taken from nowhere else: a
    /// variable that somebody set for another program must not decide where messages go.
    ///
    /// # Errors
    /// What is wrong and what to write instead.
    pub fn new(
        encrypted: bool,
        ca_file: Option<&Path>,
        proxy: Option<Target>,
        allow_hosts: Option<Vec<String>>,
    ) -> Result<Self, HttpConfigError> {
        let tls = encrypted.then(|| crate::tls::trusting(ca_file)).transpose();
        let tls = tls.map_err(|wrong| HttpConfigError { problem: wrong.problem, remedy: wrong.remedy })?;
        let tls = tls.map(|config| TlsConnector::from(Arc::new(config)));
        if proxy.as_ref().is_some_and(|proxy| proxy.https || !proxy.is_root()) {
            return Err(HttpConfigError {
                problem: "proxy: only a plain one is known, without a path".to_owned(),
                remedy: "write \"http://proxy.example.com:3128\"; what goes through it to https:// is encrypted all the same"
                    .to_owned(),
            });
        }
        Ok(Self { tls, proxy, allow_hosts })
    }

    /// Whether this host may be asked for anything.
    ///
    /// # Errors
    /// Why not, and what to write.
    pub fn admits(&self, host: &str) -> Result<(), String> {
        self.allow_hosts.as_ref().map_or(Ok(()), |allowed| Self::listed(allowed, host))
    }

    /// Whether `host` is one of `allowed`.
    ///
    /// # Errors
    /// Why not, and what to write.
    pub fn listed(allowed: &[String], host: &str) -> Result<(), String> {
        if allowed.iter().any(|pattern| matches(pattern, host)) {
            return Ok(());
        }
        Err(format!("{host} is not among allow_hosts ({}); add it there if it may be reached", allowed.join(", ")))
    }
}

/// `*.example.com` is every name below `example.com`, and not that name itself.
fn matches(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    match pattern.strip_prefix('*') {
        Some(end) => end.starts_with('.') && host.len() > end.len() && host.ends_with(end),
        None => pattern == host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_allowed_hosts_are_reached() {
        let route =
            Route::new(false, None, None, Some(vec!["Api.example.com".to_owned(), "*.hooks.example.com".to_owned()])).unwrap();
        for host in ["api.example.com", "a.hooks.example.com", "a.b.hooks.example.com"] {
            assert_eq!(route.admits(host), Ok(()), "{host}");
        }
        for host in ["example.com", "hooks.example.com", "evilhooks.example.com", "api.example.com.evil.org", "127.0.0.1"] {
            assert!(route.admits(host).unwrap_err().contains("allow_hosts"), "{host}");
        }
        assert!(Route::new(true, None, None, None).unwrap().admits("anything").is_ok());
    }

    #[test]
    fn a_proxy_is_a_plain_one() {
        for proxy in ["https://p.example.com", "http://p.example.com/x"] {
            assert!(Route::new(false, None, Some(proxy.parse().unwrap()), None).is_err(), "{proxy}");
        }
    }
}
