//! Rows: JSON objects that pass from one step to the next, or come from a file. Numbers and texts stay as they were written.

use std::path::Path;

use onebell::model::fingerprint::canonical;

use crate::regular;
use crate::template::exact::elements;

/// How many rows a step may take or write.
pub const ROWS_MAX: usize = 100_000;
/// How many bytes of rows a step may write.
pub const ROWS_MAX_BYTES: u64 = 16 * 1024 * 1024;
/// A file of rows may have columns that no template names.
const FILE_MAX_BYTES: u64 = 4 * ROWS_MAX_BYTES;

/// Rows and where they came from.
#[derive(Debug)]
pub(super) struct RowSet {
    /// For people: `step "compute"`, or a path.
    pub(super) source: String,
    /// The columns that the header names; only of a CSV file.
    pub(super) columns: Option<Vec<String>>,
    pub(super) rows: Vec<Row>,
}

/// One JSON object as text.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) json: String,
    /// Its first line in the file.
    line: Option<u64>,
}

impl RowSet {
    /// One empty row, for a message that is not repeated.
    pub(super) fn single() -> Self {
        Self { source: String::new(), columns: None, rows: vec![Row { json: "{}".to_owned(), line: None }] }
    }

    /// No rows at all.
    pub(super) fn none(source: String) -> Self {
        Self { source, columns: None, rows: Vec::new() }
    }

    /// From a JSON array of objects.
    pub(super) fn from_array(text: &str, source: String) -> Result<Self, String> {
        let parts = array(text).map_err(|why| format!("{source}: {why}"))?;
        let rows = parts.into_iter().map(|part| Row { json: part.to_owned(), line: None }).collect();
        Ok(Self { source, columns: None, rows })
    }

    /// From a file with one object per line.
    pub(super) fn from_ndjson(path: &Path) -> Result<Self, String> {
        let source = path.display().to_string();
        let text = read(path, FILE_MAX_BYTES)?;
        let lines = lines(&text).map_err(|why| format!("{source}: {why}"))?;
        let rows = lines.into_iter().map(|(line, json)| Row { json: json.to_owned(), line: Some(line) }).collect();
        Ok(Self { source, columns: None, rows })
    }

    /// From a CSV file with a header line; every value is text.
    pub(super) fn from_csv(path: &Path) -> Result<Self, String> {
        let source = path.display().to_string();
        let text = read(path, FILE_MAX_BYTES)?;
        Self::csv(&text, source)
    }

    fn csv(text: &str, source: String) -> Result<Self, String> {
        let wrong = |why: String| format!("{source}: {why}");
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns: Vec<String> =
            reader.headers().map_err(|error| wrong(csv_words(&error)))?.iter().map(|name| name.trim().to_owned()).collect();
        if columns.iter().all(String::is_empty) {
            return Err(wrong("no header line; its first line has to name the columns".to_owned()));
        }
        let twice = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name));
        if let Some((_, name)) = twice {
            return Err(wrong(format!("the header names column {name:?} twice; rename one")));
        }
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| wrong(csv_words(&error)))?;
            let fields = columns.iter().cloned().zip(record.iter().map(serde_json::Value::from));
            let json = serde_json::Value::Object(fields.collect()).to_string();
            let line = record.position().map(csv::Position::line);
            // Text that no database keeps, such as a NUL, is told here, where its line is known.
            canonical(&json).map_err(|error| wrong(format!("line {}: {}", line.unwrap_or(1), error.refusal)))?;
            rows.push(Row { json, line });
            within_limit(rows.len()).map_err(wrong)?;
        }
        Ok(Self { source, columns: Some(columns), rows })
    }

    /// How people find the row: `row 3 of step "compute"`, `row 3 (line 4 of customers.csv)`.
    pub(super) fn label(&self, index: usize) -> String {
        let row = index + 1;
        match self.rows.get(index).and_then(|row| row.line) {
            Some(line) => format!("row {row} (line {line} of {})", self.source),
            None if self.source.is_empty() => "the message".to_owned(),
            None => format!("row {row} of {}", self.source),
        }
    }
}

