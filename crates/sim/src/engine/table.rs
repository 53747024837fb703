//! Tables that may become large, on huge pages.

use allocator_api2::vec::Vec;
use hugealloc::HugeAlloc;

/// A vector that asks the system for huge pages when it has two megabytes or more. With 100 000 flows the
/// state of every packet is in other pages, and finding a page takes longer than reading it.
pub type Table<T> = Vec<T, HugeAlloc>;

/// An empty table with room for `rows`.
pub fn with_room<T>(rows: usize) -> Table<T> {
    Vec::with_capacity_in(rows, HugeAlloc)
}

/// A table of `rows`.
pub fn table<T>(rows: std::vec::Vec<T>) -> Table<T> {
    let mut table = with_room(rows.len());
    table.extend(rows);
    table
}
