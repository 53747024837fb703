//! Losses of data packets, and when they are reported to the users' meters.

use crate::measure::UserMeter;
use forebay_core::Time;

/// A data packet that was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    pub at: Time,
    pub user: u32,
    /// Number among the user's packets.
    pub number: u64,
}

/// When losses are reported.
#[derive(Debug)]
pub enum Losses {
    AtOnce,
    /// Several at a time. With many users, the meter is not in the cache, and it is not known ahead who
    /// will lose a packet. So the meters of several are fetched together.
    Together(Vec<Lost>),
    /// In the parts of the network where the senders are.
    Elsewhere(Vec<Lost>),
}

/// Losses that are reported together.
const TOGETHER: usize = 32;

impl Losses {
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

    /// Reports the losses that have been kept to `users`, unless they are reported elsewhere.
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

    /// Takes the losses that are reported elsewhere.
    pub fn take(&mut self) -> impl Iterator<Item = Lost> {
        let losses = match self {
            Losses::Elsewhere(losses) => Some(losses),
            Losses::AtOnce | Losses::Together(_) => None,
        };
        losses.into_iter().flat_map(|losses| losses.drain(..))
    }
}
