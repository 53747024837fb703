//! Memory ahead of its use.

/// Asks memory for the cache line in which `value` begins, ahead of its use. A hint: nothing else
/// changes.
#[inline]
pub fn fetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}
