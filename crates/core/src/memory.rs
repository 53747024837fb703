//! Fetching memory before it is used.

/// Asks for the cache line in which `value` begins, before it is used. This is only a hint.
#[inline]
pub fn fetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}

/// Asks for the first two cache lines of `value`, before it is used. This is only a hint.
#[inline]
pub fn fetch_whole<T>(value: &T) {
    fetch(value);
    prefetch_index::prefetch_index(std::slice::from_ref(value), 1);
}
