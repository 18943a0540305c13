//! How often a row's fault was really met.

use std::io::Write as _;

/// What the list in `docs/proof.md` calls a PostgreSQL version.
pub(crate) fn postgres(version: u32) -> String {
    if version == 18 { "PostgreSQL 18.6".to_owned() } else { format!("PostgreSQL {version}") }
}

/// Says it, for people and, where `ONEBELL_TEST_MATRIX` names a file, for `scripts/prove matrix`.
///
/// # Panics
/// When the fault was never met: then the row showed nothing.
pub(crate) fn met(row: &str, database: &str, hits: u64) {
    let line = format!("{row}\t{database}\t{hits}\n");
    print!("met {line}");
    if let Some(file) = std::env::var_os("ONEBELL_TEST_MATRIX") {
        let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
    assert!(hits > 0, "{row} on {database}: the fault was never met");
}

/// How many times a row's fault is caused: few in `scripts/test`, more in `scripts/prove matrix`.
pub(crate) fn rounds(short: u32) -> u32 {
    if std::env::var_os("ONEBELL_TEST_MATRIX_LONG").is_some() { short * 5 } else { short }
}
