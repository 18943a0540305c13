//! The main job end to end, with real processes: three replicas, one killed, one mail per customer; against a mail server that
//! nobody here wrote, and as `onebell demo` shows it. What is asserted is who got how many mails.

#![expect(clippy::disallowed_methods, reason = "other processes are waited for here, by the real clock and with a limit")]

mod aiosmtpd;
mod demo;
mod world;
