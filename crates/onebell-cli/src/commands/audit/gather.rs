//! Files that were named, and files of folders that were named, with what belongs to them. What cannot be read is handed on as
//! that, and the others are read.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::audit::{FILE_BYTES_MAX, File};

/// What is to be read.
pub(super) struct Gathered {
    pub(super) files: Vec<File>,
    /// Paths that were named and cannot be read, each with the reason.
    pub(super) failed: Vec<String>,
}

/// Folders in folders are followed so far.
const DEPTH_MAX: usize = 16;
/// A folder with more files is not one of jobs.
const FILES_MAX: usize = 20_000;

pub(super) fn gather(paths: &[PathBuf]) -> Gathered {
    let mut gathered = Gathered { files: Vec::new(), failed: Vec::new() };
    // A timer that is enabled has links to it beside it.
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            gathered.files.push(bounded("-".to_owned(), true, Ok(io::stdin())));
        } else if path.is_dir() {
            if let Err(error) = folder(path, 0, &mut gathered.files, &mut seen) {
                gathered.files.push(bounded(named(path), true, Err::<io::Empty, _>(error)));
            }
        } else {
            gathered.files.push(file(path, true));
        }
        if let Some(last) = gathered.files.last().filter(|last| last.named)
            && let Some(problem) = &last.problem
        {
            gathered.failed.push(format!("{}: {problem}", path.display()));
        }
    }
    gathered
}

/// Its files and those of its folders, by name. A link to a folder is not followed: it may lead back.
fn folder(path: &Path, depth: usize, files: &mut Vec<File>, seen: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if hidden || files.len() >= FILES_MAX {
            continue;
        }
        let is_link = fs::symlink_metadata(&entry).is_ok_and(|data| data.is_symlink());
        match fs::metadata(&entry) {
            Ok(data) if data.is_file() => {
                let real = fs::canonicalize(&entry).unwrap_or_else(|_| entry.clone());
                files.extend(seen.insert(real).then(|| file(&entry, false)));
            }
            Ok(data) if data.is_dir() && !is_link && depth < DEPTH_MAX => {
                if let Err(error) = folder(&entry, depth + 1, files, seen) {
                    files.push(bounded(named(&entry), false, Err::<io::Empty, _>(error)));
                }
            }
            // A link to nothing, a pipe, a device.
            _ => {}
        }
    }
    Ok(())
}

fn file(path: &Path, was_named: bool) -> File {
    let mut file = bounded(named(path), was_named, fs::File::open(path));
    if path.extension().is_some_and(|extension| extension == "timer") {
        file.companions = companions(path, &file.bytes);
    }
    file
}

/// The service of a timer, and the drop-ins of both.
fn companions(timer: &Path, bytes: &[u8]) -> Vec<File> {
    let text = String::from_utf8_lossy(bytes);
    let named = text.lines().filter_map(|line| line.trim().strip_prefix("Unit=")).map(|unit| unit.trim().to_owned());
    // A path in the name would lead out of the folder.
    let services = named.filter(|unit| !unit.is_empty() && !unit.contains('/'));
    let own = timer.with_extension("service").file_name().map(|name| name.to_string_lossy().into_owned());
    // A link's own folder goes before that of what it leads to.
    let real = fs::canonicalize(timer).unwrap_or_else(|_| timer.to_owned());
    let folders: Vec<&Path> = [timer, real.as_path()].into_iter().filter_map(Path::parent).collect();
    let services: BTreeSet<String> = services.chain(own).collect();
    let timer_name = timer.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut found = Vec::new();
    for unit in services.iter().chain(&timer_name) {
        let beside = folders.iter().map(|folder| folder.join(unit)).find(|path| path.is_file());
        found.extend(beside.filter(|_| services.contains(unit)).map(|path| file(&path, false)));
        let changes =
            folders.iter().map(|folder| drop_ins(&folder.join(format!("{unit}.d")))).find(|changes| !changes.is_empty());
        found.extend(changes.into_iter().flatten());
    }
    found
}

fn drop_ins(folder: &Path) -> Vec<File> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "conf") && path.is_file()).collect();
    paths.sort();
    paths.truncate(100);
    paths.iter().map(|path| file(path, false)).collect()
}

fn named(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// What can be read, as far as anybody reads it.
fn bounded(name: String, named: bool, from: io::Result<impl Read>) -> File {
    let mut bytes = Vec::new();
    let read = from.and_then(|from| from.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes));
    let problem = read.err().map(|error| format!("it cannot be read: {error}"));
    File { name, bytes, named, companions: Vec::new(), problem }
}
