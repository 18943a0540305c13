use std::path::PathBuf;
use std::sync::Arc;

use onebell::model::Fingerprint;
use onebell::model::job::UNDO_MARK;
use onebell::store::{CalledStep, NewCallback, Received, Store};
use onebell::time::host_now;

use super::{Address, Said};
use crate::http::Signer;
use crate::keeper::holds;
use crate::steps::ROWS_MAX_BYTES;
use crate::steps::spec::{HTTP, HttpStep};

/// A letter's time may differ from ours by so many seconds: else it may be an old one that somebody kept.
const SKEW_S: u64 = 5 * 60;
/// An id may be as long as this.
const ID_MAX: usize = 256;
/// Bytes of a body without rows.
const BODY_MAX: usize = 64 * 1024;

/// Whoever calls is told no more than this: which steps there are is nobody's matter.
const NOBODY: (u16, &str) = (404, "nobody is called back here");

/// Takes callbacks for every step that this replica's store knows.
pub struct Desk {
    /// Where they are kept.
    pub store: Arc<dyn Store>,
    /// The job file's folder: secrets in files are looked up from here.
    pub folder: PathBuf,
}

/// What came, without its body.
#[derive(Debug, Clone, Default)]
pub struct Letter {
    /// `webhook-id`: the same when it comes again.
    pub id: String,
    /// `webhook-timestamp`, seconds since 1970.
    pub timestamp: String,
    /// `webhook-signature`.
    pub signature: String,
}

/// An HTTP status and a line.
pub type Reply = (u16, String);

impl Desk {
    /// Takes one. `body` reads at most so many bytes, and only for those who know the address.
    pub async fn take<B>(&self, path: &str, letter: &Letter, body: B) -> Reply
    where
        B: AsyncFnOnce(usize) -> Result<Vec<u8>, Reply>,
    {
        match self.taken(path, letter, body).await {
            Ok(received) => answer(received),
            Err(reply) => reply,
        }
    }

    async fn taken<B>(&self, path: &str, letter: &Letter, body: B) -> Result<Received, Reply>
    where
        B: AsyncFnOnce(usize) -> Result<Vec<u8>, Reply>,
    {
        let nobody = || (NOBODY.0, NOBODY.1.to_owned());
        let address = Address::read(path).ok_or_else(nobody)?;
        let called = self.store.called_step(&address.step).await.map_err(later)?.ok_or_else(nobody)?;
        let step = waiting(&called).ok_or_else(nobody)?;
        let (signer, secret) = self.signer(&step)?;
        if !address.is_proven(&signer) {
            return Err(nobody());
        }
        let body = body(if step.output { usize::try_from(ROWS_MAX_BYTES).unwrap_or(usize::MAX) } else { BODY_MAX }).await?;
        check(letter, &signer, &body).map_err(|wrong| (401, wrong))?;
        let body = String::from_utf8(body).map_err(|_| (400, "it is not UTF-8".to_owned()))?;
        Said::read(&body, step.output).map_err(|wrong| (400, wrong))?;
        if holds(&body, &[secret]) {
            return Err((400, "it holds the step's secret, which would be stored; leave it out".to_owned()));
        }
        let fingerprint = Fingerprint::of_json(&body).map_err(|error| (400, error.to_string()))?;
        let callback = NewCallback { step: address.step, id: letter.id.clone(), fingerprint, body };
        self.store.receive_callback(&callback).await.map_err(later)
    }

    /// Another replica may have what this one lacks.
    fn signer(&self, step: &HttpStep) -> Result<(Signer, String), Reply> {
        let secret = step.secret.as_ref().ok_or_else(|| (NOBODY.0, NOBODY.1.to_owned()))?;
        let found = secret.resolve(&self.folder).map_err(|error| error.to_string());
        let signer = found.and_then(|secret| Ok((Signer::new(&secret)?, secret)));
        signer.map_err(|wrong| {
            tracing::error!("a callback cannot be checked: secret: {wrong}");
            (503, "this replica cannot check it; call again".to_owned())
        })
    }
}

/// The step, if it is one that waits for callbacks.
fn waiting(called: &CalledStep) -> Option<HttpStep> {
    let (handler, spec) = match called.name.strip_suffix(UNDO_MARK) {
        Some(undone) => called.definition.step(undone)?.undo.as_ref().map(|undo| (&undo.handler, &undo.spec))?,
        None => called.definition.step(&called.name).map(|step| (&step.handler, &step.spec))?,
    };
    let step: HttpStep = (handler == HTTP).then(|| serde_json::from_str(spec).ok())??;
    step.callback.then_some(step)
}

fn check(letter: &Letter, signer: &Signer, body: &[u8]) -> Result<(), String> {
    if letter.id.is_empty() || letter.id.len() > ID_MAX {
        return Err(format!("webhook-id: name this callback, in 1 to {ID_MAX} bytes, and the same when it is sent again"));
    }
    let timestamp: i64 = letter.timestamp.parse().map_err(|_| "webhook-timestamp: send seconds since 1970".to_owned())?;
    let apart = timestamp.abs_diff(host_now().micros() / 1_000_000);
    if apart > SKEW_S {
        return Err(format!(
            "webhook-timestamp: it is {apart} s from this replica's clock; set the clocks, and sign anew each time"
        ));
    }
    if signer.signed(&letter.id, timestamp, body, &letter.signature) {
        return Ok(());
    }
    Err("webhook-signature: it is not that of id, timestamp and body under the step's secret".to_owned())
}

fn later(error: onebell::store::StoreError) -> Reply {
    tracing::warn!(%error, "a callback could not be kept");
    (503, "the database cannot be reached; call again".to_owned())
}

fn answer(received: Received) -> Reply {
    match received {
        Received::Kept => (200, "kept".to_owned()),
        Received::Already => (200, "known already".to_owned()),
        Received::Conflict => (409, "something else was said before, and stays".to_owned()),
        Received::Over => (410, "the step is over: nobody waits for it".to_owned()),
    }
}
