//! The mail channel against our own server, against scripted ones and against one that nobody here wrote: what is known of a
//! message after every kind of end, and that nothing of it goes out before `sending` is committed.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as loudly as the test")]

mod smtp {
    mod aiosmtpd;
    mod crashes;
    mod login;
    mod mail;
    mod order;
    mod outcomes;
    mod script;
    mod tls;
    mod world;
}
