//! The tree path of contact on models whose next velocity has a closed form: from geometry to the certificate, kernel
//! mirror after kernel mirror, in f64.

use std::path::Path;

use manyworlds_contact::tree::{PgsInfo, PgsParams};
use manyworlds_dynamics::{Settings, compile};
use manyworlds_model::{ImportOptions, from_mjcf_str};
use manyworlds_shaders::contact::tree_layout::{LaneDims, contact, info, map, row_stride, slot_reals};
use manyworlds_shaders::contact::{tree_assemble, tree_certify, tree_jacobian, tree_pgs, tree_push, tree_rows};
use manyworlds_shaders::dynamics::names::part;
use manyworlds_shaders::dynamics::tree::{NONE, Params};
use manyworlds_shaders::{F64x8, LANES, Real};
use manyworlds_tests::batches::G;
use manyworlds_tests::dynamics::TreeTile;

/// Time step of the models, s.
const H: f64 = 0.002;
/// Standard gravity of the models, m/s^2.
/// What the solver is asked for, in velocity, with room for the masses below 1.
const NEAR: f64 = 1e-6;

/// A contact of a body with the ground.
struct Touch {
    body: u32,
    point: [f64; 3],
    distance: f64,
    mu: f64,
    restitution: f64,
}

struct Step {
    v: Vec<f64>,
    impulse: Vec<f64>,
    info: PgsInfo,
}

/// The first tree of a model, in a state (q, v, ctrl, tau).
fn tile(mjcf: &str, state: &[f64]) -> TreeTile<f64> {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let loaded = from_mjcf_str("test.xml", mjcf, &nothing, &ImportOptions::default()).expect("the model loads");
    let sets = compile(&loaded.model, &Settings::default()).expect("the model compiles");
    let mut tile = TreeTile::new(&sets[0].layout, &sets[0].params[0]);
    assert_eq!(state.len(), sets[0].layout.dims.n_state());
    tile.set(0, state);
    tile
}

/// One step of contact on the ground z = 0, to a residual of 1e-10.
fn step(tile: &mut TreeTile<f64>, touches: &[Touch]) -> Step {
    tile.free_velocity();
    let layout = tile.layout.clone();
    let (tree, dims, params) = (layout.tree(), &layout.dims, Params::Shared(&tile.params));
    let (n_v, n_row, n_block) = (dims.n_v as usize, dims.n_row as usize, dims.n_block as usize);
    let (mut reals, mut words) = (vec![0.0; n_block * contact::SIZE], vec![0; n_block * map::SIZE]);
    words.iter_mut().step_by(map::SIZE).for_each(|kind| *kind = map::BLOCK);
    for t in touches {
        reals.extend(t.point);
        reals.extend([0.0, 0.0, 1.0, t.distance, t.mu, t.restitution, 0.0, 0.0, 0.0]);
        words.extend([map::CONTACT, NONE, t.body, 0]);
    }
    let n_slot = n_block + touches.len();
    let mut constraint = vec![0.0; n_slot * slot_reals(n_v)];
    tree_jacobian::tree_jacobian(&tree, &params, &tile.pose, &tile.motion, &reals, &words, &mut constraint);
    tree_assemble::tree_assemble(&tree, &tile.factor, &tile.state, &mut constraint);
    let mut rows = vec![0.0; n_row * row_stride(n_v, dims.row_width)];
    tree_rows::tree_rows(&tree, &params, &tile.state, &tile.factor, &tile.pull, &mut rows);
    let settings = PgsParams { tolerance: 1e-10, sweeps: 400, ..PgsParams::for_precision::<f64>() };
    let lane: LaneDims = settings.dims(dims);
    let mut impulse = vec![0.0; 3 * n_slot];
    let mut numbers = vec![0.0; info::reals(n_v)];
    solve(&lane, &constraint, &mut impulse, &mut rows, &mut tile.velocity, &mut numbers);
    tree_push::tree_push(&lane, &tile.b, &constraint, &impulse, &rows, &mut numbers);
    tree_certify::tree_certify(&tree, &tile.factor, &constraint, &impulse, &rows, &mut numbers);
    let drift = numbers[info::SIZE..].iter().zip(&tile.velocity).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(drift < 1e-11, "the solver's velocity is not that of its impulses: {drift}");
    let info = PgsInfo::read(&numbers[..info::SIZE]);
    assert!(info.residual < 1.1e-10, "{info:?}");
    Step { v: tile.velocity.clone(), impulse, info }
}

