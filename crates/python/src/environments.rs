//! Learning environments, as the classes of `manyworlds.gymnasium` use them.

use std::sync::Mutex;

use manyworlds_environments::{Autoreset, Choice, Error, Outcome, TASKS, TaskOptions};
use manyworlds_view::Moment;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arrays::{Real, given, given_or_empty, slice, with_real};
use crate::errors::raised;
use crate::options::{batch_options, count, one_of, threads};
use crate::owned::{Broken, Owned, on};
use crate::parameters::Override;
use crate::pictures::{self, Shot, Studio};

/// Many environments of one task, stepped together: what `manyworlds.gymnasium.VectorEnv` is made of.
#[pyclass(module = "manyworlds", frozen)]
pub(crate) struct Environments {
    inner: Owned<manyworlds_environments::Environments>,
    precision: manyworlds::Precision,
    autoreset: Autoreset,
    count: usize,
    n_action: usize,
    n_observation: usize,
    n_q: usize,
    n_v: usize,
    n_goal: usize,
    studio: Mutex<Studio>,
}

/// The exception that a Python programmer expects of an error.
fn raised_by(error: Error) -> PyErr {
    match error {
        Error::Simulator(error) => raised(error),
        Error::Over(_) => PyRuntimeError::new_err(error.to_string()),
        Error::UnknownOption { .. } => PyTypeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

impl Environments {
    fn with<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut manyworlds_environments::Environments) -> Result<R, Error> + Send,
    ) -> PyResult<R> {
        let found = py.detach(|| self.inner.with(f));
        let broken = |Broken| PyRuntimeError::new_err("these environments broke in an earlier call; make new ones");
        found.map_err(broken)?.map_err(raised_by)
    }

    fn reset_with<'py, T: Real + manyworlds_environments::Real>(
        &self,
        py: Python<'py>,
        mask: Option<&Bound<'py, PyAny>>,
        seed: Option<u64>,
        observations: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mask = mask.map(|mask| given_or_empty::<bool>(Some(mask), &[self.count], "reset_mask")).transpose()?;
        let shape = [self.count, self.n_observation];
        let mut seen: Vec<T> = match observations {
            Some(before) => given_or_empty(Some(before), &shape, "observations")?,
            None => vec![T::default(); self.count * self.n_observation],
        };
        self.with(py, |inner| inner.reset(mask.as_deref(), seed, &mut seen))?;
        rows(py, seen, self.count, self.n_observation)
    }

    fn set_state_with<'py, T: Real + manyworlds_environments::Real>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (q, v) = (given::<f64>(q, &[self.count, self.n_q], "q")?, given::<f64>(v, &[self.count, self.n_v], "v")?);
        let (q, v) = (slice(&q, "q")?, slice(&v, "v")?);
        let mut seen = vec![T::default(); self.count * self.n_observation];
        self.with(py, |inner| inner.set_state(q, v, &mut seen))?;
        rows(py, seen, self.count, self.n_observation)
    }

    fn step_with<'py, T: Real + manyworlds_environments::Real>(
        &self,
        py: Python<'py>,
        actions: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let actions = given::<T>(actions, &[self.count, self.n_action], "actions")?;
        let actions = slice(&actions, "actions")?;
        let mut seen = vec![T::default(); self.count * self.n_observation];
        let (outcome, names) = self.with(py, |inner| {
            let mut outcome = Outcome::<T>::new(inner);
            inner.step(actions, &mut seen, &mut outcome)?;
            Ok((outcome, inner.info_names()))
        })?;
        let info = PyDict::new(py);
        let width = names.len();
        for (k, name) in names.iter().enumerate() {
            let column = outcome.info.iter().skip(k).step_by(width.max(1)).copied();
            info.set_item(*name, PyArray1::from_iter(py, column))?;
        }
        let last = match self.autoreset {
            Autoreset::SameStep => rows(py, outcome.final_observations, self.count, self.n_observation)?,
            _ => py.None().into_bound(py),
        };
        PyTuple::new(
            py,
            [
                rows(py, seen, self.count, self.n_observation)?,
                PyArray1::from_vec(py, outcome.rewards).into_any(),
                PyArray1::from_vec(py, outcome.terminated).into_any(),
                PyArray1::from_vec(py, outcome.truncated).into_any(),
                PyArray1::from_vec(py, outcome.failed).into_any(),
                info.into_any(),
                last,
            ],
        )
    }
}

