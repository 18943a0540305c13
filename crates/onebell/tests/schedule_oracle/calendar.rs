//! Civil dates by counting days, and what an expression as drawn says about them.

use crate::draw::{Drawn, Part};

#[derive(Clone, Copy)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) weekday: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
}

/// From minutes since 1970, by counting days.
pub(crate) fn civil(local: i64) -> Civil {
    let days = local.div_euclid(1440);
    let (mut year, mut left) = (1970, days);
    while left >= 365 + leap(year) {
        left -= 365 + leap(year);
        year += 1;
    }
    let mut month = 1;
    while left >= month_length(year, month) {
        left -= month_length(year, month);
        month += 1;
    }
    let in_day = local.rem_euclid(1440);
    Civil { year, month, day: left + 1, weekday: (days + 4).rem_euclid(7), hour: in_day / 60, minute: in_day % 60 }
}

pub(crate) fn leap(year: i64) -> i64 {
    i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
}

pub(crate) fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + leap(year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The fields in order: minute, hour, day, month, weekday.
pub(crate) struct Expression(pub(crate) [Drawn; 5]);

impl Expression {
    pub(crate) fn text(&self) -> String {
        self.0.each_ref().map(|field| field.text.clone()).join(" ")
    }

    pub(crate) fn fixed(&self) -> bool {
        !self.0[0].text.starts_with('*') && !self.0[1].text.starts_with('*')
    }

    pub(crate) fn names(&self, at: Civil) -> bool {
        let [minute, hour, day, month, weekday] = &self.0;
        if !(minute.has(at.minute) && hour.has(at.hour) && month.has(at.month)) {
            return false;
        }
        let by_day = day.has(at.day) || day.parts.iter().any(|part| names_day(part, at));
        let by_weekday = weekday.has(at.weekday)
            || (at.weekday == 0 && weekday.has(7))
            || weekday.parts.iter().any(|part| names_weekday(part, at));
        if day.star || weekday.star { by_day && by_weekday } else { by_day || by_weekday }
    }
}

pub(crate) fn names_day(part: &Part, at: Civil) -> bool {
    let length = month_length(at.year, at.month);
    let workday = |day: i64| (1..=5).contains(&(at.weekday + day - at.day).rem_euclid(7));
    match *part {
        Part::LastDay => at.day == length,
        Part::LastWorkday => (1..=length).rev().find(|day| workday(*day)) == Some(at.day),
        // Of the workdays of this month the one with the smallest distance.
        Part::Nearest(day) => {
            day <= length && (1..=length).filter(|other| workday(*other)).min_by_key(|other| (other - day).abs()) == Some(at.day)
        }
        _ => false,
    }
}

pub(crate) fn names_weekday(part: &Part, at: Civil) -> bool {
    let length = month_length(at.year, at.month);
    let same: Vec<i64> = (1..=length).filter(|day| (day - at.day) % 7 == 0).collect();
    match *part {
        Part::LastWeekday(weekday) => at.weekday == weekday && same.last() == Some(&at.day),
        Part::Nth(weekday, nth) => at.weekday == weekday && same.get(usize::try_from(nth - 1).unwrap()) == Some(&at.day),
        _ => false,
    }
}
