//! `NAME = value`, by crontab(5): blanks around the sign are free, quotes keep blanks of the value, nothing is expanded.

/// A variable.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: String,
    /// The value stood in quotes.
    pub(super) quoted: bool,
}

/// The variable that a line sets; nothing: it is another line.
pub(super) fn read(line: &str) -> Option<Assignment> {
    let (name, rest) = match line.chars().next()? {
        quote @ ('"' | '\'') => line[1..].split_once(quote)?,
        _ => line.split_at(line.find([' ', '\t', '='])?),
    };
    let is_name = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = rest.trim_start().strip_prefix('=').filter(|_| is_name)?.trim();
    let (value, quoted) = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (value, after) = value[1..].split_once(quote)?;
            // Something behind the second quote: cron takes the line for no variable.
            (value, after.trim().is_empty().then_some(true)?)
        }
        _ => (value, false),
    };
    Some(Assignment { name: name.to_owned(), value: value.to_owned(), quoted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_and_quotes_are_those_of_crontab() {
        for (line, name, value, quoted) in [
            ("MAILTO=", "MAILTO", "", false),
            ("MAILTO=\"\"", "MAILTO", "", true),
            ("PATH = /usr/bin:/bin  ", "PATH", "/usr/bin:/bin", false),
            ("CRON_TZ='Asia/Ho_Chi_Minh'", "CRON_TZ", "Asia/Ho_Chi_Minh", true),
            ("\"A\" = ' b c '", "A", " b c ", true),
            ("X=a=b # c", "X", "a=b # c", false),
        ] {
            let read = read(line).unwrap();
            assert_eq!((read.name.as_str(), read.value.as_str(), read.quoted), (name, value, quoted), "{line}");
        }
    }

    #[test]
    fn a_job_with_an_equals_sign_sets_nothing() {
        for line in ["* * * * * /x --out=/y", "@daily A=b c", "0 2 * * * X=1 run", "=x", "a b = c", "A=\"b\" c", "A='b", "5=3"] {
            assert_eq!(read(line), None, "{line}");
        }
    }
}
