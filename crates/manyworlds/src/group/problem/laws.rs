//! What constraints in buffers obey.

use manyworlds_contact::Law;
use manyworlds_shaders::contact::island::UNBOUNDED;

/// The law of three rows by what their friction says.
pub(super) fn block_law(friction: f64) -> Law {
    if friction < 0.0 { Law::Block } else { Law::Contact { mu: friction } }
}

/// The law of a row `J v + e + c lambda = 0` between bounds.
pub(super) fn row_law(compliance: f64, lower: f64, upper: f64) -> Law {
    let open = |x: f64| if x.abs() >= UNBOUNDED { f64::INFINITY.copysign(x) } else { x };
    let (lo, hi) = (open(lower), open(upper));
    if compliance > 0.0 {
        let b = compliance.recip();
        return Law::Soft { k: b, b, lo, hi };
    }
    match (lo, hi) {
        (f64::NEG_INFINITY, f64::INFINITY) => Law::Bilateral,
        (0.0, f64::INFINITY) => Law::Unilateral,
        _ => Law::Box { lo, hi },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_the_law_of_their_bounds() {
        assert_eq!(row_law(0.0, -1e30, 1e30), Law::Bilateral);
        // As f32 has it.
        assert_eq!(row_law(0.0, 0.0, f64::from(1e30_f32)), Law::Unilateral);
        assert_eq!(row_law(0.0, -0.5, 0.5), Law::Box { lo: -0.5, hi: 0.5 });
        let soft = Law::Soft { k: 4.0, b: 4.0, lo: -2.0, hi: f64::INFINITY };
        assert_eq!(row_law(0.25, -2.0, 1e30), soft);
        assert_eq!(block_law(-1.0), Law::Block);
        assert_eq!(block_law(0.0), Law::Contact { mu: 0.0 });
    }
}
