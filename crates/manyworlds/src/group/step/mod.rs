//! A step of a chunk, stage by stage.
//!
//! | stage | where | reads | writes |
//! |---|---|---|---|
//! | collide, organise, pack | host | poses, speeds, rows that can act, status | contact records, islands |
//! | controls | kernels | rows of controls | state |
//! | keep | kernels | state | the state that the step begins with, where it is asked for |
//! | dynamics | kernels | state, poses, lengths of paths | free velocity, factors; readings of sensors |
//! | contact | kernels | free velocity, contact records, impulses before | velocity, impulses, certificates, status |
//! | soft | kernels | state, contacts of soft bodies, factors of trees that touch them | velocity of both, impulses, certificates, status |
//! | hold | kernels | status | status: worlds that are unsolved do not move |
//! | left | kernels | status, what problems are made of | the numbers of unsolved worlds, brought together: on a device |
//! | motion | kernels | velocity, impulses, status | readings of sensors; state, poses, speeds, lengths of paths, rows that can act |
//!
//! One submission and one wait. Where a solver goes on on the host, worlds that are held are solved there when the wait is over
//! ([`unsolved`]): their numbers came with the step ([`super::left`]), and a second submission, which nothing waits for before the
//! next step, certifies and moves them. [`Recording::stage`]
//! names the stages where they are recorded, [`super::graph`] shows them, and a test checks that none reads what was not written.

pub(super) mod answer;
mod nonlinear;
pub(super) mod order;
mod prepare;
mod round;
mod unsolved;
mod way;
mod whole;
mod world;

use manyworlds_gpu::{Recording, Ticket};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::batch::hold::whom;
use manyworlds_shaders::batch::{hold, unsolved_islands, unsolved_lanes};
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::kernel::batch::{HOLD, UNSOLVED_ISLANDS, UNSOLVED_LANES};

use super::chunk::{Chunk, InFlight};
use super::left::LEAST;
use crate::Error;

