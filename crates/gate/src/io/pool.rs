//! Buffers for frames, all of them allocated at the start.
#![expect(unsafe_code, reason = "the memory is shared with the kernel")]

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

/// The place of a frame in its buffer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// Its offset in its buffer, bytes.
    pub start: u16,
    /// Its length.
    pub len: u16,
}

/// A fixed number of equal buffers. The index of a buffer is the handle of the packet in it.
pub struct Pool {
    memory: NonNull<u8>,
    size: usize,
    count: u32,
    free: Vec<u32>,
    extents: Vec<Extent>,
}

// SAFETY: the memory belongs to the pool alone, which hands out references by the borrow rules.
unsafe impl Send for Pool {}

impl Pool {
    /// `count` buffers. Each has room for a frame of `longest` bytes and the kernel's headroom.
    ///
    /// # Errors
    /// There is too little memory.
    pub fn new(count: u32, longest: usize) -> io::Result<Self> {
        // A power of two from 2048 on, as AF_XDP demands; its headroom is 256 bytes.
        let size = (longest + 256).next_power_of_two().max(2048);
        let bytes = size * count as usize;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
        let memory =
            memory.map_err(|error| super::because(format!("{bytes} B of buffers"), error))?;
        let memory = NonNull::new(memory.cast()).expect("a mapping is not at zero");
        let extents = vec![Extent::default(); count as usize];
        Ok(Pool { memory, size, count, free: (0..count).rev().collect(), extents })
    }

    /// Number of buffers.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Buffers in use.
    pub fn used(&self) -> u32 {
        self.count - self.free.len() as u32
    }

    /// Size of a buffer.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Address and size in bytes of the buffers. This is for the kernel, which writes
    /// only to buffers that were taken for it.
    pub fn memory(&self) -> (u64, u64) {
        (self.memory.as_ptr() as u64, (self.size * self.count as usize) as u64)
    }

    /// Takes a free buffer.
    #[inline]
    pub fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Frees buffer `index`.
    #[inline]
    pub fn give(&mut self, index: u32) {
        debug_assert!(self.free.len() < self.count as usize, "given back twice");
        self.free.push(index);
    }

    /// The whole buffer `index`.
    ///
    /// # Panics
    /// If there is no such buffer.
    #[inline]
    pub fn buffer(&mut self, index: u32) -> &mut [u8] {
        assert!(index < self.count);
        // SAFETY: within the mapping, which lives as long as the pool; borrowed with it.
        unsafe {
            let at = self.memory.as_ptr().add(index as usize * self.size);
            std::slice::from_raw_parts_mut(at, self.size)
        }
    }

    /// Records where the frame in `index` is.
    ///
    /// # Panics
    /// If it is not within the buffer.
    #[inline]
    pub fn set_extent(&mut self, index: u32, start: usize, len: usize) {
        assert!(start + len <= self.size);
        self.extents[index as usize] = Extent { start: start as u16, len: len as u16 };
    }

    /// Place of the frame in `index`.
    #[inline]
    pub fn extent(&self, index: u32) -> Extent {
        self.extents[index as usize]
    }

    /// The frame in `index`.
    #[inline]
    pub fn frame(&self, index: u32) -> &[u8] {
        let Extent { start, len } = self.extent(index);
        // SAFETY: as in `buffer`; `set_extent` has seen to it that the frame is within it.
        unsafe {
            let at = self.memory.as_ptr().add(index as usize * self.size + usize::from(start));
            std::slice::from_raw_parts(at, usize::from(len))
        }
    }

    /// The frame in `index`, mutable.
    #[inline]
    pub fn frame_mut(&mut self, index: u32) -> &mut [u8] {
        let Extent { start, len } = self.extent(index);
        &mut self.buffer(index)[usize::from(start)..][..usize::from(len)]
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and no reference to it outlives the pool. An
        // error would leave the memory to the end of the process.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.size * self.count as usize) };
    }
}
