//! What went wrong, by what the caller may do about it. SQLite's codes are judged here and nowhere else.

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// Why work inside a transaction gave no value.
#[derive(Debug)]
pub(super) enum Failure {
    /// SQLite's own error, not yet judged.
    Sqlite(rusqlite::Error),
    /// Judged already.
    Store(StoreError),
    /// What a settlement brought with it was refused: it is undone and its step is settled with this instead.
    Refused(String),
    /// As `Refused`, but it may go better another time: it took too long.
    Late(String),
    /// The whole transaction is to be repeated: what went wrong is remembered outside of it.
    Again(String),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Failure {
    /// Another connection was in the way: the whole transaction may be repeated from its start.
    pub(super) fn is_contention(&self) -> bool {
        match self {
            Self::Sqlite(error) => code(error).is_some_and(in_the_way),
            Self::Store(error) => matches!(error, StoreError::Contended { .. }),
            Self::Refused(_) | Self::Late(_) => false,
            Self::Again(_) => true,
        }
    }

    /// The error as the port says it. `file` names the database for people.
    pub(super) fn judged(self, file: &str) -> StoreError {
        match self {
            Self::Sqlite(error) => judge(&error, file),
            Self::Store(error) => error,
            Self::Refused(text) => StoreError::broken(text),
            Self::Late(text) | Self::Again(text) => StoreError::contended(text),
        }
    }
}

fn in_the_way(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::SchemaChanged)
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    match error {
        rusqlite::Error::SqliteFailure(error, _) | rusqlite::Error::SqlInputError { error, .. } => Some(error.code),
        _ => None,
    }
}

/// Maps SQLite's error to one of the port's three.
pub(super) fn judge(error: &rusqlite::Error, file: &str) -> StoreError {
    let Some(code) = code(error) else {
        return StoreError::broken(format!("{file}: {error}"));
    };
    match code {
        code if in_the_way(code) => StoreError::contended(format!("{file}: {error}")),
        ErrorCode::FileLockingProtocolFailed => StoreError::contended(format!("{file}: {error}")),
        ErrorCode::DiskFull => StoreError::full(format!("{file}: {error}; free some space")),
        ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted => {
            StoreError::away(format!("{file}: {error}"))
        }
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            StoreError::away(format!("{file}: {error}; check that the file and its folder exist and may be written"))
        }
        ErrorCode::DatabaseCorrupt => StoreError::broken(format!(
            "{file} is damaged ({error}); stop all replicas, keep a copy, and restore a backup or try `sqlite3 {file} .recover`"
        )),
        ErrorCode::NotADatabase => {
            StoreError::broken(format!("{file} is no SQLite database; name another file with --database sqlite:PATH"))
        }
        _ => StoreError::broken(format!("{file}: {error}")),
    }
}

const NOT_ALLOWED: &str =
    ": a step's SQL may not begin or end transactions, attach files, change settings or write onebell_ tables";

/// What a user's own statement was refused for, when repeating it cannot help. None: the store itself is in trouble.
pub(super) fn refusal(error: &rusqlite::Error) -> Option<String> {
    let Some(code) = code(error) else {
        return Some(error.to_string());
    };
    let of_the_store = in_the_way(code)
        || matches!(
            code,
            ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::FileLockingProtocolFailed
        );
    let remedy = if code == ErrorCode::AuthorizationForStatementDenied { NOT_ALLOWED } else { "" };
    (!of_the_store).then(|| format!("{error}{remedy}"))
}

/// A constraint was broken.
pub(super) fn is_constraint(error: &rusqlite::Error) -> bool {
    code(error) == Some(ErrorCode::ConstraintViolation)
}

/// The statement ran out of its time.
pub(super) fn is_interrupted(error: &rusqlite::Error) -> bool {
    code(error) == Some(ErrorCode::OperationInterrupted)
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;
    use crate::store::Cause;

    fn judged(code: std::ffi::c_int) -> StoreError {
        judge(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None), "jobs.db")
    }

    #[test]
    fn an_error_says_what_the_caller_may_do() {
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_BUSY_SNAPSHOT, ffi::SQLITE_LOCKED] {
            assert!(matches!(judged(code), StoreError::Contended { .. }), "{code}");
        }
        assert!(matches!(judged(ffi::SQLITE_FULL), StoreError::Unavailable { cause: Cause::Full, .. }));
        for code in [ffi::SQLITE_IOERR, ffi::SQLITE_READONLY, ffi::SQLITE_CANTOPEN] {
            assert!(matches!(judged(code), StoreError::Unavailable { cause: Cause::Away, .. }), "{code}");
        }
    }

    #[test]
    fn a_damaged_file_is_named_with_its_remedy() {
        assert!(
            judged(ffi::SQLITE_CORRUPT).to_string().contains("jobs.db")
                && judged(ffi::SQLITE_CORRUPT).to_string().contains("backup")
        );
        assert!(judged(ffi::SQLITE_NOTADB).to_string().contains("--database"));
    }

    #[test]
    fn a_users_statement_is_refused_for_what_it_says_and_never_for_the_stores_troubles() {
        let refused = |code| refusal(&rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).is_some();
        assert!(refused(ffi::SQLITE_CONSTRAINT) && refused(ffi::SQLITE_ERROR) && refused(ffi::SQLITE_MISMATCH));
        assert!(![ffi::SQLITE_BUSY, ffi::SQLITE_FULL, ffi::SQLITE_IOERR, ffi::SQLITE_CORRUPT].into_iter().any(refused));
    }
}
