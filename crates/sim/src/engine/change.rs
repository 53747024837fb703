//! What changes while a world runs: links, and who takes part.

use super::fabric::{AccessLink, LinkChange, Stop, Target};
use super::transport::{Conditioner, User};
use crate::measure::UserMeter;
use crate::wireless::medium::Station;

/// What changes at one instant.
#[derive(Default)]
pub struct Change {
    /// Links by index, and what becomes of them.
    pub links: Vec<(usize, LinkChange)>,
    /// Users by index who send no more; what they have left is not sent.
    pub leave: Vec<u32>,
    /// Who takes part from now on.
    pub join: Option<Join>,
}

/// Users who join, and what they bring. Everything stands behind what is there, in the same order as
/// in a world that had it from the beginning, so that indices in it mean the same.
pub struct Join {
    /// Who sends, with their meters.
    pub users: Vec<(User, UserMeter)>,
    /// Markers at the senders' edge.
    pub conditioners: Vec<Conditioner>,
    /// Names of classes.
    pub classes: Vec<String>,
    /// Where each pipe leads, over which access links.
    pub pipes: Vec<(Target, Option<AccessLink>)>,
    /// Stretches.
    pub stops: Vec<Stop>,
    /// Paths through the wireless network.
    pub crossings: Vec<(Station, Station)>,
}
