//! Standard output: one JSON object, or tables for people. Progress and messages go to standard error.

use std::io::{ErrorKind, Write};

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::failure::Failure;

/// Prints a report, as JSON or as the text that `human` makes of it.
pub(crate) fn print<T: Serialize>(json: bool, report: &T, human: impl FnOnce(&T) -> String) -> Result<(), Failure> {
    let text = if json {
        serde_json::to_string(report).map_err(|error| Failure::Input(format!("the report: {error}")))?
    } else {
        human(report)
    };
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(error) => Err(Failure::Input(format!("standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// An empty table with these heads.
pub(crate) fn table<const N: usize>(heads: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header(heads);
    table
}

/// Names on the left, values on the right.
pub(crate) fn pairs<const N: usize>(rows: [(&str, String); N]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY);
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    table
}

/// Aligns every column but the first to the right, for numbers.
pub(crate) fn align_numbers(table: &mut Table) {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// A bar on standard error; nothing when that is no terminal.
pub(crate) fn progress(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(steps).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// A list of numbers, short enough to read; of many the first.
pub(crate) fn numbers(values: &[f64]) -> String {
    const MOST: usize = 32;
    let mut shown: Vec<String> = values.iter().take(MOST).map(|x| format!("{x:.4}")).collect();
    if MOST < values.len() {
        shown.push(format!("and {} more (--json has them)", values.len() - MOST));
    }
    shown.join(" ")
}

/// A number with thousands separated.
pub(crate) fn thousands(x: f64) -> String {
    let digits = format!("{x:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |d| ("-", d));
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return digits.to_owned();
    }
    let groups: Vec<&str> = (0..digits.len().div_ceil(3))
        .rev()
        .map(|g| &digits[digits.len().saturating_sub(3 * (g + 1))..digits.len() - 3 * g])
        .collect();
    format!("{sign}{}", groups.join(" "))
}

#[cfg(test)]
mod tests {
    use super::{numbers, thousands};

    #[test]
    fn of_many_numbers_the_first_are_shown() {
        assert_eq!(numbers(&[0.5, -1.0]), "0.5000 -1.0000");
        let many = numbers(&[1.0; 160]);
        assert!(
            many.ends_with("1.0000 and 128 more (--json has them)") && many.matches("1.0000").count() == 32,
            "{many}"
        );
    }

    #[test]
    fn separates_thousands() {
        for (x, shown) in [
            (0.0, "0"),
            (999.4, "999"),
            (1000.0, "1 000"),
            (-12345.0, "-12 345"),
            (1_234_567.0, "1 234 567"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(thousands(x), shown);
        }
    }
}
