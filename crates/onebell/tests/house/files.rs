//! The repository's files, as (path from the root, text).

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) type File = (String, String);

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace's root").to_owned()
}

/// Rust files of every crate below `folder`, in its folders `parts`.
pub(crate) fn rust(folder: &str, parts: &[&str]) -> Vec<File> {
    let below = |path: &str| parts.iter().any(|part| path.split('/').nth(2) == Some(part));
    let found: Vec<File> = all(folder).into_iter().filter(|(path, _)| path.ends_with(".rs") && below(path)).collect();
    assert!(!found.is_empty(), "no Rust file below {folder}");
    found
}

/// Every text file; the lock file names registries by necessity.
pub(crate) fn text() -> Vec<File> {
    all("").into_iter().filter(|(path, _)| !path.ends_with("Cargo.lock")).collect()
}

/// Text files below a folder of the repository, sorted; none if there is no such folder.
pub(crate) fn all(folder: &str) -> Vec<File> {
    let root = root();
    let mut found = Vec::new();
    walk(&root.join(folder), &mut |path| {
        let bytes = fs::read(path).expect("a readable file");
        if let Ok(text) = String::from_utf8(bytes).map(|text| text.replace("\r\n", "\n")) {
            let name = path.strip_prefix(&root).expect("below the root").to_str().expect("a UTF-8 path");
            found.push((name.to_owned(), text));
        }
    });
    found.sort();
    found
}

fn walk(folder: &Path, found: &mut impl FnMut(&Path)) {
    // Build folders mark themselves; databases and captures that a developer leaves about are no UTF-8.
    if !folder.is_dir() || folder.join("CACHEDIR.TAG").exists() || folder.ends_with(".git") || folder.ends_with("target") {
        return;
    }
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        match path.is_dir() {
            true => walk(&path, found),
            false if path.is_file() => found(&path),
            false => {}
        }
    }
}
