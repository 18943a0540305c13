//! What an address answers, as bytes of a source: asked once, read as it comes, in bounded memory.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use hyper::Method;
use hyper::body::Bytes;
use onebell::time::SystemTimer;

use crate::http::{Answer, Call, Leave, Route, Target, Undelivered, within};
use crate::source::{Pieces, never};

/// For the connection.
const CONNECT: Duration = Duration::from_secs(15);
/// For the head of the answer, and between two pieces of its body. The whole may take as long as it does.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks once, as long as anybody wants it. What another try would not mend says so, see [`never`].
pub(super) async fn fetch(url: String, pieces: Pieces) -> io::Result<()> {
    let mut wish = pieces.wish();
    tokio::select! {
        biased;
        () = wish.gone() => Err(io::Error::other("nobody wants it any longer")),
        got = ask(&url, pieces) => got,
    }
}

async fn ask(url: &str, mut pieces: Pieces) -> io::Result<()> {
    let target: Target = url.parse().map_err(never)?;
    let encrypted = target.is_encrypted();
    // Reading the host's certificates takes its time.
    let route = tokio::task::spawn_blocking(move || Route::new(encrypted, None, None, None));
    let route = route.await.map_err(io::Error::other)?.map_err(|wrong| io::Error::other(wrong.to_string()))?;
    let call = Call::new(Method::GET, target, "");
    let connection = within(&SystemTimer, CONNECT, route.open(call.target())).await.map_err(io::Error::other)?;
    let got = connection.download(&call, &SystemTimer, PATIENCE, &mut pieces).await;
    got.map_err(|undelivered| match undelivered {
        Undelivered::Answer(answer) => refused(&answer),
        Undelivered::Endless => never(
            "the answer does not say how long it is, so that nobody could tell whether it broke off; let it send Content-Length or chunks",
        ),
        Undelivered::Broken(why) => io::Error::other(format!("it broke off: {why}")),
        Undelivered::Unwanted => io::Error::other("nobody wants it any longer"),
    })
}

#[async_trait]
impl Leave for Pieces {
    async fn leave(&mut self, piece: Bytes) -> bool {
        Self::leave(self, piece).await
    }
}

fn refused(answer: &Answer) -> io::Error {
    let told = format!("it answered {}", answer.told(&[]));
    match answer.status {
        300..=399 => never(format!("{told}; redirects are not followed: write that address")),
        status if answer.is_not_now() || status >= 500 => io::Error::other(told),
        _ => never(told),
    }
}
