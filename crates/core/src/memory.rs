//! Memory ahead of its use.

/// Asks memory for the cache line in which `value` begins, ahead of its use. A hint: nothing else
/// changes.
#[inline]
pub fn fetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}

/// The same for a value of up to two lines: those in which it begins and ends.
#[inline]
pub fn fetch_whole<T>(value: &T) {
    fetch(value);
    prefetch_index::prefetch_index(std::slice::from_ref(value), 1);
}
