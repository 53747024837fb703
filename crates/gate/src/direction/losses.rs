//! The counters and buffers that a shaper is called with.

use super::{Counts, Direction, Origin};
use crate::accounts::Accounts;
use crate::io::Pool;
use forebay_core::tcp::Tcp;
use forebay_core::{DropReason, Packet, Sink};
use forebay_shaper::Shaper;
use forebay_shaper::headers::{Frame, Layer, tcp_header};

/// The sink for dropped packets, and the counters of those that are offered.
pub struct Losses<'a> {
    pool: &'a mut Pool,
    counts: &'a mut Counts,
    accounts: &'a mut Accounts,
    origins: &'a mut [Origin],
    layer: Layer,
    dry_run: bool,
}

impl Losses<'_> {
    /// Counts `packet`, which the shaper is about to get.
    #[inline]
    pub fn offered(&mut self, packet: &Packet, origin: Origin) {
        self.origins[packet.id as usize] = origin;
        self.counts.classes[usize::from(packet.class)].offered.add(packet.len);
        if let Some(account) = self.accounts.at(origin.account) {
            account.offered.add(packet.len);
        }
    }
}

impl Sink for Losses<'_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.counts.dropped[reason as usize] += 1;
        self.counts.classes[usize::from(packet.class)].dropped += 1;
        if let Some(account) = self.accounts.at(self.origins[packet.id as usize].account) {
            account.dropped += 1;
        }
        let index = packet.retire();
        if !self.dry_run {
            self.pool.give(index);
        }
    }

    fn marked(&mut self, packet: &Packet) {
        self.counts.marked += 1;
        self.counts.classes[usize::from(packet.class)].marked += 1;
        if let Some(account) = self.accounts.at(self.origins[packet.id as usize].account) {
            account.marked += 1;
        }
    }

    fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        let frame = self.pool.frame(arriving.id);
        match Frame::read(frame, self.layer) {
            Frame::Ip(view) => tcp_header(frame, &view),
            Frame::Other { .. } => None,
        }
    }

    fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
        let frame = self.pool.frame(arriving.id);
        match Frame::read(frame, self.layer) {
            Frame::Ip(view) => frame.get(usize::from(view.at)..),
            Frame::Other { .. } => None,
        }
    }
}

impl Direction {
    /// The shaper, if there is one, and the sink that it is called with.
    #[inline]
    pub(super) fn shaping<'a>(
        &'a mut self,
        pool: &'a mut Pool,
    ) -> Option<(&'a mut Shaper, Losses<'a>)> {
        let losses = Losses {
            pool,
            counts: &mut self.counts,
            accounts: &mut self.accounts,
            origins: &mut self.origins,
            layer: self.layer,
            dry_run: self.dry_run,
        };
        self.shaper.as_mut().map(|shaper| (shaper, losses))
    }
}
