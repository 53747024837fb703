//! Data packets that were dropped, and when their users are told.

use crate::measure::UserMeter;
use forebay_core::Time;

/// A data packet that was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// When.
    pub at: Time,
    /// Whose it was.
    pub user: u32,
    /// Its number among theirs.
    pub number: u64,
}

/// When users are told what they have lost.
#[derive(Debug)]
pub enum Losses {
    /// At once.
    AtOnce,
    /// Some together: nobody knows ahead who will lose a packet, so that the meter of one among many
    /// users would be waited for. Those of several are fetched together.
    Together(Vec<Lost>),
    /// Elsewhere, in a part of a network: packets of a user may be lost in several.
    Elsewhere(Vec<Lost>),
}

/// How many are told together.
const TOGETHER: usize = 32;

impl Losses {
    /// A packet of one of `users` was dropped.
    pub fn add(&mut self, lost: Lost, users: &mut [UserMeter]) {
        match self {
            Losses::AtOnce => users[lost.user as usize].lost(lost.number),
            Losses::Elsewhere(losses) => losses.push(lost),
            Losses::Together(losses) => {
                losses.push(lost);
                if losses.len() == TOGETHER {
                    self.settle(users);
                }
            }
        }
    }

    /// Tells `users` what they are still to be told here.
    pub fn settle(&mut self, users: &mut [UserMeter]) {
        let Losses::Together(losses) = self else { return };
        for fetch in [UserMeter::fetch_losses, UserMeter::fetch_pattern, UserMeter::fetch_last_loss]
        {
            losses.iter().for_each(|lost| fetch(&users[lost.user as usize]));
        }
        for lost in losses.drain(..) {
            users[lost.user as usize].lost(lost.number);
        }
    }

    /// Those to be told elsewhere.
    pub fn take(&mut self) -> impl Iterator<Item = Lost> {
        let losses = match self {
            Losses::Elsewhere(losses) => Some(losses),
            Losses::AtOnce | Losses::Together(_) => None,
        };
        losses.into_iter().flat_map(|losses| losses.drain(..))
    }
}