/// Options of a task as keywords; None: the task's own.
fn task_options(given: Option<&Bound<'_, PyDict>>) -> PyResult<TaskOptions> {
    let mut options = TaskOptions::default();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let known = TaskOptions::NAMES.contains(&name.as_str());
        if known && value.is_none() {
            continue;
        }
        let range = || value.extract::<(f64, f64)>().map(|(low, high)| [low, high]).or_else(|_| value.extract());
        let choice = value.extract().map(Choice::Flag).or_else(|_| value.extract().map(Choice::Number));
        match choice.or_else(|_: PyErr| range().map(Choice::Range)) {
            Ok(choice) => options.set(&name, choice).map_err(raised_by)?,
            Err(_) if known => {
                let message = format!("{name}: expected True, False, one number or two, found {}", value.repr()?);
                return Err(PyTypeError::new_err(message));
            }
            // Whatever the value: it is the name that is refused.
            Err(_) => options.set(&name, Choice::Flag(false)).map_err(raised_by)?,
        }
    }
    Ok(options)
}

/// Numbers as a matrix of so many rows; they are not copied.
fn rows<'py, T: Real>(py: Python<'py>, numbers: Vec<T>, n: usize, width: usize) -> PyResult<Bound<'py, PyAny>> {
    Ok(PyArray1::from_vec(py, numbers).reshape([n, width])?.into_any())
}

#[pymethods]
impl Environments {
    #[new]
    #[pyo3(signature = (task, num_envs, autoreset, executor, precision, threads=None, max_episode_steps=None, *, frame_skip=None, dt=None, solver="auto", tolerance=None, integrator="linearly-implicit", **options))]
    fn new(
        py: Python<'_>,
        task: &str,
        num_envs: i64,
        autoreset: &str,
        executor: &str,
        precision: &str,
        threads: Option<i64>,
        max_episode_steps: Option<u32>,
        frame_skip: Option<i64>,
        dt: Option<f64>,
        solver: &str,
        tolerance: Option<f64>,
        integrator: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let count = count("num_envs", num_envs, 1)?;
        let chosen = task_options(options)?;
        let modes =
            [("NextStep", Autoreset::NextStep), ("SameStep", Autoreset::SameStep), ("Disabled", Autoreset::Disabled)];
        let autoreset = one_of("autoreset_mode", autoreset, &modes)?;
        let options = batch_options(executor, precision, solver, tolerance, integrator, dt)?;
        let pool = self::threads(threads)?;
        let build = || manyworlds_environments::Environments::with(task, count, autoreset, &chosen, &options);
        let mut inner = py.detach(|| on(pool.as_ref(), build)).map_err(raised_by)?;
        if let Some(steps) = max_episode_steps {
            inner.set_max_episode_steps(steps);
        }
        if let Some(steps) = frame_skip {
            inner.set_frame_skip(self::count("frame_skip", steps, 1)?);
        }
        Ok(Self {
            count,
            n_action: inner.n_action(),
            n_observation: inner.n_observation(),
            n_q: inner.model().n_q,
            n_v: inner.model().n_v,
            n_goal: inner.n_goal(),
            inner: Owned::new(inner, pool),
            precision: options.precision,
            autoreset,
            studio: Mutex::default(),
        })
    }

    /// Names of the tasks, and steps after which an episode of each is cut off.
    #[staticmethod]
    fn tasks() -> Vec<(&'static str, u32)> {
        TASKS.iter().map(|spec| (spec.name, spec.max_episode_steps)).collect()
    }

    #[getter]
    fn n_observation(&self) -> usize {
        self.n_observation
    }

