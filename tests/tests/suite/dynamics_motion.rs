//! What motion keeps: momentum of a tumbling body, energy by the order in h, bits of a pack, stopped lanes.

use std::path::Path;

use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, from_mjcf_str, load};
use manyworlds_shaders::dynamics::tree::{param, solve, status};
use manyworlds_shaders::math::{add, cross, load3, quat_rotate, scale, sub, sym_vec};
use manyworlds_shaders::{F32x8, F64x8, LANES, Real, Scalar};
use manyworlds_tests::dynamics::TreeTile;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A body of three different moments of inertia, its centre of mass away from its frame.
const STONE: &str = r#"<mujoco><option timestep="0.002" gravity="0.4 0 -9.81"/><worldbody>
  <body name="stone" pos="0 0 1"><freejoint/>
    <inertial pos="0.03 -0.02 0.05" mass="3.2" fullinertia="0.05 0.075 0.04 0.006 -0.004 0.009"/></body>
</worldbody></mujoco>"#;

/// Hinges, a ball and a slide, nothing that takes energy.
const CHAIN: &str = r#"<mujoco><option timestep="0.002"/><worldbody>
  <body name="upper" pos="0 0 2"><joint type="hinge" axis="0 1 0"/>
    <inertial pos="0.2 0.02 0" mass="1.5" diaginertia="0.01 0.02 0.015"/>
    <body name="middle" pos="0.4 0 0"><joint type="ball"/>
      <inertial pos="0.15 0 0.03" mass="0.8" diaginertia="0.004 0.01 0.009"/>
      <body name="lower" pos="0.3 0 0"><joint type="hinge" axis="0 0.6 0.8"/>
        <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.002 0.004 0.004"/></body></body></body>
</worldbody></mujoco>"#;

fn sets(xml: &str) -> Vec<TreeSet> {
    let missing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let loaded = from_mjcf_str(Path::new("test.xml"), xml, &missing, &ImportOptions::default()).unwrap();
    compile(&loaded.model, &Settings::default()).unwrap()
}

fn tile(set: &TreeSet, h: f64, state: &[f64]) -> TreeTile<f64> {
    let mut params = set.params[0].clone();
    params[param::TIMESTEP] = h;
    let mut tile = TreeTile::new(&set.layout, &params);
    tile.set(0, state);
    tile
}

/// Position, orientation, world velocity, body angular velocity; no forces.
const STONE_STATE: [f64; 19] =
    [0.3, -0.2, 1.0, 0.8, 0.2, -0.4, 0.4, 0.5, -1.0, 2.0, 3.0, -5.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

/// Angular velocity of a stone's state.
const STONE_SPIN: usize = 10;

/// Angular momentum about the centre of mass, and linear momentum, world axes.
fn momenta(tile: &TreeTile<f64>) -> [[f64; 3]; 2] {
    let s = &tile.state;
    let q = [s[3], s[4], s[5], s[6]];
    let record = &tile.params[param::HEADER..];
    let mut inertia = [0.0; 6];
    inertia.copy_from_slice(&record[param::BODY_INERTIA..param::BODY_INERTIA + 6]);
    let (w, r) = (load3(s, STONE_SPIN), load3(record, param::BODY_COM));
    let velocity = add(load3(s, 7), quat_rotate(q, cross(w, r)));
    [quat_rotate(q, sym_vec(&inertia, w)), scale(velocity, record[param::BODY_MASS])]
}

fn largest(v: [f64; 3]) -> f64 {
    v.iter().fold(0.0, |m, x| m.max(x.abs()))
}

#[test]
fn a_tumbling_body_keeps_its_world_momentum_to_round_off() {
    let set = &sets(STONE)[0];
    for (h, falls) in [(1e-3, false), (2e-3, false), (1e-2, false), (2e-3, true)] {
        let mut stone = tile(set, h, &STONE_STATE);
        if !falls {
            stone.params[param::GRAVITY..param::GRAVITY + 3].fill(0.0);
        }
        let gravity = load3(&stone.params, param::GRAVITY);
        let [spin, push] = momenta(&stone);
        let steps = 5_000.0;
        (0..5_000).for_each(|_| stone.step());
        let [spin_after, push_after] = momenta(&stone);
        let expected = add(push, scale(gravity, 3.2 * h * steps));
        // A step rounds at 1e-16 of what it adds up, and that is m r v (r the 6 cm from origin to centre of mass) too.
        let tolerance = steps * f64::EPSILON * (largest(spin) + 0.06 * largest(expected));
        assert!(largest(sub(spin_after, spin)) < tolerance, "h = {h}: {spin:?} {spin_after:?}");
        let tolerance = steps * f64::EPSILON * largest(expected);
        assert!(largest(sub(push_after, expected)) < tolerance, "h = {h}: {expected:?} {push_after:?}");
        // It did tumble: the body-frame spin went elsewhere.
        assert!(largest(sub(load3(&stone.state, STONE_SPIN), load3(&STONE_STATE, STONE_SPIN))) > 0.1);
    }
}

#[test]
fn the_explicit_rule_would_not_keep_it() {
    let set = &sets(STONE)[0];
    let mut stone = tile(set, 2e-3, &STONE_STATE);
    let [spin, _] = momenta(&stone);
    for _ in 0..500 {
        stone.free_velocity();
        let mut force: Vec<f64> = stone.bias.iter().map(|c| -c).collect();
        solve(&stone.layout.tree(), &stone.factor, &mut force);
        for (i, f) in force.iter().enumerate() {
            stone.velocity[i] = stone.state[7 + i] + 2e-3 * f;
        }
        stone.integrate();
    }
    let [spin_after, _] = momenta(&stone);
    assert!(largest(sub(spin_after, spin)) > 1e-6 * largest(spin));
}

#[test]
fn the_free_acceleration_of_a_lone_body_is_first_order_in_h() {
    let set = &sets(STONE)[0];
    let miss = |h: f64| {
        let mut stone = tile(set, h, &STONE_STATE);
        stone.free_velocity();
        let mut exact: Vec<f64> = stone.bias.iter().map(|c| -c).collect();
        solve(&stone.layout.tree(), &stone.factor, &mut exact);
        let found = (0..6).map(|i| (stone.v_free[i] - STONE_STATE[7 + i]) / h);
        found.zip(exact).fold(0.0_f64, |m, (a, b)| m.max((a - b).abs()))
    };
    let ratio = miss(2e-4) / miss(1e-4);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

/// Largest change of energy over a second, J.
fn energy_drift(set: &TreeSet, h: f64, state: &[f64]) -> f64 {
    let mut tile = tile(set, h, state);
    tile.free_velocity();
    let start = tile.energy();
    let mut worst = 0.0_f64;
    for _ in 0..(1.0 / h).round() as usize {
        tile.step();
        tile.free_velocity();
        worst = worst.max((tile.energy() - start).abs());
    }
    worst
}

#[test]
fn energy_drifts_by_the_first_order_of_h() {
    let chain = [0.3, 0.9, 0.1, -0.3, 0.3, 0.5, 1.0, 0.5, -1.0, 2.0, -1.5];
    let chain = [&chain[..], &[0.0; 5]].concat();
    for (name, xml, state) in [("stone", STONE, &STONE_STATE[..]), ("chain", CHAIN, &chain)] {
        let set = &sets(xml)[0];
        let drifts = [4e-4, 2e-4, 1e-4].map(|h| energy_drift(set, h, state));
        for pair in drifts.windows(2) {
            let ratio = pair[0] / pair[1];
            assert!((1.8..2.2).contains(&ratio), "{name}: {drifts:?}");
        }
    }
}

fn random_states(set: &TreeSet) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    (0..LANES).map(|_| (0..set.layout.dims.n_state()).map(|_| rng.random_range(-1.0..1.0)).collect()).collect()
}

fn scene(name: &str) -> Vec<TreeSet> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(name);
    compile(&load(path, &ImportOptions::default()).unwrap().model, &Settings::default()).unwrap()
}

