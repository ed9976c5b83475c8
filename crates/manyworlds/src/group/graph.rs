//! The kernels of a step and the buffers between them, as a report.

use manyworlds_gpu::BufferSpec;
use manyworlds_shaders::Scalar;

use super::chunk::Chunk;
use crate::{BufferReport, Error, KernelReport, StageReport};

impl<T: Scalar> Chunk<T> {
    /// What would be recorded if the last step were taken again; `specs`: those of its buffers.
    pub(super) fn stages(&mut self, specs: &[BufferSpec]) -> Result<Vec<StageReport>, Error> {
        self.finish()?;
        // Controls of a step that failed before its kernels are still to be spread out.
        let controls_wait = std::mem::take(&mut self.controls_wait);
        let recorded = self.record_step();
        self.controls_wait = controls_wait;
        recorded?;
        let mut stages: Vec<StageReport> = Vec::new();
        for (name, dispatches) in self.recording.stages() {
            let kernels = dispatches.iter().map(|dispatch| {
                let (mut reads, mut writes) = (Vec::new(), Vec::new());
                for (id, binding) in dispatch.buffers().iter().zip(dispatch.kernel.bindings) {
                    let number = id.0 as usize;
                    let to = if binding.write { &mut writes } else { &mut reads };
                    to.push(BufferReport { name: specs[number].name, number });
                }
                KernelReport { name: dispatch.kernel.name, count: dispatch.count, reads, writes }
            });
            match stages.last_mut().filter(|stage| stage.name == name) {
                Some(stage) => stage.kernels.extend(kernels),
                None => stages.push(StageReport { name, kernels: kernels.collect() }),
            }
        }
        self.recording.clear();
        Ok(stages)
    }
}
