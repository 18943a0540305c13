//! One request and its answer, over a connection that is there.

mod download;

use std::error::Error;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use onebell::time::Timer;

use super::answer::{Answer, BodyEnd};
use super::key;
use super::open::{Connection, within};
use super::signature::Signer;
use super::target::Target;
use super::wire::Wire;

pub(crate) use download::{Leave, Undelivered};

/// An answer's head may be as long as this.
const HEAD_MAX: usize = 64 * 1024;

/// A request that can be made again, byte for byte but for its signature's time.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) target: Target,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
}

impl Call {
    /// A request with the headers that every one has.
    pub fn new(method: Method, target: Target, body: impl Into<Bytes>) -> Self {
        let mut call = Self { target, method, headers: HeaderMap::new(), body: body.into() };
        call.headers.insert(USER_AGENT, HeaderValue::from_static(concat!("onebell/", env!("CARGO_PKG_VERSION"))));
        call.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        call
    }

    /// Where it goes.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Sets a header.
    ///
    /// # Errors
    /// What is wrong with its name or value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let header =
            HeaderName::from_bytes(name.to_ascii_lowercase().as_bytes()).map_err(|_| format!("{name:?} is no header name"))?;
        super::check_value(value).map_err(|wrong| format!("{name}: {wrong}"))?;
        self.headers.insert(header, HeaderValue::from_bytes(value.as_bytes()).map_err(|error| format!("{name}: {error}"))?);
        Ok(())
    }

    /// Says which work it belongs to, so that a second one can be told from the first, and a late one from a newer one.
    pub fn identify(&mut self, key: &str, attempt: u64) {
        let key = HeaderValue::from_str(&key::header_value(key));
        self.headers.extend(key.ok().map(|key| (HeaderName::from_static("idempotency-key"), key)));
        self.headers.insert("onebell-attempt", HeaderValue::from(attempt));
    }

    /// Signs it as of `timestamp`, in seconds.
    pub fn sign(&mut self, signer: &Signer, id: &str, timestamp: i64) {
        let signature = HeaderValue::from_str(&signer.sign(id, timestamp, &self.body));
        self.headers.extend(signature.ok().map(|signature| (HeaderName::from_static("webhook-signature"), signature)));
        self.headers.extend(HeaderValue::from_str(id).ok().map(|id| (HeaderName::from_static("webhook-id"), id)));
        self.headers.insert("webhook-timestamp", HeaderValue::from(timestamp));
    }

    fn request(&self, absolute: bool) -> Result<Request<Full<Bytes>>, String> {
        let uri = if absolute { self.target.absolute() } else { self.target.path.clone() };
        let request = Request::builder().method(self.method.clone()).uri(uri).header(HOST, &self.target.authority);
        let mut request = request.body(Full::new(self.body.clone())).map_err(|error| error.to_string())?;
        request.headers_mut().extend(self.headers.clone());
        Ok(request)
    }
}

/// What is known when a request is over.
#[derive(Debug, Clone)]
pub enum Seen {
    /// The other side spoke.
    Answer(Answer),
    /// No byte of the request was handed over.
    Nothing(String),
    /// It began, and nobody knows how it ended.
    Broken(String),
}

impl Connection {
    /// Sends `call` and reads what comes back until `until` by `timer`, at most `most` bytes of the body.
    pub(crate) async fn exchange(mut self, call: &Call, most: usize, timer: &dyn Timer, until: Duration) -> Seen {
        let left = || until.saturating_sub(timer.elapsed());
        let request = match call.request(self.absolute) {
            Ok(request) => request,
            Err(error) => return Seen::Nothing(error),
        };
        if let Err(why) = self.unasked().await {
            return Seen::Nothing(why);
        }
        let began = Arc::new(AtomicBool::new(false));
        let failed = |error: String| if began.load(Ordering::SeqCst) { Seen::Broken(error) } else { Seen::Nothing(error) };
        let (sender, driver) = match http1::Builder::new().max_buf_size(HEAD_MAX).handshake(Wire::over(self.stream, &began)).await
        {
            Ok(both) => both,
            Err(error) => return failed(words(&error)),
        };
        let mut driven = Driven { driver: pin!(driver), over: false };
        let head = match driven.during(within(timer, left(), head(sender, request))).await {
            Ok(head) => head,
            Err(error) => return failed(error),
        };
        let (status, headers) = (head.status().as_u16(), head.headers().clone());
        let mut body = Vec::new();
        let end =
            driven.during(within(timer, left(), read(head.into_body(), &mut body, most))).await.unwrap_or_else(BodyEnd::Broken);
        Seen::Answer(Answer { status, headers, body, end })
    }
}

async fn head(mut sender: SendRequest<Full<Bytes>>, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
    sender.send_request(request).await.map_err(|error| words(&error))
}

async fn read(mut from: Incoming, into: &mut Vec<u8>, most: usize) -> Result<BodyEnd, String> {
    while let Some(frame) = from.frame().await {
        let Ok(data) = frame.map_err(|error| words(&error))?.into_data() else { continue };
        let room = most - into.len();
        into.extend_from_slice(&data[..data.len().min(room)]);
        if data.len() > room {
            return Ok(BodyEnd::Cut);
        }
    }
    Ok(BodyEnd::Whole)
}

/// A connection that moves only while somebody waits for it: when its sender goes, nothing more is written.
struct Driven<'a, D> {
    driver: Pin<&'a mut D>,
    over: bool,
}

impl<D: Future> Driven<'_, D> {
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // How the connection ended is told to whoever waits for its answer.
            if !self.over && self.driver.as_mut().poll(context).is_ready() {
                self.over = true;
            }
            match work.as_mut().poll(context) {
                Poll::Pending if !self.over && self.driver.as_mut().poll(context).is_ready() => {
                    self.over = true;
                    work.as_mut().poll(context)
                }
                polled => polled,
            }
        })
        .await
    }
}

/// hyper's words and those of what lies below.
fn words(error: &hyper::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(below) = cause {
        words += &format!(": {below}");
        cause = below.source();
    }
    words
}
