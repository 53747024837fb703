//! Every transfer with its beginning, size and end. They are kept only if the scenario asks for it.

use forebay_core::Time;
use std::num::NonZeroU64;

/// One transfer over a TCP connection of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferRow {
    pub flow: u32,
    /// Beginning of its connection.
    pub start: Time,
    /// Payload bytes; None: without end.
    pub bytes: Option<NonZeroU64>,
    /// Time at which all data had arrived. None: not yet, or it was given up.
    pub end: Option<Time>,
}

/// Transfers in order of their beginnings.
#[derive(Debug, Clone, Default)]
pub struct TransferLog {
    rows: Vec<TransferRow>,
    /// By the place of a connection, the row of the last transfer in it.
    last: Vec<u32>,
}

impl TransferLog {
    /// Most rows. They take about 3 GB until they are tables.
    pub const MOST: usize = 20_000_000;

    /// A transfer begins in `place`. An earlier one there has ended.
    pub fn begins(&mut self, place: u32, row: TransferRow) {
        let place = place as usize;
        self.last.resize(self.last.len().max(place + 1), 0);
        self.last[place] = self.rows.len() as u32;
        self.rows.push(row);
    }

    /// All data of the transfer in `place` have arrived.
    pub fn ends(&mut self, place: u32, now: Time) {
        self.rows[self.last[place as usize] as usize].end = Some(now);
    }

    /// Adds the transfers of another part of the network. No transfer may begin or end afterwards.
    pub fn absorb(&mut self, other: TransferLog) {
        self.rows.extend(other.rows);
        self.rows.sort_by_key(|row| (row.start, row.flow));
    }

    pub fn rows(&self) -> &[TransferRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_belongs_to_the_last_transfer_in_its_place() {
        let at = Time::from_nanos;
        let begun = |flow, start| TransferRow {
            flow,
            start: at(start),
            bytes: NonZeroU64::new(100),
            end: None,
        };
        let mut log = TransferLog::default();
        log.begins(1, begun(5, 10));
        log.begins(0, begun(6, 20));
        log.ends(1, at(30));
        // The place is used again before the other transfer has ended.
        log.begins(1, begun(7, 40));
        log.ends(0, at(50));
        let found: Vec<_> = log.rows().iter().map(|row| (row.flow, row.end)).collect();
        assert_eq!(found, [(5, Some(at(30))), (6, Some(at(50))), (7, None)]);
    }
}
