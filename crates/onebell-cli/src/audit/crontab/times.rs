//! The times of a crontab line: what cron takes and what it does not, in our words.

use onebell::model::job::When;

use super::super::codes;
use super::super::expression;
use super::super::finding::Finding;

/// Times that cron takes.
#[derive(Debug)]
pub(super) struct Times {
    /// None: they name no instants.
    pub(super) when: Option<When>,
    pub(super) finding: Option<Finding>,
}

pub(super) fn read(times: &str) -> Result<Times, Finding> {
    if times.starts_with('@') {
        return name(times);
    }
    let fields: Vec<&str> = expression::words(times).collect();
    let mut drawn = false;
    let mut ours = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        if let Some(wrong) = field.split(',').find(|part| !cron_reads(part, index)) {
            let message = format!("cron cannot read {wrong:?} in {times:?} and ignores the line");
            return Err(codes::SCHEDULE_REFUSED.with(message, "write numbers, *, ranges (1-5), lists (1,15) and steps (*/15)"));
        }
        drawn |= field.contains('~');
        ours.push(field.split(',').map(drawn_by_name).collect::<Vec<_>>().join(","));
    }
    let when = When::Cron { expression: expression::plain(&ours.join(" ")), seconds: false };
    let finding = drawn.then(|| {
        codes::DRAWN
            .says(format!("{times:?}: each ~ is a value that cron draws when it loads the file; the slots shown are Onebell's"))
    });
    Ok(Times { when: Some(when), finding })
}

fn name(word: &str) -> Result<Times, Finding> {
    if word == "@reboot" {
        let finding = codes::AT_BOOT.says("@reboot: every host runs it at its own start, and again at the next one");
        return Ok(Times { when: None, finding: Some(finding) });
    }
    let fields = expression::named(word).ok_or_else(|| {
        let message = format!("cron knows no {word:?} and ignores the line");
        codes::SCHEDULE_REFUSED.with(message, "write @hourly, @daily, @weekly, @monthly, @yearly or five fields, in lower case")
    })?;
    Ok(Times { when: Some(When::Cron { expression: fields.to_owned(), seconds: false }), finding: None })
}

/// Whether the characters of a part are cron's; whether its numbers are right is asked of our own reader.
fn cron_reads(part: &str, field: usize) -> bool {
    let names = part.split(|c: char| !c.is_ascii_alphabetic()).filter(|name| !name.is_empty());
    let signs = part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '-' | '/' | '~'));
    let names_fit = names.into_iter().all(|name| field >= 3 && name.len() == 3);
    let steps_fit = part.split_once('/').is_none_or(|(base, _)| base == "*" || base.contains('-') || base.contains('~'));
    !part.is_empty() && signs && names_fit && steps_fit
}

/// `10~50` of cronie as `H(10-50)`.
fn drawn_by_name(part: &str) -> String {
    match part.split_once('~') {
        None => part.to_owned(),
        Some(("", "")) => "H".to_owned(),
        Some((from, to)) if !from.is_empty() && !to.is_empty() && !to.contains('/') => format!("H({from}-{to})"),
        // Half open: our own reader refuses it, and says what can be written.
        Some(_) => part.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(times: &str) -> String {
        match read(times).unwrap().when {
            Some(When::Cron { expression, .. }) => expression,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_cron_takes_is_said_in_our_words() {
        assert_eq!(cron("*/5  0-23/2 1,15 jan-mar mon"), "*/5 0-23/2 1,15 jan-mar mon");
        assert_eq!(cron("@weekly"), "0 0 * * 0");
        assert_eq!(cron("0~30 ~ * * *"), "H(0-30) H * * *");
        assert!(read("@reboot").is_ok_and(|times| times.when.is_none() && times.finding.is_some()));
    }

    #[test]
    fn what_other_schedulers_take_and_cron_does_not_is_refused() {
        for times in [
            "0 0 L * *",
            "0 0 ? * 1",
            "0 0 15W * *",
            "H 2 * * *",
            "0 0 * * 5#3",
            "5/15 * * * *",
            "@Daily",
            "@every 5m",
            "0 0 , * *",
            "0 0 * * monday",
        ] {
            assert!(read(times).is_err(), "{times}");
        }
    }
}
