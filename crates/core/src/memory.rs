//! Fetching memory before it is used.

/// Asks for the cache line in which `value` begins, before it is used. This is only a hint.
#[inline]
pub fn fetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}

/// Asks for the cache line that lies `bytes`, a multiple of eight, after `value`. This is only a hint.
#[inline]
pub fn fetch_after(value: &u64, bytes: usize) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), bytes / 8);
}

/// Asks for the first two cache lines of `value`, before it is used. This is only a hint.
#[inline]
pub fn fetch_whole<T>(value: &T) {
    fetch(value);
    prefetch_index::prefetch_index(std::slice::from_ref(value), 1);
}
