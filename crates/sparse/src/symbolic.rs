//! In which order degrees of freedom are eliminated, and what that fills.
//!
//! Columns of the factor that are not zero in the same rows, or nearly so, are eliminated together as a *front* (I. Duff
//! and J. Reid 1983): a dense matrix of its own columns and of the rows below them.

use std::ops::Range;

use crate::dense::stride;
use crate::matrix::SparseMatrix;

/// Fronts of so many columns at most are merged whatever that fills.
const SMALL: usize = 8;
/// Largest share of zeros in what is merged otherwise.
const ZEROS: f64 = 0.2;

/// An order of elimination that fills little: approximate minimum degree (P. Amestoy, T. Davis and I. Duff 1996). It
/// depends on where a matrix has entries, not on what they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ordering(Vec<u32>);

impl Ordering {
    /// Of a symmetric matrix.
    #[must_use]
    pub fn of(matrix: &SparseMatrix) -> Self {
        let n = matrix.n();
        let natural = || (0..n as u32).collect();
        let (mut begins, mut columns) = (vec![0_i64], Vec::new());
        for i in 0..n {
            columns.extend(matrix.row(i).0.iter().map(|&j| i64::from(j)));
            begins.push(columns.len() as i64);
        }
        // The pattern is valid by construction; whatever is refused is factored in its own order.
        let found = amd::order(n as i64, &begins, &columns, &amd::Control::default());
        Self(found.map_or_else(|_| natural(), |(order, ..)| order.into_iter().map(|i| i as u32).collect()))
    }

    /// Row of the matrix at each position.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        &self.0
    }
}

/// Columns that are eliminated together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Front {
    /// Positions of its columns in the order of elimination.
    pub(crate) columns: Range<usize>,
    /// Positions of the rows below them, ascending: a range of [`Symbolic::rows`].
    pub(crate) rows: Range<usize>,
    /// Fronts that add to it.
    pub(crate) children: Vec<usize>,
    /// Where its rows stand in the front that it adds to: a range of [`Symbolic::runs`].
    pub(crate) runs: Range<usize>,
    /// What it has of the matrix: a range of [`Symbolic::entries`].
    pub(crate) entries: Range<usize>,
    /// Where its rows of the factor begin, `[columns, columns + rows]`.
    pub(crate) begin: usize,
}

/// Rows of a front that stand side by side in another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Run {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) count: u32,
}

/// Structure of a factor of matrices of one pattern. The last front is of what is eliminated last, empty if nothing is.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbolic {
    /// Degree of freedom at each position.
    pub(crate) order: Vec<u32>,
    /// Position of each degree of freedom.
    pub(crate) place: Vec<u32>,
    pub(crate) fronts: Vec<Front>,
    pub(crate) rows: Vec<u32>,
    pub(crate) runs: Vec<Run>,
    /// Where among a matrix's values, and where in the front.
    pub(crate) entries: Vec<[u32; 2]>,
    /// Entries of the factor.
    pub(crate) size: usize,
}

impl Symbolic {
    /// `last`: what is eliminated behind all others, in this order; distinct.
    #[must_use]
    pub fn new(matrix: &SparseMatrix, ordering: &Ordering, last: &[u32]) -> Self {
        let n = matrix.n();
        let mut kept = vec![false; n];
        last.iter().for_each(|&i| kept[i as usize] = true);
        let mut order: Vec<u32> = ordering.0.iter().copied().filter(|&i| !kept[i as usize]).collect();
        let eliminated = order.len();
        order.extend_from_slice(last);
        let tree = elimination_tree(matrix, &order[..eliminated], &places(&order));
        let post = postorder(&tree);
        let mut moved = vec![0; eliminated];
        post.iter().enumerate().for_each(|(to, &from)| moved[from] = to);
        let parent: Vec<Option<usize>> = post.iter().map(|&from| tree[from].map(|p| moved[p])).collect();
        let before = order.clone();
        post.iter().enumerate().for_each(|(to, &from)| order[to] = before[from]);

        let place = places(&order);
        let mut out =
            Self { order, place, fronts: Vec::new(), rows: Vec::new(), runs: Vec::new(), entries: Vec::new(), size: 0 };
        let groups = out.groups(matrix, &parent);
        out.connect(groups, eliminated);
        out.find_places(matrix);
        out
    }

    /// Columns that are eliminated together, with the rows below them.
    fn groups(&self, matrix: &SparseMatrix, parent: &[Option<usize>]) -> Vec<Group> {
        let n = parent.len();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        parent.iter().enumerate().for_each(|(j, p)| p.iter().for_each(|&p| children[p].push(j)));
        let mut below: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut seen = vec![u32::MAX; self.order.len()];
        let mut groups: Vec<Group> = Vec::new();
        for j in 0..n {
            let mut own = Vec::new();
            let mut add = |i: u32| {
                if i as usize > j && seen[i as usize] != j as u32 {
                    seen[i as usize] = j as u32;
                    own.push(i);
                }
            };
            matrix.row(self.order[j] as usize).0.iter().for_each(|&dof| add(self.place[dof as usize]));
            children[j].iter().for_each(|&c| below[c].iter().for_each(|&i| add(i)));
            // Of a column that its parent continues nothing more is asked.
            let continues = j > 0 && parent[j - 1] == Some(j) && below[j - 1].len() == own.len() + 1;
            children[j].iter().for_each(|&c| below[c] = Vec::new());
            match groups.last_mut() {
                Some(last) if continues => {
                    last.columns.end = j + 1;
                    last.rows.clone_from(&own);
                }
                _ => groups.push(Group { columns: j..j + 1, rows: own.clone(), zeros: 0 }),
            }
            below[j] = own;
        }
        merged(groups)
    }

