//! A second opinion: whatever is valid CSV is read as the csv crate reads it.

use super::*;

/// Numbers that look drawn, the same ones every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn field(&mut self) -> String {
        const PARTS: &[&str] = &["a", "7", " ", "\"", ",", "\n", "\r\n", "\r", "é", "\u{1f514}", ";", "'", "\\", "\u{feff}"];
        (0..self.below(6)).map(|_| PARTS[usize::try_from(self.below(PARTS.len() as u64)).unwrap()]).collect()
    }
}

fn written(field: &str, draw: &mut Draw) -> String {
    let must = field.contains(['"', ',', '\n', '\r']);
    if must || draw.below(4) == 0 { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

#[test]
fn valid_rows_are_read_as_the_csv_crate_reads_them() {
    for seed in 0..3000 {
        let mut draw = Draw(seed);
        let columns = usize::try_from(draw.below(4)).unwrap() + 1;
        let mut text = String::new();
        for row in 0..draw.below(12) + 1 {
            let fields: Vec<String> = (0..columns)
                .map(|column| {
                    let field = match (row, column) {
                        (0, column) => format!("c{column}"),
                        (row, 0) => format!("E{row}"),
                        _ => draw.field(),
                    };
                    written(&field, &mut draw)
                })
                .collect();
            text.push_str(&fields.join(","));
            text.push_str(["\n", "\r\n", "\n\n"][usize::try_from(draw.below(3)).unwrap()]);
        }
        let ours = items(text.as_bytes(), &options(CSV, "c0"));
        let mut theirs = csv::Reader::from_reader(text.as_bytes());
        let names = theirs.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = theirs.records().map(Result::unwrap).collect();
        assert_eq!(ours.len(), rows.len(), "seed {seed}: {text:?}");
        for (item, row) in ours.iter().zip(&rows) {
            let expected: serde_json::Map<String, serde_json::Value> =
                names.iter().map(str::to_owned).zip(row.iter().map(serde_json::Value::from)).collect();
            let payload: serde_json::Map<_, _> = serde_json::from_str(&record(item).payload).unwrap();
            assert_eq!(payload, expected, "seed {seed}: {text:?}");
            // A place is where the row begins, in bytes and in lines.
            let place = record(item).place;
            let before = &text[..usize::try_from(place.byte).unwrap()];
            assert!(before.ends_with('\n') && text[before.len()..].trim_start_matches('"').starts_with(&row[0]));
            assert_eq!(place.line, before.matches('\n').count() as u64 + 1);
        }
    }
}
