use onebell::store::postgres::PostgresStore;

use super::Database;
use crate::answer::Failure;

/// A database of one's own on somebody's server, made for one command. Whoever makes it drops it: that takes a server that answers.
pub(crate) struct ScratchDatabase {
    server: String,
    name: String,
}

impl ScratchDatabase {
    /// Creates `name` on the server of `url`; `who` wants it, for messages.
    pub(crate) async fn create(url: String, name: String, who: &str) -> Result<Self, Failure> {
        match PostgresStore::builder(&url).administer(&format!("CREATE DATABASE {name}")).await {
            Ok(()) => Ok(Self { server: url, name }),
            Err(error) => {
                let remedy = if error.is_passing() {
                    "start the server, or name another one in the URL"
                } else {
                    "name a role that may (CREATEDB)"
                };
                Err(Failure::usage(format!("{who} cannot create a database of its own there: {error}; {remedy}")))
            }
        }
    }

    /// Its URL is the server's, with another name.
    pub(crate) fn database(&self) -> Database {
        Database::Postgres(with_name(&self.server, &self.name))
    }

    /// Drops it, whoever is still connected.
    pub(crate) async fn remove(&self) -> Result<(), Failure> {
        let Self { server, name } = self;
        let dropped = PostgresStore::builder(server).administer(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
        dropped.map_err(|error| Failure::usage(format!("the scratch database {name} could not be dropped: {error}")))
    }
}

/// The same server, another database.
fn with_name(url: &str, name: &str) -> String {
    let (before, query) = url.split_once('?').map_or((url, None), |(before, query)| (before, Some(query)));
    let (scheme, rest) = before.split_once("://").unwrap_or(("postgres", before));
    let authority = rest.split('/').next().unwrap_or_default();
    let kept: Vec<&str> =
        query.into_iter().flat_map(|query| query.split('&')).filter(|pair| !pair.starts_with("dbname=")).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{scheme}://{authority}/{name}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scratch_database_is_another_one_on_the_same_server() {
        assert_eq!(
            with_name("postgres://me:secret@db:5433/app?sslmode=require", "x"),
            "postgres://me:secret@db:5433/x?sslmode=require"
        );
        assert_eq!(with_name("postgres:///app?host=/run&dbname=app&user=me", "x"), "postgres:///x?host=/run&user=me");
        assert_eq!(with_name("postgresql://db", "x"), "postgresql://db/x");
    }
}
