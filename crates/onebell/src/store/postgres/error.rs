//! What went wrong, by what the caller may do about it. SQLSTATEs are judged here and nowhere else.

use crate::store::StoreError;

/// What work inside a transaction gives.
pub(super) type Outcome<T> = Result<T, Failure>;

/// When an error was seen: the same code means more or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Opening a connection.
    Connect,
    /// A statement inside a transaction, or alone.
    Statement,
    /// The COMMIT: whether it happened may be unknown.
    Commit,
}

/// What may be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Rolled back by the server: the whole transaction may be repeated at once.
    Again,
    /// Out of time on the server, nothing happened.
    Late,
    /// No server, or none that takes writes.
    Away,
    /// No space.
    Full,
    /// The data was refused: 22, 23.
    Refused,
    /// The statement was refused: 42, and all that is not listed.
    Broken,
}

/// What is known of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symptom {
    /// The server's code.
    pub(super) code: Option<String>,
    /// The server's words, or the driver's.
    pub(super) message: String,
    /// The connection, not the statement, is in trouble.
    pub(super) transport: bool,
}

/// Why work inside a transaction gave no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) class: Class,
    /// The server's code, if the server said something.
    pub(super) code: Option<String>,
    /// For people, with the statement's name.
    pub(super) message: String,
    /// The connection cannot be used any more.
    pub(super) poisoned: bool,
}

/// Judges by code, and by the driver's words where there is none.
pub(super) fn classify(symptom: &Symptom, phase: Phase) -> Class {
    let class = match &symptom.code {
        Some(code) => by_code(code),
        None if symptom.transport || says_too_many(&symptom.message) => Class::Away,
        None => Class::Broken,
    };
    match (class, phase) {
        // Nobody knows whether a commit that ran out of time happened.
        (Class::Late, Phase::Commit) => Class::Away,
        _ => class,
    }
}

fn by_code(code: &str) -> Class {
    match code {
        "40001" | "40P01" | "55P03" => Class::Again,
        "57014" => Class::Late,
        "25006" | "25P03" | "40003" => Class::Away,
        "57P01" | "57P02" | "57P03" | "57P05" => Class::Away,
        "53100" => Class::Full,
        _ => match code.get(..2).unwrap_or_default() {
            "08" | "53" => Class::Away,
            "58" => Class::Full,
            "22" | "23" => Class::Refused,
            _ => Class::Broken,
        },
    }
}

/// Poolers and a server short of processes say so without a code.
fn says_too_many(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["too many clients", "too many connections", "no more connections", "could not fork"]
        .iter()
        .any(|words| message.contains(words))
}

impl Symptom {
    /// Reads the driver's error.
    pub(super) fn of(error: &tokio_postgres::Error) -> Self {
        if let Some(answer) = error.as_db_error() {
            let message = answer.message().to_owned();
            return Self { code: Some(answer.code().code().to_owned()), message, transport: false };
        }
        Self { code: None, message: chain(error), transport: is_transport(error) }
    }
}

/// The driver keeps its kinds to itself: what a statement cannot have caused is the connection's trouble.
fn is_transport(error: &tokio_postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    match std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>()) {
        Some(io) => io.kind() != std::io::ErrorKind::InvalidInput && !speaks_of_a_certificate(io),
        None => error.to_string() == "unexpected message from server",
    }
}

fn speaks_of_a_certificate(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}

const RIGHTS: &str = "grant the role what docs/operations.md lists under \"Rights\", or bring the schema up as its owner";

impl Failure {
    /// Of the statement or act `what`.
    pub(super) fn seen(what: &str, error: &tokio_postgres::Error, phase: Phase) -> Self {
        let symptom = Symptom::of(error);
        let class = classify(&symptom, phase);
        let message = match (&symptom.code, class) {
            // Not the cause: an earlier statement failed, and whoever ran it did not say so.
            (Some(code), _) if code == "25P02" => format!("{what}: an earlier statement of the transaction had failed"),
            (Some(code), Class::Away) if phase == Phase::Commit => {
                format!("{what}: {} (SQLSTATE {code}); it may or may not have happened", symptom.message)
            }
            (Some(code), _) if code == "42501" => format!("{what}: {} (SQLSTATE {code}); {RIGHTS}", symptom.message),
            (Some(code), _) => format!("{what}: {} (SQLSTATE {code})", symptom.message),
            (None, _) => format!("{what}: {}", symptom.message),
        };
        Self { class, poisoned: symptom.transport || class == Class::Away, code: symptom.code, message }
    }

