//! An answer's body as it comes, for what does not fit into memory.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::TRANSFER_ENCODING;
use onebell::time::Timer;

use super::super::answer::{Answer, BodyEnd};
use super::super::open::{Connection, within};
use super::super::wire::Wire;
use super::{Call, Driven, HEAD_MAX, head, read, words};

/// Read of an answer that is no success, to be told.
const REFUSAL_MAX: usize = 4 * 1024;

/// Takes a body as it comes.
#[async_trait]
pub(crate) trait Leave: Send {
    /// One piece, as soon as there is room. False: nobody wants more.
    async fn leave(&mut self, piece: Bytes) -> bool;
}

/// Why a body did not come whole.
#[derive(Debug)]
pub(crate) enum Undelivered {
    /// The other side answered with another status than a success.
    Answer(Answer),
    /// The answer does not say how long it is: if it broke off, nobody would know.
    Endless,
    /// It did not come, or broke off.
    Broken(String),
    /// Nobody wants more of it.
    Unwanted,
}

impl From<String> for Undelivered {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

impl Connection {
    /// Sends `call` and leaves the body of a success piece by piece. The head, and each piece,
    /// may take `patience`.
    pub(crate) async fn download(
        mut self,
        call: &Call,
        timer: &dyn Timer,
        patience: Duration,
        into: &mut dyn Leave,
    ) -> Result<(), Undelivered> {
        let request = call.request(self.absolute)?;
        self.unasked().await?;
        let wire = Wire::over(self.stream, &Arc::default());
        let (sender, driver) =
            http1::Builder::new().max_buf_size(HEAD_MAX).handshake(wire).await.map_err(|error| words(&error))?;
        let mut driven = Driven { driver: pin!(driver), over: false };
        let answer = driven.during(within(timer, patience, head(sender, request))).await?;
        if !answer.status().is_success() {
            let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
            let mut body = Vec::new();
            let whole = driven.during(within(timer, patience, read(answer.into_body(), &mut body, REFUSAL_MAX))).await;
            let end = whole.unwrap_or_else(BodyEnd::Broken);
            return Err(Undelivered::Answer(Answer { status, headers, body, end }));
        }
        // TLS tells the end of a connection from its loss.
        if ends_with_its_connection(&answer) && !call.target.https {
            return Err(Undelivered::Endless);
        }
        let mut body = answer.into_body();
        loop {
            let next = async { body.frame().await.transpose().map_err(|error| words(&error)) };
            let Some(frame) = driven.during(within(timer, patience, next)).await? else { return Ok(()) };
            if let Ok(piece) = frame.into_data()
                && !into.leave(piece).await
            {
                return Err(Undelivered::Unwanted);
            }
        }
    }
}

fn ends_with_its_connection(answer: &Response<Incoming>) -> bool {
    answer.body().size_hint().exact().is_none() && !answer.headers().contains_key(TRANSFER_ENCODING)
}
