//! First-fit colouring of constraints: no two of one colour share a subsystem.

use super::{Links, Plan};

/// Colours tried at once: one bit each of a word per subsystem.
const WINDOW: u32 = u64::BITS;

/// Workspace of the colouring.
#[derive(Debug, Default)]
pub(super) struct Painter {
    taken: Vec<u64>,
    pending: Vec<u32>,
    counts: Vec<u32>,
    sorted: Vec<u32>,
}

impl Painter {
    /// Gives each of `constraints`, in order, the lowest colour free on all its subsystems.
    ///
    /// Colours are tried a window of 64 at a time; a constraint that finds none waits for the next window. That gives
    /// the colours of plain first fit, since a constraint that waits takes nothing from those that do not.
    pub(super) fn paint(&mut self, links: Links, constraints: &[u32], colour_of: &mut Vec<u32>) {
        colour_of.clear();
        colour_of.resize(links.len(), 0);
        self.pending.clear();
        self.pending.extend_from_slice(constraints);
        let mut base = 0;
        while !self.pending.is_empty() {
            self.taken.clear();
            self.taken.resize(links.n_subsystems, 0);
            let mut waiting = 0;
            for k in 0..self.pending.len() {
                let i = self.pending[k];
                let touched = links.of(i as usize);
                let used = touched.iter().fold(0, |used, &s| used | self.taken[s as usize]);
                let free = used.trailing_ones();
                if free == WINDOW {
                    self.pending[waiting] = i;
                    waiting += 1;
                    continue;
                }
                colour_of[i as usize] = base + free;
                for &s in touched {
                    self.taken[s as usize] |= 1 << free;
                }
            }
            self.pending.truncate(waiting);
            base += WINDOW;
        }
    }
}

/// Sorts the constraints of every island by colour, stably, and writes where colours end.
pub(super) fn sort(painter: &mut Painter, colour_of: &[u32], plan: &mut Plan) {
    plan.colours.clear();
    let Plan { islands, constraints, colours, .. } = plan;
    for island in islands {
        let range = island.constraints.start as usize..island.constraints.end as usize;
        let own = &mut constraints[range];
        painter.counts.clear();
        for &i in own.iter() {
            let colour = colour_of[i as usize] as usize;
            if colour >= painter.counts.len() {
                painter.counts.resize(colour + 1, 0);
            }
            painter.counts[colour] += 1;
        }
        let first = colours.len() as u32;
        let mut end = 0;
        for count in &mut painter.counts {
            let begin = end;
            end += *count;
            // From here on: where to write next.
            *count = begin;
            colours.push(island.constraints.start + end);
        }
        island.colours = first..colours.len() as u32;
        painter.sorted.clear();
        painter.sorted.resize(own.len(), 0);
        for &i in own.iter() {
            let next = &mut painter.counts[colour_of[i as usize] as usize];
            painter.sorted[*next as usize] = i;
            *next += 1;
        }
        own.copy_from_slice(&painter.sorted);
    }
}
