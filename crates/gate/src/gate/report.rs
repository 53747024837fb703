//! What a loop reports.

use super::Gate;
use crate::accounts::{CircuitStatus, Circuits, NodeStatus};
use crate::config::At;
use crate::io::{Missed, Side};
use crate::status::{DirectionStatus, RuleStatus, Status};
use forebay_core::{Rate, Time};
use std::ops::Range;

impl Gate {
    /// The state of the gate at `now`.
    pub fn status(&mut self, now: Time) -> Status {
        let config =
            self.config.effective().ok().and_then(|whole| serde_json::to_value(whole).ok());
        let [forward, reverse] = &self.rules;
        let rules =
            forward.counts().zip(reverse.counts()).map(|((name, one), (_, other))| RuleStatus {
                name: name.to_owned(),
                packets: one.packets + other.packets,
                bytes: one.bytes + other.bytes,
            });
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            process: std::process::id(),
            uptime_s: now.as_secs_f64(),
            dry_run: self.dry_run,
            reloads: self.reloads,
            config: config.unwrap_or_default(),
            forward: self.status_of(Side::Inside, now),
            reverse: self.status_of(Side::Outside, now),
            rules: rules.collect(),
            inside: self.missed(Side::Inside),
            outside: self.missed(Side::Outside),
            buffers: self.pool.count(),
            buffers_used: self.pool.used(),
        }
    }

    /// Frames missed on `side`.
    fn missed(&mut self, side: Side) -> Missed {
        let mut missed = self.io.missed(side);
        missed.no_buffer += self.mail.lost[side as usize];
        missed
    }

    /// Packets from `side` that all circuits together were offered, sent and dropped.
    pub fn circuit_totals(&self, side: Side) -> [u64; 3] {
        self.directions[side as usize].accounts().totals()
    }

    /// The state at `now` of the circuits in `range`, which begins with unknown addresses; none
    /// without subscribers. The nodes come with the first ones.
    pub fn circuits(&self, now: Time, range: Range<usize>) -> Circuits {
        let link = |side| self.config.direction(side).and_then(|link| link.rate);
        let mut found = Circuits {
            uptime_s: now.as_secs_f64(),
            reloads: self.reloads,
            link_bps: At::BOTH.map(|side| link(side).map_or(0, Rate::bps)),
            nodes: Vec::new(),
            of: 0,
            circuits: Vec::new(),
        };
        let Some(known) = &self.config.known else { return found };
        let [mut up, mut down] = [&self.directions[0], &self.directions[1]];
        if known.direction(At::Inside) == forebay_isp::Direction::Down {
            std::mem::swap(&mut up, &mut down);
        } else {
            found.link_bps.reverse();
        }
        if range.start == 0 {
            found.nodes = NodeStatus::all(&known.network);
        }
        let ways = down.accounts().in_order().zip(up.accounts().in_order());
        found.of = ways.len();
        let circuits = ways.enumerate().skip(range.start).take(range.len());
        found.circuits = circuits
            .map(|(place, (down, up))| CircuitStatus::of(&known.network, place, down, up))
            .collect();
        found
    }

    /// The state of the direction of packets that arrive on `side`.
    fn status_of(&self, side: Side, now: Time) -> DirectionStatus {
        let mut status = self.directions[side as usize].status(now);
        status.in_transit += self.io.pending(side.other());
        status
    }
}
