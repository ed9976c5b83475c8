//! What contacts did in a step, of all worlds at once, beside what the inspection of one world says.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision};

/// A world of trees that are islands by themselves, and one of a pile whose islands are of several trees.
#[test]
fn impulses_of_all_worlds_are_those_of_each() {
    for scene in ["ant", "table-pile"] {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
        let mut batch = Batch::new(&[(&model, 2), (&model, 1)], &options).unwrap();
        let controls: Vec<f64> =
            (0..batch.n_controls()).map(|i| 0.3 * manyworlds::random::symmetric(7, i as u64, 0, 0)).collect();
        let mut found = Vec::new();
        // Until something touches.
        for _ in 0..500 {
            batch.step(&controls).unwrap();
            found.clear();
            batch.contact_impulses(&mut found).unwrap();
            if (0..batch.len()).all(|world| found.iter().any(|c| c.world == world)) {
                break;
            }
        }
        for world in 0..batch.len() {
            let all = batch.inspect(world).unwrap().contacts;
            let acting: Vec<_> = all.iter().filter(|c| c.impulse != [0.0; 3]).collect();
            let own: Vec<_> = found.iter().filter(|c| c.world == world).collect();
            assert!(!own.is_empty(), "{scene}: nothing touches in world {world}");
            assert_eq!(own.len(), acting.len(), "{scene}, world {world}");
            for (own, expected) in own.iter().zip(acting) {
                assert_eq!((own.bodies, own.point), (expected.bodies, expected.point));
                for k in 0..3 {
                    let sum: f64 = (0..3).map(|r| expected.frame[r][k] * expected.impulse[r]).sum();
                    assert!((own.impulse[k] - sum).abs() < 1e-12, "{scene}: {} beside {sum}", own.impulse[k]);
                }
            }
        }
    }
}
