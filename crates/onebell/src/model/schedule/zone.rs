//! Zone names. The database takes any case; we do not, because the same file must be read alike by
//! tools that do not either.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::ScheduleError;

/// Names further away than this are no suggestion.
const DISTANCE_MAX: usize = 4;

pub(super) fn find(name: &str, zones: &TimeZoneDatabase) -> Result<TimeZone, ScheduleError> {
    let found = zones.get(name).ok().filter(|zone| !zone.is_unknown() && zone.iana_name() == Some(name));
    found.ok_or_else(|| {
        let problem = if name.trim().is_empty() { "no time zone" } else { "no such time zone" };
        ScheduleError::new(format!("time_zone {name:?}"), problem, remedy(name, zones))
    })
}

fn remedy(name: &str, zones: &TimeZoneDatabase) -> String {
    if let Some(better) = at_fixed_offset(name).or_else(|| of_place(name)) {
        return format!("write {better:?}");
    }
    // Places whose names are alike lie far apart.
    match nearest(name, zones) {
        Some((0, same)) => return format!("write {same:?}"),
        Some((_, near)) => return format!("did you mean {near:?}?"),
        None => {}
    }
    if name.ends_with(" Time") {
        return "that is a name of Windows; write the IANA name, such as \"Asia/Ho_Chi_Minh\"".to_owned();
    }
    "write an IANA name, such as \"Asia/Ho_Chi_Minh\" or \"UTC\"".to_owned()
}

/// Places that people look for and zones are not named after, and short names that are none.
fn of_place(name: &str) -> Option<String> {
    const PLACES: [(&str, &str); 20] = [
        ("hanoi", "Asia/Ho_Chi_Minh"),
        ("ha_noi", "Asia/Ho_Chi_Minh"),
        ("vietnam", "Asia/Ho_Chi_Minh"),
        ("ict", "Asia/Ho_Chi_Minh"),
        ("beijing", "Asia/Shanghai"),
        ("peking", "Asia/Shanghai"),
        ("mumbai", "Asia/Kolkata"),
        ("delhi", "Asia/Kolkata"),
        ("new_delhi", "Asia/Kolkata"),
        ("ist", "Asia/Kolkata"),
        ("jst", "Asia/Tokyo"),
        ("munich", "Europe/Berlin"),
        ("frankfurt", "Europe/Berlin"),
        ("san_francisco", "America/Los_Angeles"),
        ("seattle", "America/Los_Angeles"),
        ("pst", "America/Los_Angeles"),
        ("boston", "America/New_York"),
        ("washington", "America/New_York"),
        ("edt", "America/New_York"),
        ("rio", "America/Sao_Paulo"),
    ];
    let plain = plain(name);
    let city = plain.rsplit('/').next()?;
    PLACES.iter().find(|(place, _)| *place == city).map(|(_, zone)| (*zone).to_owned())
}

/// `UTC+7` in the names that exist: POSIX counts west of Greenwich as positive.
fn at_fixed_offset(name: &str) -> Option<String> {
    let name = name.trim();
    let rest = name.strip_prefix("UTC").or_else(|| name.strip_prefix("GMT")).unwrap_or(name);
    let (sign, hours) =
        rest.strip_prefix('+').map(|hours| ('-', hours)).or_else(|| rest.strip_prefix('-').map(|hours| ('+', hours)))?;
    let hours: u8 = hours.split(':').next()?.parse().ok()?;
    (1..=12).contains(&hours).then(|| format!("Etc/GMT{sign}{hours}"))
}

fn nearest(name: &str, zones: &TimeZoneDatabase) -> Option<(usize, String)> {
    let asked = plain(name);
    if asked.is_empty() || asked.chars().count() > 64 {
        return None;
    }
    zones
        .available()
        .filter(|known| !known.as_str().starts_with("posix/") && !known.as_str().starts_with("right/"))
        .map(|known| {
            let known = known.as_str().to_owned();
            let whole = plain(&known);
            let city = whole.rsplit('/').next().unwrap_or(&whole);
            (distance(&asked, &whole).min(distance(&asked, city)), known)
        })
        .filter(|(distance, _)| *distance <= DISTANCE_MAX.min(asked.len() / 3))
        .min()
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

/// How many letters to insert, remove or change.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in two.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}
