//! The law of a row whose bias may give way.
//!
//! A bias asks a contact, a limit or a weld for a speed `a = -e`: to undo a penetration or an error of position, or to bounce.
//! Where no motion gives that speed the exact problem has no solution, but without the request it has one wherever nothing
//! prescribes motion. So the request, and it alone, is pursued up to an impulse K, the cap:
//!
//! ```text
//! lambda < K         the law as it is, with its bias
//! lambda = K         0 <= sigma <= a: the request gives way, by w = a - sigma
//! lambda > K         sigma = 0: nothing gets worse, whatever that takes
//! ```
//!
//! The graph of speed over impulse is monotone, as it was, with one step more. Bilateral rows: the same along the sign of
//! their request. With friction the cone is that of the impulse at hand.

use std::ops::{Add, Mul, Neg, Sub};

/// The cap of one row and the speed that its bias asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps<T> {
    /// K, N s.
    pub cap: T,
    /// `a = -e`, m/s; negative where a bilateral row asks for the other direction.
    pub request: T,
}

/// What a point is mapped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Below the cap.
    Pursued,
    /// At it.
    Plateau,
    /// Beyond.
    Floor,
}

impl<T> Steps<T>
where
    T: Copy + PartialOrd + Default + Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Neg<Output = T>,
{
    /// The impulse for `y = lambda - rho (sigma + e)`, before any sign that the law demands, and where that is.
    #[must_use]
    pub fn map(self, rho: T, y: T) -> (T, Place) {
        let zero = T::default();
        let backward = self.request < zero;
        let (y, request) = if backward { (-y, -self.request) } else { (y, self.request) };
        let signed = |x: T| if backward { -x } else { x };
        let drop = rho * request;
        if y <= self.cap {
            (signed(y), Place::Pursued)
        } else if y <= self.cap + drop {
            (signed(self.cap), Place::Plateau)
        } else {
            (signed(y - drop), Place::Floor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, Steps};

    /// Impulse and speed that the map leaves alone are just those of the three steps.
    #[test]
    fn fixed_points_are_the_steps() {
        let (cap, a) = (2.0, 0.5);
        for sign in [1.0, -1.0] {
            let steps = Steps { cap, request: sign * a };
            for rho in [0.1, 1.0, 10.0] {
                let left = |lambda: f64, sigma: f64| {
                    let (to, place) = steps.map(rho, sign * (lambda - rho * (sigma - a)));
                    (sign * to - lambda, place)
                };
                assert_eq!(left(1.0, a), (0.0, Place::Pursued));
                assert_eq!(left(cap, 0.2), (0.0, Place::Plateau));
                let (off, place) = left(5.0, 0.0);
                assert!(off.abs() < 1e-14 && place == Place::Floor);
                // Off the graph.
                for (lambda, sigma) in [(1.0, 0.2), (cap, -0.1), (cap, 0.7), (5.0, 0.2)] {
                    assert!(left(lambda, sigma).0.abs() > 1e-3, "{lambda} {sigma}");
                }
            }
        }
    }
}
