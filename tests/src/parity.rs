//! Parity of kernels: a case is run by the mirror in f32 and f64 and by the device in both, and the results compared.

mod adhesion;
mod batch;
mod contact;
mod convex;
mod data;
mod dynamics;
mod gradient;
mod island;
mod newton_cr;
mod sensors;
mod soft;
mod soft_trees;
mod subadmm;

use std::sync::Arc;

use manyworlds_gpu::{BufferId, CpuStore, DeviceOptions, GpuDevice, GpuError, GpuStore, Recording, Store};
use manyworlds_shaders::contact::island::UNBOUNDED;
use manyworlds_shaders::{Kernel, Precision, Scalar};

pub use data::{Data, Parts};

/// Says that this machine has no adapter, and that the comparison with a device is to be left out.
pub const NO_ADAPTER: &str = "MANYWORLDS_NO_ADAPTER";

/// How far two results may be apart, as a share of the output's [`sizes`]. Integers must be equal.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// In f32.
    pub f32: f64,
    /// In f64.
    pub f64: f64,
    /// Why this much.
    pub reason: &'static str,
}

/// Copies and selections: nothing is computed.
pub const EXACT: Tolerance =
    Tolerance { f32: 6e-8, f64: 0.0, reason: "values are moved, not computed; in f32 the inputs were rounded" };

/// Appends a dispatch over buffers to a recording.
pub type Record = Box<dyn Fn(&mut Recording, &[BufferId])>;

/// One run of one kernel.
pub struct Case {
    /// What sets it apart from the kernel's other cases.
    pub name: String,
    /// What runs.
    pub kernel: &'static Kernel,
    /// Lanes of the data in tiles.
    pub lanes: usize,
    /// Buffers in binding order. In slots of an output a NaN stands for what is nobody's: whatever the kernel leaves there is
    /// not compared, and no later one may read it.
    pub buffers: Vec<Data>,
    /// Appends the dispatch.
    pub record: Record,
    /// Bindings to compare, counted from 0, and how closely.
    pub outputs: Vec<(usize, Tolerance)>,
    /// Whether f32 is compared too: not where the problem is so badly conditioned that f32 leaves no digits to compare.
    pub single: bool,
    /// Whether lanes are independent and numbered by nothing but their place, so that reversing them reverses results.
    pub reversible: bool,
}

/// Every case of every kernel.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = batch::cases();
    cases.extend(dynamics::cases());
    cases.extend(adhesion::cases());
    cases.extend(sensors::cases());
    cases.extend(contact::cases());
    cases.extend(gradient::cases());
    cases.extend(island::cases());
    cases.extend(soft::cases());
    cases.extend(soft_trees::cases());
    cases
}

impl Case {
    fn label(&self) -> String {
        format!("{} ({})", self.kernel.name, self.name)
    }

    fn reversed(&self) -> Vec<Data> {
        self.buffers.iter().map(Data::reversed).collect()
    }

    /// Every number that goes in, moved by about a hundredth. Of a kernel on words alone, two bits of what it reads last and
    /// of what it writes.
    fn perturbed(&self) -> Vec<Data> {
        let last = self.buffers.len().saturating_sub(2);
        let words_alone = self.kernel.bindings.iter().all(|binding| !binding.real);
        let flipped = |(at, data): (usize, &Data)| match data {
            Data::Words(words) if at >= last => Data::Words(words.iter().map(|word| word ^ 3).collect()),
            data => data.clone(),
        };
        if words_alone {
            return self.buffers.iter().enumerate().map(flipped).collect();
        }
        self.buffers.iter().map(|data| data.perturbed(0.01)).collect()
    }

    /// The outputs, lane by lane whatever the tile.
    fn run<T: Scalar, S: Store<T>>(
        &self,
        buffers: &[Data],
        make: impl FnOnce(&[manyworlds_gpu::BufferSpec]) -> Result<S, GpuError>,
    ) -> Result<Vec<Vec<f64>>, GpuError> {
        let specs: Vec<_> = buffers.iter().zip(self.kernel.bindings).map(|(data, b)| data.spec(b.name)).collect();
        let mut store = make(&specs)?;
        let ids: Vec<_> = (0..buffers.len() as u32).map(BufferId).collect();
        for (id, data) in ids.iter().zip(buffers) {
            data.upload(*id, buffers, self.lanes, &mut store)?;
        }
        let mut recording = Recording::new();
        (self.record)(&mut recording, &ids);
        for (at, _) in &self.outputs {
            recording.read(ids[*at]);
        }
        store.run(&recording)?;
        let result = |at: usize| {
            let mut values = buffers[at].download(ids[at], self.lanes, &mut store)?;
            buffers[at].blank(&mut values);
            Ok(values)
        };
        self.outputs.iter().map(|(at, _)| *at).map(result).collect()
    }

