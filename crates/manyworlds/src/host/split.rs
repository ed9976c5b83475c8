//! What SubADMM needs to know of the islands beside their own records: the chains of dofs that each constraint acts on,
//! tree by tree and body by body. Everything is rebuilt each step in buffers that are kept.

use bytemuck::cast_slice;
use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::contact::island::{IslandDims, SideItem, kind};
use manyworlds_shaders::contact::subadmm::layout::{
    ConstraintRecord, IslandRecord, SlackRecord, SplitDims, TreeRecord, constraint, island, slack,
};
use manyworlds_shaders::dynamics::tree::{NONE, Tree};

use super::islands::IslandPack;

/// Lanes of the workgroup that solves an island.
const WIDTH: usize = 32;

/// A tip of a chain of dofs, and how many of them count, tip first.
type Chain = (u32, u32);

/// Chains of the trees of one set.
#[derive(Debug, Clone)]
pub(crate) struct SetChains {
    /// Where each dof's row of the branch-sparse matrix begins, `[n_v + 1]`.
    begins: Vec<u32>,
    /// The dofs of the entries: the dof itself, its parent and so on to the root.
    columns: Vec<u32>,
    /// By body: the last dof that moves it, or [`NONE`].
    tips: Vec<u32>,
    /// By static row.
    rows: Vec<Vec<Chain>>,
}

impl SetChains {
    pub(crate) fn new(set: &TreeSet) -> Self {
        let tree = set.layout.tree();
        let mut chains = Self { begins: vec![0], columns: Vec::new(), tips: tips(&tree), rows: Vec::new() };
        for i in 0..tree.dofs.len() as u32 {
            let mut above = i;
            while above != NONE {
                chains.columns.push(above);
                above = tree.dofs[above as usize].parent;
            }
            chains.begins.push(chains.columns.len() as u32);
        }
        chains.rows = tree.rows.iter().map(|row| chains.of_dofs(&row.dofs[..row.count as usize])).collect();
        chains
    }

    /// From a dof to the root.
    fn chain(&self, tip: u32) -> &[u32] {
        &self.columns[self.begins[tip as usize] as usize..self.begins[tip as usize + 1] as usize]
    }

    /// How many dofs two chains share.
    fn common(&self, a: u32, b: u32) -> usize {
        self.chain(a).iter().rev().zip(self.chain(b).iter().rev()).take_while(|(a, b)| a == b).count()
    }

    /// Chains that hold some dofs, each once, and end with the last of them.
    fn of_dofs(&self, dofs: &[u32]) -> Vec<Chain> {
        let mut tips = dofs.to_vec();
        // Deepest first: what is above a tip is on its chain.
        tips.sort_by_key(|&tip| std::cmp::Reverse(self.chain(tip).len()));
        let mut found: Vec<Chain> = Vec::new();
        for (k, &tip) in tips.iter().enumerate() {
            let shared = tips[..k].iter().map(|&other| self.common(tip, other)).max().unwrap_or(0);
            let own = &self.chain(tip)[..self.chain(tip).len() - shared];
            if let Some(last) = own.iter().rposition(|dof| dofs.contains(dof)) {
                found.push((tip, last as u32 + 1));
            }
        }
        found
    }

    /// Chains of the dofs that move one body of two and not the other.
    fn of_bodies(&self, item: &SideItem) -> [Option<Chain>; 2] {
        let tip = |body: u32| if body == NONE { NONE } else { self.tips[body as usize] };
        let [a, b] = [tip(item.body_a), tip(item.body_b)];
        let shared = if a == NONE || b == NONE { 0 } else { self.common(a, b) };
        [a, b].map(|tip| {
            if tip == NONE {
                return None;
            }
            let length = self.chain(tip).len() - shared;
            (length > 0).then_some((tip, length as u32))
        })
    }
}

/// By body: the last dof that moves it.
fn tips(tree: &Tree) -> Vec<u32> {
    let mut tips = vec![NONE; tree.dims.n_body as usize];
    for (i, dof) in tree.dofs.iter().enumerate() {
        tips[dof.body as usize..dof.subtree_end as usize].fill(i as u32);
    }
    tips
}

/// Records for `split_index`, ready for upload.
#[derive(Debug, Default)]
pub(crate) struct SplitPack {
    /// `split_index`
    pub(crate) index: Vec<u32>,
    /// Sizes; tolerances, iterations and parameters are the caller's.
    pub(crate) dims: SplitDims,
    /// By set: first word of the numbers of its trees in islands.
    pub(crate) items_at: Vec<u32>,
    /// Reals of `split`.
    pub(crate) n_real: usize,
    /// Whether some islands are solved by a workgroup, and whether some are not.
    pub(crate) forms: [bool; 2],
    /// Rounds through its loops that a lane of a workgroup makes for one iteration at most, and for a look at the residuals.
    pub(crate) loops: [usize; 2],
    chains: Vec<SetChains>,
    /// Constraints of an island that a workgroup solves, at most.
    fused_most: u32,
    trees: Vec<TreeRecord>,
    constraints: Vec<ConstraintRecord>,
    slacks: Vec<SlackRecord>,
    islands: Vec<IslandRecord>,
    /// By entry of a region of `velocity` that is the first of a tree: the tree.
    tree_at: Vec<u32>,
    /// By tree: its set.
    set_of: Vec<u32>,
    /// By slack: its tree.
    slack_tree: Vec<u32>,
    /// By set: how many of its sides and rows have been met.
    met: Vec<[usize; 2]>,
    /// By tree: where its next slack goes.
    next: Vec<u32>,
}

