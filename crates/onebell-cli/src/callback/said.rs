use std::time::Duration;

use onebell::model::fingerprint::canonical;

use crate::steps::answered;
use crate::template::exact::members;

/// The longest wait that is asked for: a day.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// What a callback says of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It is done.
    Succeeded {
        /// A JSON array of objects, if there were any.
        rows: Option<String>,
    },
    /// Another try would fail the same way.
    Failed {
        /// Why.
        error: String,
    },
    /// Another try may succeed.
    Retry {
        /// Why.
        error: String,
        /// Not before this.
        after: Option<Duration>,
    },
}

impl Said {
    /// From the body: `{"status": "succeeded", "rows": […]}`, `{"status": "failed", "error": "…"}` or
    /// `{"status": "retry", "error": "…", "after_seconds": 30}`. What else it has is nobody's matter, and so are rows unless they are
    /// the step's.
    ///
    /// # Errors
    /// What is wrong with it, and what to write instead.
    pub fn read(body: &str, wants_rows: bool) -> Result<Self, String> {
        canonical(body).map_err(|error| format!("byte {}: it is not JSON: {}", error.offset, error.refusal))?;
        let members = members(body).ok_or("it is no object; send {\"status\": \"succeeded\"}")?;
        let of = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, value)| *value);
        let text = |name: &str| of(name).and_then(|value| serde_json::from_str::<String>(value).ok());
        let error = || text("error").unwrap_or_else(|| "no error was named".to_owned());
        match text("status").as_deref() {
            Some("succeeded") if !wants_rows => Ok(Self::Succeeded { rows: None }),
            Some("succeeded") => {
                let rows = of("rows").filter(|rows| *rows != "null").map(|rows| answered(rows.as_bytes())).transpose();
                let rows = rows.map_err(|wrong| format!("rows: {wrong}"))?.flatten();
                let missing = "rows: they are the step's, and later steps wait for them; send \"rows\": [{…}, …]";
                Ok(Self::Succeeded { rows: Some(rows.ok_or(missing)?) })
            }
            Some("failed") => Ok(Self::Failed { error: error() }),
            Some("retry") => Ok(Self::Retry { error: error(), after: of("after_seconds").map(seconds).transpose()? }),
            _ => Err("status: send \"succeeded\", \"failed\" or \"retry\"".to_owned()),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u64 = text.parse().map_err(|_| "after_seconds: send a whole number of seconds".to_owned())?;
    Ok(Duration::from_secs(seconds).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Said, String> {
        Said::read(body, false)
    }

    #[test]
    fn what_is_said_is_read_and_rows_stay_as_they_were_written() {
        let body = r#"{"status": "succeeded", "rows": [{"n": 1.50}, {"n": 9007199254740993}], "took": 3}"#;
        assert_eq!(read(body), Ok(Said::Succeeded { rows: None }), "nobody asked for rows");
        assert_eq!(
            Said::read(body, true),
            Ok(Said::Succeeded { rows: Some(r#"[{"n": 1.50},{"n": 9007199254740993}]"#.to_owned()) })
        );
        for none in [r#"{"status":"succeeded"}"#, r#"{"rows": null, "status":"succeeded"}"#] {
            assert_eq!(read(none), Ok(Said::Succeeded { rows: None }));
            assert!(Said::read(none, true).unwrap_err().starts_with("rows: "));
        }
        let error = "no funds".to_owned();
        assert_eq!(read(r#"{"error": "no funds", "status": "failed"}"#), Ok(Said::Failed { error: error.clone() }));
        let after = Some(Duration::from_secs(30));
        assert_eq!(read(r#"{"error":"no funds","status":"retry","after_seconds":30}"#), Ok(Said::Retry { error, after }));
        let Ok(Said::Retry { after, .. }) = read(r#"{"status":"retry","after_seconds":18446744073709551615}"#) else { panic!() };
        assert_eq!(after, Some(LONGEST));
    }

    #[test]
    fn what_cannot_be_read_says_what_to_send() {
        for (body, said) in [
            ("", "it is not JSON"),
            ("[]", "it is no object"),
            ("{\"status\": \"succeeded\"", "it is not JSON"),
            (r#"{"status": "failed", "status": "succeeded"}"#, "it is not JSON"),
            ("{}", "status: send"),
            (r#"{"status": "done"}"#, "status: send"),
            (r#"{"status": true}"#, "status: send"),
            (r#"{"status": "succeeded", "rows": [1]}"#, "rows: "),
            (r#"{"status": "succeeded", "rows": "x"}"#, "rows: "),
            (r#"{"status": "retry", "after_seconds": -1}"#, "after_seconds: "),
            (r#"{"status": "retry", "after_seconds": 1.5}"#, "after_seconds: "),
        ] {
            let wrong = Said::read(body, true).unwrap_err();
            assert!(wrong.contains(said), "{body}: {wrong}");
        }
    }
}
