use super::pages::Pages;
use super::*;
use onebell::model::record::{Item, Record, Rejection};

mod bounded;
mod differential;
mod k11;
mod packed;
mod resume;

const CSV: Format = Format::Csv { delimiter: b',' };
const LARGE: PageLimit = PageLimit { items: 1000, bytes: 1 << 20 };

fn shape(id: &str, amount: Option<(&str, u8)>) -> Shape {
    let amount = amount.map(|(name, scale)| (name.to_owned(), scale));
    Shape { id: vec![id.to_owned()], amount, fail_if: None }
}

fn options(format: Format, id: &str) -> SourceOptions {
    SourceOptions { format: Some(format), ..SourceOptions::new(shape(id, None)) }
}

/// Everything that these bytes hold, and how they ended.
fn read_bytes(bytes: &[u8], options: &SourceOptions) -> (Vec<Item>, Result<(), SourceError>) {
    let (pages, ended) = pages_of(bytes, options, LARGE);
    (pages.into_iter().flat_map(|page| page.items).collect(), ended)
}

fn items(bytes: &[u8], options: &SourceOptions) -> Vec<Item> {
    let (items, ended) = read_bytes(bytes, options);
    ended.unwrap();
    items
}

fn refusal(bytes: &[u8], options: &SourceOptions) -> (Position, String) {
    match read_bytes(bytes, options).1.unwrap_err() {
        SourceError::Refused { place, message } => (place, message),
        other => panic!("{other:?}"),
    }
}

fn key(item: &Item) -> &str {
    match item {
        Item::Record(record) => record.key.as_str(),
        Item::Rejected(rejection) => panic!("{rejection:?}"),
    }
}

fn keys(items: &[Item]) -> Vec<&str> {
    items.iter().map(key).collect()
}

fn record(item: &Item) -> &Record {
    match item {
        Item::Record(record) => record,
        Item::Rejected(rejection) => panic!("{rejection:?}"),
    }
}

fn rejection(item: &Item) -> &Rejection {
    match item {
        Item::Rejected(rejection) => rejection,
        Item::Record(record) => panic!("{record:?}"),
    }
}

/// Every page of a source that is open, until it ends or fails.
async fn pages(source: &mut dyn Source, limit: PageLimit) -> (Vec<Page>, Result<(), SourceError>) {
    let mut pages = Vec::new();
    loop {
        match source.page(limit).await {
            Ok(page) => {
                let last = page.last;
                pages.push(page);
                if last {
                    return (pages, Ok(()));
                }
            }
            Err(error) => return (pages, Err(error)),
        }
    }
}
