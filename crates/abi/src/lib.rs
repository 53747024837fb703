//! The C interface of queue disciplines, in both directions, and of endpoints. [`plugin!`] makes a
//! shared library from disciplines written in Rust. [`load`] reads such libraries, in any language.
//! The library `libforebay` offers forebay's own disciplines to C and C++.
//!
//! `include/forebay.h` is the interface in C, and `docs/extending.md` the guide.

mod convert;
#[cfg(feature = "load")]
mod elf;
mod endpoint;
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
mod schema;
mod version;
mod watch;

pub use endpoint::{End, EndpointKind};
pub use export::Exports;
pub use forebay_core as core;
pub use forebay_disciplines::Disciplines;
pub use foreign::{Call, Foreign, Outside};
pub use import::import;
pub use interface::*;
#[cfg(feature = "library")]
pub use library::{
    forebay_discipline, forebay_discipline_at, forebay_reason, forebay_tcp, forebay_version,
};
#[cfg(feature = "load")]
pub use load::{Plugin, load};
pub use schema::{described, fill_in};
pub use watch::{Calls, Function, Watch};

/// Makes a plug-in of this crate, a `cdylib`, from the given parts: disciplines, or admission
/// rules, each of which becomes a kind.
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