    /// No answer within the client's own deadline: the connection must go.
    pub(super) fn silent(what: &str, limit: std::time::Duration) -> Self {
        let message = format!("{what}: no answer within {limit:?}");
        Self { class: Class::Away, code: None, message, poisoned: true }
    }

    /// What should not be.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self { class: Class::Broken, code: None, message: message.into(), poisoned: false }
    }

    /// Something moved between two statements: the transaction is repeated.
    pub(super) fn again(message: impl Into<String>) -> Self {
        Self { class: Class::Again, code: None, message: message.into(), poisoned: false }
    }

    /// Somebody kept a lock for longer than we wait.
    pub(super) fn is_lock_timeout(&self) -> bool {
        self.code.as_deref() == Some("55P03")
    }

    /// As the port says it.
    pub(super) fn judged(self) -> StoreError {
        match self.class {
            Class::Again | Class::Late => StoreError::contended(self.message),
            Class::Away => StoreError::away(self.message),
            Class::Full => StoreError::full(self.message),
            Class::Refused | Class::Broken => StoreError::broken(self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(code: &str, phase: Phase) -> Class {
        classify(&Symptom { code: Some(code.into()), message: String::new(), transport: false }, phase)
    }

    #[test]
    fn an_error_says_what_the_caller_may_do() {
        let table = [
            ("40001", Class::Again),
            ("40P01", Class::Again),
            ("55P03", Class::Again),
            ("57014", Class::Late),
            ("53300", Class::Away),
            ("53200", Class::Away),
            ("57P01", Class::Away),
            ("57P02", Class::Away),
            ("57P03", Class::Away),
            ("57P05", Class::Away),
            ("08000", Class::Away),
            ("08006", Class::Away),
            ("08P01", Class::Away),
            ("25006", Class::Away),
            ("25P03", Class::Away),
            ("40003", Class::Away),
            ("53100", Class::Full),
            ("58030", Class::Full),
            ("58P01", Class::Full),
            ("22021", Class::Refused),
            ("23505", Class::Refused),
            ("42601", Class::Broken),
            ("42501", Class::Broken),
            ("28P01", Class::Broken),
            ("3D000", Class::Broken),
            ("57P04", Class::Broken),
            ("25P02", Class::Broken),
            ("XX000", Class::Broken),
        ];
        for (code, expected) in table {
            assert_eq!(class(code, Phase::Statement), expected, "{code}");
        }
    }

    #[test]
    fn i0_a_commit_without_an_answer_is_unknown_and_never_called_not_happened() {
        for code in ["57014", "57P01", "08006", "25006"] {
            assert_eq!(class(code, Phase::Commit), Class::Away, "{code}");
        }
        assert_eq!(class("40001", Phase::Commit), Class::Again, "the server rolled it back and said so");
        assert_eq!(class("23503", Phase::Commit), Class::Refused, "a deferred constraint");
    }

    #[test]
    fn without_a_code_the_connection_is_in_trouble_or_the_program_is() {
        let seen =
            |message: &str, transport| classify(&Symptom { code: None, message: message.into(), transport }, Phase::Connect);
        assert_eq!(seen("connection reset by peer", true), Class::Away);
        assert_eq!(seen("sorry, too many clients already", false), Class::Away);
        assert_eq!(seen("no more connections allowed (max_client_conn)", false), Class::Away);
        assert_eq!(seen("error deserializing column 3", false), Class::Broken);
    }

    #[test]
    fn a_failure_becomes_one_of_the_ports_three() {
        let failure = |class| Failure { class, code: None, message: String::new(), poisoned: false }.judged();
        assert!(matches!(failure(Class::Again), StoreError::Contended { .. }));
        assert!(matches!(failure(Class::Late), StoreError::Contended { .. }));
        assert!(matches!(failure(Class::Full), StoreError::Unavailable { cause: crate::store::Cause::Full, .. }));
        assert!(matches!(failure(Class::Away), StoreError::Unavailable { cause: crate::store::Cause::Away, .. }));
        assert!(matches!(failure(Class::Refused), StoreError::Broken { .. }));
    }
}
