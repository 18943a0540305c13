//! Connections and requests.

use std::convert::Infallible;
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use onebell::time::{SystemTimer, Timer};
use tokio::net::TcpListener;

use super::{Page, Watched, callback, page};
use crate::callback::{Letter, PREFIX, Reply};
use crate::http::Wire;

/// No connection lasts longer, whatever comes on it: whoever asks again opens another one, and the pages do not run out of files.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two tries when the host is short of files.
const PAUSE: Duration = Duration::from_millis(100);

/// Never returns.
pub(super) async fn serve(listener: TcpListener, watched: Watched) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let watched = watched.clone();
                let answer = service_fn(move |request: Request<Incoming>| answer(watched.clone(), request));
                tokio::spawn(async move {
                    let connection = http1::Builder::new().keep_alive(true).serve_connection(Wire::of(stream), answer);
                    tokio::select! {
                        // Whoever hung up is no error of ours.
                        _ = connection => {}
                        () = SystemTimer.sleep(PATIENCE) => {}
                    }
                });
            }
            Err(error) => {
                tracing::debug!(%error, "a connection could not be taken");
                SystemTimer.sleep(PAUSE).await;
            }
        }
    }
}

async fn answer(watched: Watched, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let page = match request.method() {
        &Method::POST if path.starts_with(PREFIX) => {
            let letter = letter(request.headers());
            callback(&watched, &path, &letter, async |most| whole(request.into_body(), most).await).await
        }
        _ if path.starts_with(PREFIX) => Page::new(405, "only POST\n"),
        method => page(&watched, method.as_str(), &path).await,
    };
    let mut response = Response::new(Full::new(Bytes::from(page.text)));
    *response.status_mut() = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = hyper::header::HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    if page.status == 405 {
        let allowed = if path.starts_with(PREFIX) { "POST" } else { "GET, HEAD" };
        response.headers_mut().insert(hyper::header::ALLOW, hyper::header::HeaderValue::from_static(allowed));
    }
    Ok(response)
}

fn letter(headers: &HeaderMap) -> Letter {
    let of = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    Letter { id: of("webhook-id"), timestamp: of("webhook-timestamp"), signature: of("webhook-signature") }
}

async fn whole(body: Incoming, most: usize) -> Result<Vec<u8>, Reply> {
    match Limited::new(body, most).collect().await {
        Ok(whole) => Ok(whole.to_bytes().to_vec()),
        Err(error) if error.is::<LengthLimitError>() => Err((413, format!("it is longer than {most} bytes"))),
        Err(error) => Err((400, format!("it broke off: {error}"))),
    }
}
