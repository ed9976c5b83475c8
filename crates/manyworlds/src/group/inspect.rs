//! Everything about one world's last step, gathered for people and outside checks: not for the hot path.

use manyworlds_contact::ContactProblem;
use manyworlds_contact::problem::Operator;
use manyworlds_gpu::BufferId;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::contact::island::con;
use manyworlds_shaders::contact::local::APART;
use manyworlds_shaders::contact::tree_layout::{row as row_part, row_stride, slot, slot_reals};
use manyworlds_shaders::dynamics::tree::{RowRecord, row, status};
use manyworlds_shaders::index::slot_at;

use super::chunk::Chunk;
use super::home::Home;
use super::problem::{Reading, Sides, WorldProblem, fill_dense};
use super::seen::whole;
use super::shared::Shared;
use super::step::answer::Relaxed;
use crate::host::Place;
use crate::{ContactReport, Error, Inspection, RelaxedOf, RelaxedReport, RowOf, RowReport};

/// Gathers one world of a chunk.
pub(super) fn inspect<T: Scalar>(shared: &Shared<T>, chunk: &mut Chunk<T>, world: usize) -> Result<Inspection, Error> {
    chunk.finish()?;
    let model = &shared.model;
    let n_v = model.n_v;
    let mut out = Inspection {
        mass: vec![0.0; n_v * n_v],
        momentum: vec![0.0; n_v * n_v],
        bias: vec![0.0; n_v],
        v_free: vec![0.0; n_v],
        adhesion: vec![0.0; n_v],
        ..Inspection::default()
    };
    let mut lanes = Vec::new();
    // Where the impulses of contacts and rows stand, by which what gave way is found.
    let mut homes = Vec::new();
    for (index, set) in shared.sets.iter().enumerate() {
        let dims = set.layout.dims;
        let tree = set.layout.tree();
        let b = chunk.sets[index].step.buffers;
        let n = dims.n_v as usize;
        let impulses = chunk.sets[index].step.impulses.now;
        for (j, &model_tree) in set.trees.iter().enumerate() {
            let lane = chunk.sets[index].lane(world, j);
            let v_begin = model.trees[model_tree].v.start;
            if set.is_soft() {
                continue;
            }
            for (buffer, to) in [(b.mass, &mut out.mass), (b.momentum, &mut out.momentum)] {
                let entries = chunk.read_lane(buffer, lane, dims.n_m as usize)?;
                fill_dense(&tree, &entries, v_begin, n_v, to);
            }
            for (buffer, to) in [(b.bias, &mut out.bias), (b.v_free, &mut out.v_free)] {
                to[v_begin..v_begin + n].copy_from_slice(&chunk.read_lane(buffer, lane, n)?);
            }
            if shared.host.adhesion.is_some() {
                out.adhesion[v_begin..v_begin + n].copy_from_slice(&chunk.read_lane(b.adhesion, lane, n)?);
            }
            let n_row = row_stride(n, dims.row_width);
            let n_real = chunk.sets[index].n_row_real();
            let rows = chunk.read_lane(b.row, lane, n_real)?;
            for (i, record) in tree.rows.iter().enumerate() {
                let numbers = &rows[i * n_row..];
                if numbers[row_part::ACTIVE] == 0.0 {
                    continue;
                }
                let of = if record.kind < row::TENDON_LIMIT {
                    let joint = tree.dofs[tree.row_dofs(record)[0] as usize].joint as usize;
                    RowOf::Joint(joint + model.trees[model_tree].joints.start)
                } else {
                    RowOf::Tendon(set.tendons[j][record.q as usize])
                };
                let kind = row_kind(record);
                let home = Home::Row { set: index, lane, row: i, constraint: None };
                homes.push((home, RelaxedOf::Row(out.rows.len())));
                out.rows.push(RowReport { kind, of, impulse: numbers[row_part::IMPULSE] });
            }
            let velocity = chunk.read_lane(b.velocity, lane, n)?;
            lanes.push((model_tree, index, lane, velocity, impulses));
        }
    }
    // Contacts between trees, by their islands' constraint. Their velocities are those of the trees: what the islands' own
    // buffers hold is the kernels', which the host may have gone beyond.
    let shared_sides = chunk.host.islands.sides_of(world);
    let jac = if shared_sides.is_empty() { Vec::new() } else { whole(&mut *chunk.store, chunk.islands.buffers.jac)? };
    for i in 0..chunk.host.worlds[world].contacts.len() {
        let contact = chunk.host.worlds[world].contacts[i];
        let place = chunk.host.worlds[world].places[i];
        let normal = contact.normal.map(Scalar::to_f64);
        let [t1, t2] = tangents(normal);
        let mut report = ContactReport {
            bodies: contact.bodies.map(|b| b as usize),
            geoms: contact.geoms.map(|g| g as usize),
            point: contact.point.map(Scalar::to_f64),
            frame: [t1, t2, normal],
            distance: contact.distance.to_f64(),
            friction: contact.friction.to_f64(),
            impulse: [0.0; 3],
            velocity: [0.0; 3],
        };
        let bodies = contact.bodies.map(|b| shared.host.lanes.bodies[b as usize]);
        let tree = bodies.iter().flatten().next().map(|b| b.tree);
        if let (Place::Slot(slot_index), Some(tree)) = (place, tree)
            && let Some((_, set, lane, velocity, impulses)) = lanes.iter().find(|l| l.0 == tree)
        {
            let n = velocity.len();
            let home = Home::Slot { set: *set, lane: *lane, slot: slot_index as usize };
            homes.push((home, RelaxedOf::Contact(i)));
            let numbers =
                read_slot(chunk, chunk.sets[*set].step.buffers.constraint, *set, *lane, slot_index, slot_reals(n))?;
            let impulse = read_slot(chunk, *impulses, *set, *lane, slot_index, 3)?;
            report.impulse.copy_from_slice(&impulse);
            out.relaxed.extend(left_out(i, numbers[slot::BIAS + 2]));
            for r in 0..3 {
                let row = &numbers[slot::J + r * n..slot::J + (r + 1) * n];
                report.velocity[r] = row.iter().zip(velocity).map(|(j, v)| j * v).sum();
            }
        }
        if let Place::Island(at) = place {
            homes.push((Home::Island { constraint: at as usize }, RelaxedOf::Contact(i)));
            let impulse: [T; 3] = read_at(chunk, chunk.islands.impulses.now, 3 * at as usize)?;
            report.impulse = impulse.map(Scalar::to_f64);
            let bias: [T; 3] = read_at(chunk, chunk.islands.buffers.con, con::SIZE * at as usize + con::BIAS)?;
            out.relaxed.extend(left_out(i, bias[2].to_f64()));
            for side in shared_sides.iter().filter(|side| side.constraint == at as usize) {
                let Some((.., velocity, _)) = lanes.iter().find(|l| (l.1, l.2) == (side.set, side.lane)) else {
                    continue;
                };
                for (r, sum) in report.velocity.iter_mut().enumerate() {
                    let first = side.jac + r * velocity.len();
                    let row = &jac[first..first + velocity.len()];
                    *sum += row.iter().zip(velocity).map(|(j, v)| j.to_f64() * v).sum::<f64>();
                }
            }
        }
        let drift = chunk.host.worlds[world].drift(i);
        report.velocity.iter_mut().zip(report.frame).for_each(|(sum, axis)| *sum += drift.along(axis));
        out.contacts.push(report);
    }
    inspect_soft(shared, chunk, world, &mut homes, &mut out)?;
    for (number, of) in relaxed(shared, chunk, world)?.into_iter().enumerate() {
        let is_its = |home: Home| match (of.home, home) {
            (Home::Row { set, lane, row, .. }, Home::Row { set: own_set, lane: own_lane, row: own_row, .. }) => {
                (set, lane, row) == (own_set, own_lane, own_row)
            }
            (of, home) => of == home,
        };
        let found = homes.iter().find(|(home, _)| is_its(*home)).map(|(_, found)| *found);
        let by = of.how.by.into_iter().fold(0.0, |most: f64, by| if most.abs() < by.abs() { by } else { most });
        let of_what = found.unwrap_or(RelaxedOf::Equality(number));
        out.relaxed.push(RelaxedReport { of: of_what, by, left_out: of.how.left_out });
    }
    let mut summaries = Vec::new();
    chunk.summarise(&mut summaries)?;
    out.summary = summaries[world];
    Ok(out)
}

