//! Memory stays bounded whatever the source is.

use std::io;

use super::*;

/// Parts, each repeated; none of them is ever in memory as a whole.
struct Long(Vec<(Vec<u8>, u64)>);

impl Read for Long {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some((part, times)) = self.0.first_mut() {
            if *times == 0 {
                self.0.remove(0);
            } else if filled + part.len() <= buffer.len() {
                buffer[filled..filled + part.len()].copy_from_slice(part);
                filled += part.len();
                *times -= 1;
            } else {
                break;
            }
        }
        Ok(filled)
    }
}

fn long(parts: &[(&[u8], u64)], options: &SourceOptions) -> (Vec<Item>, Result<(), SourceError>, usize) {
    let input = Long(parts.iter().map(|(part, times)| (part.to_vec(), *times)).collect());
    let format = options.format("long", None).unwrap();
    let settings = options.settings("long".to_owned());
    let mut source = open_pages(Box::new(input), (format, None), settings, None, (true, &Arc::default())).unwrap();
    let (mut items, mut most) = (Vec::new(), 0);
    loop {
        let page = source.page(LARGE);
        most = most.max(source.capacity());
        match page {
            Ok(page) => {
                items.extend(page.items);
                if page.last {
                    return (items, Ok(()), most);
                }
            }
            Err(error) => return (items, Err(error), most),
        }
    }
}

/// What a line may have, what is read at once, and as much again.
const MOST: usize = RECORD_MAX_BYTES + 512 * 1024;
const KILO: &[u8] = &[b'x'; 1024];

#[test]
fn k11_05_a_line_of_300_mb_is_rejected_in_bounded_memory_and_the_next_is_read() {
    let mega = 1024;
    for (format, parts) in [
        (Format::Ndjson, [(&b"{\"id\":1}\n{\"id\":\""[..], 1), (KILO, 300 * mega), (b"\"}\n{\"id\":3}\n", 1)]),
        (CSV, [(b"id,a\n1,\n2,", 1), (KILO, 300 * mega), (b",\"a\n\"\"b\"\n3,\n", 1)]),
    ] {
        let (items, ended, most) = long(&parts, &options(format, "id"));
        ended.unwrap();
        assert_eq!((key(&items[0]), key(&items[2]), items.len()), ("1", "3", 3));
        let rejected = rejection(&items[1]);
        assert!(rejected.reason.contains("longer than 1048576 bytes") && rejected.raw.len() == 1024, "{}", rejected.reason);
        assert!(most <= MOST, "{most} bytes");
    }
}

#[test]
fn the_checkpoint_stays_before_a_long_line_that_never_ends() {
    for (format, start) in [(Format::Ndjson, &b"{\"id\":1}\n{\"id\":\""[..]), (CSV, b"id\n1\n2")] {
        let mut bytes = start.to_vec();
        bytes.resize(3 * RECORD_MAX_BYTES, b'x');
        let (pages, ended) = pages_of(&bytes, &options(format, "id"), LARGE);
        let place = pages.last().unwrap().after.position;
        assert!(matches!(ended, Err(SourceError::Refused { place: at, .. }) if at == place), "{ended:?}");
        assert!(place.byte < 16 && bytes[usize::try_from(place.byte).unwrap() - 1] == b'\n');
    }
}

#[test]
fn a_quote_that_opens_in_a_line_that_is_too_long_anyway_ends_somewhere_too() {
    let parts = [(&b"id,a\n1,"[..], 1), (KILO, 2048), (b",\"", 1), (KILO, 4096)];
    let (items, ended, most) = long(&parts, &options(CSV, "id"));
    assert!(items.is_empty());
    assert!(matches!(&ended, Err(SourceError::Refused { message, .. }) if message.contains("opens in line 2")), "{ended:?}");
    assert!(most <= MOST);
}

#[test]
fn a_record_may_be_as_long_as_the_limit_and_no_longer() {
    for ends in ["\n", "\r\n"] {
        for (format, header) in [(Format::Ndjson, ""), (CSV, "id,a\n")] {
            let options = SourceOptions { record_max_bytes: 40, ..options(format, "id") };
            let line = |len: usize| match format {
                Format::Ndjson => format!("{{\"id\":\"{}\"}}", "x".repeat(len - 9)),
                Format::Csv { .. } => format!("{},", "x".repeat(len - 1)),
            };
            let read = items(format!("{header}{}{ends}{}{ends}", line(40), line(41)).as_bytes(), &options);
            assert_eq!((read.len(), key(&read[0]).len() >= 31), (2, true));
            assert!(rejection(&read[1]).reason.contains("longer than 40 bytes"), "{read:?}");
        }
    }
}

#[tokio::test]
async fn a_source_that_is_dropped_ends_its_thread() {
    struct Told(std::sync::mpsc::Sender<()>);
    impl Read for Told {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for (at, byte) in buffer.iter_mut().enumerate() {
                *byte = b"E\n"[at % 2];
            }
            Ok(buffer.len())
        }
    }
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (told, ended) = std::sync::mpsc::channel();
    let input = Cursor::new(b"id\n").chain(Told(told));
    let mut source = ReaderSource::new("endless", input, &options(CSV, "id")).unwrap();
    assert!(!source.page(PageLimit { items: 1, bytes: 10 }).await.unwrap().last);
    drop(source);
    ended.recv().unwrap();
}
