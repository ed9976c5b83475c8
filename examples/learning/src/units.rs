//! Hidden units of a network: what comes after the product with the weights, as one operation.
//!
//! Made of candle's own operations it would be ten of them and as many arrays, forwards and once more backwards, which took
//! most of the time of learning.

use candle_core::{CpuStorage, CustomOp2, Error, Layout, Result, Shape, Tensor};

/// Biases are added, exponential linear units taken (D. Clevert et al. 2016), and each row brought to mean 0 and variance 1
/// (layer normalisation, J. L. Ba et al. 2016; without gains of its own: the next layer's weights have them).
#[derive(Debug, Clone, Copy)]
pub struct Units;

/// Added to the variance.
const FLOOR: f64 = 1e-5;

/// The unit of a sum and its slope: `exp(x) - 1` below 0, smooth enough for gradients by inputs.
fn elu(x: f64) -> (f64, f64) {
    let slope = x.min(0.0).exp();
    (x.max(0.0) + slope - 1.0, slope)
}

/// Brings a row to mean 0 and variance 1; what it was divided by.
fn normalise(row: &mut [f64]) -> f64 {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let deviation = (variance + FLOOR).sqrt();
    row.iter_mut().for_each(|x| *x = (*x - mean) / deviation);
    deviation
}

/// The numbers of an array that lies behind itself.
fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f64]> {
    let (from, to) = layout.contiguous_offsets().ok_or_else(|| Error::Msg("units: not contiguous".into()))?;
    Ok(&storage.as_slice::<f64>()?[from..to])
}

impl CustomOp2 for Units {
    fn name(&self) -> &'static str {
        "units"
    }

    fn cpu_fwd(
        &self,
        inputs: &CpuStorage,
        of_inputs: &Layout,
        biases: &CpuStorage,
        of_biases: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (inputs, biases) = (slice(inputs, of_inputs)?, slice(biases, of_biases)?);
        let mut out = vec![0.0; inputs.len()];
        for (x, out) in inputs.chunks_exact(biases.len()).zip(out.chunks_exact_mut(biases.len())) {
            for k in 0..biases.len() {
                (out[k], _) = elu(x[k] + biases[k]);
            }
            normalise(out);
        }
        Ok((CpuStorage::F64(out), of_inputs.shape().clone()))
    }

    fn bwd(
        &self,
        inputs: &Tensor,
        biases: &Tensor,
        _: &Tensor,
        by_outputs: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [x, bias, g] = [inputs, biases, by_outputs].map(|all| all.flatten_all()?.to_vec1::<f64>());
        let (x, bias, mut g) = (x?, bias?, g?);
        let wide = bias.len();
        let n = wide as f64;
        let [mut units, mut slopes, mut by_biases] = [0, 1, 2].map(|_| vec![0.0; wide]);
        for (x, g) in x.chunks_exact(wide).zip(g.chunks_exact_mut(wide)) {
            for k in 0..wide {
                (units[k], slopes[k]) = elu(x[k] + bias[k]);
            }
            let deviation = normalise(&mut units);
            let mean = g.iter().sum::<f64>() / n;
            let along = g.iter().zip(&units).map(|(g, y)| g * y).sum::<f64>() / n;
            for k in 0..wide {
                g[k] = slopes[k] * (g[k] - mean - along * units[k]) / deviation;
                by_biases[k] += g[k];
            }
        }
        let by_inputs = Tensor::from_vec(g, inputs.shape(), inputs.device())?;
        Ok((Some(by_inputs), Some(Tensor::from_vec(by_biases, wide, biases.device())?)))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Tensor, Var};

    use super::{FLOOR, Units};
    use crate::net::{numbers, rows};
    use crate::noise::Noise;

    /// Values and gradients are those of the same made of candle's operations.
    #[test]
    fn one_operation_does_what_many_do() {
        let (high, wide) = (7, 12);
        let mut noise = Noise::new(4, 0);
        let mut drawn = |high: usize| rows(noise.normals(high * wide), wide).expect("rows");
        let inputs = Var::from_tensor(&drawn(high)).expect("inputs");
        let biases = Var::from_tensor(&drawn(1).flatten_all().expect("a row")).expect("biases");
        let weights = drawn(high);
        let many = || -> candle_core::Result<Tensor> {
            let units = inputs.broadcast_add(&biases)?.elu(1.0)?;
            let centred = units.broadcast_sub(&units.mean_keepdim(1)?)?;
            let variance = (centred.sqr()?.mean_keepdim(1)? + FLOOR)?;
            centred.broadcast_div(&variance.sqrt()?)
        };
        let one = inputs.apply_op2(&biases, Units).expect("units");
        let [found, expected] = [one, many().expect("units")].map(|units| {
            let loss = (&units * &weights).and_then(|x| x.sum_all()).expect("a loss");
            let gradients = loss.backward().expect("gradients");
            let of = |var: &Var| numbers(gradients.get(var).expect("a gradient")).expect("numbers");
            [numbers(&units).expect("numbers"), of(&inputs), of(&biases)]
        });
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
