//! A ring shared with the kernel: one side produces, the other consumes.

use super::super::because;
use rustix::fd::BorrowedFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::xdp::XdpRingOffset;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries in each ring.
pub const SIZE: u32 = 2_048;

/// NEED_WAKEUP of the flags word.
const NEED_WAKEUP: u32 = 1;

/// A ring of `T`. The gate is one of its two sides.
pub struct Ring<T> {
    map: NonNull<u8>,
    length: usize,
    offset: XdpRingOffset,
    /// The gate's own index, which only the gate writes.
    mine: u32,
    /// As the consumer: the kernel's index when the gate last looked. Each look may fetch the word from
    /// another processor's cache.
    seen: u32,
    kind: std::marker::PhantomData<T>,
}

// SAFETY: the mapping belongs to the ring alone.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Maps the ring of `socket` at the page offset `page`.
    pub fn map(socket: BorrowedFd, page: u64, offset: XdpRingOffset) -> io::Result<Self> {
        let length = offset.desc as usize + SIZE as usize * size_of::<T>();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let map = unsafe { mmap(std::ptr::null_mut(), length, protection, flags, socket, page) };
        let map = map.map_err(|error| because("a ring", error))?;
        let map = NonNull::new(map.cast()).expect("a mapping is not at zero");
        Ok(Ring { map, length, offset, mine: 0, seen: 0, kind: std::marker::PhantomData })
    }

    fn word(&self, at: u64) -> &AtomicU32 {
        // SAFETY: the kernel says where its aligned, atomic words are in the mapping.
        unsafe { AtomicU32::from_ptr(self.map.as_ptr().add(at as usize).cast()) }
    }

    fn entry(&self, index: u32) -> *mut T {
        let place = (index & (SIZE - 1)) as usize;
        // SAFETY: the mapping holds SIZE entries behind `desc`.
        unsafe { self.map.as_ptr().add(self.offset.desc as usize).cast::<T>().add(place) }
    }

    /// Whether the kernel wants to be told of new entries.
    pub fn needs_wakeup(&self) -> bool {
        self.offset.flags.is_none_or(|at| self.word(at).load(Ordering::Relaxed) & NEED_WAKEUP != 0)
    }

    /// As the producer: number of entries for which there is room.
    pub fn room(&self) -> u32 {
        let theirs = self.word(self.offset.consumer).load(Ordering::Acquire);
        SIZE - self.mine.wrapping_sub(theirs)
    }

    /// As the producer: number of entries that the kernel has not taken yet.
    pub fn pending(&self) -> u32 {
        SIZE - self.room()
    }

    /// As the producer: adds `entry`, for which there must be room. [`Ring::publish`] shows it.
    pub fn put(&mut self, entry: T) {
        // SAFETY: there is room, so that the kernel does not read this place now.
        unsafe { self.entry(self.mine).write(entry) };
        self.mine = self.mine.wrapping_add(1);
    }

    /// As the producer: shows the kernel the added entries.
    pub fn publish(&self) {
        self.word(self.offset.producer).store(self.mine, Ordering::Release);
    }

    /// As the consumer: takes the next entry, if there is one. [`Ring::release`] frees the places.
    pub fn take(&mut self) -> Option<T> {
        if self.seen == self.mine {
            self.seen = self.word(self.offset.producer).load(Ordering::Acquire);
            if self.seen == self.mine {
                return None;
            }
        }
        // SAFETY: the kernel has written this place and leaves it alone until it is given back.
        let entry = unsafe { self.entry(self.mine).read() };
        self.mine = self.mine.wrapping_add(1);
        Some(entry)
    }

    /// As the consumer: frees the places of the taken entries.
    pub fn release(&self) {
        self.word(self.offset.consumer).store(self.mine, Ordering::Release);
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: mapped in `map` with this length. An error would leave it to the process's end.
        let _ = unsafe { munmap(self.map.as_ptr().cast(), self.length) };
    }
}
