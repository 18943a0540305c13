//! From a definition to a request: templates, secrets, signature, and the way there.

use std::sync::Arc;

use hyper::Method;
use onebell::handler::{Context, Outcome};
use onebell::model::StepId;
use onebell::time::host_now;

use super::super::around::Around;
use super::super::spec::HttpStep;
use super::super::{body, input};
use super::HttpSettings;
use crate::callback::Address;
use crate::http::{Call, Route, Signer, Target, webhook_id, with_tokens};
use crate::secret::SecretRef;
use crate::template::{Scope, Templates};

/// A request ready to be made.
pub(super) struct Prepared {
    pub(super) call: Call,
    pub(super) route: Route,
    /// What must not be seen in its answer.
    pub(super) secrets: Vec<String>,
}

pub(super) async fn prepare(step: &HttpStep, settings: &HttpSettings, context: &Context) -> Result<Prepared, Box<Outcome>> {
    let rows = if names_rows(step) { input::rows(step.input.as_deref(), context).await? } else { None };
    let scope = Around::of(context).rows(rows);
    let id = context.step().claim.step().clone();
    let (key, attempt) = (context.idempotency_key().to_owned(), context.attempt());
    let (step, settings) = (step.clone(), Arc::new(settings.clone()));
    // Many rows and the host's certificates take their time: renewals of other work must not wait for them.
    let prepared = tokio::task::spawn_blocking(move || {
        let mut secrets = settings.secrets.clone();
        let signer = signer(&step, &settings, &mut secrets)?;
        let callback = callback(&step, &settings, &id, signer.as_ref())?;
        let mut prepared = ready(&step, &settings, &scope.called_back(callback.clone()), secrets)?;
        prepared.call.identify(&key, attempt);
        if let Some(callback) = callback {
            prepared.call.set(crate::callback::HEADER, &callback).map_err(Wrong::Permanent)?;
        }
        if let Some(signer) = signer {
            prepared.call.sign(&signer, &webhook_id(&key), host_now().micros() / 1_000_000);
        }
        Ok(prepared)
    });
    match prepared.await {
        Ok(Ok(prepared)) => Ok(prepared),
        Ok(Err(Wrong::Permanent(wrong))) => Err(Box::new(Outcome::failed(format!("{wrong}; nothing was sent")))),
        Ok(Err(Wrong::Passing(wrong))) => Err(Box::new(Outcome::retry(format!("{wrong}; nothing was sent")))),
        Err(panic) => Err(Box::new(Outcome::retry(format!("the request could not be made ready: {panic}")))),
    }
}

/// Why no request can be made.
enum Wrong {
    /// Another try would fail the same way.
    Permanent(String),
    /// It lies with this replica.
    Passing(String),
}

fn names_rows(step: &HttpStep) -> bool {
    let texts = step.headers.values().filter_map(|value| match value {
        SecretRef::Text(text) => Some(text.as_str()),
        SecretRef::Env(_) | SecretRef::File(_) | SecretRef::Prefixed { .. } => None,
    });
    let body = step.body.iter().map(|body| body.template.as_str());
    step.input.is_some() || texts.chain(body).chain([step.url.as_str()]).any(|text| text.contains("rows"))
}

fn signer(step: &HttpStep, settings: &HttpSettings, secrets: &mut Vec<String>) -> Result<Option<Signer>, Wrong> {
    let Some(secret) = &step.secret else { return Ok(None) };
    let secret = resolved(secret, settings, "secret", secrets)?;
    Signer::new(&secret).map(Some).map_err(|wrong| Wrong::Permanent(format!("secret: {wrong}")))
}

/// Where the step is called back: the same on every attempt, or its key would come with another request.
fn callback(step: &HttpStep, settings: &HttpSettings, id: &StepId, signer: Option<&Signer>) -> Result<Option<String>, Wrong> {
    if !step.callback {
        return Ok(None);
    }
    let signer = signer.ok_or_else(|| Wrong::Permanent("callback: the step has no secret".to_owned()))?;
    let base = settings.callback_url.as_ref();
    let base = base.ok_or_else(|| {
        Wrong::Passing("callback: this replica's job file has no callback_url; write it under [replica]".to_owned())
    })?;
    Ok(Some(Address::of(id, signer).below(base)))
}

fn ready(step: &HttpStep, settings: &HttpSettings, scope: &Scope, mut secrets: Vec<String>) -> Result<Prepared, Wrong> {
    let render = |name: &str, source: &str| {
        let mut templates = Templates::new();
        templates
            .add(name, source)
            .and_then(|()| templates.render(name, scope))
            .map_err(|error| Wrong::Permanent(error.to_string()))
    };
    let url = render("url", &step.url)?;
    let target: Target = url.parse().map_err(|wrong| Wrong::Permanent(format!("url: {wrong}")))?;
    let text = step.body.as_ref().map(|body| render(body::name(body), &body.template)).transpose()?;
    if let (Some(body), Some(text)) = (&step.body, &text) {
        body::check(body, text).map_err(Wrong::Permanent)?;
    }
    let method = Method::from_bytes(step.method.as_bytes()).map_err(|_| Wrong::Permanent("method: none".to_owned()))?;
    let mut headers = Vec::new();
    for (name, value) in &step.headers {
        let value = match value {
            SecretRef::Text(source) => render(&format!("header {name}"), source)?,
            named => resolved(named, settings, &format!("headers.{name}"), &mut secrets)?,
        };
        headers.push((name, value));
    }
    // The job file is read with this eye too, but cannot see what a template makes of the scheme.
    if target.is_exposed() && step.headers.values().any(SecretRef::is_secret) {
        let wrong = "url: a secret of headers would cross the network in the clear; make it an https:// address";
        return Err(Wrong::Permanent(wrong.to_owned()));
    }
    let route = route(step, settings, target.is_encrypted())?;
    route.admits(target.host()).map_err(Wrong::Permanent)?;
    let mut call = Call::new(method, target, text.unwrap_or_default());
    if let Some(body) = &step.body {
        call.set("content-type", &body.content_type).map_err(Wrong::Permanent)?;
    }
    headers.iter().try_for_each(|(name, value)| call.set(name, value)).map_err(Wrong::Permanent)?;
    Ok(Prepared { call, route, secrets: with_tokens(secrets) })
}

fn route(step: &HttpStep, settings: &HttpSettings, encrypted: bool) -> Result<Route, Wrong> {
    let proxy = step.proxy.as_ref().map(|proxy| proxy.parse().map_err(|wrong| Wrong::Permanent(format!("proxy: {wrong}"))));
    let ca_file = step.ca_file.as_ref().map(|path| settings.folder.join(path));
    // A file that is missing here may be there on the next replica.
    Route::new(encrypted, ca_file.as_deref(), proxy.transpose()?, step.allow_hosts.clone())
        .map_err(|error| Wrong::Passing(error.to_string()))
}

fn resolved(named: &SecretRef, settings: &HttpSettings, what: &str, secrets: &mut Vec<String>) -> Result<String, Wrong> {
    let value = named.resolve(&settings.folder).map_err(|error| Wrong::Passing(format!("{what}: {error}")))?;
    secrets.extend(named.bare().resolve(&settings.folder));
    Ok(value)
}
