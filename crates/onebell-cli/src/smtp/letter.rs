use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use jiff::tz::TimeZone;
use lettre::message::header::{ContentTransferEncoding, ContentType};
use lettre::message::{Body, MultiPart, MultiPartKind, SinglePart};
use onebell::handler::Outgoing;
use onebell::model::Moment;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::header;
use super::person::Person;

/// The payload of a message for this channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// One mailbox.
    pub to: String,
    /// One line.
    pub subject: String,
    /// The text; a mail has this, HTML or both.
    #[serde(default)]
    pub text: Option<String>,
    /// The same as HTML, for those who read it.
    #[serde(default)]
    pub html: Option<String>,
    /// One mailbox.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Checks a payload before it enters the outbox: a line break in a header field, an address that is none, a header that the
/// channel writes itself.
///
/// # Errors
/// The field, what is wrong with it and what to write instead.
pub fn render_check(payload: &str) -> Result<(), String> {
    Addressed::read(payload).map(drop)
}

/// The Message-ID of the message with this key: the same on every attempt, so that a receiver can tell a repeat.
/// `domain`: of the sender's address.
pub fn message_id(key: &str, domain: &str) -> String {
    let name = &hex(key.as_bytes())[..32];
    if domain.is_ascii() { format!("<{name}@{domain}>") } else { format!("<{name}@{}.invalid>", &hex(domain.as_bytes())[..16]) }
}

/// A message as it goes out.
pub(super) struct Letter {
    pub(super) to: Person,
    /// Lines end in CRLF, the last one too.
    pub(super) content: Vec<u8>,
}

impl Letter {
    pub(super) fn of(message: &Outgoing, from: &Person, date: Moment) -> Result<Self, String> {
        let Addressed { mail, to, reply_to } = Addressed::read(&message.payload)?;
        let date = jiff::fmt::rfc2822::to_string(&date.timestamp().to_zoned_datetime(TimeZone::UTC))
            .map_err(|reason| format!("this host's clock shows a date that no mail can carry: {reason}"))?;
        let mut head = header::person("From", from) + &header::person("To", &to);
        if let Some(reply_to) = &reply_to {
            head += &header::person("Reply-To", reply_to);
        }
        head += &header::text("Subject", &mail.subject);
        // Not by `header::text`: identifiers and dates are never encoded.
        let id = message_id(&message.key, from.domain());
        let _ = write!(head, "Date: {date}\r\nMessage-ID: {id}\r\nOnebell-Attempt: {}\r\n", message.attempt);
        head += &header::text("X-Onebell-Key", &message.key);
        for (name, value) in &mail.headers {
            head += &header::text(name, value);
        }
        head += "MIME-Version: 1.0\r\n";
        let mut content = head.into_bytes();
        content.extend(mime(&mail, &message.key));
        Ok(Self { to, content })
    }
}

/// A mail whose header fields were checked.
struct Addressed {
    mail: Mail,
    to: Person,
    reply_to: Option<Person>,
}

impl Addressed {
    fn read(payload: &str) -> Result<Self, String> {
        let mail: Mail = serde_json::from_str(payload).map_err(|reason| format!("the payload is no mail: {reason}"))?;
        let person = |field: &str, text: &str| text.parse::<Person>().map_err(|reason| format!("{field} {reason}"));
        let to = person("to", &mail.to)?;
        let reply_to = mail.reply_to.as_deref().map(|text| person("reply_to", text)).transpose()?;
        one_line("subject", &mail.subject)?;
        if mail.text.is_none() && mail.html.is_none() {
            return Err("text is missing; write text, html or both".into());
        }
        let mut seen = BTreeSet::new();
        for (name, value) in &mail.headers {
            own_name(name)?;
            if !seen.insert(name.to_ascii_lowercase()) {
                return Err(format!("headers names {name} twice; write it once"));
            }
            one_line(&format!("headers.{name}"), value)?;
        }
        Ok(Self { mail, to, reply_to })
    }
}

fn one_line(field: &str, value: &str) -> Result<(), String> {
    match value.chars().find(|found| found.is_control() && *found != '\t') {
        None => Ok(()),
        Some('\r' | '\n') => {
            Err(format!("{field} contains a line break, which would begin another header; write it on one line"))
        }
        Some(found) => Err(format!("{field} contains the control character U+{:04X}; remove it", u32::from(found))),
    }
}

/// A header that the user may add: a name by RFC 5322 that is not the channel's own and adds no recipient.
fn own_name(name: &str) -> Result<(), String> {
    const TAKEN: &[&str] = &[
        "from",
        "to",
        "cc",
        "bcc",
        "sender",
        "reply-to",
        "subject",
        "date",
        "message-id",
        "mime-version",
        "onebell-attempt",
        "x-onebell-key",
        "return-path",
        "received",
    ];
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || name.len() > header::NAME_MAX || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
        let most = header::NAME_MAX;
        return Err(format!(
            "headers: {name:?} is no header name; write ASCII without spaces and colons, at most {most} characters"
        ));
    }
    if TAKEN.contains(&lower.as_str()) || lower.starts_with("content-") || lower.starts_with("resent-") {
        return Err(format!("headers: {name} is written by the channel; remove it, or use the field of its own if there is one"));
    }
    Ok(())
}

