//! What a user's own statements may not do: end our transaction, write our tables, leave the file, or run for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::time::{SystemTimer, Timer};

/// SQLite's virtual machine looks at the deadline after so many instructions.
const INSTRUCTIONS: std::ffi::c_int = 20_000;

/// PRAGMAs that only read although they take an argument.
const READING_PRAGMAS: [&str; 7] =
    ["table_info", "table_xinfo", "table_list", "index_info", "index_xinfo", "index_list", "foreign_key_list"];

/// Installed once per connection, switched on around a user's statements.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard(Arc<Switches>);

#[derive(Debug, Default)]
struct Switches {
    text: AtomicBool,
    deadline_us: AtomicU64,
}

impl Guard {
    pub(super) fn install(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let switches = Arc::clone(&self.0);
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if switches.text.load(Ordering::Relaxed) && is_refused(&context.action) {
                return Authorization::Deny;
            }
            Authorization::Allow
        }))?;
        let switches = Arc::clone(&self.0);
        connection.progress_handler(
            INSTRUCTIONS,
            Some(move || match switches.deadline_us.load(Ordering::Relaxed) {
                0 => false,
                deadline => elapsed_us() > deadline,
            }),
        )
    }

    /// Runs a user's SQL text: nothing but its own tables, and for no longer than `limit`.
    pub(super) fn over_text<T>(&self, limit: Duration, work: impl FnOnce() -> T) -> T {
        self.0.text.store(true, Ordering::Relaxed);
        let _off = Off(&self.0);
        self.over_code(limit, work)
    }

    /// Runs a user's code, for no longer than `limit` in any one statement after it.
    pub(super) fn over_code<T>(&self, limit: Duration, work: impl FnOnce() -> T) -> T {
        let limit = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        self.0.deadline_us.store(elapsed_us().saturating_add(limit), Ordering::Relaxed);
        let _off = Off(&self.0);
        work()
    }
}

/// Switches everything off, also when the user's code panics.
struct Off<'g>(&'g Switches);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        self.0.text.store(false, Ordering::Relaxed);
        self.0.deadline_us.store(0, Ordering::Relaxed);
    }
}

fn elapsed_us() -> u64 {
    u64::try_from(SystemTimer.elapsed().as_micros()).unwrap_or(u64::MAX)
}

fn is_ours(table: &str) -> bool {
    table.get(..8).is_some_and(|prefix| prefix.eq_ignore_ascii_case("onebell_"))
}

fn is_refused(action: &AuthAction<'_>) -> bool {
    match action {
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } | AuthAction::Attach { .. } | AuthAction::Detach { .. } => {
            true
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            pragma_value.is_some() && !READING_PRAGMAS.iter().any(|known| pragma_name.eq_ignore_ascii_case(known))
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::CreateIndex { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::CreateTempTable { table_name }
        | AuthAction::CreateTempTrigger { table_name, .. } => is_ours(table_name),
        AuthAction::CreateView { view_name } | AuthAction::CreateTempView { view_name } => is_ours(view_name),
        _ => false,
    }
}
