//! CAKE's view of Diffserv: the tin of each codepoint, and the share of each tin.

use forebay_core::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tins into which packets are sorted, lowest priority first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Diffserv {
    /// One tin.
    BestEffort,
    /// Eight, by the upper three bits of the DSCP.
    Precedence,
    /// Bulk (LE, CS1), best effort, voice (VA, EF, CS6, CS7, TOS4).
    Diffserv3,
    /// Bulk, best effort, video (AF2x to AF4x, CS2, CS3, TOS4), voice (CS4 to CS7, VA, EF).
    Diffserv4,
    /// Background, bulk, best effort, video, transactions, shell, minimum latency, network control.
    Diffserv8,
}

/// A tin's share: the part of the bandwidth above which it has no priority, and its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// The tin's threshold as a share of the bandwidth.
    pub rate: f64,
    /// Bytes that the tin sends in a round if there is no shaper.
    pub quantum: i64,
}

/// 1, 7/8, (7/8)^2 and so on, with weights rounded down to whole bytes.
fn sevenths() -> Vec<Share> {
    let next =
        |share: &Share| Some(Share { rate: share.rate * 0.875, quantum: share.quantum * 7 / 8 });
    std::iter::successors(Some(Share { rate: 1.0, quantum: 256 }), next).take(8).collect()
}

/// Shares of the bandwidth, with weights in proportion.
fn shares(rates: &[f64]) -> Vec<Share> {
    rates.iter().map(|rate| Share { rate: *rate, quantum: (1024.0 * rate) as i64 }).collect()
}

impl Diffserv {
    /// The tins' shares.
    pub fn shares(self) -> Vec<Share> {
        match self {
            Diffserv::BestEffort => vec![Share { rate: 1.0, quantum: 65_535 }],
            Diffserv::Precedence | Diffserv::Diffserv8 => sevenths(),
            // Best effort comes first and has the whole bandwidth as its threshold; bulk is behind it
            // in priority because its own is small.
            Diffserv::Diffserv3 => shares(&[1.0, 1.0 / 16.0, 1.0 / 4.0]),
            Diffserv::Diffserv4 => shares(&[1.0, 1.0 / 16.0, 1.0 / 2.0, 1.0 / 4.0]),
        }
    }

    /// The tin of a codepoint, 0 to 63.
    pub fn tin(self, dscp: u8) -> usize {
        match self {
            Diffserv::BestEffort => 0,
            Diffserv::Precedence => usize::from(dscp >> 3),
            Diffserv::Diffserv3 => match dscp {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
            Diffserv::Diffserv4 => match dscp {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Diffserv::Diffserv8 => match dscp {
                1 => 0,
                2 | 8 | 10 | 12 | 14 => 1,
                24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
                4 | 18 | 20 | 22 => 4,
                16 => 5,
                32 | 40 | 44 | 46 => 6,
                48 | 56 => 7,
                _ => 2,
            },
        }
    }
}

/// A share of a rate, at least 64 bytes a second, so that no tin stops.
pub fn part(rate: Rate, share: f64) -> Rate {
    Rate::from_bps(((rate.bps() as f64 * share) as u64).max(512))
}
