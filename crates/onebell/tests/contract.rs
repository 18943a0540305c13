//! What a store promises, tried on every store: one body per promise, instantiated for SQLite (inline, and with its writer
//! thread), PostgreSQL 15 and PostgreSQL 18.6. A name begins with the invariant or case that it attacks, where there is one.
//!
//! It asks the port and, where a promise is about rows, the tables. Of the roles it knows what a person calls (a backfill) and, where a
//! promise is about slots, one pass of the Scheduler: nothing here loops or waits.

#[cfg(test)]
mod contract {
    #[macro_use]
    mod instances;
    mod given;
    mod grid;
    mod held;
    mod whole;
    mod world;

    mod admission;
    mod alarms;
    mod away;
    mod backfill;
    mod batches;
    mod callbacks;
    mod carriers;
    mod claims;
    mod clocks;
    mod deploys;
    mod effects;
    mod ends;
    mod leader;
    mod messages;
    mod messages_of_runs;
    mod neighbours;
    mod operators;
    mod outbox;
    mod planned;
    mod progress;
    mod proxy;
    mod recovering;
    mod recovery;
    mod replicas;
    mod requests;
    mod restored;
    mod retention;
    mod runs;
    mod schema;
    mod seen;
    mod sets;
    mod settle;
    mod slots;
    mod status;
    mod storm;
    mod stuck;
    mod superseded;
    mod together;
    mod undo;
    mod vigils;
    mod waited;
    mod work;
    mod zones;
}
