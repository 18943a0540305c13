use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use hyper::Uri;

use crate::smtp::is_loopback;

/// Where a request goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub(super) https: bool,
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// As the `Host` header says it: without the port that goes without saying.
    pub(super) authority: String,
    /// Path and query.
    pub(super) path: String,
    /// Its path is a secret: only host and port are shown.
    pub(super) is_secret: bool,
}

impl Target {
    /// Its host, in lower case and without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The same, whose path is shown to nobody: it is what the receiver knows its senders by.
    #[must_use]
    pub fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    /// Whether nobody on the way can read it.
    pub fn is_encrypted(&self) -> bool {
        self.https
    }

    /// Whether somebody on the way could read a secret that is sent there: neither encrypted nor on this host.
    pub fn is_exposed(&self) -> bool {
        !self.https && !is_loopback(&self.host)
    }

    /// Whether it names a host alone.
    pub fn is_root(&self) -> bool {
        self.path == "/"
    }

    /// As a proxy wants to be asked.
    pub(super) fn absolute(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// Host and port, always both.
    pub(super) fn host_and_port(&self) -> String {
        if self.host.contains(':') { format!("[{}]:{}", self.host, self.port) } else { format!("{}:{}", self.host, self.port) }
    }
}

/// The query is left out: people put tokens there.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        let path = if self.is_secret { "/…" } else { self.path.split('?').next().unwrap_or_default() };
        write!(f, "{scheme}://{}{path}", self.authority)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Target {
    type Err = String;

    /// An absolute URL.
    ///
    /// # Errors
    /// What is wrong with it and what to write instead.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(found) = text.chars().find(|found| !found.is_ascii_graphic()) {
            let remedy = if found.is_ascii() || text.contains("://") && in_path(text, found) {
                "percent-encode it"
            } else {
                "write the host's ASCII form (xn--…)"
            };
            return Err(format!("{found:?} cannot stand in a URL; {remedy}"));
        }
        if text.contains('#') {
            return Err("a fragment (#…) is never sent; remove it".to_owned());
        }
        let uri: Uri = text.parse().map_err(|error| format!("it is no URL ({error}); write \"https://example.com/hook\""))?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("it does not begin with https:// or http://; write \"https://example.com/hook\"".to_owned()),
        };
        let authority = uri.authority().ok_or("it names no host; write \"https://example.com/hook\"")?;
        if authority.as_str().contains('@') {
            return Err("it carries a user or password; use a header, such as Authorization = { env = \"NAME\" }".to_owned());
        }
        let usual = if https { 443 } else { 80 };
        let host = host(authority.host())?;
        let port = authority.port_u16().unwrap_or(usual);
        let written = authority.as_str().rsplit_once(']').map_or(authority.as_str(), |(_, rest)| rest);
        // What stands between an address's bracket and its port would be lost without a word.
        if authority.as_str().contains(']') && !written.is_empty() && !written.starts_with(':') {
            return Err("something follows the address's ]; write \"https://[::1]:8443/hook\"".to_owned());
        }
        if port == 0 || written.ends_with(':') || (written.contains(':') && authority.port_u16().is_none()) {
            return Err("its host or port is none; write \"https://example.com:8443/hook\"".to_owned());
        }
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let authority = if port == usual { shown } else { format!("{shown}:{port}") };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { https, host, port, authority, path, is_secret: false })
    }
}

/// A name, or an address without its brackets, in the one form that it is compared in.
fn host(written: &str) -> Result<String, String> {
    if let Some(inside) = written.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
        return address
            .map(|address| address.to_string())
            .ok_or_else(|| format!("{written} is no IPv6 address; write \"[::1]\""));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    // A final full stop is the root of all names.
    let labels = written.strip_suffix('.').unwrap_or(written).split('.');
    if !written.bytes().all(plain) || labels.into_iter().any(|label| label.is_empty() || label.len() > 63) {
        return Err("its host is no name; write \"https://example.com/hook\"".to_owned());
    }
    Ok(written.to_ascii_lowercase())
}

fn in_path(text: &str, found: char) -> bool {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split_once(['/', '?']).is_some_and(|(host, _)| !host.contains(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_as_its_host_header_and_its_path() {
        let parts = |text: &str| {
            let target: Target = text.parse().unwrap();
            (target.https, target.host.clone(), target.port, target.authority.clone(), target.path)
        };
        let part = |https, host: &str, port, authority: &str, path: &str| {
            (https, host.to_owned(), port, authority.to_owned(), path.to_owned())
        };
        assert_eq!(parts("https://Example.com"), part(true, "example.com", 443, "example.com", "/"));
        assert_eq!(parts("http://a:8080/x?y=1"), part(false, "a", 8080, "a:8080", "/x?y=1"));
        assert_eq!(parts("https://[::1]:443/x"), part(true, "::1", 443, "[::1]", "/x"));
        assert_eq!(parts("http://a?x=1"), part(false, "a", 80, "a", "/?x=1"));
        assert_eq!(parts("HTTP://[0:0::1]/"), part(false, "::1", 80, "[::1]", "/"));
        assert_eq!("http://[::1]/".parse::<Target>().unwrap().host_and_port(), "[::1]:80");
    }

    #[test]
    fn what_is_no_url_to_send_to_is_refused_with_a_remedy() {
        for (text, says) in [
            ("example.com/hook", "https://"),
            ("ftp://example.com", "https://"),
            ("https://u:p@example.com", "Authorization"),
            ("https://example.com/#x", "fragment"),
            ("https://example.com/a b", "percent-encode"),
            ("https://example.com/kỳ", "percent-encode"),
            ("https://ví-dụ.vn/", "xn--"),
            ("https://example.com:0/", "port"),
            ("https://[::1]x/", "]"),
            ("https://[fe80::1%25eth0]/", "IPv6"),
            ("https://a..b/", "host"),
            ("https://a,b/", "host"),
            ("https://:8080/", "host"),
            ("https://", "URL"),
            ("", "https://"),
        ] {
            let error = text.parse::<Target>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let shown = format!("{:?}", "https://example.com/hook?token=s3cret".parse::<Target>().unwrap());
        assert_eq!(shown, "https://example.com/hook");
    }
}
