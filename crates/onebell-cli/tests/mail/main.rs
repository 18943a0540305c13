//! The main job end to end, with real processes: three replicas, one killed, one mail per customer; against a mail server that
//! nobody here wrote, and as `onebell demo` shows it. What is asserted is who got how many mails.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod aiosmtpd;
mod demo;
mod world;
