//! HTTP from this side: the channel `http` (webhooks), and what steps of kind `http` share with it.
//!
//! A webhook carries its message's key, so that a receiver can tell a second one from the first; the connection is made before the
//! gate, the first byte of the request goes out after it. What counts is again to know, of every failure, whether the receiver can
//! have taken the message:
//!
//! | seen | answer |
//! |---|---|
//! | no connection, no TLS, a proxy that refuses, silence before the gate | `Deferred` |
//! | the payload is no webhook | `Rejected` |
//! | the gate says no | `GivenBack` |
//! | the connection broke, or the window was over, before a byte of the request was handed over | `Deferred` |
//! | `2xx` | `Accepted` |
//! | `407 408 425 429 503`, another `5xx` that names `Retry-After` (but no gateway's `502 504`) | `Deferred`, not before that |
//! | `3xx`, any other `4xx` (`409`: the key was used for something else) | `Rejected` |
//! | any other `5xx`, no answer, no HTTP | `Unknown` |
//!
//! A `500` is an answer, but none to whether the work was done; a gateway's `504` is not even the receiver's. Under `resend` such a
//! message is sent again with the same key, under `hold` it is in doubt.
//!
//! With `ask`, the receiver is asked before a message is sent again, and once after an outcome that is not known: its yes settles
//! the message. Its no does not: what was sent may still be on its way.
//!
//! HTTP/1.1 is spoken by hyper over a connection that is made here, because a client that makes its own cannot stop between the
//! handshake and the request. What it does not do: follow redirects, keep connections, read proxies from the environment, HTTP/2.

mod answer;
mod ask;
mod channel;
mod config;
mod exchange;
mod header;
mod key;
mod open;
mod ping;
mod retry_after;
mod route;
mod shown;
mod signature;
mod target;
mod verdict;
mod webhook;
mod wire;

pub use answer::{Answer, BodyEnd};
pub use ask::Question;
pub use channel::HttpChannel;
pub use config::{HttpConfig, HttpConfigError};
pub use exchange::{Call, Seen};
pub(crate) use exchange::{Leave, Undelivered};
pub use header::{check_name, check_value};
pub(crate) use key::path_segment;
pub use key::{header_value, key_of, webhook_id};
pub(crate) use open::within;
pub use ping::{PingChannel, fail_below};
pub use retry_after::wait;
pub use route::Route;
pub(crate) use shown::{head as shown_head, with_tokens};
pub use signature::Signer;
pub use target::Target;
#[doc(hidden)]
pub use verdict::of as delivery_of;
pub use webhook::{Webhook, render_check};
pub(crate) use wire::Wire;
