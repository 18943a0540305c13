//! What only the PostgreSQL store promises: users' statements inside the settling transaction, servers that go away in the
//! middle, poolers that keep no session, and statements that stay on their indexes.
#![cfg(feature = "postgres")]

#[cfg(test)]
mod postgres_own {
    mod away;
    mod encrypted;
    mod given;
    mod pooler;
    mod proxy;
    mod work;
}
