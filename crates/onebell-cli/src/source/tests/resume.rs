//! Going on where a batch was left.

use super::*;

const EVENTS: &[u8] = b"event_id,amount_cents\nE1,100\nE2,250\nE3,75\n";

fn source(path: &std::path::Path) -> FileSource {
    FileSource::new(path, &SourceOptions::new(shape("event_id", None))).unwrap()
}

/// A file with these bytes, and the checkpoint after its second record.
async fn left_after_two(bytes: &[u8]) -> (tempfile::TempDir, PathBuf, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.csv");
    std::fs::write(&path, bytes).unwrap();
    let page = source(&path).page(PageLimit { items: 2, bytes: 1000 }).await.unwrap();
    assert_eq!(keys(&page.items), ["E1", "E2"]);
    (folder, path, page.after)
}

#[tokio::test]
async fn k11_07_a_batch_goes_on_after_what_was_committed() {
    let (_folder, path, after) = left_after_two(EVENTS).await;
    assert_eq!(after.position, Position { byte: 36, line: 4 });
    let mut file = source(&path);
    file.open(Some(&after)).await.unwrap();
    assert_eq!(file.header(), Some(&b"event_id,amount_cents"[..]));
    let (read, ended) = pages(&mut file, LARGE).await;
    assert_eq!((keys(&read[0].items), read.len(), ended), (vec!["E3"], 1, Ok(())));
    assert_eq!((file.size(), Source::read(&file)), (Some(42), Some(42)));
    // What was appended since is read as well.
    std::fs::write(&path, [EVENTS, b"E4,1\n"].concat()).unwrap();
    file.open(Some(&after)).await.unwrap();
    assert_eq!(keys(&pages(&mut file, LARGE).await.0[0].items), ["E3", "E4"]);
    file.open(Some(&Checkpoint::default())).await.unwrap();
    assert_eq!(pages(&mut file, LARGE).await.0[0].items.len(), 4);
}

