//! Learning curves: what was learned after so many actions, by seed; files and figures of them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use manyworlds_examples::chart::{Curve, Panel, svg};

use crate::Learner;
use crate::policy::{Outcome, evaluate};
use crate::ppo::{self, Ppo};
use crate::shac::{self, Shac};
use crate::tasks::{TASKS, Task};

/// The algorithms.
pub const ALGORITHMS: [&str; 2] = ["SHAC", "PPO"];
/// Episodes of an evaluation.
const EPISODES: usize = 16;

/// A point of a learning curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name of the task.
    pub task: String,
    /// One of [`ALGORITHMS`].
    pub algorithm: String,
    /// Of everything random.
    pub seed: u64,
    /// Actions so far, all worlds together.
    pub actions: usize,
    /// What comes of the policy.
    pub outcome: Outcome,
}

/// A learner by its name.
///
/// # Errors
/// For another name; of the batch.
pub fn learner(task: &'static dyn Task, algorithm: &str, seed: u64) -> Result<Box<dyn Learner>> {
    Ok(match algorithm {
        "SHAC" => Box::new(Shac::new(task, shac::Settings::of(task), seed)?),
        "PPO" => Box::new(Ppo::new(task, ppo::Settings::of(task), seed)?),
        other => return Err(anyhow!("no algorithm {other:?}; there are {}", ALGORITHMS.join(", "))),
    })
}

/// Learns a task with so many actions and looks at the policy every so many; rates fall to a tenth on the way.
///
/// # Errors
/// For another name; of the batch.
pub fn learn(
    task: &'static dyn Task,
    algorithm: &str,
    seed: u64,
    [actions, every]: [usize; 2],
    mut each: impl FnMut(&Point),
) -> Result<Vec<Point>> {
    let mut learner = learner(task, algorithm, seed)?;
    let (mut taken, mut out) = (0, Vec::new());
    loop {
        if taken >= out.len() * every || taken >= actions {
            let outcome = evaluate(task, learner.policy(), EPISODES)?;
            let (task, algorithm) = (task.name().to_string(), algorithm.to_string());
            out.push(Point { task, algorithm, seed, actions: taken, outcome });
            out.last().into_iter().for_each(&mut each);
        }
        if taken >= actions {
            return Ok(out);
        }
        taken += learner.iterate(1.0 - 0.9 * taken as f64 / actions as f64)?;
    }
}

/// Reads points from a file of [`HEADER`].
///
/// # Errors
/// For what cannot be read, with its line.
pub fn read(path: &Path) -> Result<Vec<Point>> {
    let mut out = Vec::new();
    let mut reader = csv::Reader::from_path(path).with_context(|| path.display().to_string())?;
    for (line, record) in reader.deserialize().enumerate() {
        let (task, algorithm, seed, actions, value, reached) =
            record.with_context(|| format!("{}, line {}", path.display(), line + 2))?;
        out.push(Point { task, algorithm, seed, actions, outcome: Outcome { value, reached } });
    }
    Ok(out)
}

/// First line of a file of points.
pub const HEADER: &str = "task,algorithm,seed,actions,return,reached";

/// A line of a file of points.
#[must_use]
pub fn line(point: &Point) -> String {
    let Outcome { value, reached } = point.outcome;
    format!("{},{},{},{},{value:.2},{reached:.4}", point.task, point.algorithm, point.seed, point.actions)
}

/// Mean and standard deviation over seeds by algorithm and actions, of one task.
#[must_use]
pub fn moments(points: &[Point], task: &str) -> BTreeMap<(String, usize), [f64; 2]> {
    let mut all: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.task == task) {
        all.entry((point.algorithm.clone(), point.actions)).or_default().push(point.outcome.value);
    }
    let of = |values: Vec<f64>| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0).max(1.0);
        [mean, square.sqrt()]
    };
    all.into_iter().map(|(key, values)| (key, of(values))).collect()
}

