//! Which database, and opening it.

mod scratch;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Cause, Store, StoreError};

use crate::answer::Failure;
use crate::args::Common;
pub(crate) use scratch::ScratchDatabase;

/// Where the state lives.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// One file.
    Sqlite(std::path::PathBuf),
    /// One primary.
    Postgres(String),
}

impl Database {
    /// By flag or variable, then the file's own word, then `onebell.db` beside the file.
    pub fn choose(common: &Common, in_file: Option<&str>) -> Result<Self, Failure> {
        let beside = common.file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        match (common.database.as_deref(), in_file) {
            (Some(url), _) => Self::parse(url, Path::new(".")),
            (None, Some(url)) => Self::parse(url, beside),
            (None, None) => Ok(Self::Sqlite(beside.join("onebell.db"))),
        }
    }

    /// A URL; a relative SQLite path is taken from `base`.
    pub fn parse(url: &str, base: &Path) -> Result<Self, Failure> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path == ":memory:" {
                return Err(Failure::usage("the SQLite database needs a file that all replicas share: write sqlite:PATH"));
            }
            return Ok(Self::Sqlite(base.join(path)));
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.to_owned()));
        }
        Err(Failure::usage(format!(
            "the database URL begins with {:?}; write sqlite:PATH or postgres://USER@HOST/NAME",
            url.split(':').next().unwrap_or_default()
        )))
    }

    /// Whether its file is there; a server's database is taken to be.
    pub fn exists(&self) -> bool {
        match self {
            Self::Sqlite(path) => path.exists(),
            Self::Postgres(_) => true,
        }
    }

    /// As a URL, for another process.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// The passwords in its URL, as they are written and as they are meant: to be kept out of what is captured.
    pub fn passwords(&self) -> Vec<String> {
        let Self::Postgres(url) = self else { return Vec::new() };
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        // The longest that could be one: drivers do not agree where it ends.
        let user = address.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')).map_or("", |(user, _)| user);
        let of_user = user.split_once(':').map(|(_, password)| password);
        let of_query = query.split('&').filter_map(|pair| pair.strip_prefix("password="));
        let written = of_user.into_iter().chain(of_query).filter(|password| !password.is_empty());
        written.flat_map(|password| [password.to_owned(), unescaped(password)]).collect()
    }

    /// Steps of the schema that it lacks. Nothing is changed.
    pub async fn pending(&self) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Sqlite(path) => SqliteStore::builder(path).migrate(true),
            Self::Postgres(url) => PostgresStore::builder(url).migrate(true).await,
        }
    }

    /// Opens it and brings its schema up.
    pub async fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        self.open_for(None).await
    }

    /// The same for a replica: what it waits for must end within its lease.
    async fn open_for(&self, lease: Option<Duration>) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::Sqlite(path) => {
                let store: Arc<dyn Store> = Arc::new(SqliteStore::builder(path).open_and_migrate()?);
                Ok(store)
            }
            Self::Postgres(url) => {
                let builder = PostgresStore::builder(url);
                let builder = if let Some(lease) = lease { builder.lease(lease) } else { builder };
                let store: Arc<dyn Store> = Arc::new(builder.connect_and_migrate().await?);
                Ok(store)
            }
        }
    }

    /// Opens it as it is, for a look that may as well be left out: nothing is made, brought up or waited for.
    pub async fn look(&self) -> Result<Arc<dyn Store>, StoreError> {
        const PATIENCE: Duration = Duration::from_secs(3);
        match self {
            Self::Sqlite(path) if !path.exists() => Err(StoreError::broken(format!("{} is not there yet", path.display()))),
            Self::Sqlite(path) => {
                let store: Arc<dyn Store> = Arc::new(SqliteStore::builder(path).open()?);
                Ok(store)
            }
            Self::Postgres(url) => {
                let store: Arc<dyn Store> = Arc::new(PostgresStore::builder(url).lease(PATIENCE).connect().await?);
                Ok(store)
            }
        }
    }

    /// Runs statements of the user's own in one transaction.
    pub async fn execute(&self, sql: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(path) => SqliteStore::builder(path).open_and_migrate()?.execute(sql).await,
            Self::Postgres(url) => PostgresStore::builder(url).connect_and_migrate().await?.execute(sql).await,
        }
    }

    /// Opens it; while it is away, says so once and waits. A file that cannot be opened is not away: somebody has to mend that.
    pub async fn open_waiting(&self, lease: Option<Duration>) -> Result<Arc<dyn Store>, StoreError> {
        let is_file = matches!(self, Self::Sqlite(_));
        let mut said = false;
        loop {
            match self.open_for(lease).await {
                Err(error @ StoreError::Unavailable { cause: Cause::Away, .. }) if is_file => return Err(error),
                Err(error) if error.is_passing() => {
                    if !said {
                        tracing::warn!(%error, "the database cannot be reached; waiting for it");
                        said = true;
                    }
                    onebell::time::Timer::sleep(&onebell::time::SystemTimer, Duration::from_secs(1)).await;
                }
                answer => {
                    if said {
                        tracing::warn!("the database answers");
                    }
                    return answer;
                }
            }
        }
    }
}

/// Without the escapes of a URL.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A server's URL is left out: it may hold a password.
impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.write_str("Postgres(…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k15_05_the_passwords_of_a_url_are_known_and_never_shown() {
        let passwords = |url: &str| Database::parse(url, Path::new(".")).unwrap().passwords();
        let known = passwords("postgres://u:s3cr3t-%C3%9F@h:5432/d?sslmode=require&password=other");
        assert_eq!(known, ["s3cr3t-%C3%9F", "s3cr3t-ß", "other", "other"]);
        assert_eq!(passwords("postgresql://u:p%40%zz%@h/d@e"), ["p%40%zz%@h/d", "p@%zz%@h/d"]);
        assert!(passwords("postgres://u@h/d").is_empty() && passwords("sqlite:a:b@c").is_empty());
        assert!(!format!("{:?}", Database::Postgres("postgres://u:p4ss@h/d".into())).contains("p4ss"));
    }

    fn common(database: Option<&str>) -> Common {
        Common {
            file: "dir/onebell.toml".into(),
            database: database.map(str::to_owned),
            format: crate::args::Format::Table,
            verbose: 0,
            quiet: false,
        }
    }

    #[test]
    fn the_flag_goes_before_the_file_and_the_file_before_the_default() {
        let chosen = |flag, file| Database::choose(&common(flag), file).ok();
        assert_eq!(chosen(Some("sqlite:a.db"), Some("sqlite:b.db")), Some(Database::Sqlite("./a.db".into())));
        assert_eq!(chosen(None, Some("sqlite:b.db")), Some(Database::Sqlite("dir/b.db".into())));
        assert_eq!(chosen(None, None), Some(Database::Sqlite("dir/onebell.db".into())));
        assert_eq!(chosen(Some("postgres://h/d"), None), Some(Database::Postgres("postgres://h/d".into())));
        assert_eq!(chosen(Some("mysql://h/d"), None), None);
    }
}
