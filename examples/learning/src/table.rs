//! Learning curves in a table: where they end, and from how many actions a task is learned.

use std::fmt::Write as _;

use crate::curve::{ALGORITHMS, Point};
use crate::tasks::{TASKS, Task};

/// The points of each seed's run, in order.
fn runs<'a>(points: &'a [Point], task: &str, algorithm: &str) -> Vec<Vec<&'a Point>> {
    let own = || points.iter().filter(|point| point.task == task && point.algorithm == algorithm);
    let mut seeds: Vec<u64> = own().map(|point| point.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let run = |seed| {
        let mut run: Vec<_> = own().filter(|point| point.seed == seed).collect();
        run.sort_by_key(|point| point.actions);
        run
    };
    seeds.into_iter().map(run).collect()
}

/// Actions from which on a return is reached, the first point of a run that is as good; `None`: it never is.
#[must_use]
pub fn actions_until(run: &[&Point], good: f64) -> Option<usize> {
    run.iter().find(|point| point.outcome.value >= good).map(|point| point.actions)
}

/// Mean of some numbers, and each.
fn mean_and_each(numbers: &[f64], digits: usize) -> String {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    let each: Vec<String> = numbers.iter().map(|x| format!("{x:.digits$}")).collect();
    format!("{mean:.digits$} ({})", each.join(", "))
}

fn row(task: &dyn Task, algorithm: &str, runs: &[Vec<&Point>], out: &mut String) -> std::fmt::Result {
    let most = runs.iter().flatten().map(|point| point.actions).max().unwrap_or(0);
    let at = |share: f64| -> Vec<&Point> {
        let there = |run: &Vec<&'_ Point>| run.iter().position(|point| point.actions as f64 >= share * most as f64);
        runs.iter().filter_map(|run| there(run).map(|index| run[index])).collect()
    };
    let values = |share: f64| mean_and_each(&at(share).iter().map(|p| p.outcome.value).collect::<Vec<_>>(), 0);
    let reached = mean_and_each(&at(1.0).iter().map(|p| p.outcome.reached).collect::<Vec<_>>(), 2);
    let until: Vec<String> = runs
        .iter()
        .map(|run| match actions_until(run, task.good()) {
            Some(actions) => format!("{:.0}k", actions as f64 / 1e3),
            None => "never".into(),
        })
        .collect();
    let name = task.name();
    writeln!(out, "| {name} | {algorithm} | {} | {} | {reached} | {} |", values(0.5), values(1.0), until.join(", "))
}

/// A table in Markdown, a row an algorithm: mean and each seed.
///
/// # Errors
/// Never: a string takes whatever is written.
pub fn table(points: &[Point]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for task in TASKS.into_iter().filter(|task| points.iter().any(|point| point.task == task.name())) {
        writeln!(
            out,
            "| task | algorithm | return after half of the actions | after all | {} | actions until a return of {} |",
            task.goal(),
            task.good()
        )?;
        writeln!(out, "|---|---|---|---|---|---|")?;
        for algorithm in ALGORITHMS {
            let runs = runs(points, task.name(), algorithm);
            if !runs.is_empty() {
                row(task, algorithm, &runs, &mut out)?;
            }
        }
        writeln!(out)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::table;
    use crate::curve::Point;
    use crate::policy::Outcome;

    #[test]
    fn a_row_tells_each_seed() {
        let mut points = Vec::new();
        for (seed, values) in [(0, [-1800.0, -600.0, -550.0]), (1, [-1700.0, -1000.0, -900.0])] {
            for (index, value) in values.into_iter().enumerate() {
                let outcome = Outcome { value, reached: 0.25 * index as f64 };
                let (task, algorithm) = ("cartpole".to_string(), "SHAC".to_string());
                points.push(Point { task, algorithm, seed, actions: 1000 * index, outcome });
            }
        }
        let table = table(&points).expect("a table");
        let expected = "| cartpole | SHAC | -800 (-600, -1000) | -725 (-550, -900) | 0.50 (0.50, 0.50) | 1k, never |";
        assert_eq!(table.lines().nth(2), Some(expected), "{table}");
        assert_eq!(table.lines().count(), 4);
    }
}
