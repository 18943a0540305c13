//! The store on SQLite: one file, no server, several processes of one host.
