//! The C interface of queue disciplines, for both directions: [`plugin!`] makes a shared library of
//! disciplines written in Rust, [`load`] takes such libraries, in whatever language, into a
//! registry, and the library `libforebay` shows forebay's own disciplines to C and C++.
//!
//! `include/forebay.h` says the same in C. `docs/extending.md` is the guide.

mod convert;
mod export;
mod foreign;
mod import;
mod interface;
mod ledger;
#[cfg(feature = "library")]
mod library;
#[cfg(feature = "load")]
mod load;
mod native;
mod watch;

pub use export::Exports;
pub use forebay_core as core;
pub use forebay_disciplines::Disciplines;
pub use foreign::{Call, Foreign, Outside};
pub use import::import;
pub use interface::*;
#[cfg(feature = "library")]
pub use library::{forebay_discipline, forebay_discipline_at};
#[cfg(feature = "load")]
pub use load::{Plugin, load};
pub use watch::{Calls, Function, Watch};

/// Makes this crate, a `cdylib`, a plug-in of the given parts: disciplines, or admission rules,
/// which make a kind each.
///
/// ```ignore
/// forebay::plugin!(Mine);
/// ```
#[macro_export]
macro_rules! plugin {
    ($($part:ty),+ $(,)?) => {
        /// The disciplines of this plug-in by index; NULL after the last.
        #[unsafe(no_mangle)]
        pub extern "C" fn forebay_plugin(index: u32) -> *const $crate::ForebayDiscipline {
            static EXPORTS: std::sync::OnceLock<$crate::Exports> = std::sync::OnceLock::new();
            let parts = || $crate::Disciplines::default()$(.with::<$part>())+;
            EXPORTS.get_or_init(|| $crate::Exports::of(&parts().every_kind())).get(index)
        }
    };
}
