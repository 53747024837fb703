//! What other minor versions of the interface have in common with this one.

use crate::interface::*;
use std::mem::{MaybeUninit, offset_of};
use std::ptr;

/// Size of [`ForebayDiscipline`] in version 1.0: its two flags take a word.
const FIRST_DISCIPLINE: usize = 8 + 21 * size_of::<usize>();
/// Size of [`ForebayEndpoint`] in version 1.0: its headers take a word.
const FIRST_ENDPOINT: usize = 8 + 16 * size_of::<usize>();
/// Size of [`ForebaySetting`] in version 1.0.
const FIRST_SETTING: usize = 24;
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
    ends!(ForebaySetting, rate: 8, FIRST_SETTING);
    ends!(ForebayDiscipline, dequeue_batch: call, FIRST_DISCIPLINE);
    ends!(ForebayEndpoint, fault: call, FIRST_ENDPOINT);
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
    // SAFETY: by the contract above, and a discipline consists of numbers, flags and pointers that may
    // be NULL, so that zero is a value of every member.
    unsafe { part(from, FIRST_DISCIPLINE, "ForebayDiscipline") }
}

/// The endpoint at `from`, as [`known`].
///
/// # Errors
/// As [`known`].
///
/// # Safety
/// As [`known`].
pub unsafe fn endpoint(from: *const ForebayEndpoint) -> Result<ForebayEndpoint, String> {
    // SAFETY: as in `known`.
    unsafe { part(from, FIRST_ENDPOINT, "ForebayEndpoint") }
}

/// The part of a plug-in at `from`, whose struct is called `name` and had `first` bytes in the first
/// version.
///
/// # Safety
/// `from` points to a struct of the interface, of any version, which begins with its version and its
/// size; zero is a value of every member.
unsafe fn part<T>(from: *const T, first: usize, name: &str) -> Result<T, String> {
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
    if size < first {
        return Err(format!(
            "it says that its struct has {size} bytes, and version {major}.0 has {first}; set \
             struct_size to sizeof({name})"
        ));
    }
    let mut known = MaybeUninit::<T>::zeroed();
    // SAFETY: so many bytes are there, and fit. The members of the first version are set, and zero
    // is a value of all later ones.
    unsafe {
        let size = size.min(size_of::<T>());
        ptr::copy_nonoverlapping(from.cast::<u8>(), known.as_mut_ptr().cast(), size);
        Ok(known.assume_init())
    }
}

/// The setting at `from`, of a host.
///
/// # Errors
/// There is none, it says a size that no version has, or it has another major version.
///
/// # Safety
/// `from` is NULL, or points to a struct of the interface.
pub unsafe fn setting(from: *const ForebaySetting) -> Result<ForebaySetting, String> {
    if from.is_null() {
        return Err("there is no setting; give a ForebaySetting".into());
    }
    // SAFETY: its size is what it begins with.
    let size = unsafe { *from.cast::<u32>() };
    if FIRST_SETTING > size as usize {
        return Err(short("setting", size, FIRST_SETTING, "ForebaySetting"));
    }
    let mut setting = MaybeUninit::<ForebaySetting>::zeroed();
    let size = (size as usize).min(size_of::<ForebaySetting>());
    // SAFETY: so many bytes are there, and fit. Zero is a value of every member.
    let setting = unsafe {
        ptr::copy_nonoverlapping(from.cast::<u8>(), setting.as_mut_ptr().cast(), size);
        setting.assume_init()
    };
    let (major, minor) = (setting.version >> 16, setting.version & 0xffff);
    if major != FOREBAY_MAJOR {
        return Err(format!(
            "the setting has version {major}.{minor} of the interface, this library version \
             {FOREBAY_MAJOR}.{FOREBAY_MINOR}; set version to FOREBAY_VERSION"
        ));
    }
    Ok(setting)
}

/// The fault of a host whose context no version has: it says another size, or lacks a function.
///
/// # Safety
/// `cx` points to a context of which at least the size is there.
#[inline]
pub unsafe fn misfit(cx: *const ForebayContext) -> Option<String> {
    // SAFETY: its size is what it begins with.
    let size = unsafe { *cx.cast::<u32>() };
    if FIRST_CONTEXT > size as usize {
        return Some(short("context", size, FIRST_CONTEXT, "ForebayContext"));
    }
    // SAFETY: the functions are there; as addresses, they may be NULL.
    let addresses = unsafe {
        [
            ("drop", ptr::addr_of!((*cx).drop).cast::<*const ()>().read()),
            ("mark", ptr::addr_of!((*cx).mark).cast::<*const ()>().read()),
            ("random", ptr::addr_of!((*cx).random).cast::<*const ()>().read()),
        ]
    };
    let missing = addresses.into_iter().find(|(_, address)| address.is_null());
    missing.map(|(name, _)| format!("the context has no function `{name}`"))
}

/// That a struct of the host is shorter than that of any version.
#[cold]
fn short(what: &str, size: u32, first: usize, name: &str) -> String {
    format!(
        "the {what} says that it has {size} bytes, and version {FOREBAY_MAJOR}.0 has {first}; set \
         struct_size to sizeof({name})"
    )
}
