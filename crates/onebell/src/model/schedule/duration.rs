//! The interval of `@every`: `90s`, `5m`, `1h30m`, `2d`.

use std::time::Duration;

use super::ScheduleError;

pub(super) fn read(text: &str) -> Result<Duration, ScheduleError> {
    let seconds = seconds(text).ok_or_else(|| {
        ScheduleError::new(
            format!("@every {text:?}"),
            "not an interval",
            "write whole numbers with d, h, m or s, such as @every 5m or @every 1h30m",
        )
    })?;
    Ok(Duration::from_secs(seconds))
}

fn seconds(mut text: &str) -> Option<u64> {
    let mut total = 0_u64;
    while !text.is_empty() {
        let len = text.bytes().take_while(u8::is_ascii_digit).count();
        let count: u64 = text[..len].parse().ok()?;
        let unit = match text.as_bytes().get(len)? {
            b'd' => 86_400,
            b'h' => 3_600,
            b'm' => 60,
            b's' => 1,
            _ => return None,
        };
        total = total.checked_add(count.checked_mul(unit)?)?;
        text = &text[len + 1..];
    }
    (total > 0).then_some(total)
}