    /// Bounds of actions, `(n_action, 2)`.
    #[getter]
    fn action_range<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let bounds = self.with(py, |inner| {
            let bounds =
                |a: &manyworlds::model::Actuator| a.ctrl_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]).to_vec();
            Ok(inner.model().actuators.iter().map(bounds).collect::<Vec<_>>())
        })?;
        Ok(PyArray2::from_vec2(py, &bounds)?)
    }

    /// Steps after which an episode is cut off.
    #[getter]
    fn max_episode_steps(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |inner| Ok(inner.max_episode_steps()))
    }

    /// Time of one step of the environment, s.
    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |inner| Ok(inner.dt()))
    }

    /// Positions `(environments, n_q)` and velocities `(environments, n_v)`. Copies.
    #[getter]
    fn state<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (q, v) = self.with(py, |inner| Ok((inner.q().to_vec(), inner.v().to_vec())))?;
        Ok((rows(py, q, self.count, self.n_q)?, rows(py, v, self.count, self.n_v)?))
    }

    /// What environments are told to do, `(environments, n_goal)`; of most tasks nothing. A copy.
    #[getter]
    fn goals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let goals = self.with(py, |inner| Ok(inner.goals()))?;
        rows(py, goals, self.count, self.n_goal)
    }

    /// Gives all environments goals for the rest of their episodes.
    fn set_goals(&self, py: Python<'_>, goals: &Bound<'_, PyAny>) -> PyResult<()> {
        let goals = given::<f64>(goals, &[self.count, self.n_goal], "goals")?;
        let goals = slice(&goals, "goals")?;
        if let Some(at) = goals.iter().position(|x| !x.is_finite()) {
            return Err(PyValueError::new_err(format!("goals: expected finite numbers, found {} at {at}", goals[at])));
        }
        self.with(py, |inner| inner.set_goals(goals))
    }

    /// Steps that each environment's episode is old. A copy.
    #[getter]
    fn ages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let ages = self.with(py, |inner| Ok(inner.ages()))?;
        Ok(PyArray1::from_iter(py, ages.into_iter().map(i64::from)))
    }

    /// Makes episodes as old as these whole numbers say.
    fn set_ages(&self, py: Python<'_>, ages: Vec<i64>) -> PyResult<()> {
        let wrong = |age: i64| PyValueError::new_err(format!("ages: expected numbers of steps, found {age}"));
        let ages = ages.into_iter().map(|age| u32::try_from(age).map_err(|_| wrong(age)));
        let ages = ages.collect::<PyResult<Vec<_>>>()?;
        self.with(py, |inner| inner.set_ages(&ages))
    }

    /// As `Batch.set_parameter`: gives environments a parameter of their own.
    #[pyo3(signature = (parameter, of, values, environments=None))]
    fn set_parameter(
        &self,
        py: Python<'_>,
        parameter: &str,
        of: Option<&Bound<'_, PyAny>>,
        values: &Bound<'_, PyAny>,
        environments: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let chosen = environments.unwrap_or_else(|| (0..self.count).collect());
        let model = self.with(py, |inner| Ok(inner.model().clone()))?;
        let new = Override::new(&model, parameter, of, values, chosen.len())?;
        self.with(py, |inner| Ok(new.apply(inner.batch(), &chosen)?))
    }

    /// Pictures of these environments, each `(height, width, 3)` of uint8, from a camera that goes along with what moves.
    fn render<'py>(
        &self,
        py: Python<'py>,
        environments: Vec<usize>,
        camera: Option<&str>,
        width: u32,
        height: u32,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let size = pictures::size(width, height)?;
        let (model, worlds) = self.with(py, |inner| {
            let model = inner.model().clone();
            Ok((model.clone(), pictures::worlds_of(inner.batch(), 0, &model)?))
        })?;
        let shot = Shot::plain(0, &model, camera, size);
        let one = |environment: usize| {
            let missing = || PyIndexError::new_err(format!("environment {environment}: there are {}", worlds.len()));
            let placed = worlds.get(environment).ok_or_else(missing)?.clone();
            shot.picture(py, &self.studio, &Moment { placed, contacts: Vec::new() })
        };
        environments.into_iter().map(one).collect()
    }

    /// Starts episodes; gives observations. Rows of environments that are not in the mask are those of `observations`.
    #[pyo3(signature = (mask=None, seed=None, observations=None))]
    fn reset<'py>(
        &self,
        py: Python<'py>,
        mask: Option<&Bound<'py, PyAny>>,
        seed: Option<i64>,
        observations: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let seed = seed.map(|seed| count("seed", seed, 0)).transpose()?.map(|seed| seed as u64);
        with_real!(self.precision, T => self.reset_with::<T>(py, mask, seed, observations))
    }

    /// Puts all environments into states; gives observations.
    fn set_state<'py>(
        &self,
        py: Python<'py>,
        q: &Bound<'py, PyAny>,
        v: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        with_real!(self.precision, T => self.set_state_with::<T>(py, q, v))
    }

    /// Steps all; gives observations, rewards, terminated, truncated, failed, info (a dict of arrays), and what those saw last
    /// whose episode is over ("SameStep"; else None).
    fn step<'py>(&self, py: Python<'py>, actions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        with_real!(self.precision, T => self.step_with::<T>(py, actions))
    }
}
