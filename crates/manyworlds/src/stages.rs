//! What a step is made of, laid open.

/// A named part of a step, whose kernels run one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageReport {
    /// Its name: `keep`, `dynamics`, `contact`, `soft`, `hold`, `left` or `motion`.
    pub name: &'static str,
    /// Its kernels, in order.
    pub kernels: Vec<KernelReport>,
}

/// One kernel of a step, and what it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelReport {
    /// Folder and name of its file.
    pub name: &'static str,
    /// Lanes that it runs over, or workgroups of a kernel that has one for each of its items.
    pub count: u32,
    /// Buffers that it only reads.
    pub reads: Vec<BufferReport>,
    /// Buffers that it writes, and may read as well.
    pub writes: Vec<BufferReport>,
}

/// A buffer of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferReport {
    /// What it holds. Each set of like trees has buffers of these names.
    pub name: &'static str,
    /// Which of all buffers it is.
    pub number: usize,
}
