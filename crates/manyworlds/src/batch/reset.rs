//! New starts of worlds: from states given one by one, by rows of arrays, or from the model's initial state.

use manyworlds_shaders::batch::scatter::KEEP;

use super::Batch;
use crate::Error;
use crate::field::rows::{Number, Rows, rows};
use crate::group::{NewStates, PARTS, State};

/// Some worlds of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// All of them.
    All,
    /// Those with a `true`, of an array with an entry a world.
    Masked(&'a [bool]),
    /// Those with these numbers.
    Listed(&'a [usize]),
}

impl<'a> From<&'a [bool]> for Which<'a> {
    fn from(mask: &'a [bool]) -> Self {
        Self::Masked(mask)
    }
}

impl<'a> From<&'a [usize]> for Which<'a> {
    fn from(worlds: &'a [usize]) -> Self {
        Self::Listed(worlds)
    }
}

/// Rows of states, one world's behind the other's. An empty array: that part stays as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct StateRows<'a, N> {
    /// Generalized positions, `[worlds][n_q]`; quaternions need not have unit length.
    pub q: &'a [N],
    /// Generalized velocities, `[worlds][n_v]`.
    pub v: &'a [N],
    /// Controls, `[worlds][actuators]`.
    pub ctrl: &'a [N],
    /// Applied generalized forces, `[worlds][n_v]`.
    pub tau: &'a [N],
    /// Activations, `[worlds][activations]`.
    pub act: &'a [N],
}

/// What worlds start from.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a>(Option<[Rows<'a>; PARTS]>);

impl Start<'_> {
    /// The model's initial position, at rest, without controls, forces and activations.
    pub const INITIAL: Self = Self(None);
    /// The state they are in.
    pub const UNCHANGED: Self = Self(Some([Rows::F64(&[]); PARTS]));
}

impl<'a, N: Number> From<StateRows<'a, N>> for Start<'a> {
    fn from(of: StateRows<'a, N>) -> Self {
        Self(Some([of.q, of.v, of.ctrl, of.tau, of.act].map(rows)))
    }
}

