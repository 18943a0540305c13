//! `http`: a request, as a URL alone or as a table.

use std::path::PathBuf;

use toml::de::DeValue;

use super::super::fields::{Fields, Node, Read, expected};
use super::super::keys;
use super::super::problem::Flaw;
use super::super::settings::http::{allow_hosts, proxy, signing};
use super::super::settings::secret;
use super::super::step::{Around, Reference};
use super::super::texts::{OF_CALLED, OF_ROWS, Origin, Written, check_template};
use super::super::values::{flag, list, name, number, text, word};
use super::{Kind, body, json, nothing};
use crate::http::{Route, Target};
use crate::secret::SecretRef;
use crate::steps::spec::{HTTP, HttpStep};

pub(in crate::jobfile) const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    let input = fields.read("input", |node| Ok(Reference { step: name(node)?, span: node.span(), key: "input" }));
    let named = input.as_ref().map(|reference| reference.step.clone());
    let spec = fields.read(HTTP, |node| match node.get_ref() {
        DeValue::String(_) => Ok(HttpStep { input: named, ..alone(url(node, None, OF_ROWS, around)?) }),
        DeValue::Table(_) => request(node, around).map(|step| HttpStep { input: named, ..step }),
        other => Err(expected("a URL or { url = \"…\" }", other, node.span())),
    });
    Kind { spec: spec.as_ref().map_or_else(|| "null".to_owned(), json), rows_of: input.into_iter().collect(), ..nothing(HTTP) }
}

fn alone(url: String) -> HttpStep {
    HttpStep {
        method: "GET".to_owned(),
        url,
        headers: Default::default(),
        body: None,
        secret: None,
        input: None,
        expect: Vec::new(),
        retry_on: Vec::new(),
        permanent_on: Vec::new(),
        output: false,
        callback: false,
        ca_file: None,
        proxy: None,
        allow_hosts: None,
    }
}

fn request<'t>(node: &'t Node<'t>, around: &Around<'t>) -> Read<HttpStep> {
    let fields = Fields::open(node, &keys::REQUEST, around.flaws)?;
    let allow_hosts = fields.read("allow_hosts", allow_hosts);
    let callback = fields.read("callback", flag).unwrap_or(false);
    let sees = if callback { OF_CALLED } else { OF_ROWS };
    let url = fields.need("url", "\"https://example.com/close\"", |node| url(node, allow_hosts.as_deref(), sees, around));
    let body = body::read(&fields, sees, around);
    let method = fields.read("method", word(METHODS));
    if let (Some(method @ ("GET" | "HEAD")), Some(_)) = (method, &body) {
        let at = fields.key_span("method").unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, format!("method: {method} carries no body"), "write \"POST\", or remove the body"));
    }
    if fields.has("content_type") && body.is_none() {
        let at = fields.key_span("content_type").unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, "content_type without a body", "write json = \"…\" or body = \"…\", or remove it"));
    }
    let statuses = |node: &'t Node<'t>| list(node, "an array of statuses", number(200, 599));
    let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let step = HttpStep {
        method: method.to_owned(),
        headers: fields
            .read("headers", |node| body::headers(node, around.flaws, |key, node| header(key, node, sees, around)))
            .unwrap_or_default(),
        body,
        secret: fields.read("secret", |node| signing(node, around.flaws)),
        expect: fields.read("expect", statuses).unwrap_or_default(),
        retry_on: fields.read("retry_on", statuses).unwrap_or_default(),
        permanent_on: fields.read("permanent_on", statuses).unwrap_or_default(),
        output: fields.read("output", flag).unwrap_or(false),
        callback,
        ca_file: fields.read("ca_file", name).map(PathBuf::from),
        proxy: fields.read("proxy", proxy),
        allow_hosts,
        ..alone(url.unwrap_or_default())
    };
    fields.finish();
    if let Some((wrong, remedy)) = uncallable(&step, around) {
        let at = fields.key_span("callback").unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, wrong, remedy));
    }
    if in_the_clear(&step.url) && step.headers.values().any(SecretRef::is_secret) {
        let at = fields.key_span("url").unwrap_or(fields.span.clone());
        let problem = "headers: a secret would cross the network in the clear";
        around.flaws.push(Flaw::new(at, problem, "write an https:// address"));
    }
    if step.output && step.method == "HEAD" {
        let at = fields.key_span("output").unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, "output: the answer to HEAD has no rows", "write method = \"GET\", or remove output"));
    }
    let lists = [("expect", &step.expect), ("retry_on", &step.retry_on), ("permanent_on", &step.permanent_on)];
    for (at, (one, statuses)) in lists.iter().enumerate() {
        for (other, others) in &lists[at + 1..] {
            if let Some(both) = statuses.iter().find(|status| others.contains(status)) {
                around.flaws.push(Flaw::new(
                    node.span(),
                    format!("{both} is in {one} and in {other}"),
                    "keep it in one of the two",
                ));
            }
        }
    }
    Ok(step)
}