    fn on_cpu<T: Scalar>(&self, buffers: &[Data]) -> Result<Vec<Vec<f64>>, GpuError> {
        self.run::<T, _>(buffers, |specs| Ok(CpuStore::new(specs)))
    }

    /// The buffers after the mirror in f64 has run: what the kernels behind it are given.
    ///
    /// # Errors
    /// If the case does not run.
    pub fn after(&self) -> Result<Vec<Data>, GpuError> {
        let results = self.on_cpu::<f64>(&self.buffers)?;
        let mut buffers = self.buffers.clone();
        for ((at, _), result) in self.outputs.iter().zip(&results) {
            buffers[*at] = buffers[*at].with_result(result, self.lanes);
        }
        Ok(buffers)
    }

    fn on_device<T: Scalar>(&self, device: &Arc<GpuDevice>) -> Result<Vec<Vec<f64>>, GpuError> {
        self.run::<T, _>(&self.buffers, |specs| GpuStore::new(device, specs))
    }

    /// `truth`: the same in f64, which says how large each output is.
    fn compare(
        &self,
        got: &[Vec<f64>],
        wanted: &[Vec<f64>],
        truth: &[Vec<f64>],
        precision: Precision,
    ) -> Result<(), String> {
        let results = got.iter().zip(wanted).zip(truth);
        for ((at, tolerance), ((got, wanted), truth)) in self.outputs.iter().zip(results) {
            let (near, word) = match (precision, &self.buffers[*at]) {
                (_, data) if data.is_integer() => (0.0, "integers"),
                (Precision::F32, _) => (tolerance.f32, tolerance.reason),
                (Precision::F64, _) => (tolerance.f64, tolerance.reason),
            };
            close(got, wanted, near, &sizes(truth, self.buffers[*at].period()))
                .map_err(|fault| format!("{}: {fault} ({word})", self.kernel.bindings[*at].name))?;
        }
        Ok(())
    }

    /// The mirror against itself: f32 against f64; bit by bit lanes in another order, and one after the other instead of in packs.
    ///
    /// # Errors
    /// What differs.
    pub fn check_mirror(&self) -> Result<(), String> {
        let text = |error: GpuError| format!("{}: {error}", self.label());
        let truth = self.on_cpu::<f64>(&self.buffers).map_err(text)?;
        let single = self.on_cpu::<f32>(&self.buffers).map_err(text)?;
        if self.single {
            self.compare(&single, &truth, &truth, Precision::F32)
                .map_err(|fault| format!("{}, mirror in f32 against f64: {fault}", self.label()))?;
        }
        if self.reversible {
            let alone = self.run::<f64, _>(&self.buffers, |specs| Ok(CpuStore::lone(specs))).map_err(text)?;
            self.require_same(&alone, &truth, "of a lane alone is not what it is in a pack")?;
            let reversed = self.reversed();
            let turned = self.on_cpu::<f32>(&reversed).map_err(text)?;
            let outputs = self.outputs.iter().zip(&turned);
            let back: Vec<_> = outputs.map(|((at, _), x)| reversed[*at].reverse_result(x, self.lanes)).collect();
            self.require_same(&back, &single, "of a lane depends on its neighbours")?;
        }
        Ok(())
    }

    /// That outputs are equal, bit by bit; `fault`: what else is said of the first that is not. A slot of zeros, there to fill up a tile, may
    /// turn -0 into 0 and nothing else.
    fn require_same(&self, got: &[Vec<f64>], wanted: &[Vec<f64>], fault: &str) -> Result<(), String> {
        for ((at, _), (got, wanted)) in self.outputs.iter().zip(got.iter().zip(wanted)) {
            if !got.iter().zip(wanted).all(|(a, b)| a == b || (a.is_nan() && b.is_nan())) {
                return Err(format!("{}: {} {fault}", self.label(), self.kernel.bindings[*at].name));
            }
        }
        Ok(())
    }

