//! The fields of a link that scenarios and the gate's configuration share.
//!
//! Both tables contain them among other fields. With serde, a struct's fields cannot be part of
//! another struct if unknown fields are to be refused and errors are to name the path. So a macro
//! writes them into both.

use forebay_core::config::require;
use forebay_core::{Bytes, ConfigError};

/// Defines the struct of a link's table: the fields of `before`, then `overhead`, `mtu` and `queue`,
/// then those of `after`. Also defines what depends on these three alone.
///
/// The caller derives serde's traits with `deny_unknown_fields`.
#[macro_export]
macro_rules! link_table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            before { $($before:tt)* }
            after { $($after:tt)* }
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($before)*
            /// Bytes added to every IP packet on the wire: "none", "ppp" (7 B), "ethernet" (38 B:
            /// preamble, header, check sequence and gap) or a size.
            #[serde(default)]
            pub overhead: forebay_core::Overhead,
            /// Largest IP packet; 68 B or more.
            #[serde(default = "forebay_shaper::link::ethernet_mtu")]
            pub mtu: forebay_core::Bytes,
            /// Queue discipline: `{ kind = "codel", ... }` (see `forebay kinds`) or a combination of
            /// `classify`, `admit` and `schedule`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub queue: Option<serde_json::Value>,
            $($after)*
        }

        impl $name {
            /// The setting of the discipline on this link if the rate is `rate`.
            pub fn setting(&self, rate: forebay_core::Rate) -> forebay_core::Setting {
                let (overhead, mtu) = (self.overhead.0, self.mtu.0 as u32);
                forebay_core::Setting::new(rate, overhead, mtu)
            }
        }
    };
}

/// The largest packet of a link whose table does not say it.
pub const fn ethernet_mtu() -> Bytes {
    Bytes(1500)
}

/// Checks that `mtu` allows every IPv4 packet that must pass unfragmented (RFC 791, section 3.2),
/// and is at most `most` bytes.
///
/// # Errors
/// `mtu` is out of this range.
pub fn check_mtu(mtu: Bytes, most: u64) -> Result<(), ConfigError> {
    require((68..=most).contains(&mtu.0), "mtu", || {
        format!("must be 68B to {most}B, got \"{mtu}\"")
    })
}
