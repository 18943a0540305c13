//! What only the PostgreSQL store promises: users' statements inside the settling transaction, servers that go away in the
//! middle, poolers that keep no session, statements that stay on their indexes, and fingerprints computed in SQL.
#![cfg(feature = "postgres")]

#[cfg(test)]
mod postgres_own {
    mod away;
    mod encrypted;
    mod fingerprint;
    mod given;
    mod pooler;
    mod proxy;
    mod work;
}
