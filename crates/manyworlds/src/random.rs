//! Random numbers that depend on what they are for (seed, world, step, entry) and not on who asked before.

/// A number in [-1, 1), the same for the same arguments on every machine and in any order of calls.
#[must_use]
pub fn symmetric(seed: u64, world: u64, step: u64, entry: u64) -> f64 {
    let mut x = seed;
    for word in [world, step, entry] {
        x = mix(x ^ word);
    }
    // 53 bits of mantissa over [0, 1).
    (x >> 11) as f64 * (2.0 / (1u64 << 53) as f64) - 1.0
}

/// A normally distributed number, mean 0 and variance 1, likewise (G. Box and M. Muller, 1958).
#[must_use]
pub fn normal(seed: u64, world: u64, step: u64, entry: u64) -> f64 {
    // In (0, 1], of which the logarithm is finite; the second number from another seed.
    let radius = 0.5 * (1.0 - symmetric(seed, world, step, entry));
    let angle = std::f64::consts::PI * symmetric(!seed, world, step, entry);
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014).
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::{normal, symmetric};

    #[test]
    fn normal_numbers_have_the_moments_of_theirs() {
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(|i| normal(1, i % 100, i / 100, 3)).collect();
        for (power, expected) in [(1, 0.0), (2, 1.0), (3, 0.0), (4, 3.0)] {
            let moment = x.iter().map(|x| x.powi(power)).sum::<f64>() / n as f64;
            assert!((moment - expected).abs() < 0.06, "moment {power}: {moment}");
        }
    }

    #[test]
    fn covers_its_range_evenly() {
        let n = 100_000;
        let x: Vec<f64> = (0..n).map(|i| symmetric(1, i % 100, i / 100, 3)).collect();
        let mean = x.iter().sum::<f64>() / n as f64;
        let variance = x.iter().map(|x| x * x).sum::<f64>() / n as f64;
        assert!(x.iter().all(|x| (-1.0..1.0).contains(x)));
        assert!(mean.abs() < 0.01 && (variance - 1.0 / 3.0).abs() < 0.01, "mean {mean}, variance {variance}");
    }
}
