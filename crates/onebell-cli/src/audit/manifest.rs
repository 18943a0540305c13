//! Kubernetes manifests: of all kinds in a file the CronJobs, also inside lists, each document by itself.

mod broken;
mod cronjob;
mod documents;
mod object;
mod pod;
mod scalar;
mod times;
mod tree;

use std::rc::Rc;

use super::Part;
use super::codes;
use super::file::File;
use super::found::{Found, Kind};
use documents::Document;
use object::Object;
use tree::Node;

/// Kinds of which somebody made lists of CronJobs.
const LISTS: &[&str] = &["List", "CronJobList"];

pub(super) fn read(file: &File) -> Part {
    let (text, _) = file.text();
    let mut part = Part::default();
    for document in documents::split(&text) {
        if part.is_full() {
            break;
        }
        match tree::read(document.text, document.first_line) {
            Ok(Some(root)) => kinds(file, &document, &root, &mut part, 0),
            Ok(None) => {}
            // What a folder holds besides CronJobs is nobody's concern here.
            Err(_) if !file.named && !document.text.contains("CronJob") => {}
            Err(problem) => {
                let mut found = Found::unread(file, problem.line, broken::finding(&problem, &document));
                found.document = Some(document.number);
                found.name = broken::name(document.text);
                part.unread = true;
                part.jobs.push(found);
            }
        }
    }
    if part.jobs.is_empty() && file.named {
        part.jobs.push(Found::unread(file, 1, codes::NOTHING_FOUND.says("no document of it is a CronJob")));
    }
    part
}

/// Lists may hold lists.
fn kinds(file: &File, document: &Document<'_>, root: &Rc<Node>, part: &mut Part, depth: usize) {
    let Some(object) = Object::of(root, "") else { return };
    let kind = object.word("kind").unwrap_or_default();
    if LISTS.contains(&kind) && depth < 4 {
        for item in object.items("items") {
            if part.is_full() {
                return;
            }
            kinds(file, document, item, part, depth + 1);
        }
        return;
    }
    let mut found = Found::new(file, root.line, Kind::Kubernetes);
    found.document = Some(document.number);
    if kind == "CronJob" || (kind.eq_ignore_ascii_case("cronjob") && object.has("spec")) {
        part.unread |= cronjob::read(&object, kind, &mut found);
        part.jobs.push(found);
    } else if object.object("spec").is_some_and(|spec| spec.has("schedule")) {
        found.is_job = false;
        found.name = object.object("metadata").and_then(|metadata| metadata.word("name")).unwrap_or_default().to_owned();
        found.findings.push(codes::KIND_FOREIGN.says(format!("kind {kind:?} has a schedule and was not judged")));
        part.jobs.push(found);
    }
}