/// The solver takes packs: the same problem in every lane.
fn solve(
    dims: &LaneDims,
    constraint: &[f64],
    impulse: &mut [f64],
    rows: &mut [f64],
    velocity: &mut [f64],
    numbers: &mut [f64],
) {
    let packs = |x: &[f64]| x.iter().map(|&x| F64x8::lit(x)).collect::<Vec<_>>();
    let [mut lambda, mut r, mut v, mut i] = [&*impulse, rows, velocity, numbers].map(packs);
    let mut work = vec![F64x8::lit(0.0); tree_pgs::work_packs(dims, impulse.len() / 3)];
    let (mut c, parts) = (packs(constraint), [part::SOLVES; LANES]);
    let ends = tree_pgs::tree_pgs::<f64, _>(dims, parts, &mut c, &mut lambda, &mut r, &mut v, &mut i, &mut work);
    for (to, from) in [(impulse, lambda), (rows, r), (velocity, v), (numbers, i)] {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from.lane(LANES - 1));
    }
    assert!(ends.converged.iter().all(|&done| done), "residual {}", numbers[info::STOPPED_AT]);
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < NEAR
}

const BOX: &str = r#"<mujoco><worldbody><body pos="0 0 0.1"><freejoint/>
  <geom type="box" size="0.2 0.15 0.1" mass="2"/></body></worldbody></mujoco>"#;

/// The box with its lower corners on the ground.
fn corners(distance: f64, mu: f64, restitution: f64) -> Vec<Touch> {
    let corner = |x: f64, y: f64| Touch { body: 0, point: [x, y, 0.0], distance, mu, restitution };
    vec![corner(0.2, 0.15), corner(0.2, -0.15), corner(-0.2, 0.15), corner(-0.2, -0.15)]
}

fn box_at(v: [f64; 6]) -> TreeTile<f64> {
    let mut state = vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0];
    state.extend(v);
    state.extend([0.0; 6]);
    tile(BOX, &state)
}