fn csv_words(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map(|pos| format!("line {} has", pos.line())).unwrap_or_else(|| "a line has".to_owned());
            format!("{line} {len} fields, the header names {expected_len}")
        }
        _ => error.to_string(),
    }
}

/// The text of a file, without a byte order mark.
pub(super) fn read(path: &Path, most: u64) -> Result<String, String> {
    let wrong = |why: String| format!("cannot read {}: {why}", path.display());
    let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size > most {
        return Err(wrong(format!("{size} bytes of rows, at most {most} are possible; split the work")));
    }
    decoded(regular::read(path, most).map_err(wrong)?).map_err(wrong)
}

fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line} is not UTF-8")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The rows of a CSV file with this content: a door for those who attack the reader.
#[doc(hidden)]
pub fn csv_rows(bytes: &[u8]) -> Result<Vec<String>, String> {
    let set = RowSet::csv(&decoded(bytes.to_vec())?, String::new())?;
    Ok(set.rows.into_iter().map(|row| row.json).collect())
}

/// The rows of a file that a command wrote, lines or an array: a door for those who attack the reader.
#[doc(hidden)]
pub fn ndjson_rows(bytes: &[u8]) -> Result<Vec<String>, String> {
    let text = decoded(bytes.to_vec())?;
    let rows = of_text(&text)?;
    Ok(rows.into_iter().map(str::to_owned).collect())
}

/// Rows that a command wrote, as a JSON array; nothing when it wrote none.
pub(super) fn written(path: &Path) -> Result<Option<String>, String> {
    if !path.exists() {
        return Ok(None);
    }
    let text = read(path, ROWS_MAX_BYTES)?;
    if text.trim_start().is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("[{}]", of_text(&text)?.join(","))))
}

/// Rows in the answer to a request, as a JSON array; nothing when it is empty. One object may stand over several lines.
pub(crate) fn answered(bytes: &[u8]) -> Result<Option<String>, String> {
    let text = decoded(bytes.to_vec())?;
    let rows = match text.trim() {
        "" => return Ok(None),
        one if one.starts_with('{') && canonical(one).is_ok() => vec![one],
        _ => of_text(&text)?,
    };
    Ok(Some(format!("[{}]", rows.join(","))))
}

/// A JSON array, or an object on each line.
fn of_text(text: &str) -> Result<Vec<&str>, String> {
    if text.trim_start().starts_with('[') {
        return array(text);
    }
    Ok(lines(text)?.into_iter().map(|(_, json)| json).collect())
}

/// A JSON array as one object per line.
pub(crate) fn as_ndjson(array_text: &str) -> Result<String, String> {
    let mut text = String::with_capacity(array_text.len() + 1);
    for row in array(array_text)? {
        // A line end inside a JSON string is always escaped, so these stand between its parts.
        text.extend(row.chars().map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }));
        text.push('\n');
    }
    Ok(text)
}

/// The objects of a JSON array.
fn array(text: &str) -> Result<Vec<&str>, String> {
    let line_of = |offset: usize| text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
    canonical(text).map_err(|error| format!("line {}: not a JSON array of rows: {}", line_of(error.offset), error.refusal))?;
    let rows = elements(text).ok_or("not a JSON array of rows")?;
    within_limit(rows.len())?;
    match rows.iter().position(|row| !row.starts_with('{')) {
        Some(at) => Err(format!("row {}: expected an object such as {{\"id\": 1}}, found {}", at + 1, shown(rows[at]))),
        None => Ok(rows),
    }
}

/// The objects of an NDJSON text, each with its line; empty lines are passed over.
fn lines(text: &str) -> Result<Vec<(u64, &str)>, String> {
    let mut rows = Vec::new();
    for (line, json) in (1..).zip(text.lines()).filter(|(_, json)| !json.trim().is_empty()) {
        let json = json.trim();
        if !json.starts_with('{') {
            return Err(format!("line {line}: expected an object such as {{\"id\": 1}}, found {}", shown(json)));
        }
        canonical(json).map_err(|error| format!("line {line}: not one JSON object per line: {}", error.refusal))?;
        rows.push((line, json));
        within_limit(rows.len())?;
    }
    Ok(rows)
}

