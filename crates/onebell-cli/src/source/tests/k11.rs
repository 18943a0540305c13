//! The cases of batch files, one by one.

use super::*;

#[test]
fn k11_01_a_byte_order_mark_is_stripped_and_counted_and_other_encodings_are_refused_by_name() {
    let csv = options(CSV, "event_id");
    let read = items(b"\xef\xbb\xbfevent_id,amount\nE1,100\n", &csv);
    assert_eq!(record(&read[0]).place, Position { byte: 19, line: 2 });
    assert_eq!(record(&read[0]).payload, r#"{"amount":"100","event_id":"E1"}"#);
    let (place, message) = refusal(b"\xef\xbb\xbf\xef\xbb\xbfevent_id,amount\nE1,100\n", &csv);
    assert_eq!(place, Position { byte: 3, line: 1 });
    assert!(message.contains("second byte order mark"), "{message}");
    let utf16 = |text: &str, mark: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.encode_utf16().chain(text.encode_utf16()).flat_map(order).collect()
    };
    for (format, text) in [(CSV, "event_id,amount\nE1,100\n"), (Format::Ndjson, "{\"event_id\":\"E1\"}\n")] {
        for mark in ["\u{feff}", ""] {
            let (_, message) = refusal(&utf16(text, mark, u16::to_le_bytes), &options(format, "event_id"));
            assert!(message.contains("UTF-16LE") && message.contains("iconv"), "{message}");
            let (_, message) = refusal(&utf16(text, mark, u16::to_be_bytes), &options(format, "event_id"));
            assert!(message.contains("UTF-16BE"), "{message}");
        }
    }
}

#[test]
fn k11_02_a_repeated_column_is_refused_before_the_first_row() {
    let csv = options(CSV, "event_id");
    let (place, message) = refusal(b"event_id,amount,amount\nE1,100,900\n", &csv);
    assert_eq!(message, "bytes: line 1 (byte 0): column \"amount\" appears twice (2, 3); rename one");
    assert_eq!(place, START);
    assert!(refusal(b"event_id,Amount ,amount\nE1,1,2\n", &csv).1.contains("column \"amount\" appears twice (2, 3)"));
}

#[test]
fn k11_04_a_last_line_that_may_be_cut_off_is_not_taken() {
    let csv = options(CSV, "event_id");
    let (read, ended) = read_bytes(b"event_id,amount\nE1,100\nE3,7", &csv);
    assert_eq!(keys(&read), ["E1"]);
    let Err(SourceError::Refused { place, message }) = ended else { panic!("{ended:?}") };
    assert_eq!(place, Position { byte: 23, line: 3 });
    assert!(message.starts_with("bytes: line 3 (byte 23): the last line has no line end"), "{message}");
    let believing = SourceOptions { accept_last_line: true, ..csv };
    assert_eq!(keys(&items(b"event_id,amount\nE1,100\nE3,7", &believing)), ["E1", "E3"]);

    let ndjson = options(Format::Ndjson, "id");
    let (read, ended) = read_bytes(b"{\"id\":\"E1\",\"a\":100}\n{\"id\":\"E2\",\"a\":2", &ndjson);
    assert_eq!(keys(&read), ["E1"]);
    assert!(matches!(ended, Err(SourceError::Refused { place: Position { byte: 20, line: 2 }, .. })), "{ended:?}");
    assert_eq!(keys(&items(b"{\"id\":\"E1\"}\n{\"id\":\"E2\"}", &ndjson)), ["E1", "E2"]);
    let believing = SourceOptions { accept_last_line: true, ..ndjson };
    let read = items(b"{\"id\":\"E1\"}\n{\"id\":\"E2\"", &believing);
    assert!(rejection(&read[1]).reason.starts_with("line 2: column 11: expected a comma"));
}

#[test]
fn k11_04_the_checkpoint_never_passes_a_line_without_its_end() {
    for (format, text) in [(CSV, &b"id\nE1\nE2"[..]), (Format::Ndjson, b"{\"id\":1}\n{\"id\":2")] {
        let (pages, _) = pages_of(text, &options(format, "id"), LARGE);
        let after = &pages.last().unwrap().after;
        assert_eq!(text[usize::try_from(after.position.byte).unwrap() - 1], b'\n', "{after:?}");
    }
}

