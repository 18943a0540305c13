//! `onebell init [DIR]`: a starter job file with sample data and its schema. It never overwrites anything.

use std::path::Path;

use super::schema;
use crate::answer::{Answer, Failure, line};
use crate::starter::FILES;

/// Writes the starter's files, or none if one of them exists.
pub fn init(dir: &Path) -> Answer {
    let files = FILES.iter().map(|(name, text)| (*name, hinted(name, text)));
    let files: Vec<(&str, String)> = files.chain([(schema::FILE, schema::text() + "\n")]).collect();
    if let Some((name, _)) = files.iter().find(|(name, _)| dir.join(name).exists()) {
        return Err(Failure::usage(format!(
            "{} exists already; choose another folder: onebell init DIR",
            dir.join(name).display()
        )));
    }
    for (name, text) in &files {
        write(&dir.join(name), text)
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", dir.join(name).display())))?;
    }
    line(format!("written to {}: {}", dir.display(), files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")));
    line("next: onebell check, then onebell run (in as many copies as you like)");
    Ok(())
}

/// The job file says in its first line where editors find its schema.
fn hinted(name: &str, text: &str) -> String {
    if name == "onebell.toml" { format!("#:schema {}\n{text}", schema::FILE) } else { text.to_owned() }
}

/// Writes one file, executable when it is a script.
pub fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mode = if path.extension().is_some_and(|extension| extension == "sh") { 0o755 } else { 0o644 };
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    std::io::Write::write_all(&mut file, text.as_bytes())
}
