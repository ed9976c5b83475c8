//! A hundred million steps with resets, run by hand: flat memory, and no world that fails.
//!
//! `cargo xtask test --only 'test(soak)' --ignored`

use manyworlds::{Batch, BatchOptions, Executor, FieldId, ImportOptions, StateRows, Which, load, random};

/// World-steps in all.
const STEPS: u64 = 100_000_000;
const WORLDS: usize = 4096;
/// Steps between two looks, at which a share of the worlds starts again and all have new controls.
const BETWEEN: u64 = 50;
/// Every so manyth world starts again at a look.
const SHARE: usize = 16;

/// Memory that the process holds, B; none where the system does not say.
fn memory() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split_whitespace().nth(1)?.parse::<u64>().ok()? * 4096)
}

#[test]
#[ignore = "takes minutes"]
fn a_hundred_million_steps_leave_no_trace() {
    let model = load("half-cheetah", &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, WORLDS)], &options).expect("a batch");
    let mut controls = vec![0.0_f32; batch.n_controls()];
    let (q, v) = (model.initial_q().repeat(WORLDS), vec![0.0; WORLDS * model.n_v]);
    let (mut summaries, mut first, mut contacts, mut missed) = (Vec::new(), None, 0, 0);
    let looks = STEPS / (WORLDS as u64 * BETWEEN);
    for look in 0..looks {
        for (i, control) in controls.iter_mut().enumerate() {
            *control = random::symmetric(look, i as u64, 0, 0) as f32;
        }
        for _ in 0..BETWEEN {
            batch.step(&controls).expect("a step");
        }
        batch.summaries(&mut summaries).expect("summaries");
        assert!(summaries.iter().all(|world| !world.failed()), "look {look}: a world failed");
        contacts += summaries.iter().map(|world| u64::from(world.contacts)).sum::<u64>();
        missed += summaries.iter().filter(|world| world.status_name() == "iteration limit").count();
        let again: Vec<bool> = (0..WORLDS).map(|world| world % SHARE == look as usize % SHARE).collect();
        let rows = StateRows { q: &q, v: &v, ..StateRows::default() };
        batch.restart_worlds(Which::Masked(&again), rows).expect("a start");
        let Some(now) = memory() else { continue };
        if look == looks / 10 {
            first = Some(now);
        }
        if look % (looks / 10) == 0 {
            println!("{} world-steps, {} MB", look * BETWEEN * WORLDS as u64, now >> 20);
        }
    }
    let mut positions = vec![0.0_f32; WORLDS * model.n_q];
    batch.read(0, FieldId::Position, &mut positions).expect("positions");
    assert!(positions.iter().all(|x| x.is_finite()) && contacts > 0);
    println!(
        "{contacts} contacts seen, {missed} steps at the limit of iterations in {} looked at",
        looks * WORLDS as u64
    );
    if let (Some(first), Some(last)) = (first, memory()) {
        assert!(last as f64 <= 1.05 * first as f64, "{first} B after a tenth, {last} B at the end");
    }
}