    /// Fronts of groups, and the one of what is eliminated last.
    fn connect(&mut self, groups: Vec<Group>, eliminated: usize) {
        let mut front_of = vec![groups.len(); self.order.len()];
        for (f, group) in groups.iter().enumerate() {
            front_of[group.columns.clone()].fill(f);
        }
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); groups.len() + 1];
        for (f, group) in groups.iter().enumerate() {
            if let Some(&first) = group.rows.iter().min() {
                children[front_of[first as usize]].push(f);
            }
        }
        let last = Group { columns: eliminated..self.order.len(), rows: Vec::new(), zeros: 0 };
        for (mut group, children) in groups.into_iter().chain([last]).zip(children) {
            group.rows.sort_unstable();
            let rows = self.rows.len()..self.rows.len() + group.rows.len();
            self.rows.extend(group.rows);
            let begin = self.size;
            self.size += group.columns.len() * (group.columns.len() + rows.len());
            self.fronts.push(Front { columns: group.columns, rows, children, runs: 0..0, entries: 0..0, begin });
        }
    }

    /// Where in fronts entries of the matrix stand, and rows of those that add to them.
    fn find_places(&mut self, matrix: &SparseMatrix) {
        let mut local = vec![0; self.order.len()];
        for f in 0..self.fronts.len() {
            let front = &self.fronts[f];
            let (columns, rows) = (front.columns.clone(), self.rows_of(front));
            let stride = stride(columns.len() + rows.len());
            let positions = columns.clone().chain(rows.iter().map(|&position| position as usize));
            positions.enumerate().for_each(|(k, position)| local[position] = k as u32);
            let first = self.entries.len();
            for (k, position) in columns.enumerate() {
                let row = self.order[position] as usize;
                for (from, &dof) in (matrix.row_begin(row)..).zip(matrix.row(row).0) {
                    let place = self.place[dof as usize] as usize;
                    if position <= place {
                        self.entries.push([from as u32, (k * stride) as u32 + local[place]]);
                    }
                }
            }
            self.fronts[f].entries = first..self.entries.len();
            for child in self.fronts[f].children.clone() {
                let first = self.runs.len();
                for (from, &position) in self.rows[self.fronts[child].rows.clone()].iter().enumerate() {
                    let to = local[position as usize];
                    match self.runs[first..].last_mut() {
                        Some(run) if run.to + run.count == to => run.count += 1,
                        _ => self.runs.push(Run { from: from as u32, to, count: 1 }),
                    }
                }
                self.fronts[child].runs = first..self.runs.len();
            }
        }
    }

    pub(crate) fn rows_of(&self, front: &Front) -> &[u32] {
        &self.rows[front.rows.clone()]
    }
}

/// Columns that are eliminated together, the rows below them, and how many zeros that stores.
struct Group {
    columns: Range<usize>,
    rows: Vec<u32>,
    zeros: usize,
}

/// Small groups, and those that store few zeros more, together with the one that they are followed by and add to.
fn merged(groups: Vec<Group>) -> Vec<Group> {
    let mut out: Vec<Group> = Vec::new();
    for mut group in groups {
        while let Some(last) = out.last() {
            let first = last.rows.iter().min().map(|&i| i as usize);
            if first.is_none_or(|first| !group.columns.contains(&first)) {
                break;
            }
            let (own, width) = (last.columns.len(), group.columns.len());
            let all = own + width;
            let zeros = last.zeros + group.zeros + own * (width + group.rows.len() - last.rows.len());
            let entries = all * (all + 1) / 2 + all * group.rows.len();
            if all > SMALL && zeros as f64 > ZEROS * entries as f64 {
                break;
            }
            (group.columns.start, group.zeros) = (last.columns.start, zeros);
            out.pop();
        }
        out.push(group);
    }
    out
}

/// Position of each degree of freedom.
fn places(order: &[u32]) -> Vec<u32> {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(k, &dof)| place[dof as usize] = k as u32);
    place
}

/// The first column that each column is eliminated into (J. Liu 1986).
fn elimination_tree(matrix: &SparseMatrix, order: &[u32], place: &[u32]) -> Vec<Option<usize>> {
    let n = order.len();
    let mut parent = vec![None; n];
    // Shortcuts to the top of each column's tree.
    let mut above: Vec<Option<usize>> = vec![None; n];
    for (i, &dof) in order.iter().enumerate() {
        for &j in matrix.row(dof as usize).0 {
            let mut at = place[j as usize] as usize;
            while at < i {
                let next = above[at].replace(i);
                match next {
                    Some(next) if next == i => break,
                    Some(next) => at = next,
                    None => {
                        parent[at] = Some(i);
                        break;
                    }
                }
            }
        }
    }
    parent
}

/// Columns in an order in which those that lead to one column stand together right before it.
fn postorder(parent: &[Option<usize>]) -> Vec<usize> {
    let n = parent.len();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
    parent.iter().enumerate().for_each(|(j, p)| p.iter().for_each(|&p| children[p].push(j)));
    let mut order = Vec::with_capacity(n);
    let mut stack: Vec<usize> = (0..n).rev().filter(|&j| parent[j].is_none()).collect();
    let mut is_open = vec![false; n];
    while let Some(&top) = stack.last() {
        if is_open[top] || children[top].is_empty() {
            stack.pop();
            order.push(top);
        } else {
            is_open[top] = true;
            stack.extend(children[top].iter().rev());
        }
    }
    order
}
