//! Changes of a world while it runs.

use super::fabric::{AccessLink, LinkChange, Stop, Target};
use super::transport::{Conditioner, User};
use crate::measure::UserMeter;
use crate::wireless::medium::Station;

/// All changes at one time.
#[derive(Default)]
pub struct Change {
    /// Links by index.
    pub links: Vec<(usize, LinkChange)>,
    /// Indices of users who send no more.
    pub leave: Vec<u32>,
    pub join: Option<Join>,
}

/// Users who join, and what they need. It is appended to what the world has, in the order of a world that
/// had it from the beginning, so that indices are the same.
pub struct Join {
    pub users: Vec<(User, UserMeter)>,
    pub conditioners: Vec<Conditioner>,
    /// Names of classes.
    pub classes: Vec<String>,
    pub pipes: Vec<(Target, Option<AccessLink>)>,
    pub stops: Vec<Stop>,
    /// Paths through the wireless network.
    pub crossings: Vec<(Station, Station)>,
}