#[test]
fn a_box_rests_slides_bounces_and_is_pushed_out_slowly() {
    let rest = step(&mut box_at([0.0; 6]), &corners(0.0, 0.5, 0.0));
    assert!(rest.v.iter().all(|&v| near(v, 0.0)), "{:?}", rest.v);
    let carried: f64 = rest.impulse.iter().skip(2).step_by(3).sum();
    assert!(near(carried, 2.0 * G * H), "{carried}");
    assert_eq!((rest.info.contacts, rest.info.rows), (4, 0));

    let slide = step(&mut box_at([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), &corners(0.0, 0.3, 0.0));
    assert!(near(slide.v[0], 1.0 - 0.3 * G * H) && near(slide.v[2], 0.0) && near(slide.v[4], 0.0), "{:?}", slide.v);
    assert!(!near(slide.v[0], 1.0 - 0.3001 * G * H - NEAR), "the comparison can fail");

    let glide = step(&mut box_at([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]), &corners(0.0, 0.0, 0.0));
    assert!(near(glide.v[0], 1.0) && near(glide.v[2], 0.0));

    let bounce = step(&mut box_at([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), &corners(0.0, 0.5, 0.4));
    assert!(near(bounce.v[2], 0.4), "{:?}", bounce.v);

    // 1 cm deep: a fifth of it a step would be 1 m/s, the cap is 0.2 m/s; 0.1 mm deep: 0.01 m/s.
    let deep = step(&mut box_at([0.0; 6]), &corners(-0.01, 0.5, 0.0));
    assert!(near(deep.v[2], 0.2) && near(deep.info.penetration, 0.01));
    assert!(near(step(&mut box_at([0.0; 6]), &corners(-1e-4, 0.5, 0.0)).v[2], 0.01));

    // A gap of 1 mm is closed within the step, not before.
    let falls = step(&mut box_at([0.0, 0.0, -2.0, 0.0, 0.0, 0.0]), &corners(1e-3, 0.5, 0.0));
    assert!(near(falls.v[2], -1e-3 / H), "{:?}", falls.v);
}

/// A rod on a hinge, held horizontally; inertia about the hinge 1 * 0.5^2 + its own, by the tests' `inertia`.
fn rod(joint: &str, more: &str) -> String {
    format!(
        r#"<mujoco><compiler angle="radian"/><worldbody><body><joint name="j" type="hinge" axis="0 -1 0" {joint}/>
        <inertial pos="0.5 0 0" mass="1" diaginertia="0.01 0.05 0.05"/></body></worldbody>{more}</mujoco>"#
    )
}

/// Inertia of the rod about its hinge, kg m^2.
const INERTIA: f64 = 0.25 + 0.05;
/// What gravity adds to its speed in a step.
const FALL: f64 = -0.5 * G * H / INERTIA;

#[test]
fn limits_dry_friction_and_drives_act_on_a_hinge() {
    let limited = rod(r#"range="0 1" limited="true""#, "");
    let held = step(&mut tile(&limited, &[0.0, 0.0, 0.0]), &[]);
    assert!(near(held.v[0], 0.0) && held.info.rows == 1, "{:?}", held.v);
    let gap = step(&mut tile(&limited, &[1e-4, -1.0, 0.0]), &[]);
    assert!(near(gap.v[0], -1e-4 / H), "{:?}", gap.v);
    let upper = step(&mut tile(&limited, &[1.0, 2.0, 0.0]), &[]);
    assert!(near(upper.v[0], 0.0), "{:?}", upper.v);
    assert_eq!(step(&mut tile(&limited, &[0.5, 0.0, 0.0]), &[]).info.rows, 0, "far from both bounds");

    let dry = rod(r#"frictionloss="2""#, "");
    let slowed = step(&mut tile(&dry, &[0.0, 0.0, 0.0]), &[]);
    assert!(near(slowed.v[0], FALL + 2.0 * H / INERTIA), "{:?}", slowed.v);
    let stuck = step(&mut tile(&rod(r#"frictionloss="6""#, ""), &[0.0, 0.0, 0.0]), &[]);
    assert!(near(stuck.v[0], 0.0), "{:?}", stuck.v);

    let drive = |limit: &str| rod("", &format!(r#"<actuator><position joint="j" kp="50" kv="1" {limit}/></actuator>"#));
    let limit = |force: f64| format!(r#"forcerange="-{force} {force}" forcelimited="true""#);
    // State: q, v, ctrl, tau.
    let state = [0.1, 0.3, 0.2, 0.0];
    let free = step(&mut tile(&drive(""), &state), &[]);
    let within = step(&mut tile(&drive(&limit(100.0)), &state), &[]);
    assert_eq!((free.info.rows, within.info.rows), (0, 1));
    assert!(near(free.v[0], within.v[0]), "a limit that is not reached changes nothing: {:?} {:?}", free.v, within.v);
    let capped = step(&mut tile(&drive(&limit(2.0)), &state), &[]);
    assert!(near(capped.v[0], 0.3 + FALL * 0.1_f64.cos() + 2.0 * H / INERTIA), "{:?}", capped.v);
}

#[test]
fn a_block_holds_a_point_and_takes_contacts_beside_it() {
    let model = r#"<mujoco><worldbody><body name="a" pos="0 0 0.1"><freejoint/>
      <geom type="box" size="0.2 0.15 0.1" mass="2"/></body></worldbody>
      <equality><connect body1="a" anchor="0.2 0 0.1"/></equality></mujoco>"#;
    let mut state = vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0, 0.3, -0.2, 0.1, 0.2, 0.5, -0.4];
    state.extend([0.0; 6]);
    let held = step(&mut tile(model, &state), &[]);
    // World linear, body angular velocity; the point stands at (0.2, 0, 0.1) from the origin.
    let (v, w, r) = (&held.v[..3], &held.v[3..], [0.2, 0.0, 0.1]);
    let point = [v[0] + w[1] * r[2] - w[2] * r[1], v[1] + w[2] * r[0] - w[0] * r[2], v[2] + w[0] * r[1] - w[1] * r[0]];
    assert!(point.iter().all(|&x| near(x, 0.0)), "{point:?}");
    assert!(w.iter().any(|w| w.abs() > 0.1), "it still turns");
    let both = step(&mut tile(model, &state), &corners(0.0, 0.5, 0.0));
    assert_eq!(both.info.contacts, 4);
}
