//! What SubADMM needs to know of the islands beside their own records: the chains of dofs that each constraint acts on,
//! tree by tree and body by body. Everything is rebuilt each step in buffers that are kept.

use bytemuck::cast_slice;
use manyworlds_shaders::contact::group::ISLAND_WIDTH;
use manyworlds_shaders::contact::island::{IslandDims, IslandRecord, SideRecord, TreeItem, kind, part};
use manyworlds_shaders::contact::subadmm::layout::{
    SplitConstraint, SplitDims, SplitIsland, SplitSlack, SplitTree, constraint, island, slack,
};
use manyworlds_shaders::dynamics::tree::NONE;

use crate::island::{Chain, Chains, Islands};

/// Records for `split_index`, ready for upload.
#[derive(Debug, Default)]
pub struct SplitPack {
    /// `split_index`
    pub index: Vec<u32>,
    /// Sizes; tolerances, iterations and parameters are the caller's.
    pub dims: SplitDims,
    /// By set: first word of the numbers of its trees in islands.
    pub items_at: Vec<u32>,
    /// Reals of `split`.
    pub n_real: usize,
    /// Whether some islands are solved by a workgroup, and whether some are not.
    pub forms: [bool; 2],
    /// Rounds through its loops that a lane of a workgroup makes for one iteration at most, and for a look at the residuals.
    pub loops: [usize; 2],
    chains: Vec<Chains>,
    /// Constraints of an island that a workgroup solves, at most.
    fused_most: u32,
    trees: Vec<SplitTree>,
    constraints: Vec<SplitConstraint>,
    slacks: Vec<SplitSlack>,
    islands: Vec<SplitIsland>,
    /// By entry of a region of `velocity` that is the first of a tree: the tree.
    tree_at: Vec<u32>,
    /// By tree: its set.
    set_of: Vec<u32>,
    /// By slack: its tree.
    slack_tree: Vec<u32>,
    /// By tree: where its next slack goes.
    next: Vec<u32>,
}

impl SplitPack {
    /// For trees of these sets. `fused_most`: constraints of an island at most that a workgroup solves.
    #[must_use]
    pub fn new(chains: Vec<Chains>, fused_most: u32) -> Self {
        Self { items_at: vec![0; chains.len()], chains, fused_most, ..Self::default() }
    }

    /// Packs what the islands of a chunk hold. `trees`: by set, its trees in islands; `chains_of`: calls its last argument
    /// with each of the chains that a side acts on, given the side's number, set, and the chains of that.
    pub fn pack(
        &mut self,
        all: &Islands,
        trees: &[&[TreeItem]],
        mut chains_of: impl FnMut(usize, usize, &Chains, &mut dyn FnMut(Chain)),
    ) {
        self.index.clear();
        self.trees.clear();
        self.constraints.clear();
        self.slacks.clear();
        self.islands.clear();
        self.set_of.clear();
        self.slack_tree.clear();
        self.place_trees(all.dims.n_velocity as usize, trees);
        self.place_islands(all.islands);
        for (island, record) in (0..).zip(all.islands) {
            for i in record.constraint_begin..record.constraint_end {
                let part = &all.constraints[i as usize];
                let (slack_begin, rows) = (self.slacks.len() as u32, rows_of(part.kind));
                for number in part.side_begin as usize..part.side_end as usize {
                    self.add_side(i, rows, number, &all.sides[number], &mut chains_of);
                }
                let slack_end = self.slacks.len() as u32;
                self.constraints.push(SplitConstraint { slack_begin, slack_end, island, rows });
            }
        }
        self.list_slacks();
        self.assemble(all.dims);
        self.count_loops();
    }

    /// Trees in islands, in the order of their velocities.
    #[must_use]
    pub fn trees(&self) -> &[SplitTree] {
        &self.trees
    }

    /// Trees in the order of their velocities, which is that of islands.
    fn place_trees(&mut self, n: usize, sets: &[&[TreeItem]]) {
        self.tree_at.clear();
        self.tree_at.resize(n, NONE);
        let mut begins = Vec::with_capacity(self.chains.len());
        for chains in &self.chains {
            let at = self.index.len() as u32;
            self.index.extend_from_slice(&chains.begins);
            self.index.extend_from_slice(&chains.columns);
            begins.push([at, at + chains.begins.len() as u32]);
        }
        for (set, trees) in sets.iter().enumerate() {
            for item in *trees {
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
            self.trees.push(SplitTree {
                velocity: at as u32,
                n_v: self.chains[set as usize].n_v() as u32,
                begins,
                columns,
                ..SplitTree::default()
            });
        }
        for (trees, items_at) in sets.iter().zip(&mut self.items_at) {
            *items_at = self.index.len() as u32;
            for item in *trees {
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

    fn place_islands(&mut self, islands: &[IslandRecord]) {
        let mut tree_begin = 0;
        self.forms = [false; 2];
        for (number, record) in islands.iter().enumerate() {
            let mut tree_end = tree_begin;
            while self.trees.get(tree_end as usize).is_some_and(|tree| tree.velocity < record.velocity_end) {
                self.trees[tree_end as usize].island = number as u32;
                tree_end += 1;
            }
            // To leave one as it is takes no more than one look.
            let wide = self.fused_most < record.constraint_end - record.constraint_begin && record.part == part::SOLVES;
            self.forms[usize::from(wide)] = true;
            self.islands.push(SplitIsland {
                tree_begin,
                tree_end,
                constraint_begin: record.constraint_begin,
                constraint_end: record.constraint_end,
                n_contacts: record.n_contacts,
                wide: u32::from(wide),
                part: record.part,
            });
            tree_begin = tree_end;
        }
    }

    /// The slacks of one side of a constraint.
    fn add_side(
        &mut self,
        constraint: u32,
        rows: u32,
        number: usize,
        side: &SideRecord,
        chains_of: &mut impl FnMut(usize, usize, &Chains, &mut dyn FnMut(Chain)),
    ) {
        let tree = self.tree_at[side.velocity as usize];
        let set = self.set_of[tree as usize] as usize;
        let (chains, columns) = (&self.chains[set], self.trees[tree as usize].columns);
        let mut first = 1;
        chains_of(number, set, chains, &mut |(tip, length)| {
            self.slacks.push(SplitSlack {
                constraint,
                velocity: side.velocity,
                jac: side.jac,
                count: side.count,
                chain: columns + chains.begins[tip as usize],
                length,
                rows,
                first,
                packed: 0,
            });
            self.slack_tree.push(tree);
            first = 0;
        });
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
        let slack_real = take(self.slacks.len(), slack::SIZE);
        for slack in &mut self.slacks {
            slack.packed = take(slack.length as usize, slack.rows as usize);
        }
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
            slack_real,
            constraint_real: take(self.constraints.len(), constraint::SIZE),
            island_real: take(self.islands.len(), island::SIZE),
            ..SplitDims::default()
        };
        self.n_real = real as usize;
    }

    /// Bounds of what a lane of a workgroup goes through.
    fn count_loops(&mut self) {
        self.loops = [0; 2];
        for island in self.islands.iter().filter(|island| island.wide == 0 && island.part == part::SOLVES) {
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
            let rounds = |from: u32, to: u32| ((to - from) as usize).div_ceil(ISLAND_WIDTH);
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
