//! Queue disciplines: the answers to three questions, and the named kinds made of them.
//!
//! *Which queue does this packet join* ([`classify`]), *may it stay, and if not who goes*
//! ([`admit`]), *who is served next* ([`schedule`]). Any three answers make a discipline
//! ([`Composed`]); a named kind ([`kinds`]) is a combination with defaults. [`Disciplines`] knows
//! them all by name, and takes in others.

pub mod admit;
pub mod classify;
mod compose;
#[cfg(test)]
mod fixture;
pub mod kinds;
mod one_or_each;
mod registry;
pub mod schedule;

pub use compose::{Admit, Alone, Classify, Composed, Schedule};
pub use one_or_each::OneOrEach;
pub use registry::{Disciplines, Part};