/// The learning curves of every task among the points, mean and standard deviation over seeds, as an SVG document.
///
/// # Errors
/// Where there is no point.
pub fn figure(points: &[Point]) -> Result<String> {
    let mut panels = Vec::new();
    for task in TASKS {
        let moments = moments(points, task.name());
        if moments.is_empty() {
            continue;
        }
        let curves = ALGORITHMS.into_iter().map(|algorithm| {
            let own = || moments.iter().filter(move |((own, _), _)| own == algorithm);
            Curve {
                name: algorithm.into(),
                points: own().map(|((_, x), [mean, _])| [*x as f64 / 1e3, *mean]).collect(),
                band: own().map(|((_, x), [mean, s])| [*x as f64 / 1e3, mean - s, mean + s]).collect(),
                dashed: false,
            }
        });
        let (low, high) = moments
            .values()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), [mean, s]| (low.min(mean - s), high.max(mean + s)));
        let seconds = task.length() as f64 * task.timing().0 * task.timing().1 as f64;
        panels.push(Panel {
            title: format!("{}, episodes of {seconds:.0} s", task.name()),
            labels: ["actions, thousands, all worlds".into(), "return of an episode".into()],
            decades: false,
            // Room above for the legend.
            range: [low - 0.05 * (high - low), high + 0.25 * (high - low)],
            curves: curves.collect(),
        });
    }
    if panels.is_empty() {
        return Err(anyhow!("no points of a known task"));
    }
    Ok(svg(&panels)?)
}

#[cfg(test)]
mod tests {
    use super::{ALGORITHMS, HEADER, Point, figure, learn, line, moments, read};
    use crate::policy::Outcome;
    use crate::tasks::task;

    fn point(algorithm: &str, seed: u64, actions: usize, value: f64) -> Point {
        let outcome = Outcome { value, reached: 0.5 };
        Point { task: "cartpole".into(), algorithm: algorithm.into(), seed, actions, outcome }
    }

    #[test]
    fn points_come_back_from_a_file_and_make_a_figure() {
        let points = [point("SHAC", 0, 0, -5.0), point("SHAC", 1, 0, -7.0), point("SHAC", 0, 9, 1.25)];
        let text: Vec<String> = std::iter::once(HEADER.to_string()).chain(points.iter().map(line)).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("curves.csv");
        std::fs::write(&path, text.join("\n")).expect("a file");
        assert_eq!(read(&path).expect("points"), points);
        let moments = moments(&points, "cartpole");
        assert_eq!(moments[&("SHAC".to_string(), 0)], [-6.0, 2.0_f64.sqrt()]);
        let figure = figure(&points).expect("a figure");
        assert!(figure.contains("<polyline") && figure.contains("<polygon") && !figure.contains("hopper"));
        assert!(super::figure(&[]).is_err());
        std::fs::write(&path, format!("{HEADER}\ncartpole,SHAC,0,many,1.0\n")).expect("a file");
        let error = format!("{:#}", read(&path).expect_err("no number"));
        assert!(error.contains("curves.csv, line 2"), "{error}");
    }

    /// The pole ends up held up, from 40 thousand actions by SHAC; PPO learns from them, but less. Returns in the mean over
    /// three seeds when this was written: -637 and -1030, after -2010; seeds differ by some 100.
    #[test]
    fn shac_swings_the_pole_up_from_fewer_actions() {
        let cartpole = task("cartpole").expect("a task");
        let [shac, ppo] = ALGORITHMS.map(|algorithm| {
            let outcome = |seed: u64| {
                let points = learn(cartpole, algorithm, seed, [BUDGET, BUDGET], |_| {}).expect("a curve");
                let [before, after] = [points[0].outcome, points[points.len() - 1].outcome];
                println!("{algorithm}, seed {seed}: {before:?} to {after:?}");
                assert!(before.value < -1800.0 && before.reached == 0.0, "it was held up by none: {before:?}");
                after
            };
            let outcomes = [0, 1, 2].map(outcome);
            let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / 3.0;
            Outcome { value: mean(|outcome| outcome.value), reached: mean(|outcome| outcome.reached) }
        });
        assert!(shac.value > -800.0 && shac.reached > 0.5, "{shac:?}");
        assert!(ppo.value > -1300.0, "{ppo:?}");
        assert!(shac.value > ppo.value + 100.0, "{shac:?} {ppo:?}");
    }

    /// Actions of each run.
    const BUDGET: usize = 40_000;
}
