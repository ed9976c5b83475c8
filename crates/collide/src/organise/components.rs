//! Connected components by union-find.

/// Disjoint sets of numbered things. The root of a set is its lowest member, so that roots do not depend on the order of
/// unions; path halving alone keeps finds near-constant.
#[derive(Debug, Default)]
pub struct Components {
    parent: Vec<u32>,
}

impl Components {
    /// Starts with `count` things, each a set by itself.
    pub fn separate(&mut self, count: usize) {
        self.parent.clear();
        self.parent.extend(0..count as u32);
    }

    /// The lowest member of the set that something is in.
    pub fn root(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let above = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = above;
            i = above;
        }
        i
    }

    /// Joins two sets; gives the root of both.
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b) as usize] = a.min(b);
        a.min(b)
    }

    /// Whether something is the lowest member of its set.
    pub(super) fn is_root(&self, i: usize) -> bool {
        self.parent[i] as usize == i
    }
}