/// The MIME headers of the whole, an empty line and the body. The boundary comes from what it separates, so that it is the
/// same on every attempt and no text can contain it by design.
fn mime(mail: &Mail, key: &str) -> Vec<u8> {
    let (plain, html) = match (&mail.text, &mail.html) {
        (Some(text), Some(html)) => (text, html),
        (Some(text), None) => return part(text, ContentType::TEXT_PLAIN).formatted(),
        (None, html) => return part(html.as_deref().unwrap_or_default(), ContentType::TEXT_HTML).formatted(),
    };
    let boundary = hex(format!("{key}\0{plain}\0{html}").as_bytes());
    let both = MultiPart::builder().kind(MultiPartKind::Alternative).boundary(&boundary[..40]);
    both.singlepart(part(plain, ContentType::TEXT_PLAIN)).singlepart(part(html, ContentType::TEXT_HTML)).formatted()
}

fn part(text: &str, kind: ContentType) -> SinglePart {
    // A lone CR would be a line end to some servers and none to others. (lettre would insert each CR in place, which takes
    // seconds for a long text.)
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\r\n");
    let builder = SinglePart::builder().header(kind);
    if text.chars().any(|found| found.is_control() && !matches!(found, '\r' | '\n' | '\t'))
        && let Ok(body) = Body::new_with_encoding(text.clone(), ContentTransferEncoding::QuotedPrintable)
    {
        return builder.body(body);
    }
    builder.body(text)
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(payload: serde_json::Value) -> String {
        render_check(&payload.to_string()).unwrap_err()
    }

    fn letter(payload: serde_json::Value) -> String {
        let message = Outgoing { key: "reminder/17/2026-11".into(), attempt: 4, payload: payload.to_string() };
        let from = "Công nợ <billing@example.com>".parse().unwrap();
        let date = "2026-11-01T02:00:00Z".parse::<jiff::Timestamp>().unwrap();
        String::from_utf8(Letter::of(&message, &from, Moment::from_micros(date.as_microsecond())).unwrap().content).unwrap()
    }

    #[test]
    fn a_line_break_in_a_header_field_is_refused_and_the_field_named() {
        let mail = |field: &str, value: &str| {
            let mut mail = serde_json::json!({"to": "a@example.com", "subject": "s", "text": "t"});
            match field.strip_prefix("headers.") {
                Some(name) => mail["headers"] = serde_json::json!({ name: value }),
                None => mail[field] = value.into(),
            }
            mail
        };
        for field in ["to", "subject", "reply_to", "headers.X-Ref"] {
            for end in ["\r\n", "\n", "\r"] {
                let error = refusal(mail(field, &format!("a@example.com{end}Bcc: b@example.com")));
                assert!(error.starts_with(field) && error.contains("line break"), "{error}");
            }
        }
        assert!(refusal(mail("subject", "a\0b")).contains("U+0000"));
        assert!(render_check(&mail("headers.X-Ref", "Kỳ 11").to_string()).is_ok());
    }

    #[test]
    fn the_channels_own_headers_and_more_recipients_are_refused() {
        for name in ["Bcc", "cc", "From", "MESSAGE-ID", "Content-Type", "X-Onebell-Key", "a b", "a:b", "", "Ngày"] {
            let error = refusal(serde_json::json!({"to": "a@example.com", "subject": "", "text": "", "headers": {name: "x"}}));
            assert!(error.starts_with("headers"), "{error}");
        }
        assert!(
            refusal(serde_json::json!({"to": "a@example.com", "subject": "", "text": "", "cc": "b@example.com"})).contains("cc")
        );
        assert!(refusal(serde_json::json!({"to": "a@x, b@x", "subject": "", "text": ""})).starts_with("to"));
    }

    #[test]
    fn the_message_id_depends_on_the_key_alone() {
        assert_eq!(message_id("k", "example.com"), message_id("k", "example.com"));
        assert_ne!(message_id("k", "example.com"), message_id("l", "example.com"));
        assert!(message_id("khách/ậ", "ví-dụ.vn").is_ascii());
    }

    #[test]
    fn a_letter_names_its_charset_its_attempt_and_its_key() {
        let text = letter(
            serde_json::json!({"to": "Hạnh <a@example.com>", "subject": "Nhắc nợ", "text": "Xin chào", "reply_to": "r@example.com"}),
        );
        for line in [
            "To: =?utf-8?b?SOG6oW5o?= <a@example.com>\r\n",
            "Reply-To: r@example.com\r\n",
            "Date: Sun, 1 Nov 2026 02:00:00 +0000\r\n",
            "Onebell-Attempt: 4\r\n",
            "X-Onebell-Key: reminder/17/2026-11\r\n",
            "MIME-Version: 1.0\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
        ] {
            assert!(text.contains(line), "{line} is missing in\n{text}");
        }
        assert!(
            text.is_ascii() && text.contains(&format!("Message-ID: {}\r\n", message_id("reminder/17/2026-11", "example.com")))
        );
    }

    #[test]
    fn html_comes_as_an_alternative_and_every_attempt_writes_the_same_bytes() {
        let mail = serde_json::json!({"to": "a@example.com", "subject": "s", "text": "t", "html": "<p>t</p>"});
        assert_eq!(letter(mail.clone()), letter(mail.clone()));
        assert!(letter(mail).contains("multipart/alternative"));
        assert!(
            letter(serde_json::json!({"to": "a@example.com", "subject": "s", "html": "<p>t</p>"}))
                .contains("Content-Type: text/html")
        );
        assert!(refusal(serde_json::json!({"to": "a@example.com", "subject": "s"})).starts_with("text is missing"));
    }
}
