//! Controls over time: what a recorded or planned motion asks of the actuators.

use manyworlds_model::Model;

use crate::Error;

/// Controls of one world as functions of time, linear between given times and constant before the first and after the
/// last.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlCurve {
    /// Increasing, s.
    times: Vec<f64>,
    /// Of all actuators at each time.
    controls: Vec<Vec<f64>>,
}

impl ControlCurve {
    /// Reads CSV: a heading `t` and the actuators, each by its name or else by its number from 0 on, then rows of a
    /// time in seconds and a control each. `rest` (one number an actuator) holds for actuators that have no column.
    ///
    /// # Errors
    /// [`Error::Controls`] with the line: a column that is no actuator or comes twice, a row of another length, something
    /// that is no finite number, times that do not increase, no row at all; [`Error::Length`] for `rest`.
    pub fn from_csv(text: &str, model: &Model, rest: &[f64]) -> Result<Self, Error> {
        let n_u = model.actuators.len();
        if rest.len() != n_u {
            return Err(Error::Length { what: "rest", world: None, expected: n_u, found: rest.len() });
        }
        let mut rows = csv::ReaderBuilder::new().trim(csv::Trim::All).flexible(true).from_reader(text.as_bytes());
        let columns = columns(rows.headers().map_err(malformed)?, model)?;
        let mut curve = Self { times: Vec::new(), controls: Vec::new() };
        for row in rows.records() {
            let row = row.map_err(malformed)?;
            let line = row.position().map_or(0, csv::Position::line);
            let wrong = |message| Err(Error::Controls { line, message });
            if row.len() != columns.len() + 1 {
                return wrong(format!(
                    "expected {} numbers, as in the heading, found {}",
                    columns.len() + 1,
                    row.len()
                ));
            }
            let mut numbers = Vec::with_capacity(row.len());
            for text in &row {
                match text.parse::<f64>() {
                    Ok(x) if x.is_finite() => numbers.push(x),
                    _ => return wrong(format!("expected a finite number, found \"{text}\"")),
                }
            }
            if let Some(&last) = curve.times.last()
                && numbers[0] <= last
            {
                return wrong(format!("expected a time after {last} s, found {} s", numbers[0]));
            }
            let mut controls = rest.to_vec();
            columns.iter().zip(&numbers[1..]).for_each(|(&u, &x)| controls[u] = x);
            curve.times.push(numbers[0]);
            curve.controls.push(controls);
        }
        if curve.times.is_empty() {
            return Err(Error::Controls {
                line: 2,
                message: "expected at least one row of numbers, found none".into(),
            });
        }
        Ok(curve)
    }

    /// Controls at a time, one an actuator.
    #[must_use]
    pub fn at(&self, t: f64) -> Vec<f64> {
        let next = self.times.partition_point(|&time| time <= t);
        if next == 0 || next == self.times.len() {
            return self.controls[next.saturating_sub(1)].clone();
        }
        let (from, to) = (self.times[next - 1], self.times[next]);
        let part = (t - from) / (to - from);
        let between = |(a, b): (&f64, &f64)| a + part * (b - a);
        self.controls[next - 1].iter().zip(&self.controls[next]).map(between).collect()
    }

    /// The last of the given times, s.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }
}

/// The actuator of each column behind the time.
fn columns(heading: &csv::StringRecord, model: &Model) -> Result<Vec<usize>, Error> {
    let wrong = |message| Err(Error::Controls { line: 1, message });
    if heading.get(0) != Some("t") {
        let found = heading.get(0).unwrap_or("");
        return wrong(format!("expected a heading \"t\" and names of actuators, found \"{found}\""));
    }
    let mut columns = Vec::with_capacity(heading.len());
    for name in heading.iter().skip(1) {
        let by_name = model.actuators.iter().position(|a| !a.name.is_empty() && a.name == name);
        let by_number = || name.parse::<usize>().ok().filter(|&u| u < model.actuators.len());
        let Some(found) = by_name.or_else(by_number) else {
            let known: Vec<_> = model.actuators.iter().map(|a| a.name.as_str()).collect();
            return wrong(format!("\"{name}\" is no actuator of \"{}\" ({})", model.name, known.join(", ")));
        };
        if columns.contains(&found) {
            return wrong(format!("two columns for the actuator \"{name}\""));
        }
        columns.push(found);
    }
    Ok(columns)
}

fn malformed(error: csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    Error::Controls { line, message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use manyworlds_model::Model;

    use super::ControlCurve;
    use crate::ImportOptions;

    fn model() -> Model {
        crate::load("arm7", &ImportOptions::default()).unwrap().model
    }

    #[test]
    fn controls_are_linear_between_times_and_held_outside() {
        let curve = ControlCurve::from_csv("t, axis3, 0\n1,10,-1\n3,20,-2\n", &model(), &[7.0; 7]).unwrap();
        assert_eq!(curve.at(0.0), [-1.0, 7.0, 10.0, 7.0, 7.0, 7.0, 7.0]);
        assert_eq!(curve.at(1.0), curve.at(0.0));
        assert_eq!(curve.at(1.5), [-1.25, 7.0, 12.5, 7.0, 7.0, 7.0, 7.0]);
        assert_eq!(curve.at(3.0), [-2.0, 7.0, 20.0, 7.0, 7.0, 7.0, 7.0]);
        assert_eq!(curve.at(99.0), curve.at(3.0));
        assert_eq!(curve.end(), 3.0);
    }

    #[test]
    fn bad_files_are_refused_with_the_line() {
        let model = model();
        for (text, words) in [
            ("", "line 1: expected a heading \"t\""),
            ("time,axis1\n0,1\n", "line 1: expected a heading \"t\" and names of actuators, found \"time\""),
            ("t,elbow\n0,1\n", "line 1: \"elbow\" is no actuator of \"arm7\" (axis1, "),
            ("t,7\n0,1\n", "line 1: \"7\" is no actuator"),
            ("t,axis1,0\n0,1,1\n", "line 1: two columns for the actuator \"0\""),
            ("t,axis1\n", "line 2: expected at least one row"),
            ("t,axis1\n0,1\n1\n", "line 3: expected 2 numbers, as in the heading, found 1"),
            ("t,axis1\n0,one\n", "line 2: expected a finite number, found \"one\""),
            ("t,axis1\n0,nan\n", "line 2: expected a finite number, found \"nan\""),
            ("t,axis1\n0,1\n0,2\n", "line 3: expected a time after 0 s, found 0 s"),
        ] {
            let error = ControlCurve::from_csv(text, &model, &[0.0; 7]).unwrap_err().to_string();
            assert!(error.contains(words), "{text:?}: {error}");
        }
        let error = ControlCurve::from_csv("t\n0\n", &model, &[0.0; 3]).unwrap_err().to_string();
        assert!(error.contains("rest: expected 7 numbers, found 3"), "{error}");
    }
}