impl Batch {
    /// Puts worlds into states and makes them start afresh: impulses of the step before and failures are forgotten.
    /// Empty parts of a state stay as they are; quaternions need not have unit length.
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Length`] or [`Error::NotFinite`]; nothing is changed then.
    pub fn reset(&mut self, states: &[(usize, State)]) -> Result<(), Error> {
        let mut new = self.new_states();
        for (world, state) in states {
            let (group, local) = self.find(*world)?;
            let widths = self.widths(group);
            let mut of = [KEEP; PARTS];
            for (part, row) in [&state.q, &state.v, &state.ctrl, &state.tau, &state.act].into_iter().enumerate() {
                let what = STATE[part];
                if row.is_empty() {
                    continue;
                }
                if row.len() != widths[part] {
                    let (expected, found) = (widths[part], row.len());
                    return Err(Error::Length { what, world: Some(*world), expected, found });
                }
                of[part] = self.take(&mut new[group], group, *world, part, row.iter().copied())?;
            }
            new[group].worlds.push((local, of));
        }
        self.restart(new)
    }

    /// Makes worlds start afresh, from [`Start::INITIAL`], [`Start::UNCHANGED`] or [`StateRows`]. These have a row for every
    /// world of the batch with [`Which::All`] and [`Which::Masked`], in the order of the worlds, and a row for every world
    /// that is named with [`Which::Listed`], in the order of the list. Only rows of worlds that start afresh are looked at.
    ///
    /// ```
    /// # use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Start, StateRows, Which};
    /// # let model = manyworlds::load("hopper", &ImportOptions::default())?.model;
    /// # let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
    /// # let mut batch = Batch::new(&[(&model, 3)], &options)?;
    /// batch.restart_worlds(Which::Masked(&[true, false, true]), Start::INITIAL)?;
    /// let v = vec![0.1_f32; model.n_v];
    /// batch.restart_worlds(Which::Listed(&[1]), StateRows { v: &v, ..Default::default() })?;
    /// # Ok::<(), manyworlds::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`], [`Error::Length`] or [`Error::NotFinite`]; nothing is changed then.
    pub fn restart_worlds<'a>(&mut self, which: Which<'_>, start: impl Into<Start<'a>>) -> Result<(), Error> {
        if let Which::Masked(mask) = which
            && mask.len() != self.len()
        {
            return Err(Error::Length { what: "mask", world: None, expected: self.len(), found: mask.len() });
        }
        match start.into().0 {
            None => self.restart_initial(which),
            Some(rows) => self.restart_from(which, rows),
        }
    }

    fn restart_initial(&mut self, which: Which<'_>) -> Result<(), Error> {
        let mut new = self.new_states();
        for (group, new) in new.iter_mut().enumerate() {
            let [_, n_v, n_u, _, n_act] = self.widths(group);
            new.initial = true;
            // All worlds of a group share a row.
            let zeros = |n: usize| vec![0.0; n];
            new.rows = [self.groups[group].model().initial_q(), zeros(n_v), zeros(n_u), zeros(n_v), zeros(n_act)];
        }
        self.each(which, |batch, world, starts| {
            let (group, local) = batch.find(world)?;
            if starts {
                new[group].worlds.push((local, [0; PARTS]));
            }
            Ok(())
        })?;
        self.restart(new)
    }

    fn restart_from(&mut self, which: Which<'_>, given: [Rows<'_>; PARTS]) -> Result<(), Error> {
        // Where the row of the world at hand begins in each array.
        let mut begins = [0; PARTS];
        self.each(which, |batch, world, _| {
            let widths = batch.widths(batch.find(world)?.0);
            begins.iter_mut().zip(widths).for_each(|(begin, width)| *begin += width);
            Ok(())
        })?;
        for (part, rows) in given.iter().enumerate() {
            if rows.len() != 0 && rows.len() != begins[part] {
                let (expected, found) = (begins[part], rows.len());
                return Err(Error::Length { what: STATE[part], world: None, expected, found });
            }
        }
        let mut begins = [0; PARTS];
        let mut new = self.new_states();
        self.each(which, |batch, world, starts| {
            let (group, local) = batch.find(world)?;
            let mut of = [KEEP; PARTS];
            for (part, width) in batch.widths(group).into_iter().enumerate() {
                if starts && given[part].len() != 0 {
                    let range = begins[part]..begins[part] + width;
                    of[part] = match given[part].part(range) {
                        Rows::F32(row) => {
                            batch.take(&mut new[group], group, world, part, row.iter().map(|&x| x.into()))?
                        }
                        Rows::F64(row) => batch.take(&mut new[group], group, world, part, row.iter().copied())?,
                    };
                }
                begins[part] += width;
            }
            if starts {
                new[group].worlds.push((local, of));
            }
            Ok(())
        })?;
        self.restart(new)
    }

    /// Calls with every world that arrays have a row for, and whether it starts afresh.
    fn each(&self, which: Which<'_>, mut f: impl FnMut(&Self, usize, bool) -> Result<(), Error>) -> Result<(), Error> {
        match which {
            Which::All => (0..self.len()).try_for_each(|world| f(self, world, true)),
            Which::Masked(mask) => mask.iter().enumerate().try_for_each(|(world, &starts)| f(self, world, starts)),
            Which::Listed(worlds) => worlds.iter().try_for_each(|&world| f(self, world, true)),
        }
    }

    fn new_states(&self) -> Vec<NewStates> {
        self.groups.iter().map(|_| NewStates::default()).collect()
    }

    /// Numbers of q, v, controls, forces and activations of a world of a group.
    fn widths(&self, group: usize) -> [usize; PARTS] {
        let model = self.groups[group].model();
        [model.n_q, model.n_v, model.actuators.len(), model.n_v, model.n_act()]
    }

    /// Takes a part of a world's new state over, checked; returns its row.
    fn take(
        &self,
        new: &mut NewStates,
        group: usize,
        world: usize,
        part: usize,
        row: impl Iterator<Item = f64>,
    ) -> Result<u32, Error> {
        let rows = &mut new.rows[part];
        let begin = rows.len();
        rows.extend(row);
        let row = &mut rows[begin..];
        if let Some(index) = row.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { what: STATE[part], world: Some(world), index, found: row[index] });
        }
        if part == 0 {
            self.groups[group].model().normalize_quaternions(row);
        }
        Ok((begin / self.widths(group)[part].max(1)) as u32)
    }

    fn restart(&mut self, new: Vec<NewStates>) -> Result<(), Error> {
        for (group, new) in self.groups.iter_mut().zip(new) {
            if !new.worlds.is_empty() {
                group.restart(new)?;
            }
        }
        Ok(())
    }
}

/// Names of the parts of a state in messages, in the order of `FieldId::STATE`.
const STATE: [&str; PARTS] = ["q", "v", "ctrl", "tau", "act"];
