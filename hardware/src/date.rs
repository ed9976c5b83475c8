//! Today's date.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today, in UTC: `2026-11-22`.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    of_day(seconds / 86_400)
}

/// The date of a day after 1970-01-01, by counting years and months.
fn of_day(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::of_day;

    #[test]
    fn days_become_dates() {
        for (day, date) in [(0, "1970-01-01"), (11_016, "2000-02-29"), (20_453, "2025-12-31"), (20_454, "2026-01-01")] {
            assert_eq!(of_day(day), date);
        }
    }
}
