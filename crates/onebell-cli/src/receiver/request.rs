//! The head of a request, as far as a receiver that counts needs it.

use crate::http::key_of;

/// A head that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
}

impl Head {
    /// From its lines, without the empty one at the end.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n").filter(|line| !line.is_empty());
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let header = |line: &str| line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
        let headers = lines.map(header).collect::<Option<Vec<_>>>()?;
        Some(Self { method: method.to_owned(), target: target.to_owned(), headers })
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Bytes of the body. Nothing: it is not said in a way that is known here.
    pub(super) fn length(&self) -> Option<usize> {
        if self.header("transfer-encoding").is_some() {
            return None;
        }
        self.header("content-length").map_or(Some(0), |length| length.parse().ok())
    }

    /// The key that is asked for, percent-decoded.
    pub(super) fn question(&self) -> Option<String> {
        self.target.split_once("/arrived/").filter(|_| self.method == "GET").map(|(_, key)| key_of(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_and_what_is_none_is_not() {
        let head = Head::read(b"POST /x?y HTTP/1.1\r\nHost: a\r\nContent-Length:  3\r\n").unwrap();
        assert_eq!((head.method.as_str(), head.target.as_str(), head.length()), ("POST", "/x?y", Some(3)));
        assert_eq!(Head::read(b"GET /arrived/a%2Fk%E1%BB%B3 HTTP/1.1\r\n").unwrap().question().as_deref(), Some("a/kỳ"));
        assert_eq!(Head::read(b"POST /arrived/a HTTP/1.1\r\n").unwrap().question(), None);
        for wrong in [&b""[..], b"EHLO a\r\n", b"GET / HTTP/2\r\n", b"GET / HTTP/1.1\r\nno colon\r\n"] {
            assert_eq!(Head::read(wrong), None);
        }
    }
}
