use tokio_postgres::Client;

use super::Builder;
use super::error::Failure;
use super::pool::Purpose;
use crate::store::Result;

impl Builder {
    /// Runs one statement outside any transaction, as `CREATE DATABASE` and `DROP DATABASE` want it. No schema is looked for.
    ///
    /// # Errors
    /// `Unavailable` while there is no server; `Broken` when the URL, the credentials or the statement are refused.
    pub async fn administer(self, statement: &str) -> Result<()> {
        let store = self.store()?;
        let lent = store.pool.lend(Purpose::Ordinary).await.map_err(Failure::judged)?;
        let tx = store.tx(&lent).map_err(Failure::judged)?;
        tx.batch("administer", statement).await.map_err(Failure::judged)
    }

    /// A connection of its own, for statements that have nothing to do with the store: no schema is looked for, and nothing is set.
    /// It ends with the client.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn client(self) -> Result<Client> {
        let connection = self.store()?.pool.open().await.map_err(Failure::judged)?;
        Ok(connection.client)
    }
}