#[test]
fn k11_05_one_object_per_line_and_what_is_more_or_too_long_is_told_with_its_place() {
    let ndjson = options(Format::Ndjson, "id");
    let long = format!("{{\"id\":\"{}\"}}", "x".repeat(RECORD_MAX_BYTES));
    let text = format!("{{\"id\":\"E1\"}}{{\"id\":\"E2\"}}\n\n{{\"id\":\"E3\"}}\n{long}\n \r\n{{\"id\":\"E5\"}}\r\n");
    let read = items(text.as_bytes(), &ndjson);
    assert_eq!(rejection(&read[0]).reason, "line 1: trailing characters at column 12; write one object per line");
    assert_eq!(rejection(&read[0]).raw, b"{\"id\":\"E1\"}{\"id\":\"E2\"}");
    assert_eq!((key(&read[1]), record(&read[1]).place), ("E3", Position { byte: 24, line: 3 }));
    assert!(rejection(&read[2]).reason.starts_with("line 4: the record is longer than 1048576 bytes"));
    assert_eq!((rejection(&read[2]).place.byte, rejection(&read[2]).raw.len()), (36, 1024));
    assert_eq!((key(&read[3]), record(&read[3]).place.line), ("E5", 6));
    assert_eq!(record(&read[3]).payload, "{\"id\":\"E5\"}");
    assert_eq!(read.len(), 4);
    assert!(refusal(b"[{\"id\":1}]\n", &ndjson).1.contains("jq -c '.[]'"));
    assert!(refusal(b"{\n\"id\":1}\n", &ndjson).1.contains("jq -c ."));
}

#[test]
fn k11_10_amounts_are_read_by_one_grammar_or_rejected_by_name() {
    let dong = SourceOptions { shape: shape("id", Some(("amount", 0))), ..options(CSV, "id") };
    let dollar = SourceOptions { shape: shape("id", Some(("amount", 2))), ..options(CSV, "id") };
    let amount = |text: &str, options: &SourceOptions| match &items(format!("id,amount\nE1,{text}\n").as_bytes(), options)[0] {
        Item::Record(record) => Ok(record.amount),
        Item::Rejected(rejection) => Err((rejection.key.clone(), rejection.reason.clone())),
    };
    assert_eq!(amount("-110.7", &dollar), Ok(Some(-11070)));
    assert_eq!(amount("-3000", &dong), Ok(Some(-3000)));
    for (text, options) in [
        ("-3.000", &dong),
        ("\"1.234,56\"", &dollar),
        ("\"9,99\"", &dollar),
        ("1 000", &dollar),
        ("+100", &dollar),
        (".47", &dollar),
        ("1e3", &dollar),
        ("NaN", &dollar),
        ("", &dollar),
        ("\u{663}", &dollar),
        ("12.345", &dollar),
    ] {
        let (key, reason) = amount(text, options).unwrap_err();
        assert_eq!(key.as_deref(), Some("E1"));
        assert!(reason.starts_with("line 2: the amount field \"amount\" is "), "{text}: {reason}");
    }
}

#[test]
fn k11_11_amounts_are_exact_in_both_formats() {
    for (text, expected) in [("19.99", 1999), ("1.15", 115), ("4.35", 435), ("-0.01", -1), ("92233720368547758.07", i64::MAX)] {
        let csv = SourceOptions { shape: shape("id", Some(("a", 2))), ..options(CSV, "id") };
        assert_eq!(record(&items(format!("id,a\nE1,{text}\n").as_bytes(), &csv)[0]).amount, Some(expected));
        let lines = SourceOptions { format: Some(Format::Ndjson), ..csv };
        assert_eq!(record(&items(format!("{{\"id\":1,\"a\":{text}}}\n").as_bytes(), &lines)[0]).amount, Some(expected));
    }
}