impl SplitPack {
    pub(crate) fn new(chains: Vec<SetChains>, fused_most: u32) -> Self {
        Self { met: vec![[0; 2]; chains.len()], items_at: vec![0; chains.len()], chains, fused_most, ..Self::default() }
    }

    /// Packs what the islands of a chunk hold.
    pub(crate) fn pack<T>(&mut self, islands: &IslandPack<T>) {
        self.index.clear();
        self.trees.clear();
        self.constraints.clear();
        self.slacks.clear();
        self.islands.clear();
        self.set_of.clear();
        self.slack_tree.clear();
        self.met.fill([0; 2]);
        self.place_trees(islands);
        self.place_islands(islands);
        for (i, record) in islands.constraints.iter().enumerate() {
            let slack_begin = self.slacks.len() as u32;
            for side in &islands.sides[record.side_begin as usize..record.side_end as usize] {
                self.side(islands, i, record.kind, side.velocity, side.jac);
            }
            self.constraints.push(ConstraintRecord {
                slack_begin,
                slack_end: self.slacks.len() as u32,
                island: 0,
                rows: rows_of(record.kind),
            });
        }
        for (number, record) in islands.islands.iter().enumerate() {
            let own = record.constraint_begin as usize..record.constraint_end as usize;
            self.constraints[own].iter_mut().for_each(|c| c.island = number as u32);
        }
        self.list_slacks();
        self.assemble(&islands.dims);
        self.count_loops();
    }

    /// Trees in the order of their velocities, which is that of islands.
    fn place_trees<T>(&mut self, islands: &IslandPack<T>) {
        let n = islands.dims.n_velocity as usize;
        self.tree_at.clear();
        self.tree_at.resize(n, NONE);
        let mut begins = Vec::with_capacity(self.chains.len());
        for chains in &self.chains {
            let at = self.index.len() as u32;
            self.index.extend_from_slice(&chains.begins);
            self.index.extend_from_slice(&chains.columns);
            begins.push([at, at + chains.begins.len() as u32]);
        }
        for (set, part) in islands.sets.iter().enumerate() {
            for item in &part.trees {
                self.tree_at[item.velocity as usize] = set as u32;
            }
        }
        // Where a set was, now its tree's number.
        for at in 0..n {
            let set = self.tree_at[at];
            if set == NONE {
                continue;
            }
            let [begins, columns] = begins[set as usize];
            self.tree_at[at] = self.trees.len() as u32;
            self.set_of.push(set);
            self.trees.push(TreeRecord {
                velocity: at as u32,
                n_v: self.chains[set as usize].begins.len() as u32 - 1,
                begins,
                columns,
                ..TreeRecord::default()
            });
        }
        for (part, items_at) in islands.sets.iter().zip(&mut self.items_at) {
            *items_at = self.index.len() as u32;
            for item in &part.trees {
                let tree = self.tree_at[item.velocity as usize];
                self.trees[tree as usize].lane = item.lane;
                self.index.push(tree);
            }
        }
        let mut real = 0;
        for (tree, &set) in self.trees.iter_mut().zip(&self.set_of) {
            tree.matrix = real as u32;
            real += 2 * self.chains[set as usize].columns.len();
        }
        self.n_real = real;
    }

    fn place_islands<T>(&mut self, islands: &IslandPack<T>) {
        let mut tree_begin = 0;
        self.forms = [false; 2];
        for (number, record) in islands.islands.iter().enumerate() {
            let mut tree_end = tree_begin;
            while self.trees.get(tree_end as usize).is_some_and(|tree| tree.velocity < record.velocity_end) {
                self.trees[tree_end as usize].island = number as u32;
                tree_end += 1;
            }
            let wide = self.fused_most < record.constraint_end - record.constraint_begin;
            self.forms[usize::from(wide)] = true;
            self.islands.push(IslandRecord {
                tree_begin,
                tree_end,
                constraint_begin: record.constraint_begin,
                constraint_end: record.constraint_end,
                n_contacts: record.n_contacts,
                wide: u32::from(wide),
            });
            tree_begin = tree_end;
        }
    }

