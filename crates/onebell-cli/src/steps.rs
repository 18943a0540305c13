//! What runs the steps of a job file: handlers for `command`, `http`, `sql`, `message` and `apply`.
//!
//! A handler does the work of one attempt and answers an outcome. It never settles, it sends no message itself, and it knows no
//! channel: what a kind of channel asks of its messages is handed in.

mod apply;
mod around;
pub(crate) mod body;
mod command;
mod discreet;
mod http;
mod input;
mod message;
mod rows;
pub mod spec;
mod sql;

pub use apply::ApplyHandler;
pub use command::{CommandHandler, CommandSettings};
#[doc(hidden)]
pub use http::conclude;
pub use http::{HttpHandler, HttpSettings};
pub use message::{ChannelFacts, MessageHandler};
pub use rows::{ROWS_MAX, ROWS_MAX_BYTES};
pub(crate) use rows::{answered, as_ndjson};
#[doc(hidden)]
pub use rows::{csv_rows, ndjson_rows};
pub use sql::SqlHandler;

use std::collections::BTreeMap;
use std::sync::Arc;

use onebell::handler::{Context, Handler, Outcome};
use onebell::store::{BatchStore, StoreError};
use onebell::time::Timer;
use serde::de::DeserializeOwned;

use crate::jobfile::JobFile;
use discreet::Discreet;

/// The handlers that a job file needs, by the word that its steps name them with. `channels` says what each channel asks of
/// its messages.
pub fn handlers(
    file: &JobFile,
    channels: BTreeMap<String, ChannelFacts>,
    timer: &Arc<dyn Timer>,
    store: Arc<dyn BatchStore>,
) -> Vec<(&'static str, Arc<dyn Handler>)> {
    let commands = CommandSettings::new(file.folder.clone(), Arc::clone(timer), file.secret_values());
    let requests = HttpSettings {
        folder: file.folder.clone(),
        timer: Arc::clone(timer),
        secrets: file.secret_values(),
        callback_url: file.replica.callback_url.clone(),
    };
    let apply = ApplyHandler { store, timer: Arc::clone(timer), commands: commands.clone() };
    let all: Vec<(&'static str, Arc<dyn Handler>)> = vec![
        (spec::APPLY, Arc::new(apply)),
        (spec::HTTP, Arc::new(HttpHandler::new(requests))),
        (spec::COMMAND, Arc::new(CommandHandler::new(commands))),
        (spec::SQL, Arc::new(SqlHandler)),
        (spec::MESSAGE, Arc::new(MessageHandler::new(channels, file.folder.clone()))),
    ];
    all.into_iter().map(|(name, handler)| (name, Arc::new(Discreet::new(handler, file)) as Arc<dyn Handler>)).collect()
}

/// The step's spec, or why the step cannot be run.
fn spec<T: DeserializeOwned>(context: &Context) -> Result<T, Box<Outcome>> {
    serde_json::from_str(&context.step().spec).map_err(|error| {
        let handler = &context.step().handler;
        Box::new(Outcome::failed(format!(
            "the definition of this {handler} step cannot be read ({error}); it was stored by another version"
        )))
    })
}

/// A store that does not answer is worth another try, a broken one is not.
fn of_store(what: &str, error: &StoreError) -> Box<Outcome> {
    let text = format!("{what}: {error}");
    Box::new(if error.is_passing() { Outcome::retry(text) } else { Outcome::failed(text) })
}
