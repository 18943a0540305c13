use std::fmt;
use std::str::FromStr;

use lettre::Address;

/// A mailbox: `billing@example.com` or `Công nợ <billing@example.com>`.
///
/// ```
/// use onebell_cli::smtp::Person;
/// let from: Person = "Công nợ <billing@example.com>".parse().unwrap();
/// assert_eq!(from.name(), Some("Công nợ"));
/// assert!("a@example.com, b@example.com".parse::<Person>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    name: Option<String>,
    address: Address,
}

impl Person {
    /// The display name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The address alone.
    pub fn address(&self) -> &str {
        self.address.as_ref()
    }

    /// What follows the `@`.
    pub fn domain(&self) -> &str {
        self.address.domain()
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name} <{}>", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

impl FromStr for Person {
    type Err = String;

    /// More lenient than RFC 5322 in the name (it may hold commas and any letters unquoted, because it comes out of data) and
    /// strict in the address.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(found) = text.chars().find(|found| found.is_control()) {
            return Err(match found {
                '\r' | '\n' => "contains a line break".to_owned(),
                _ => format!("contains the control character U+{:04X}", u32::from(found)),
            });
        }
        let text = text.trim();
        let (name, address) = match text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            Some((name, address)) => (unquoted(name.trim())?, address.trim()),
            None => (String::new(), text),
        };
        let address = Address::from_str(address).map_err(|reason| {
            format!("{address:?} is not one e-mail address ({reason}); write name@example.com or Name <name@example.com>")
        })?;
        Ok(Self { name: (!name.is_empty()).then_some(name), address })
    }
}

/// The name without its quotes and their backslashes.
fn unquoted(name: &str) -> Result<String, String> {
    let Some(inner) = name.strip_prefix('"') else {
        // Another address hidden in the name is a mistake in the data, not a name.
        return if name.contains(['<', '>']) {
            Err("names more than one address; write one".into())
        } else {
            Ok(name.to_owned())
        };
    };
    let inner = inner.strip_suffix('"').ok_or("opens a quote that does not close")?;
    let mut plain = String::with_capacity(inner.len());
    let mut escaped = false;
    for found in inner.chars() {
        match found {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return Err("closes its quote in the middle of the name".into()),
            _ => {
                plain.push(found);
                escaped = false;
            }
        }
    }
    if escaped { Err("opens a quote that does not close".into()) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_what_data_holds() {
        for (text, name, address) in [
            ("a@example.com", None, "a@example.com"),
            (" <a@example.com> ", None, "a@example.com"),
            ("Nguyễn Thị Hạnh <hanh@example.com>", Some("Nguyễn Thị Hạnh"), "hanh@example.com"),
            ("Nguyễn, Hạnh <hanh@example.com>", Some("Nguyễn, Hạnh"), "hanh@example.com"),
            (r#""O \"B\" <x>, y" <o@example.com>"#, Some(r#"O "B" <x>, y"#), "o@example.com"),
        ] {
            let person: Person = text.parse().unwrap();
            assert_eq!((person.name(), person.address()), (name, address), "{text}");
        }
    }

    #[test]
    fn what_is_not_one_address_is_refused() {
        for text in [
            "",
            "a@",
            "a@example.com, b@example.com",
            "x <a@example.com>, y <b@example.com>",
            "a@example.com\r\nBcc: b@example.com",
            "\"x <a@example.com>",
            "a\0@example.com",
            "a@example.com>\r\nRCPT TO:<b@example.com",
        ] {
            assert!(text.parse::<Person>().is_err(), "{text:?}");
        }
    }
}