    /// The slacks of one side of a constraint.
    fn side<T>(&mut self, islands: &IslandPack<T>, constraint: usize, of: u32, velocity: u32, jac: u32) {
        let tree = self.tree_at[velocity as usize];
        let set = self.set_of[tree as usize] as usize;
        let (chains, part) = (&self.chains[set], &islands.sets[set]);
        let mut first = 1;
        let mut add = |(tip, length): Chain| {
            let record = &self.trees[tree as usize];
            self.slacks.push(SlackRecord {
                constraint: constraint as u32,
                velocity,
                jac,
                count: record.n_v,
                chain: record.columns + chains.begins[tip as usize],
                length,
                rows: rows_of(of),
                first,
            });
            self.slack_tree.push(tree);
            first = 0;
        };
        // A set's sides and rows stand in the order in which constraints have them.
        let [sides, rows] = &mut self.met[set];
        if of == kind::BLOCK {
            let item = &part.items[*sides];
            debug_assert_eq!(item.jac, jac);
            *sides += 1;
            chains.of_bodies(item).into_iter().flatten().for_each(&mut add);
        } else {
            let item = &part.rows[*rows];
            debug_assert_eq!(item.jac, jac);
            *rows += 1;
            chains.rows[item.row as usize].iter().copied().for_each(&mut add);
        }
    }

    /// The slacks of each tree.
    fn list_slacks(&mut self) {
        self.next.clear();
        self.next.resize(self.trees.len(), 0);
        for &tree in &self.slack_tree {
            self.next[tree as usize] += 1;
        }
        let mut at = self.index.len() as u32;
        for (tree, next) in self.trees.iter_mut().zip(&mut self.next) {
            tree.list_begin = at;
            at += *next;
            tree.list_end = at;
            *next = tree.list_begin;
        }
        self.index.resize(at as usize, 0);
        for (slack, &tree) in self.slack_tree.iter().enumerate() {
            let next = &mut self.next[tree as usize];
            self.index[*next as usize] = slack as u32;
            *next += 1;
        }
    }

    /// All records behind the lists, and the parts of `split`.
    fn assemble(&mut self, islands: &IslandDims) {
        let index = &mut self.index;
        let mut put = |words: &[u32]| {
            let at = index.len() as u32;
            index.extend_from_slice(words);
            at
        };
        let mut real = self.n_real as u32;
        let mut take = |count: usize, size: usize| {
            let at = real;
            real += (count * size) as u32;
            at
        };
        self.dims = SplitDims {
            n_islands: islands.n_islands,
            colours_at: islands.colours_at,
            constraints_at: islands.constraints_at,
            sides_at: islands.sides_at,
            n_constraints: islands.n_constraints,
            n_velocity: islands.n_velocity,
            n_trees: self.trees.len() as u32,
            n_slacks: self.slacks.len() as u32,
            trees_at: put(cast_slice(&self.trees)),
            splits_at: put(cast_slice(&self.constraints)),
            slacks_at: put(cast_slice(&self.slacks)),
            islands_at: put(cast_slice(&self.islands)),
            slack_real: take(self.slacks.len(), slack::SIZE),
            constraint_real: take(self.constraints.len(), constraint::SIZE),
            tree_real: take(self.trees.len(), 1),
            island_real: take(self.islands.len(), island::SIZE),
            ..SplitDims::default()
        };
        self.n_real = real as usize;
    }

    /// Bounds of what a lane of a workgroup goes through.
    fn count_loops(&mut self) {
        self.loops = [0; 2];
        for island in self.islands.iter().filter(|island| island.wide == 0) {
            let (mut solve, mut check) = (0, 0);
            for tree in island.tree_begin as usize..island.tree_end as usize {
                let (record, set) = (&self.trees[tree], self.set_of[tree] as usize);
                let n_m = self.chains[set].columns.len();
                let (mut chain, mut square, mut most) = (0, 0, 1);
                for &slack in &self.index[record.list_begin as usize..record.list_end as usize] {
                    let slack = &self.slacks[slack as usize];
                    let length = slack.length as usize;
                    chain += 1 + length;
                    square += slack.rows as usize * (length * length + record.n_v as usize);
                    most = most.max(length);
                }
                solve = solve.max(chain + 2 * n_m + 3 * record.n_v as usize);
                check = check.max(square + (4 + most) * n_m);
            }
            let mut own = 0;
            for c in &self.constraints[island.constraint_begin as usize..island.constraint_end as usize] {
                let slacks = &self.slacks[c.slack_begin as usize..c.slack_end as usize];
                own = own.max(slacks.iter().map(|slack| 8 + slack.length as usize).sum());
            }
            let rounds = |from: u32, to: u32| ((to - from) as usize).div_ceil(WIDTH);
            let (trees, laws) =
                (rounds(island.tree_begin, island.tree_end), rounds(island.constraint_begin, island.constraint_end));
            self.loops[0] = self.loops[0].max(trees * solve + laws * own);
            self.loops[1] = self.loops[1].max(trees * check + laws * 4 * own + trees + laws);
        }
    }
}

/// Rows of a constraint of a kind.
fn rows_of(of: u32) -> u32 {
    if of == kind::BLOCK { 3 } else { 1 }
}
