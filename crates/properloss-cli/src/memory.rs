//! The last line of defence: no allocation passes the limit, whatever library asked for it.
//!
//! Readers and trainers ask before they allocate and refuse with the number. What they cannot see,
//! such as a length inside a compressed page, ends here: with a sentence and exit status 1 instead
//! of an abort, or of a machine that swaps. The only `unsafe` of the program is that of
//! [`GlobalAlloc`], whose methods hand everything on to [`System`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use properloss_data::atomic::try_remove_temporaries;
use properloss_data::fit_memory::count_with;
use properloss_data::memory::{Budget, shown_bytes};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

static HELD: AtomicU64 = AtomicU64::new(0);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
static GIVEN: AtomicU64 = AtomicU64::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);

/// Sets the limit: the bytes given, or what the machine has free now.
pub fn limit_to(bytes: Option<u64>) {
    GIVEN.store(bytes.unwrap_or(0), Relaxed);
    LIMIT.store(Budget::or_machine(bytes).bytes(), Relaxed);
    count_with(|| LIMIT.load(Relaxed).saturating_sub(HELD.load(Relaxed)));
}

/// What `--memory` said.
pub fn given() -> Option<u64> {
    Some(GIVEN.load(Relaxed)).filter(|&bytes| bytes > 0)
}

struct Counted;

fn take(size: usize) {
    let held = HELD.fetch_add(size as u64, Relaxed) + size as u64;
    if held > LIMIT.load(Relaxed) {
        refuse(size);
    }
}

fn give(size: usize) {
    HELD.fetch_sub(size as u64, Relaxed);
}

/// Says it and ends the program. The few allocations of the message pass.
#[cold]
fn refuse(size: usize) {
    if ENDING.swap(true, Relaxed) {
        return;
    }
    let limit = LIMIT.swap(u64::MAX, Relaxed);
    let held = HELD.load(Relaxed);
    let _ = writeln!(
        std::io::stderr().lock(),
        "error: out of memory: {} are needed at once, {} in all, but {} may be used\n\
         hint: allow more with --memory, or use fewer rows or columns",
        shown_bytes(size as u64),
        shown_bytes(held),
        shown_bytes(limit),
    );
    try_remove_temporaries();
    std::process::exit(1);
}

fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        refuse(size);
    }
    pointer
}

// SAFETY: every method hands its arguments on to `System` unchanged and gives back what it gave;
// counting touches atomics only, and `refuse` does not return into a failed allocation.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's contract is `System`'s.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        // SAFETY: the caller's contract is `System`'s.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give(layout.size());
        // SAFETY: the caller's contract is `System`'s.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size.saturating_sub(layout.size()));
        // SAFETY: the caller's contract is `System`'s.
        let moved = checked(unsafe { System.realloc(pointer, layout, size) }, size);
        give(layout.size().saturating_sub(size));
        moved
    }
}