fn within_limit(count: usize) -> Result<(), String> {
    if count > ROWS_MAX { Err(format!("more than {ROWS_MAX} rows; split the work")) } else { Ok(()) }
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn rows_keep_their_spelling_whether_they_come_as_lines_or_as_an_array() {
        let expected = r#"[{"a":1.50,"b":"x"},{"a":12345678901234567890123}]"#;
        let by_lines = file(b"\xef\xbb\xbf{\"a\":1.50,\"b\":\"x\"}\r\n\n {\"a\":12345678901234567890123}");
        assert_eq!(written(by_lines.path()).unwrap().unwrap(), expected);
        let by_array = file(b"[\n{\"a\":1.50,\"b\":\"x\"},\n{\"a\":12345678901234567890123} ]\n");
        assert_eq!(written(by_array.path()).unwrap().unwrap(), expected);
        assert_eq!(as_ndjson("[{\"a\":\n 1.50},{}]").unwrap(), "{\"a\":  1.50}\n{}\n");
        assert_eq!((written(Path::new("/nowhere")).unwrap(), written(file(b" \n").path()).unwrap()), (None, None));
    }

    #[test]
    fn what_is_no_row_is_told_with_its_line() {
        let wrong = |text: &[u8]| written(file(text).path()).unwrap_err();
        assert!(wrong(b"{\"a\":1}\n{\"a\":}\n").starts_with("line 2: not one JSON object per line: expected"));
        assert!(wrong(b"{\"a\":1}\n7\n").starts_with("line 2: expected an object"));
        assert!(wrong(b"{\n\"a\":1}\n").starts_with("line 1: not one JSON object per line"));
        assert!(wrong(b"[{\"a\":1},\n{\"a\"]").starts_with("line 2: not a JSON array of rows"));
        assert!(wrong(b"[1]").starts_with("row 1: expected an object"));
        assert!(wrong(b"{\"a\":1,\"a\":2}").contains("the key \"a\" is there twice"));
        assert!(wrong(b"{}\n\xff").contains("line 2 is not UTF-8"));
    }

    #[test]
    fn i10_too_many_rows_are_refused() {
        let text = "{}\n".repeat(ROWS_MAX + 1);
        assert!(written(file(text.as_bytes()).path()).unwrap_err().contains("more than 100000 rows"));
        let text = format!("{{\"a\":\"{}\"}}", "x".repeat(usize::try_from(ROWS_MAX_BYTES).unwrap()));
        assert!(written(file(text.as_bytes()).path()).unwrap_err().contains("at most 16777216"));
    }

    #[test]
    fn csv_rows_are_text_by_the_names_of_the_header() {
        let set = RowSet::from_csv(file("\u{feff}id,name\n007,\"Nguyễn, A\n2\"\n8,B\n".as_bytes()).path()).unwrap();
        assert_eq!(set.rows[0].json, r#"{"id":"007","name":"Nguyễn, A\n2"}"#);
        assert!(set.label(1).starts_with("row 2 (line 4 of "), "{}", set.label(1));
        let wrong = |text: &str| RowSet::from_csv(file(text.as_bytes()).path()).unwrap_err();
        assert!(wrong("a,b\n1\n").contains("line 2 has 1 fields, the header names 2"));
        assert!(wrong("a,a\n").contains("column \"a\" twice"));
        assert!(wrong("a\nx\ny\0z\n").contains("line 3: "), "{}", wrong("a\nx\ny\0z\n"));
        assert!(wrong("a\0b\n1\n").contains("line 2: "), "{}", wrong("a\0b\n1\n"));
        assert!(wrong("").contains("no header line"));
    }
}