    /// The device against the mirror, in each precision that the device has.
    ///
    /// # Errors
    /// What differs.
    pub fn check_device(&self, device: &Arc<GpuDevice>) -> Result<(), String> {
        let text = |error: GpuError| format!("{}: {error}", self.label());
        let on =
            |precision: Precision| format!("{} on {} in {}", self.label(), device.adapter_name(), precision.name());
        let truth = self.on_cpu::<f64>(&self.buffers).map_err(text)?;
        if self.single {
            let (got, wanted) = (self.on_device::<f32>(device), self.on_cpu::<f32>(&self.buffers));
            self.compare(&got.map_err(text)?, &wanted.map_err(text)?, &truth, Precision::F32)
                .map_err(|fault| format!("{}: {fault}", on(Precision::F32)))?;
        }
        if device.require(Precision::F64).is_ok() {
            let got = self.on_device::<f64>(device).map_err(text)?;
            self.compare(&got, &truth, &truth, Precision::F64)
                .map_err(|fault| format!("{}: {fault}", on(Precision::F64)))?;
        }
        Ok(())
    }

    /// Whether the comparison notices inputs that are off by a hundredth.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_sensitivity(&self) -> Result<(), String> {
        let text = |error: GpuError| format!("{}: {error}", self.label());
        let wanted = self.on_cpu::<f64>(&self.buffers).map_err(text)?;
        let off = self.on_cpu::<f64>(&self.perturbed()).map_err(text)?;
        match self.compare(&off, &wanted, &wanted, Precision::F32) {
            Err(_) => Ok(()),
            Ok(()) => Err(format!("{}: inputs off by a hundredth go unnoticed", self.label())),
        }
    }
}

/// What is smaller than this share of the largest number of its record, in f64 and in every record, is a zero that
/// rounding missed.
const ZERO: f64 = 1e-12;

/// How large the numbers of a record are, of `period` numbers each: every number by the largest at its place in any record,
/// so that a small output beside a large one is held to its own size. Zeros have none, and are held to the largest number
/// of their record, of which they are the round-off. What stands for an infinite bound is no size.
#[must_use]
pub fn sizes(truth: &[f64], period: usize) -> Vec<f64> {
    let mut sizes = vec![0.0_f64; period.max(1)];
    for (at, x) in truth.iter().enumerate().filter(|(_, x)| x.is_finite()) {
        let size = &mut sizes[at % period.max(1)];
        *size = size.max(x.abs());
    }
    let largest = sizes.iter().copied().filter(|size| *size < UNBOUNDED).fold(0.0, f64::max);
    sizes.iter().map(|&size| if size <= ZERO * largest { largest } else { size }).collect()
}

/// Whether two lists are equal within a share of their [`sizes`]; says where they differ most.
///
/// # Errors
/// The place and the values.
pub fn close(got: &[f64], wanted: &[f64], tolerance: f64, sizes: &[f64]) -> Result<(), String> {
    if got.len() != wanted.len() {
        return Err(format!("{} values for {}", got.len(), wanted.len()));
    }
    let mut worst = (0.0, 0);
    for (at, (a, b)) in got.iter().zip(wanted).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan());
        let apart = if same { 0.0 } else { (a - b).abs() / sizes[at % sizes.len()] };
        // A NaN or an infinity on one side only is as far apart as can be.
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        if apart > worst.0 {
            worst = (apart, at);
        }
    }
    let (apart, at) = worst;
    if apart <= tolerance {
        return Ok(());
    }
    let (record, place) = (at / sizes.len(), at % sizes.len());
    Err(format!(
        "number {place} of record {record}: {} for {}, {apart:.2e} apart where {tolerance:.2e} is allowed",
        got[at], wanted[at]
    ))
}

/// The device to compare with, or none where the switch [`NO_ADAPTER`] says so.
///
/// # Errors
/// If there is none and the switch does not say so.
pub fn device() -> Result<Option<Arc<GpuDevice>>, GpuError> {
    if std::env::var(NO_ADAPTER).is_ok_and(|value| value == "1") {
        eprintln!("\n*** {NO_ADAPTER}=1: NOTHING IS COMPARED WITH A DEVICE. Kernels in WGSL are NOT tested. ***\n");
        return Ok(None);
    }
    GpuDevice::open(&DeviceOptions::default()).map(Some)
}
