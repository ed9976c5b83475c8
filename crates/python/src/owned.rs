//! What a Python object has of the simulator: for one caller at a time, on threads of its own.

use std::sync::Mutex;

use rayon::ThreadPool;

/// Something of the simulator, and the threads that it uses; none: those of the whole program.
pub(crate) struct Owned<T> {
    inner: Mutex<T>,
    pool: Option<ThreadPool>,
}

/// An earlier caller panicked.
#[derive(Debug)]
pub(crate) struct Broken;

impl<T: Send> Owned<T> {
    pub(crate) fn new(inner: T, pool: Option<ThreadPool>) -> Self {
        Self { inner: Mutex::new(inner), pool }
    }

    /// Does something with it on its threads. Other callers wait, so that none may hold the GIL.
    pub(crate) fn with<R: Send>(&self, f: impl FnOnce(&mut T) -> R + Send) -> Result<R, Broken> {
        // Locked first: a thread of the pool that waits for others may take up what another caller has for it.
        let mut inner = self.inner.lock().map_err(|_| Broken)?;
        let inner = &mut *inner;
        Ok(on(self.pool.as_ref(), || f(inner)))
    }

    /// The same on the caller's thread, which no other has to be woken for: for what takes next to no time.
    pub(crate) fn at_once<R>(&self, f: impl FnOnce(&mut T) -> R) -> Result<R, Broken> {
        self.inner.lock().map_or(Err(Broken), |mut inner| Ok(f(&mut inner)))
    }

    /// Does something beside it on its threads.
    pub(crate) fn beside<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        on(self.pool.as_ref(), f)
    }
}

/// Does something on some threads; none: on those of the whole program.
pub(crate) fn on<R: Send>(pool: Option<&ThreadPool>, f: impl FnOnce() -> R + Send) -> R {
    match pool {
        Some(pool) => pool.install(f),
        None => f(),
    }
}
