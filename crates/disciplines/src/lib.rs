//! Queue disciplines: the answers to three questions, and the named kinds made of them.
//!
//! *Which queue does this packet join* ([`classify`]), *may it stay, and if not who goes*
//! ([`admit`]), *who is served next* ([`schedule`]). Any three answers make a discipline
//! ([`Composed`]); a named kind ([`kinds`]) is a combination with defaults. The [`registry`] knows
//! them all by name.

pub mod admit;
pub mod classify;
mod compose;
#[cfg(test)]
mod fixture;
pub mod kinds;
mod one_or_each;
pub mod registry;
pub mod schedule;

pub use compose::{Admit, Classify, Composed, Schedule};
pub use one_or_each::OneOrEach;
