//! The corpora of the fuzz targets, replayed on the stable toolchain: what was found once stays found, and seeds do not rot.

#[expect(unreachable_pub, reason = "the same file is the library of the fuzz targets")]
#[path = "../../../fuzz/src/lib.rs"]
mod attacks;

use std::path::Path;

#[test]
fn every_reader_stands_what_its_corpus_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, attack) in attacks::ATTACKS {
        let mut files: Vec<_> = std::fs::read_dir(corpora.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 4, "{name} has {} seeds", files.len());
        for file in files {
            println!("{}", file.display());
            attack(&std::fs::read(&file).unwrap());
        }
    }
}

#[test]
fn every_corpus_has_its_target_and_every_target_its_corpus() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let names = |folder: &str| {
        let entries = std::fs::read_dir(fuzz.join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut known: Vec<String> = attacks::ATTACKS.iter().map(|(name, _)| (*name).to_owned()).collect();
    known.sort();
    assert_eq!(names("corpus"), known);
    assert_eq!(names("fuzz_targets"), known);
}
