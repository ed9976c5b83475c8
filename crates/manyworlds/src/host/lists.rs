//! Contacts by lane, as kernels read them: of each lane where its items begin and how many it has, then all items, and beside
//! them the numbers of each.

use bytemuck::NoUninit;
use manyworlds_shaders::Scalar;

/// Words of a lane.
const LANE: usize = 2;

/// Items of type `I` with `N` numbers each.
#[derive(Debug)]
pub(crate) struct LaneLists<I, T, const N: usize> {
    lanes: Vec<Vec<(I, [T; N])>>,
    /// Of each lane where it begins and how many it has, then all.
    pub(crate) items: Vec<u32>,
    /// `[items][N]`
    pub(crate) places: Vec<T>,
}

impl<I: NoUninit, T: Scalar, const N: usize> LaneLists<I, T, N> {
    pub(crate) fn new(lanes: usize) -> Self {
        Self { lanes: (0..lanes).map(|_| Vec::new()).collect(), items: Vec::new(), places: Vec::new() }
    }

    /// Empties all lanes.
    pub(crate) fn clear(&mut self) {
        self.lanes.iter_mut().for_each(Vec::clear);
    }

    pub(crate) fn push(&mut self, lane: usize, item: I, place: [f64; N]) {
        self.lanes[lane].push((item, place.map(T::from_f64)));
    }

    /// Lays out what the lanes have for upload.
    pub(crate) fn pack(&mut self) {
        self.items.clear();
        self.places.clear();
        self.items.resize(LANE * self.lanes.len(), 0);
        let mut begin = 0;
        for (lane, own) in self.lanes.iter().enumerate() {
            self.items[LANE * lane..LANE * (lane + 1)].copy_from_slice(&[begin, own.len() as u32]);
            begin += own.len() as u32;
            for (item, place) in own {
                self.items.extend(bytemuck::cast_slice::<_, u32>(&[*item]));
                self.places.extend(place);
            }
        }
        // A device binds no empty buffer.
        self.places.resize(self.places.len().max(1), T::default());
    }
}
