//! `onebell progress [PERCENT]`: inside a command step, says that the work goes on.

use crate::answer::{Answer, Failure};

/// The file that the agent watches; it is named in the step's environment.
const VARIABLE: &str = "ONEBELL_PROGRESS";

/// Writes the percentage (or nothing) into the progress file: the claim is extended by the step's timeout.
pub fn progress(percent: Option<u8>) -> Answer {
    let path = std::env::var_os(VARIABLE)
        .ok_or_else(|| Failure::usage(format!("{VARIABLE} is not set: `onebell progress` belongs inside a command step")))?;
    let text = percent.map_or_else(String::new, |percent| percent.to_string());
    let path = std::path::Path::new(&path);
    std::fs::write(path, format!("{text}\n")).map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}