#[test]
fn a_row_that_cannot_be_read_is_rejected_and_the_next_one_is_read() {
    let csv = options(CSV, "id");
    let bad: &[(&[u8], &str)] = &[
        (b"\"E1\"x,1", "field 1 has text after its closing quote"),
        (b"\"E\"1\",1", "field 1 has text after its closing quote"),
        (b"E1,5\" pipe", "field 2 has a quote but does not begin with one"),
        (b"E1,1,2", "has 3 fields, the header names 2"),
        (b"E1", "has 1 field, the header names 2"),
        (b"E1,1\r", "ends with CR CR LF"),
        (b"\"E1\",\"1\"\r", "ends with CR CR LF"),
        (b"E1,1\rE2,2", "carriage return (CR) without a line feed"),
        (b"E1,\xff", "not UTF-8 at byte 8"),
        (b"E1,a\0b", "U+0000 cannot be stored"),
        (b",1", "the id field \"id\" is empty"),
    ];
    for (row, says) in bad {
        let text = [b"id,a\n", *row, b"\r\n\r\n\"E\"\"9\",\"x\ny\"\n"].concat();
        let text = if row.contains(&0xff) { text.iter().copied().filter(|byte| *byte != b'\r').collect() } else { text };
        let read = items(&text, &csv);
        let shown = String::from_utf8_lossy(row);
        let rejected = rejection(&read[0]);
        assert!(rejected.reason.starts_with("line 2: ") && rejected.reason.contains(says), "{shown}: {}", rejected.reason);
        assert_eq!(rejected.raw, *row, "{shown}");
        assert_eq!((rejected.place, key(&read[1]), read.len()), (Position { byte: 5, line: 2 }, "E\"9", 2), "{shown}");
        assert_eq!(record(&read[1]).payload, r#"{"a":"x\ny","id":"E\"9"}"#);
    }
}

#[test]
fn a_file_whose_rows_would_all_be_wrong_is_refused_at_once() {
    let csv = options(CSV, "id");
    for (text, says) in [
        (&b"id,a\rE1,1\rE2,2\r"[..], "carriage returns (CR) alone"),
        (b"id,a\r\r\nE1,1\r\r\n", "in the header line, the line ends with CR CR LF"),
        (b"id,\"a\"x\nE1,1\n", "in the header line, field 2 has text after its closing quote"),
        (b"id,a\xff\nE1,1\n", "not UTF-8 at byte 4"),
        (b"id;a\nE1;1\n", "--delimiter ';'"),
        (b"id,,a\nE1,,1\n", "column 2 has no name"),
        (b"ID,a\nE1,1\n", "no column \"id\"; it has \"ID\", \"a\"; is it \"ID\"?"),
        (b"", "no header line"),
        (b"\n\r\n", "no header line"),
        (b"id,a", "the last line has no line end"),
        (b"id,a\nE1,\"x\nE2,2\nE3,3\n", "the quote that opens in line 2 is not closed"),
    ] {
        let (_, message) = refusal(text, &csv);
        assert!(message.contains(says), "{}: {message}", String::from_utf8_lossy(text));
    }
    let believing = SourceOptions { accept_last_line: true, ..csv };
    assert!(refusal(b"id,a\rE1,1\r", &believing).1.contains("carriage returns (CR) alone"));
    let semicolon = SourceOptions { delimiter: Some(b';'), ..options(CSV, "id") };
    assert_eq!(keys(&items(b"\n\nid;a,b\r\nE1;1\n", &semicolon)), ["E1"]);
}

#[test]
fn a_quote_that_stays_open_is_refused_with_the_line_where_it_opened() {
    let csv = options(CSV, "id");
    let rows = "E2,22222\n".repeat(200_000);
    let (read, ended) = read_bytes(format!("id,a\nE1,1\nE2,\"x\n{rows}").as_bytes(), &csv);
    assert_eq!(keys(&read), ["E1"]);
    let Err(SourceError::Refused { place, message }) = ended else { panic!("{ended:?}") };
    assert_eq!(place, Position { byte: 13, line: 3 });
    assert!(message.contains("the quote that opens in line 3 is not closed within 1048576 bytes"), "{message}");
}

#[test]
fn what_a_source_is_comes_from_its_name_or_from_an_option() {
    let plain = SourceOptions::new(shape("id", None));
    let wrong = |name: &str, options: &SourceOptions| FileSource::new(name, options).err().map(|error| error.to_string());
    assert_eq!(wrong("events.csv.gz", &plain), None);
    assert!(wrong("events.txt", &plain).unwrap().contains("events.txt: line 1 (byte 0): its name does not say what it is"));
    assert_eq!(wrong("events.txt", &SourceOptions { format: Some(CSV), ..plain.clone() }), None);
    let semicolon = SourceOptions { delimiter: Some(b';'), ..plain.clone() };
    assert!(wrong("events.ndjson", &semicolon).unwrap().contains("a delimiter is for CSV"));
    assert!(wrong("events.csv", &SourceOptions { delimiter: Some(b'"'), ..plain }).unwrap().contains("one ASCII character"));
}

#[test]
fn what_was_rejected_can_be_corrected_and_applied() {
    let csv = SourceOptions { shape: shape("id", Some(("a", 0))), ..options(CSV, "id") };
    let text = format!("id,a,note\nE1,1,\nE2,x,\"two\nlines\"\nE3,3,{}\nE4,4x,\n", "n".repeat(RECORD_MAX_BYTES));
    let mut rejects = Rejects::new(Vec::new(), Some(b"id,a,note".to_vec()));
    let written: Vec<bool> = items(text.as_bytes(), &csv)
        .iter()
        .filter(|item| matches!(item, Item::Rejected(_)))
        .map(|item| rejects.add(rejection(item)).unwrap())
        .collect();
    assert_eq!((written, rejects.written()), (vec![true, false, true], 2));
    let file = rejects.finish().unwrap();
    assert_eq!(file, b"id,a,note\nE2,x,\"two\nlines\"\nE4,4x,\n");
    let corrected = String::from_utf8(file).unwrap().replace('x', "0");
    assert_eq!(keys(&items(corrected.as_bytes(), &csv)), ["E2", "E4"]);
    assert!(Rejects::new(Vec::new(), Some(b"id".to_vec())).finish().unwrap().is_empty());
}