fn pack_has_the_bits_of_its_lanes<T: Scalar<Pack = P>, P: Real<Scalar = T>>() {
    for name in ["scenes/humanoid.xml", "tests/golden/models/mixed-joints.xml", "tests/golden/models/several-trees.xml"]
    {
        for set in &scene(name) {
            let states = random_states(set);
            let mut pack = TreeTile::<P>::new(&set.layout, &set.params[0]);
            states.iter().enumerate().for_each(|(lane, state)| pack.set(lane, state));
            (0..3).for_each(|_| pack.step());
            for (lane, state) in states.iter().enumerate() {
                let mut alone = TreeTile::<T>::new(&set.layout, &set.params[0]);
                alone.set(0, state);
                (0..3).for_each(|_| alone.step());
                for (a, b) in [
                    (&pack.state, &alone.state),
                    (&pack.mass, &alone.mass),
                    (&pack.bias, &alone.bias),
                    (&pack.factor, &alone.factor),
                    (&pack.twist, &alone.twist),
                ] {
                    let bits = |x: T| x.to_f64().to_bits();
                    assert!(a.iter().zip(b).all(|(a, b)| bits(a.lane(lane)) == bits(*b)), "{name}, lane {lane}");
                }
                assert_eq!(pack.status[lane], alone.status[0]);
            }
        }
    }
}

#[test]
fn a_pack_has_the_bits_of_its_lanes() {
    pack_has_the_bits_of_its_lanes::<f32, F32x8>();
    pack_has_the_bits_of_its_lanes::<f64, F64x8>();
}

#[test]
fn a_lane_gone_wild_stops_and_its_neighbours_do_not_notice() {
    let set = &scene("scenes/humanoid.xml")[0];
    let states = random_states(set);
    let run = |wild: Option<f64>| {
        let mut pack = TreeTile::<F64x8>::new(&set.layout, &set.params[0]);
        states.iter().enumerate().for_each(|(lane, state)| pack.set(lane, state));
        if let Some(push) = wild {
            pack.state[set.layout.dims.tau_at() + 9].set_lane(3, push);
        }
        (0..4).for_each(|_| pack.step());
        pack
    };
    let tame = run(None);
    for push in [f64::NAN, f64::INFINITY, 1e300] {
        let wild = run(Some(push));
        for lane in 0..LANES {
            if lane == 3 {
                assert!(wild.status[lane] & status::NON_FINITE != 0);
                let moving = set.layout.dims.tau_at();
                assert_eq!(wild.get(lane)[..moving], states[lane][..moving]);
            } else {
                assert_eq!(wild.status[lane], 0);
                assert_eq!(wild.get(lane), tame.get(lane));
            }
        }
    }
}

#[test]
fn a_momentum_matrix_that_is_not_positive_is_flagged() {
    let set = &sets(CHAIN)[0];
    let mut chain = tile(set, 2e-3, &[0.0; 16]);
    chain.step();
    assert_eq!(chain.status, [0]);
    let damping = set.layout.locate(manyworlds_dynamics::Parameter::JointDamping(1)).unwrap();
    chain.params[damping.start] = -1e4;
    chain.step();
    assert_eq!(chain.status, [status::BREAKDOWN]);
}