#[tokio::test]
async fn k11_07_a_file_that_changed_before_the_checkpoint_is_refused() {
    let (_folder, path, after) = left_after_two(EVENTS).await;
    for (bytes, says) in [
        (&b"event_id,amount_cents\nE0,5\nE1,100\nE2,250\nE3,75\n"[..], "the 36 bytes before it are others"),
        (&EVENTS[..20], "it ends after 20 bytes and is shorter than what was read before, 36 bytes"),
        (&EVENTS[..35], "it ends after 35 bytes and is shorter"),
        (b"", "it ends after 0 bytes and is shorter"),
        (b"event_id,amount_cents\nE1,900\nE2,250\nE3,75\n", "the 36 bytes before it are others"),
        (b"event_id,amount_dimes\nE1,100\nE2,250\nE3,75\n", "the 36 bytes before it are others"),
        (b"\xff\xfeent_id,amount_cents\nE1,100\nE2,250\nE3,75\n", "the 36 bytes before it are others"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let error = source(&path).open(Some(&after)).await.unwrap_err();
        let SourceError::Changed(message) = error else { panic!("{error:?}") };
        assert!(message.contains(says) && message.contains("events.csv: line "), "{message}");
        assert!(message.contains("--restart"), "{message}");
    }
}

#[tokio::test]
async fn k11_07_a_checkpoint_of_something_else_is_refused() {
    let (_folder, path, after) = left_after_two(EVENTS).await;
    let other = onebell::model::Fingerprint::from_bytes([7; 32]);
    for wrong in [
        Checkpoint { header: None, ..after.clone() },
        Checkpoint { header: Some(other), ..after.clone() },
        Checkpoint { prefix: None, ..after.clone() },
        Checkpoint { prefix: Some(other), ..after.clone() },
        Checkpoint { position: Position { byte: 36, line: 5 }, ..after.clone() },
        Checkpoint { position: Position { byte: 4, line: 1 }, ..after.clone() },
    ] {
        let answer = source(&path).open(Some(&wrong)).await;
        assert!(matches!(answer, Err(SourceError::Changed(_))), "{wrong:?}: {answer:?}");
    }
}

/// A file of each kind with everything that may stand between records.
fn samples() -> [(SourceOptions, Vec<u8>); 2] {
    let csv = b"\xef\xbb\xbf\r\nid,\"a\nb\"\r\nE1,1\n\n\"E\"\"2\",\"x,\ny\"\nE3\n\r\nE4,\"\"\r\nE5,\xc3\xa9\n";
    let ndjson = b"\xef\xbb\xbf\n{\"id\":\"E1\"}\r\n \n {\"id\":2,\"a\":[{}]} \n{\"id\":\"E\xc3\xa9\"}{}\n{}\n{\"id\":5}\n";
    [(options(CSV, "id"), csv.to_vec()), (options(Format::Ndjson, "id"), ndjson.to_vec())]
}

#[test]
fn a_file_cut_anywhere_goes_on_from_every_checkpoint_as_if_it_had_been_whole() {
    for (options, bytes) in samples() {
        let whole = items(&bytes, &options);
        assert!(whole.len() >= 5);
        for cut in 0..=bytes.len() {
            let limit = PageLimit { items: 1, bytes: 1000 };
            let (pages, ended) = pages_of(&bytes[..cut], &options, limit);
            assert!(ended.is_ok() || !matches!(ended, Err(SourceError::Unreadable(_))));
            let mut before = 0;
            for page in &pages {
                before += page.items.len();
                assert!(page.after.position.byte <= cut as u64);
                let mut source = reopened(&bytes, &options, &page.after).unwrap();
                let mut rest = Vec::new();
                loop {
                    let page = source.page(LARGE).unwrap();
                    rest.extend(page.items);
                    if page.last {
                        assert_eq!(page.after.position.byte, bytes.len() as u64);
                        break;
                    }
                }
                // A line of JSON that was cut before what should not follow it was whole when it was read.
                let read: Vec<Item> = pages.iter().flat_map(|page| page.items.clone()).take(before).collect();
                if read == whole[..before] {
                    assert_eq!(rest, whole[before..], "cut at {cut}, from {:?}", page.after);
                } else {
                    assert!(bytes[cut..].starts_with(b"{}\n"), "cut at {cut}");
                }
            }
        }
    }
}

fn reopened(bytes: &[u8], options: &SourceOptions, from: &Checkpoint) -> Result<Pages, SourceError> {
    let format = options.format("bytes", None)?;
    let input = Box::new(Cursor::new(bytes.to_vec()));
    open_pages(input, (format, None), options.settings("bytes".to_owned()), Some(from), (true, &Arc::default()))
}

#[test]
fn pages_of_every_size_hold_the_same_items() {
    for (options, bytes) in samples() {
        let whole = items(&bytes, &options);
        for count in 1..4 {
            for most in 0..60 {
                let limit = PageLimit { items: count, bytes: most };
                let (pages, ended) = pages_of(&bytes, &options, limit);
                ended.unwrap();
                for page in &pages {
                    assert!(page.items.len() <= count);
                }
                assert_eq!(pages.into_iter().flat_map(|page| page.items).collect::<Vec<_>>(), whole);
            }
        }
    }
}

#[tokio::test]
async fn a_stream_is_read_once_and_from_its_start() {
    let options = options(CSV, "event_id");
    let mut stream = ReaderSource::new("standard input", EVENTS, &options).unwrap();
    let (read, ended) = pages(&mut stream, LARGE).await;
    assert_eq!((keys(&read[0].items), ended), (vec!["E1", "E2", "E3"], Ok(())));
    assert_eq!((read[0].after.prefix, read[0].after.position.byte), (None, 42));
    assert_eq!(stream.header(), Some(&b"event_id,amount_cents"[..]));
    // Whoever asks on is told the same again.
    let again = stream.page(LARGE).await.unwrap();
    assert!(again.last && again.items.is_empty() && again.after == read[0].after);
    assert!(matches!(stream.open(None).await, Err(SourceError::Changed(_))));
    let mut stream = ReaderSource::new("standard input", EVENTS, &options).unwrap();
    assert!(matches!(stream.open(Some(&read[0].after)).await, Err(SourceError::Changed(_))));
    assert!(ReaderSource::new("standard input", EVENTS, &SourceOptions { format: None, ..options }).is_err());
}

#[tokio::test]
async fn a_file_that_is_not_there_may_be_there_later() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = source(&folder.path().join("events.csv"));
    let error = file.open(None).await.unwrap_err();
    assert!(matches!(&error, SourceError::Unreadable(why) if why.contains("events.csv: cannot be read")), "{error:?}");
    assert_eq!(file.page(LARGE).await, Err(error));
    std::fs::write(folder.path().join("events.csv"), EVENTS).unwrap();
    assert_eq!(file.page(LARGE).await.unwrap().items.len(), 3);
    std::fs::create_dir(folder.path().join("folder.csv")).unwrap();
    let error = source(&folder.path().join("folder.csv")).open(None).await.unwrap_err();
    assert!(error.to_string().contains("it is a folder"), "{error}");
}

/// Bytes, and then an error in place of an end.
struct Breaks(Cursor<Vec<u8>>, fn() -> std::io::Error);

impl Read for Breaks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err((self.1)()),
            count => Ok(count),
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_gives_its_whole_pages_and_is_never_through() {
    let limit = PageLimit { items: 2, ..LARGE };
    for records in 0..5_usize {
        for error in [(|| std::io::Error::other("away")) as fn() -> std::io::Error, || never("gone")] {
            let text: String = (0..records).map(|n| format!("{n},\n")).collect();
            let input = Breaks(Cursor::new(format!("id,a\n{text}").into_bytes()), error);
            let mut source = ReaderSource::new("stream", input, &options(CSV, "id")).unwrap();
            let (pages, ended) = pages(&mut source, limit).await;
            assert_eq!(pages.iter().map(|page| page.items.len()).sum::<usize>(), records / 2 * 2, "{records}");
            assert!(pages.iter().all(|page| !page.last));
            let refused = matches!(ended.unwrap_err(), SourceError::Refused { message, .. } if message.contains("gone"));
            assert_eq!(refused, error().to_string() == "gone", "{records}");
        }
    }
}