impl<T: Scalar> Chunk<T> {
    /// Waits for what was started last, until nothing is left to do of it.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        while let Some(in_flight) = self.in_flight.take() {
            match in_flight {
                InFlight::Step(ticket) => self.settle(ticket)?,
                InFlight::Motion(ticket) => {
                    self.store.wait(ticket)?;
                    self.fetch()?;
                }
            }
        }
        Ok(())
    }

    /// What a step leaves for the host to look at.
    fn fetch(&mut self) -> Result<(), Error> {
        for set in &mut self.sets {
            if set.step.dims.is_soft() {
                self.store.read(set.step.buffers.state, &mut set.poses)?;
            } else {
                self.store.read(set.step.buffers.pose, &mut set.poses)?;
                self.store.read(set.step.buffers.speed, &mut set.speeds)?;
            }
            if set.step.acting {
                self.store.read_index(set.step.buffers.acting, &mut set.acting)?;
            }
            self.store.read_index(set.step.buffers.status, &mut set.status)?;
        }
        Ok(())
    }

    /// Brings poses up to the state, if they are not.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        self.finish()?;
        self.follow_mocaps()?;
        if !self.stale {
            return Ok(());
        }
        self.recording.clear();
        for set in &self.sets {
            set.step.kinematics(&mut self.recording);
        }
        self.store.run(&self.recording)?;
        self.fetch()?;
        self.stale = false;
        Ok(())
    }

    /// Has the kernels of a step compiled before the first one; those of islands of several trees follow when there are any.
    pub(super) fn warm_up(&mut self) -> Result<(), Error> {
        // As if the last step had left some.
        self.left_room = LEAST.min(self.n_world);
        self.record_step()?;
        for set in &self.sets {
            if let Some(soft) = &set.step.soft {
                soft.foresee(&set.step.buffers, &self.sets, &mut self.recording);
            }
        }
        self.left_room = 0;
        self.store.prepare(&self.recording)?;
        Ok(())
    }

    /// A step as far as kernels go.
    pub(super) fn record_step(&mut self) -> Result<(), Error> {
        self.recording.clear();
        self.record_controls();
        self.record_keeping();
        self.record_solution();
        if self.shared.form.is_some() {
            if self.shared.host_solves() {
                self.record_hold();
                self.recording.stage("left");
                self.record_left()?;
            }
            self.record_motion();
        }
        Ok(())
    }

    /// Begins a step: the host's stages on the poses at hand.
    pub(crate) fn ready(&mut self) -> Result<(), Error> {
        self.refresh()?;
        for set in &mut self.sets {
            set.step.impulses.advance();
        }
        self.islands.impulses.advance();
        self.mocaps.advance(&self.shared.host.mocaps);
        self.prepare()?;
        self.keep()
    }

    /// Starts the kernels of a step that is ready, in one submission.
    pub(crate) fn launch(&mut self) -> Result<(), Error> {
        self.make_room();
        self.record_step()?;
        self.in_flight = Some(InFlight::Step(self.store.submit(&self.recording)?));
        Ok(())
    }

    /// The host's part of a step, where it has one: kernels are waited for, and what they left is solved and moves. Whoever reads the
    /// state on the device afterwards finds the whole of it.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        if self.shared.host_solves()
            && let Some(InFlight::Step(ticket)) = self.in_flight.take_if(|f| matches!(f, InFlight::Step(_)))
        {
            self.settle(ticket)?;
        }
        Ok(())
    }

    /// Waits for the kernels of a step. They have solved it, or the host does now.
    fn settle(&mut self, ticket: Ticket) -> Result<(), Error> {
        self.store.wait(ticket)?;
        self.fetch()?;
        self.follow_touches()?;
        if self.shared.host_solves() {
            let changed = self.solve_rest()?;
            if changed || self.shared.form.is_none() {
                self.recording.clear();
                self.record_rest(changed);
                self.in_flight = Some(InFlight::Motion(self.store.submit(&self.recording)?));
            }
        }
        self.host.remember();
        Ok(())
    }

    /// States to velocities and impulses.
    fn record_solution(&mut self) {
        let by_kernels = self.shared.form.is_some();
        let (pack, islands, tile) = (&self.host.islands, &self.islands, self.store.tile() as u32);
        let grip = self.shared.host.adhesion.as_ref().map(|_| islands.buffers.grip);
        if let Some(grip) = grip {
            self.recording.stage("dynamics");
            self.sets.iter().for_each(|set| set.step.grip(grip, &mut self.recording));
        }
        for ((set, part), slots) in self.sets.iter().zip(&pack.sets).zip(&self.host.packs) {
            self.recording.stage("dynamics");
            set.step.dynamics(grip, &mut self.recording);
            self.recording.stage("contact");
            let back = |recording: &mut Recording| islands.to_trees(&set.step, part, tile, recording);
            set.step.contact(by_kernels, slots.most(), &mut self.recording, back);
        }
        if !pack.is_empty() {
            islands.record(&self.sets, pack, self.host.solver.as_deref(), tile, &mut self.recording);
        }
        // Trees that touch them have their free velocities by now.
        let rounds = self.host.worlds.iter().any(|world| !world.soft_is_hosts);
        for set in &self.sets {
            if let Some(soft) = &set.step.soft {
                self.recording.stage("soft");
                soft.record(&set.step.buffers, &self.sets, rounds, &mut self.recording);
            }
        }
    }

    /// Worlds that are not solved do not move.
    fn record_hold(&mut self) {
        self.recording.stage("hold");
        let (worlds, b, wanted) = (self.n_world as u32, self.islands.buffers, self.shared.left_to_host());
        for (number, set) in self.sets.iter().enumerate() {
            // Soft bodies say it of their world, whoever solves it.
            let (wanted, apart) =
                if set.step.soft.is_some() { (status::ITERATION_LIMIT, 0) } else { (wanted, status::SHARED) };
            let dims = unsolved_lanes::Dims { worlds, k: set.k as u32, first: u32::from(number == 0), wanted, apart };
            self.recording.dispatch(&UNSOLVED_LANES, &dims, worlds, &[set.step.buffers.status, b.unsolved]);
        }
        if !self.host.islands.is_empty() {
            let dims = unsolved_islands::Dims { worlds, n_islands: self.host.islands.dims.n_islands, wanted };
            self.recording.dispatch(&UNSOLVED_ISLANDS, &dims, worlds, &[b.index, b.status, b.unsolved]);
            if self.host.islands.relaxes() {
                self.recording.read(b.status);
            }
        }
        self.record_held(whom::UNSOLVED);
    }

    fn record_held(&mut self, whom: u32) {
        for set in &self.sets {
            let dims = hold::Dims { lanes: set.step.dims.lanes, k: set.k as u32, whom };
            let buffers = [self.islands.buffers.unsolved, set.step.buffers.status];
            self.recording.dispatch(&HOLD, &dims, dims.lanes, &buffers);
        }
    }

    /// Velocities into states, and the poses that collision looks at next.
    fn record_motion(&mut self) {
        self.recording.stage("motion");
        for set in &self.sets {
            set.step.feel(self.islands.impulses.now, &mut self.recording);
            set.step.integrate(&mut self.recording);
        }
        self.record_touches();
        self.record_poses();
    }

    fn record_poses(&mut self) {
        for set in &self.sets {
            set.step.kinematics(&mut self.recording);
            let b = set.step.buffers;
            if set.step.dims.is_soft() {
                self.recording.read(b.state).read(b.status);
            } else {
                self.recording.read(b.pose).read(b.speed).read(b.status);
            }
            if set.step.acting {
                self.recording.read(b.acting);
            }
        }
    }

    /// What is left of a step when the host has had its part: certificates, if it found anything, and the motion of what had
    /// to wait.
    fn record_rest(&mut self, changed: bool) {
        if changed {
            self.recording.stage("contact");
            self.record_answers();
            for set in &self.sets {
                set.step.certify(&mut self.recording);
            }
            self.islands.certify(&self.host.islands, &mut self.recording);
        }
        if self.shared.form.is_none() {
            self.record_motion();
            return;
        }
        // All others have moved already.
        self.recording.stage("motion");
        self.record_held(whom::OTHERS);
        for set in &self.sets {
            set.step.feel(self.islands.impulses.now, &mut self.recording);
            set.step.integrate(&mut self.recording);
        }
        self.record_held(whom::NOBODY);
        self.record_poses();
    }
}
