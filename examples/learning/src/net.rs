//! Networks of dense layers, and their training.

use anyhow::Result;
use candle_core::{D, Device, Tensor, Var};
use candle_nn::{AdamW, Optimizer, ParamsAdamW};

use crate::noise::Noise;
use crate::units::Units;

/// Rows of numbers as a tensor.
///
/// # Errors
/// Where they are not whole rows.
pub fn rows(numbers: Vec<f64>, wide: usize) -> Result<Tensor> {
    let high = numbers.len() / wide.max(1);
    Ok(Tensor::from_vec(numbers, (high, wide), &Device::Cpu)?)
}

/// The numbers of a tensor, row by row.
///
/// # Errors
/// Of the tensor.
pub fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    Ok(tensor.flatten_all()?.to_vec1()?)
}

/// Dense layers with [`Units`] between them.
#[derive(Debug)]
pub struct Mlp {
    /// Weights `[in, out]`, biases `[out]`.
    layers: Vec<[Var; 2]>,
}

impl Mlp {
    /// Layers of the given widths, first the inputs; outputs begin `last` times as large as they would.
    ///
    /// # Errors
    /// Of tensors.
    pub fn new(widths: &[usize], last: f64, noise: &mut Noise) -> Result<Self> {
        let mut layers = Vec::new();
        for (index, pair) in widths.windows(2).enumerate() {
            let scale = if index + 2 == widths.len() { last } else { 1.0 } / (pair[0] as f64).sqrt();
            let weights = noise.normals(pair[0] * pair[1]).into_iter().map(|x| scale * x).collect();
            let weights = Var::from_vec(weights, (pair[0], pair[1]), &Device::Cpu)?;
            layers.push([weights, Var::from_vec(vec![0.0; pair[1]], pair[1], &Device::Cpu)?]);
        }
        Ok(Self { layers })
    }

    /// Outputs of rows of inputs.
    ///
    /// # Errors
    /// Where widths do not fit.
    pub fn forward(&self, inputs: &Tensor) -> Result<Tensor> {
        let mut x = inputs.clone();
        for (index, [weights, bias]) in self.layers.iter().enumerate() {
            let sums = x.matmul(weights)?;
            let hidden = index + 1 < self.layers.len();
            x = if hidden { sums.apply_op2(bias, Units)? } else { sums.broadcast_add(bias)? };
        }
        Ok(x)
    }

    /// What is trained.
    #[must_use]
    pub fn vars(&self) -> Vec<Var> {
        self.layers.iter().flatten().cloned().collect()
    }

    /// Keeps `share` of its numbers and takes the rest from another of the same widths.
    ///
    /// # Errors
    /// Where widths differ.
    pub fn follow(&self, other: &Self, share: f64) -> Result<()> {
        for (own, other) in self.layers.iter().flatten().zip(other.layers.iter().flatten()) {
            own.set(&((own.as_tensor() * share)? + (other.as_tensor() * (1.0 - share))?)?)?;
        }
        Ok(())
    }
}

/// Steps down a loss by Adam (D. Kingma and J. Ba, 2015), gradients shortened to a given length.
#[derive(Debug)]
pub struct Descent {
    adam: AdamW,
    vars: Vec<Var>,
    rate: f64,
    longest: f64,
}

impl Descent {
    /// Of some variables, with a rate and decays of the means.
    ///
    /// # Errors
    /// Of tensors.
    pub fn new(vars: Vec<Var>, rate: f64, decays: [f64; 2], longest: f64) -> Result<Self> {
        let [beta1, beta2] = decays;
        let params = ParamsAdamW { lr: rate, beta1, beta2, eps: 1e-8, weight_decay: 0.0 };
        Ok(Self { adam: AdamW::new(vars.clone(), params)?, vars, rate, longest })
    }

    /// One step, at this share of the rate.
    ///
    /// # Errors
    /// Of tensors.
    pub fn step(&mut self, loss: &Tensor, share: f64) -> Result<()> {
        let mut gradients = loss.backward()?;
        let mut square = 0.0;
        for var in &self.vars {
            if let Some(gradient) = gradients.get(var) {
                square += gradient.sqr()?.sum_all()?.to_scalar::<f64>()?;
            }
        }
        let length = square.sqrt();
        if !length.is_finite() {
            // One bad batch is no reason to lose everything learned.
            return Ok(());
        }
        if length > self.longest {
            for var in &self.vars {
                if let Some(gradient) = gradients.remove(var) {
                    gradients.insert(var, (gradient * (self.longest / length))?);
                }
            }
        }
        self.adam.set_learning_rate(self.rate * share);
        Ok(self.adam.step(&gradients)?)
    }
}

/// Trains a network to give `targets`, `[rows]`, for rows of inputs: mean squared errors over parts of them in random order.
///
/// # Errors
/// Of tensors.
pub fn fit(
    net: &Mlp,
    descent: &mut Descent,
    [inputs, targets]: [&Tensor; 2],
    [epochs, parts]: [usize; 2],
    share: f64,
    noise: &mut Noise,
) -> Result<()> {
    let count = targets.dim(0)?;
    for _ in 0..epochs {
        for part in noise.order(count).chunks(count.div_ceil(parts)) {
            let part = Tensor::new(part, &Device::Cpu)?;
            let found = net.forward(&inputs.index_select(&part, 0)?)?.squeeze(D::Minus1)?;
            let loss = (found - targets.index_select(&part, 0)?)?.sqr()?.mean_all()?;
            descent.step(&loss, share)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Descent, Mlp, fit, numbers, rows};
    use crate::noise::Noise;

    #[test]
    fn a_network_learns_a_function() {
        let mut noise = Noise::new(3, 0);
        let net = Mlp::new(&[1, 32, 32, 1], 1.0, &mut noise).expect("a network");
        let mut descent = Descent::new(net.vars(), 1e-2, [0.9, 0.999], 1.0).expect("Adam");
        let x: Vec<f64> = (0..256).map(|i| i as f64 / 64.0 - 2.0).collect();
        let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin()).collect();
        let inputs = rows(x, 1).expect("rows");
        let targets = rows(y.clone(), 1).and_then(|y| Ok(y.squeeze(1)?)).expect("rows");
        let error = |net: &Mlp| {
            let found = net.forward(&inputs).and_then(|y| numbers(&y)).expect("numbers");
            found.iter().zip(&y).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
        };
        assert!(error(&net) > 0.3);
        fit(&net, &mut descent, [&inputs, &targets], [300, 4], 1.0, &mut noise).expect("training");
        fit(&net, &mut descent, [&inputs, &targets], [100, 4], 0.1, &mut noise).expect("training");
        assert!(error(&net) < 0.1, "{}", error(&net));
    }
}
