//! `include`: which files belong to a job file.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::fields::{Node, Read};
use super::problem::Flaw;
use super::values::name;

use toml::de::DeValue;

/// The longest file that is read.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Editors keep their own files beside ours, with a dot before the name.
const OPTIONS: glob::MatchOptions =
    glob::MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// A file that was named, and what is in it.
pub(super) struct Included {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// The files that the patterns name, each once, in the order of their paths.
pub(super) fn files(node: &Node<'_>, main: &Path, folder: &Path) -> Read<Vec<Included>> {
    let DeValue::Array(patterns) = node.get_ref() else {
        return Err(super::fields::expected("an array of patterns such as \"jobs/*.toml\"", node.get_ref(), node.span()));
    };
    let mut paths = BTreeSet::new();
    for pattern in patterns {
        paths.extend(named(pattern, main, folder)?);
    }
    paths.into_iter().map(|path| read(path, node)).collect()
}

fn named(node: &Node<'_>, main: &Path, folder: &Path) -> Read<Vec<PathBuf>> {
    let pattern = name(node)?;
    let wrong = |message: String, remedy: &str| Flaw::new(node.span(), message, remedy);
    // What stands before the pattern is a folder's name, whatever characters are in it.
    let anchored = Path::new(&glob::Pattern::escape(&folder.to_string_lossy())).join(&pattern);
    let found = glob::glob_with(&anchored.to_string_lossy(), OPTIONS).map_err(|error| {
        wrong(format!("{pattern:?} is no pattern: {}", error.msg), "write \"jobs/*.toml\" or the path of a file")
    })?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.map_err(|error| wrong(format!("cannot look: {error}"), "check the rights of the folder"))?;
        if path.is_dir() {
            continue;
        }
        if same(&path, main) {
            let remedy = "keep what it includes in a folder of its own, such as \"jobs/*.toml\"";
            return Err(wrong(format!("{pattern:?} names the job file itself"), remedy));
        }
        paths.push(path);
    }
    if paths.is_empty() {
        let remedy = "paths begin at the job file's folder; make the file, or remove the pattern";
        return Err(wrong(format!("{pattern:?} names no file in {}", shown(folder)), remedy));
    }
    Ok(paths)
}

fn same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn shown(folder: &Path) -> String {
    if folder.as_os_str().is_empty() { "this folder".to_owned() } else { folder.display().to_string() }
}

fn read(path: PathBuf, node: &Node<'_>) -> Read<Included> {
    let wrong = |why: String| {
        Flaw::new(
            node.span(),
            format!("cannot read {}: {why}", path.display()),
            "correct the file or its rights, or do not include it",
        )
    };
    let bytes = crate::regular::read(&path, FILE_MAX_BYTES).map_err(wrong)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|error| wrong(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
    Ok(Included { path, text })
}
