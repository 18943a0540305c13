//! Compressed files.

use std::io::Write;

use flate2::write::GzEncoder;

use super::*;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

/// Frames with checksums.
fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

fn named(name: &str, bytes: &[u8]) -> (tempfile::TempDir, FileSource) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let options = SourceOptions::new(shape("event_id", None));
    let source = FileSource::new(path, &options).unwrap();
    (folder, source)
}

async fn read(name: &str, bytes: &[u8]) -> (Vec<Item>, Result<(), SourceError>) {
    let (_folder, mut source) = named(name, bytes);
    let (pages, ended) = pages(&mut source, LARGE).await;
    (pages.into_iter().flat_map(|page| page.items).collect(), ended)
}

#[tokio::test]
async fn k11_08_all_members_and_frames_are_read_and_offsets_count_what_was_unpacked() {
    let (one, two): (&[u8], &[u8]) = (b"event_id,amount\nE1,100\n", b"E2,250\n");
    for (name, packed) in [
        ("events.csv.gz", [gzip(one), gzip(two)].concat()),
        ("events.csv.zst", [zstd(one), zstd(two)].concat()),
        ("events.csv.zst", [&b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(one), b"\x5f\x2a\x4d\x18\0\0\0\0", &zstd(two)].concat()),
        ("events.csv", [gzip(one), gzip(two)].concat()),
        ("events.csv", [zstd(one), zstd(two)].concat()),
    ] {
        let (items, ended) = read(name, &packed).await;
        assert_eq!((keys(&items), ended), (vec!["E1", "E2"], Ok(())), "{name}");
        assert_eq!(record(&items[1]).place, Position { byte: 23, line: 3 });
    }
}

#[tokio::test]
async fn k11_08_a_cut_file_gives_its_whole_lines_and_then_an_error() {
    let text = b"event_id,amount\nE1,100\nE2,250\n";
    for (name, packed) in [("events.csv.gz", gzip(text)), ("events.csv.zst", zstd(text))] {
        for cut in 4..packed.len() {
            let (items, ended) = read(name, &packed[..cut]).await;
            assert!(items.is_empty() || ["E1", "E2"].starts_with(&keys(&items)), "{items:?}");
            let Err(SourceError::Refused { message, .. }) = ended else { panic!("{name} cut at {cut}: {ended:?}") };
            assert!(message.contains("ends early"), "{name} cut at {cut}: {message}");
        }
    }
    let (items, ended) = read("events.csv.gz", &gzip(text)[..gzip(text).len() - 8]).await;
    assert_eq!(items.len(), 2);
    assert!(matches!(ended, Err(SourceError::Refused { place: Position { byte: 30, line: 4 }, .. })), "{ended:?}");
}

#[tokio::test]
async fn k11_08_a_damaged_file_is_no_success() {
    let text = format!("event_id,amount\n{}", "E1,100\nE2,250\n".repeat(50)).into_bytes();
    for (name, packed) in [("events.csv.gz", gzip(&text)), ("events.csv.zst", zstd(&text))] {
        // Every byte of the checksums at the end, and what follows them.
        for at in packed.len() - 4..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 1;
            let (_, ended) = read(name, &damaged).await;
            assert!(
                matches!(&ended, Err(SourceError::Refused { message, .. }) if message.contains("damaged")),
                "{name}: {ended:?}"
            );
        }
        let (_, ended) = read(name, &[&packed[..], b"more"].concat()).await;
        assert!(matches!(ended, Err(SourceError::Refused { .. })), "{name}: {ended:?}");
    }
}

#[tokio::test]
async fn a_name_that_says_what_the_bytes_are_not_is_refused() {
    for (name, bytes) in
        [("events.csv.gz", &b"event_id\nE1\n"[..]), ("events.csv.zst", b"event_id\nE1\n"), ("events.csv.gz", b"")]
    {
        let (_, ended) = read(name, bytes).await;
        let Err(SourceError::Refused { place: START, message }) = ended else { panic!("{ended:?}") };
        assert!(message.contains(name) && message.contains("and is not"), "{message}");
    }
    let (_, ended) = read("events.csv.gz", &zstd(b"event_id\nE1\n")).await;
    assert!(ended.is_err());
}

#[tokio::test]
async fn a_packed_file_goes_on_from_its_checkpoint_and_a_cut_one_is_shorter() {
    let text = b"event_id,amount\nE1,100\nE2,250\n";
    let (_folder, mut source) = named("events.csv.gz", &gzip(text));
    let after = source.page(PageLimit { items: 1, bytes: 100 }).await.unwrap().after;
    source.open(Some(&after)).await.unwrap();
    assert_eq!(keys(&source.page(LARGE).await.unwrap().items), ["E2"]);
    // Packed otherwise, it is the same file.
    std::fs::write(&source.path, [gzip(&text[..20]), gzip(&text[20..])].concat()).unwrap();
    source.open(Some(&after)).await.unwrap();
    assert_eq!(keys(&source.page(LARGE).await.unwrap().items), ["E2"]);
    std::fs::write(&source.path, &gzip(text)[..12]).unwrap();
    assert!(matches!(source.open(Some(&after)).await, Err(SourceError::Changed(_))));
}

#[tokio::test]
async fn a_disk_that_fails_is_no_damaged_file_and_what_was_read_before_is_given_first() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _buffer: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let text = format!("event_id\n{}", "E1\nE2\n".repeat(20_000));
    let packed = gzip(text.as_bytes());
    for (bytes, compression) in [(text.as_bytes(), Compression::Plain), (&packed[..packed.len() - 20], Compression::Gzip)] {
        let options = SourceOptions { compression: Some(compression), ..options(CSV, "event_id") };
        let input = Cursor::new(bytes.to_vec()).chain(Broken);
        let mut source = ReaderSource::new("events", input, &options).unwrap();
        let (pages, ended) = pages(&mut source, LARGE).await;
        assert!(pages.iter().flat_map(|page| keys(&page.items)).eq(["E1", "E2"].into_iter().cycle().take(count(&pages))));
        assert!(compression == Compression::Gzip || count(&pages) == 40_000);
        let again = source.page(LARGE).await;
        let Err(SourceError::Unreadable(why)) = &ended else { panic!("{ended:?}") };
        assert!(why.starts_with("events: line ") && why.contains("the disk is gone"), "{why}");
        assert_eq!(again, ended.map(|()| unreachable!()));
    }
}

fn count(pages: &[Page]) -> usize {
    pages.iter().map(|page| page.items.len()).sum()
}
