//! What a step of clutter costs by the number of bodies (Castro et al. 2022, section VI-C): spheres and boxes of 10 cm dropped
//! in columns on a floor, with walls around them and without; two seconds after the drop.
//!
//! `cargo run --release -p manyworlds-examples --example 12_clutter_growth [-- MOST_BODIES]`

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use manyworlds::model::from_mjcf_str;
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision};

/// Columns along a side, bodies in a column.
const SIZES: [[usize; 2]; 5] = [[2, 2], [2, 10], [4, 10], [6, 10], [10, 10]];
/// Steps of 10 ms before any is timed, and those timed.
const STEPS: [usize; 2] = [200, 20];

/// The model.
fn mjcf(columns: usize, high: usize, walls: bool) -> Result<String, std::fmt::Error> {
    let mut out = String::from(
        r#"<mujoco model="clutter"><option timestep="0.01"/>
<custom><numeric name="stiffness" data="1e12"/><numeric name="dissipation" data="0.01"/></custom>
<default><geom density="1000" friction="1" condim="3"/></default>
<worldbody><geom type="plane" size="9 9 1"/>
"#,
    );
    let half = 0.2 * columns as f64;
    for k in 0..if walls { 4 } else { 0 } {
        let (at, sign) = (half + 0.05, if k < 2 { 1.0 } else { -1.0 });
        let (x, y) = if k % 2 == 0 { (sign * at, 0.0) } else { (0.0, sign * at) };
        let (a, b) = if k % 2 == 0 { (0.05, half + 0.1) } else { (half, 0.05) };
        writeln!(out, r#"<geom type="box" pos="{x} {y} 0.4" size="{a} {b} 0.4"/>"#)?;
    }
    for i in 0..columns * columns * high {
        let (column, level) = (i / high, i % high);
        // Off their columns' axes by some millimetres.
        let off = |k: usize| 0.004 * ((i * 7 + k * 13) as f64).sin();
        let place = |c: usize, k: usize| 0.2 + 0.4 * c as f64 - half + off(k);
        let (x, y, z) = (place(column % columns, 0), place(column / columns, 1), 0.06 + 0.11 * level as f64);
        let shape = if level % 2 == 0 { r#"type="sphere" size="0.05""# } else { r#"type="box" size="0.05 0.05 0.05""# };
        writeln!(out, r#"<body pos="{x} {y} {z}"><freejoint/><geom {shape}/></body>"#)?;
    }
    out.push_str("</worldbody></mujoco>");
    Ok(out)
}

/// What a run showed.
struct Cost {
    contacts: u32,
    /// Of the step in the middle of those timed, ms.
    step: f64,
    /// Deepest at the end, mm.
    penetration: f64,
}

fn run([columns, high]: [usize; 2], walls: bool, solver: &str) -> Result<Cost, Box<dyn std::error::Error>> {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    let model = from_mjcf_str("clutter.xml", &mjcf(columns, high, walls)?, &nothing, &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        tolerance: 1e-6,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    (0..STEPS[0]).try_for_each(|_| batch.step::<f64>(&[]))?;
    let mut times = Vec::new();
    for _ in 0..STEPS[1] {
        let clock = Instant::now();
        batch.step::<f64>(&[])?;
        batch.wait()?;
        times.push(1e3 * clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let mut summaries = Vec::new();
    batch.summaries(&mut summaries)?;
    let last = &summaries[0];
    Ok(Cost { contacts: last.contacts, step: times[STEPS[1] / 2], penetration: 1e3 * last.penetration })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let most = std::env::args().nth(1).map_or(Ok(40), |most| most.parse())?;
    println!("| bodies | walls | solver | contacts | ms a step | penetration, mm |");
    println!("|---|---|---|---|---|---|");
    for size in SIZES.into_iter().filter(|[columns, high]| columns * columns * high <= most) {
        for (walls, solver) in [(true, "sap"), (true, "auto"), (false, "sap"), (false, "auto")] {
            let Cost { contacts, step, penetration } = run(size, walls, solver)?;
            let (bodies, walls) = (size[0] * size[0] * size[1], if walls { "yes" } else { "no" });
            println!("| {bodies} | {walls} | `{solver}` | {contacts} | {step:.2} | {penetration:.3} |");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::run;

    #[test]
    fn eight_bodies_rest() {
        for walls in [true, false] {
            for solver in ["sap", "auto"] {
                let found = run([2, 2], walls, solver).expect("a run");
                assert!(
                    found.contacts >= 8 && found.penetration < 0.2,
                    "{solver}: {} contacts, {} mm",
                    found.contacts,
                    found.penetration
                );
            }
        }
    }
}
