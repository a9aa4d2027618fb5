//! An allocator that counts, so that a test can say what a frame cost.
#![expect(
    unsafe_code,
    reason = "an allocator cannot be written without it; see the SAFETY comments below"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

thread_local! {
    /// Bytes this thread holds, and the most it held since [`peak_of`] began. Other tests run in
    /// other threads. Neither has a destructor, so both may be used at any time of a thread.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

fn size(layout: Layout) -> isize {
    // A layout is never larger than `isize::MAX`.
    layout.size().cast_signed()
}

// SAFETY: every call goes to the system's allocator unchanged, so its guarantees are this one's;
// counting neither allocates nor unwinds. No safe call exists: `GlobalAlloc` is an unsafe trait.
// `realloc` is the default one on purpose: it holds the old and the new block at once, which is
// the worst case.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(size(layout));
        // SAFETY: the caller's promise about `layout` is passed on. No safe call exists.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-size(layout));
        // SAFETY: `block` came from `alloc` above with this layout, thus from the system's
        // allocator. No safe call exists.
        unsafe { System.dealloc(block, layout) }
    }
}

/// The most bytes this thread held at once during `work`, beyond what it held before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = work();
    let peak = PEAK.get() - before;
    (result, usize::try_from(peak).unwrap_or(0))
}