/// Why nobody could call it back.
fn uncallable(step: &HttpStep, around: &Around<'_>) -> Option<(&'static str, &'static str)> {
    if !step.callback {
        None
    } else if step.secret.is_none() {
        Some(("callback: what is called back has to be signed", "write secret = { env = \"LEDGER_SECRET\" } beside it"))
    } else if !around.callable {
        let remedy = "write callback_url = \"https://jobs.example.com\" under [replica], and run replicas with --listen";
        Some(("callback: nobody is told where replicas can be reached", remedy))
    } else {
        None
    }
}

/// Whether everybody on the way can read it. What a template makes of the host is nobody's word that it is this one; where it makes
/// the scheme, only the attempt can tell.
fn in_the_clear(url: &str) -> bool {
    match literal(url) {
        Literal::Host(written) => written.parse::<Target>().is_ok_and(|target| target.is_exposed()),
        Literal::Less(written) => written.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://")),
    }
}

/// What of a URL is there before its first template.
enum Literal<'t> {
    /// At least scheme and host.
    Host(&'t str),
    Less(&'t str),
}

fn literal(url: &str) -> Literal<'_> {
    let Some((written, _)) = url.split_once('{') else { return Literal::Host(url) };
    let host_is_over = written.split_once("://").is_some_and(|(_, rest)| rest.contains(['/', '?']));
    if host_is_over { Literal::Host(written) } else { Literal::Less(written) }
}

/// A template for a text, or the name of a secret.
fn header<'t>(key: &str, node: &'t Node<'t>, sees: &[&str], around: &Around<'t>) -> Read<SecretRef> {
    let value = secret(node, around.flaws)?;
    if let SecretRef::Text(source) = &value {
        let written = Written { text: source.clone(), origin: Origin::Inline(node.span()) };
        check_template(key, &written, sees, around.source)?;
        body::check_line(source).map_err(|wrong| Flaw::new(node.span(), wrong, ""))?;
    }
    Ok(value)
}

/// A URL whose host no row can change, unless the hosts that may be reached are listed.
fn url(node: &Node<'_>, listed: Option<&[String]>, sees: &[&str], around: &Around<'_>) -> Read<String> {
    let found = text(node)?;
    let written = Written { text: found.clone(), origin: Origin::Inline(node.span()) };
    check_template("url", &written, sees, around.source)?;
    let wrong = |wrong: String| Flaw::new(node.span(), wrong, "");
    if let Literal::Host(written) = literal(&found) {
        let target: Target = written.parse().map_err(wrong)?;
        listed.map_or(Ok(()), |hosts| Route::listed(hosts, target.host())).map_err(wrong)?;
        return Ok(found);
    }
    if listed.is_some() {
        return Ok(found);
    }
    let remedy = "write the host out, or list the hosts that may be reached: allow_hosts = [\"*.example.com\"]";
    Err(Flaw::new(node.span(), "a template decides which host is asked", remedy))
}
