//! The stacks of this crate.

use super::{Stack, ns2, ns318, own, standard};
use forebay_core::Registry;

/// The stacks of this crate, one line for each.
pub fn builtin() -> Registry<Stack> {
    Registry::default()
        .with::<own::Linux2_6_18>()
        .with::<own::Linux2_6_26>()
        .with::<own::Linux6_1>()
        .with::<own::Linux6_12>()
        .with::<ns2::Ns2>()
        .with::<ns318::Ns318>()
        .with::<standard::Standard>()
}
