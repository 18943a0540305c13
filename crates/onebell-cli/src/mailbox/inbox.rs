use std::collections::{BTreeMap, VecDeque};

/// An accepted message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Number of its `Accepted` event.
    pub number: u64,
    /// The client's EHLO name.
    pub ehlo: String,
    /// Envelope sender.
    pub sender: String,
    /// Envelope recipients.
    pub recipients: Vec<String>,
    /// The Message-ID header, with its angle brackets.
    pub message_id: Option<String>,
    /// The Subject header, unfolded, not decoded.
    pub subject: Option<String>,
    /// The X-Onebell-Key header, unfolded, not decoded.
    pub key: Option<String>,
    /// Bytes of the content, dots unstuffed.
    pub size: usize,
    /// The content, if it is to be kept.
    pub content: Option<Vec<u8>>,
}

/// What was accepted.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    by_recipient: BTreeMap<String, u64>,
    received: VecDeque<Received>,
}

impl Inbox {
    pub(super) fn add(&mut self, message: Received, records_max: usize) {
        for recipient in &message.recipients {
            *self.by_recipient.entry(recipient.clone()).or_default() += 1;
        }
        self.received.push_back(message);
        while self.received.len() > records_max {
            self.received.pop_front();
        }
    }

    pub(super) fn by_recipient(&self) -> &BTreeMap<String, u64> {
        &self.by_recipient
    }

    pub(super) fn has(&self, message_id: &str) -> bool {
        self.received.iter().any(|message| message.message_id.as_deref() == Some(message_id))
    }

    pub(super) fn received(&self) -> impl Iterator<Item = &Received> {
        self.received.iter()
    }
}

/// The value of a header, unfolded.
pub(super) fn header(content: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(content);
    let mut found: Option<String> = None;
    for line in text.split("\r\n").take_while(|line| !line.is_empty()) {
        if line.starts_with([' ', '\t']) {
            if let Some(value) = &mut found {
                value.push_str(line);
            }
            continue;
        }
        if found.is_some() {
            break;
        }
        let value = line.split_once(':').filter(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        found = value.map(|value| value.trim_start().to_owned());
    }
    found.map(|value| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_found_in_the_head_only_and_unfolded() {
        let content = b"From: a\r\nsubject: one\r\n two\r\nTo: b\r\n\r\nMessage-ID: <no>\r\n";
        assert_eq!(header(content, "Subject").as_deref(), Some("one two"));
        assert_eq!(header(content, "Message-ID"), None);
    }
}
