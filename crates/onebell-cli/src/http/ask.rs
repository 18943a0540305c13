//! The question to the receiver: did this message arrive?

use std::str::FromStr;
use std::time::Duration;

use super::answer::Answer;
use super::exchange::Seen;
use super::key;
use super::target::Target;

/// A URL with a place for the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Key,
    Id,
}

impl Question {
    /// Whether nobody on the way can read it.
    pub(super) fn is_encrypted(&self) -> bool {
        self.about("").is_ok_and(|target| target.is_encrypted())
    }

    /// Whether somebody on the way could read a secret that is sent with it.
    pub fn is_exposed(&self) -> bool {
        self.about("").is_ok_and(|target| target.is_exposed())
    }

    /// Where to ask for the message with this key.
    ///
    /// # Errors
    /// When that is no URL.
    pub(super) fn about(&self, message: &str) -> Result<Target, String> {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Key => key::path_segment(message),
            Part::Id => key::webhook_id(message),
        };
        self.0.iter().map(part).collect::<String>().parse()
    }
}

impl FromStr for Question {
    type Err = String;

    /// `https://example.com/hooks/{{ key }}`, or with `{{ id }}` for the `webhook-id`.
    ///
    /// # Errors
    /// What is wrong with it and what to write instead.
    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write \"https://example.com/hooks/{{ key }}\"";
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or_else(|| format!("{{{{ has no }}}}; {example}"))?;
            parts.push(Part::Text(before.to_owned()));
            parts.push(match name.trim() {
                "key" => Part::Key,
                "id" => Part::Id,
                other => {
                    return Err(format!("{other:?} is not known here; write {{{{ key }}}}, or {{{{ id }}}} for the webhook-id"));
                }
            });
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        if parts.len() == 1 {
            return Err(format!("it does not name the message; {example}"));
        }
        let question = Self(parts);
        let (one, other) = (question.about("a")?, question.about("b")?);
        if one.authority != other.authority {
            return Err(format!("the message cannot stand in the host; {example}"));
        }
        Ok(question)
    }
}

/// What the receiver says of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Arrived {
    /// It arrived; its words.
    Yes(String),
    /// It did not.
    No,
    /// It does not say.
    NotKnown(String, Option<Duration>),
}

impl Arrived {
    pub(super) fn of(seen: &Seen, secrets: &[String]) -> Self {
        match seen {
            Seen::Answer(answer) if matches!(answer.status, 200 | 204) => Self::Yes(answer.told(secrets)),
            Seen::Answer(Answer { status: 404, .. }) => Self::No,
            Seen::Answer(answer) => Self::NotKnown(answer.told(secrets), answer.wait()),
            Seen::Nothing(error) | Seen::Broken(error) => Self::NotKnown(error.clone(), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_about_one_message_whatever_its_key() {
        let question: Question = "https://example.com/hooks/{{ key }}?id={{id}}".parse().unwrap();
        let about = question.about("a/../b?x").unwrap();
        assert_eq!(about.path, format!("/hooks/a%2F..%2Fb%3Fx?id={}", key::webhook_id("a/../b?x")));
        for (text, says) in [
            ("https://example.com/hooks", "does not name"),
            ("https://example.com/{{ row.id }}", "not known"),
            ("https://example.com/{{ key", "}}"),
            ("https://{{ key }}.example.com/", "host"),
            ("/hooks/{{ key }}", "https://"),
        ] {
            let error = text.parse::<Question>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
