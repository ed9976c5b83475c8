//! The friction frame of a contact, from its normal alone.

use crate::Real;

/// Below this z a normal takes the basis that is regular at -z. Away from the axes, where contacts of flat ground,
/// walls and boxes sit: there rounding must not switch the frame, or warm-started friction would turn with it.
const SWITCH: f64 = -0.5;

/// Two unit tangents `(t1, t2)` with `t1 x t2 = n`, a smooth function of the unit normal except at `n_z = -1/2`
/// (Duff et al. 2017, "Building an Orthonormal Basis, Revisited", with the switch moved).
#[inline(always)]
pub fn tangents<R: Real>(n: [R; 3]) -> [[R; 3]; 2] {
    let one = R::lit(1.0);
    let s = R::select(n[2].lt(R::lit(SWITCH)), -one, one);
    let a = -one / (s + n[2]);
    let b = n[0] * n[1] * a;
    [[(s * n[0] * n[0]).mul_add(a, one), s * b, -(s * n[0])], [b, (n[1] * n[1]).mul_add(a, s), -n[1]]]
}

/// How the tangents change with the normal: `d t1 = F1 dn`, `d t2 = F2 dn`; rows of each: components of the tangent.
#[inline(always)]
pub fn tangent_slopes<R: Real>([x, y, z]: [R; 3]) -> [[[R; 3]; 3]; 2] {
    let (one, two, none) = (R::lit(1.0), R::lit(2.0), R::lit(0.0));
    // The branch that `tangents` takes.
    let s = R::select(z.lt(R::lit(SWITCH)), -one, one);
    let a = -one / (s + z);
    let bend = a * a;
    let (bx, by, bz) = (y * a, x * a, x * y * bend);
    let first = [[two * s * x * a, none, s * x * x * bend], [s * bx, s * by, s * bz], [-s, none, none]];
    let second = [[bx, by, bz], [none, two * y * a, y * y * bend], [none, -one, none]];
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    fn fault(n: [f64; 3]) -> f64 {
        let [t1, t2] = tangents(n);
        let cross = [t1[1] * t2[2] - t1[2] * t2[1], t1[2] * t2[0] - t1[0] * t2[2], t1[0] * t2[1] - t1[1] * t2[0]];
        let products = [dot(t1, t1) - 1.0, dot(t2, t2) - 1.0, dot(t1, t2), dot(t1, n), dot(t2, n)];
        let turned = (0..3).map(|i| cross[i] - n[i]);
        products.into_iter().chain(turned).fold(0.0, |worst, x| x.abs().max(worst))
    }

    #[test]
    fn tangents_complete_a_right_handed_frame() {
        for i in 0..40 {
            for j in 0..40 {
                let (z, turn) = (f64::from(i) / 19.5 - 1.0, f64::from(j) * 0.157);
                let r = (1.0 - z * z).max(0.0).sqrt();
                assert!(fault([r * turn.cos(), r * turn.sin(), z]) < 1e-14);
            }
        }
        assert!(fault([0.0, 0.0, 1.1]) > 0.05, "a normal that is not unit must show");
    }

    #[test]
    fn rounding_does_not_turn_the_frame_of_axis_aligned_normals() {
        for axis in 0..3 {
            for sign in [-1.0, 1.0] {
                let mut n = [0.0; 3];
                n[axis] = sign;
                let there = tangents(n);
                for other in 0..3 {
                    let mut near = n;
                    near[other] += if other == axis { 0.0 } else { -1e-13 };
                    let moved = tangents(near);
                    assert!((0..2).all(|t| (0..3).all(|k| (moved[t][k] - there[t][k]).abs() < 1e-12)));
                }
            }
        }
    }
}
