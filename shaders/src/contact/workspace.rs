//! Memory of a thread for one problem at a time: what a device needs once a lane, a mirror needs once a thread.

use std::cell::RefCell;

use crate::{F64x8, Real, Scalar};

/// Calls `f` with this thread's workspace of that many packs, what it holds left from before; grown when more are asked
/// for than ever.
pub(crate) fn with_workspace<T: Scalar, O>(packs: usize, f: impl FnOnce(&mut [T::Pack]) -> O) -> O {
    thread_local! {
        static WORK: RefCell<Vec<F64x8>> = const { RefCell::new(Vec::new()) };
    }
    WORK.with_borrow_mut(|work| {
        if work.len() < packs {
            work.resize(packs, F64x8::lit(0.0));
        }
        f(bytemuck::cast_slice_mut(work))
    })
}
