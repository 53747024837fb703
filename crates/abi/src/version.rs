//! What other minor versions of the interface have in common with this one.

use crate::interface::*;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// Size of [`ForebayDiscipline`] in version 1.0: its two flags take a word.
const FIRST_DISCIPLINE: usize = 8 + 21 * size_of::<usize>();
/// Size of [`ForebayContext`] in version 1.0.
const FIRST_CONTEXT: usize = 16 + 6 * size_of::<usize>();

/// Structs that may grow end with their last member, so a member of a later version is never where
/// an earlier one has padding. No version is shorter than the first.
const _: () = {
    macro_rules! ends {
        ($type:ident, $last:ident: $size:expr, $first:expr) => {
            assert!(offset_of!($type, $last) + $size == size_of::<$type>());
            assert!(size_of::<$type>() >= $first);
        };
    }
    let call = size_of::<usize>();
    ends!(ForebayTcp, sack: 32, 64);
    ends!(ForebayContext, bytes: call, FIRST_CONTEXT);
    ends!(ForebaySetting, rate: 8, 24);
    ends!(ForebayDiscipline, dequeue_batch: call, FIRST_DISCIPLINE);
};

/// The discipline at `from`, which may know more or fewer members than this version. Those that it
/// does not know are NULL.
///
/// # Errors
/// It has another major version, or says a size that no version has.
///
/// # Safety
/// `from` points to a struct of the interface, of any version.
pub unsafe fn known(from: *const ForebayDiscipline) -> Result<ForebayDiscipline, String> {
    // SAFETY: every version begins with its number.
    let version = unsafe { *from.cast::<u32>() };
    let (major, minor) = (version >> 16, version & 0xffff);
    if major != FOREBAY_MAJOR {
        return Err(format!(
            "it speaks version {major}.{minor} of the interface, this program version \
             {FOREBAY_MAJOR}.{FOREBAY_MINOR}; build it again with this program's forebay.h"
        ));
    }
    // SAFETY: in this major version, the size follows.
    let size = unsafe { *from.cast::<u32>().add(1) } as usize;
    if size < FIRST_DISCIPLINE {
        return Err(format!(
            "it says that its struct has {size} bytes, and version {major}.0 has \
             {FIRST_DISCIPLINE}; set struct_size to sizeof(ForebayDiscipline)"
        ));
    }
    let mut known = MaybeUninit::<ForebayDiscipline>::zeroed();
    let size = size.min(size_of::<ForebayDiscipline>());
    // SAFETY: so many bytes are there, and fit. The members of the first version are set, and zero
    // is a value of all later ones.
    unsafe {
        ptr::copy_nonoverlapping(from.cast::<u8>(), known.as_mut_ptr().cast(), size);
        Ok(known.assume_init())
    }
}

/// The fault of a host whose context says `size`, if it is one that no version has.
#[inline]
pub fn misfit(size: u32) -> Option<String> {
    (FIRST_CONTEXT > size as usize).then(|| {
        format!(
            "the context says that it has {size} bytes, and version {FOREBAY_MAJOR}.0 has \
             {FIRST_CONTEXT}; set struct_size to sizeof(ForebayContext)"
        )
    })
}