/// Biases of a world that gave way, to the host or to kernels.
fn relaxed<T: Scalar>(shared: &Shared<T>, chunk: &mut Chunk<T>, world: usize) -> Result<Vec<Relaxed>, Error> {
    if let Some(answer) = chunk.answers.get(world).and_then(Option::as_ref) {
        return Ok(answer.relaxed.clone());
    }
    let mut words = chunk.sets.iter().flat_map(|set| &set.status[world * set.k..(world + 1) * set.k]);
    if !words.any(|word| word & status::RELAXED != 0) {
        return Ok(Vec::new());
    }
    let reading = Reading::of_last_step(shared, chunk, Sides::Whole, world)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let WorldProblem { homes, gave_way, .. } = worlds.constraints(shared, &host, world, ContactProblem::default())?;
    Ok(gave_way.into_iter().map(|how| Relaxed { home: homes[how.constraint], how }).collect())
}

/// A contact that the kernels left out, by its bias.
fn left_out(contact: usize, bias: f64) -> Option<RelaxedReport> {
    (APART <= bias).then_some(RelaxedReport { of: RelaxedOf::Contact(contact), by: bias, left_out: true })
}

/// Adds what there is of soft bodies.
fn inspect_soft<T: Scalar>(
    shared: &Shared<T>,
    chunk: &mut Chunk<T>,
    world: usize,
    homes: &mut Vec<(Home, RelaxedOf)>,
    out: &mut Inspection,
) -> Result<(), Error> {
    if shared.soft.is_empty() {
        return Ok(());
    }
    let (model, n_v) = (&shared.model, shared.model.n_v);
    let problem = super::problem::problem(shared, chunk, world)?.problem;
    let reading = Reading::of_last_step(shared, chunk, Sides::Whole, world)?;
    let (worlds, host) = (reading.of(&*chunk.store), chunk.host.packed());
    let steps = worlds.soft(shared, &host, world);
    for (index, (own, step)) in shared.soft.iter().zip(&steps).enumerate() {
        let span = model.trees[own.tree].v.clone();
        for (i, (m, weight)) in step.mass_and_weight().enumerate() {
            out.mass[(span.start + i) * (n_v + 1)] = m;
            out.bias[span.start + i] = -weight;
        }
        span.clone().zip(step.inertial_forces()).for_each(|(i, force)| out.bias[i] -= force);
        let Some(carried) = step.carried() else { continue };
        let tree = shared.carrier_dofs(index);
        carried.add_mass(&mut out.mass[tree.start * (n_v + 1)..], n_v);
        carried.add_bias(step.gravity(), &mut out.bias[tree.clone()]);
        span.clone().zip(carried.bias()).for_each(|(i, force)| out.bias[i] += force);
        for (i, row) in span.zip(carried.coupling()) {
            for (j, x) in tree.clone().zip(row) {
                out.mass[i * n_v + j] = x;
                out.mass[j * n_v + i] = x;
            }
        }
    }
    for subsystem in &problem.subsystems {
        if let Operator::Sparse { index } = subsystem.operator {
            let begin = subsystem.begin;
            for (i, j, x) in problem.sparse[index].matrix().entries() {
                out.momentum[(begin + i) * n_v + begin + j] = x;
            }
            let span = begin..begin + subsystem.count;
            out.v_free[span.clone()].copy_from_slice(&problem.v_free[span]);
        }
    }
    for (contact, report) in worlds.soft_reports(shared, &host, world).into_iter().enumerate() {
        homes.push((Home::Soft { contact }, RelaxedOf::Contact(out.contacts.len())));
        out.contacts.push(report);
    }
    Ok(())
}

