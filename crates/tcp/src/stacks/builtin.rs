//! The stacks of this crate.

use super::Stack;
use super::ns2::Ns2;
use super::ns318::Ns318;
use super::own::{Linux2_6_18, Linux2_6_26, Linux6_1};
use super::standard::Standard;
use forebay_core::Registry;

/// The stacks of this crate, one line for each.
pub fn builtin() -> Registry<Stack> {
    Registry::default()
        .with::<Linux2_6_18>()
        .with::<Linux2_6_26>()
        .with::<Linux6_1>()
        .with::<Ns2>()
        .with::<Ns318>()
        .with::<Standard>()
}
