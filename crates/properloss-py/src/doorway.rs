//! The one way into the engine: the GIL released, worker threads that are alive.

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Runs `work` without the GIL. For work too short to be interrupted: predictions, metrics. A fit
/// goes through [`crate::watch::train`].
pub fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| on_live_threads(work))
}

/// The process that first used the engine; its worker threads live there and nowhere else.
static HOME: AtomicU32 = AtomicU32::new(0);
/// The pool of a forked child: its owner and its threads, never freed.
static CHILD_POOL: AtomicPtr<(u32, ThreadPool)> = AtomicPtr::new(std::ptr::null_mut());

thread_local! {
    /// Whether a fit waits for what this thread is doing.
    static WAITED_FOR: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`, a callback that a fit waits for. The fit keeps its worker thread meanwhile, perhaps the
/// only one, so what the callback asks of the engine (a prediction) must not wait for that thread.
pub fn while_a_fit_waits<T>(work: impl FnOnce() -> T) -> T {
    let before = WAITED_FOR.replace(true);
    let result = work();
    WAITED_FOR.set(before);
    result
}

/// Runs `work` on a worker thread that is alive: from there tasks are handed out without a change of
/// thread, which is most of the cost of a small fit.
///
/// A forked child inherits the state of rayon's global pool but none of its threads, and would wait
/// for them for ever. So a child gets a pool of its own when it first needs one.
pub fn on_live_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if WAITED_FOR.get()
        && let Ok(beside) = ThreadPoolBuilder::new().num_threads(1).build()
    {
        return beside.install(work);
    }
    let here = std::process::id();
    match HOME.compare_exchange(0, here, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // Fails only if the pool exists already, which is as good.
            let _ = builder().build_global();
            rayon::scope(|_| work())
        }
        Err(home) if home == here => rayon::scope(|_| work()),
        Err(_) => match child_pool(here) {
            Some(pool) => pool.install(work),
            None => work(),
        },
    }
}

fn child_pool(here: u32) -> Option<&'static ThreadPool> {
    let current = CHILD_POOL.load(Ordering::Acquire);
    // SAFETY: the pointer is null or came from `Box::leak` below.
    if let Some((owner, pool)) = unsafe { current.as_ref() }
        && *owner == here
    {
        return Some(pool);
    }
    let fresh = Box::leak(Box::new((here, builder().build().ok()?)));
    match CHILD_POOL.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(&fresh.1),
        // Another thread of this process was faster; its pool serves both.
        Err(_) => child_pool(here),
    }
}

/// As many threads as `RAYON_NUM_THREADS` says, else `OMP_NUM_THREADS` (which joblib sets in its
/// workers), else one per core. The results have the same bits for any number.
fn builder() -> ThreadPoolBuilder {
    let builder = ThreadPoolBuilder::new().thread_name(|i| format!("properloss-{i}"));
    if std::env::var_os("RAYON_NUM_THREADS").is_some() {
        return builder;
    }
    match std::env::var("OMP_NUM_THREADS").ok().and_then(|n| n.parse().ok()) {
        Some(threads) => builder.num_threads(threads),
        None => builder,
    }
}