/// Three numbers of a buffer.
fn read_at<T: Scalar>(chunk: &mut Chunk<T>, buffer: BufferId, at: usize) -> Result<[T; 3], Error> {
    let mut all = vec![T::default(); chunk.store.len(buffer)];
    chunk.store.read(buffer, &mut all)?;
    Ok(std::array::from_fn(|r| all[at + r]))
}

/// Numbers of one slot of one lane.
fn read_slot<T: Scalar>(
    chunk: &mut Chunk<T>,
    buffer: BufferId,
    set: usize,
    lane: usize,
    slot_index: u32,
    n: usize,
) -> Result<Vec<f64>, Error> {
    let width = chunk.store.tile();
    let begin = chunk.host.packs[set].begin(lane);
    let mut all = vec![T::default(); chunk.store.len(buffer)];
    chunk.store.read(buffer, &mut all)?;
    Ok((0..n).map(|f| all[slot_at(width, lane, begin, slot_index as usize, n, f)].to_f64()).collect())
}

fn row_kind(record: &RowRecord) -> &'static str {
    match record.kind {
        row::LIMIT | row::LIMIT_BALL | row::TENDON_LIMIT => "limit",
        row::FRICTION | row::TENDON_FRICTION => "dry friction",
        row::DRIVE => "drive",
        _ => "coupling",
    }
}
