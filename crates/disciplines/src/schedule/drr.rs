//! Deficit round robin: shares in bytes, whatever the packet sizes, in constant time.
//!
//! Queues that hold packets form a ring. A queue's turn adds its quantum to its deficit; it sends
//! while the packet at its head fits the deficit, and keeps the rest for its next turn. An emptied
//! queue leaves the ring and loses its deficit.
//!
//! Source: Shreedhar and Varghese, "Efficient fair queuing using deficit round robin", SIGCOMM
//! 1995, section 3.
//!
//! | code | paper |
//! |---|---|
//! | `ring` | ActiveList |
//! | `deficit` | DC_i, in bytes |
//! | `quantum` | Q_i = weight x quantum, in bytes |
//! | `fresh` | the queue at the front begins a turn: its quantum is still to be added |
//!
//! Deviations
//! - D1: a queue that admission empties (drop from the queue) stays in the ring until its turn, or
//!   until a packet joins it. In both cases its deficit is lost, as if it had been emptied by
//!   service.
//!
//! Cost: constant, if the quantum is not below the largest packet. Otherwise a packet costs one
//! turn for each quantum.

use super::weights::{check_weights, fill_weights};
use crate::Schedule;
use forebay_core::config::require;
use forebay_core::{Bank, Bytes, ConfigError, Named, QueueId, Setting, Time, params};
use std::any::Any;
use std::collections::VecDeque;

/// Serves each queue that holds packets in turn, up to its quantum and what it has saved.
pub struct Drr {
    queues: Vec<State>,
    ring: VecDeque<u32>,
    fresh: bool,
}

struct State {
    quantum: i64,
    deficit: i64,
    active: bool,
}

params! {
    /// Parameters of `drr`.
    pub struct DrrParams {
        /// Quanta in a round, one entry for each queue, lowest queue first; 1 to 65535 each.
        /// Default: 1 for each.
        pub weights: Vec<u32> = Vec::new(),
        /// Bytes that a weight of 1 may send in a round (Q, Shreedhar and Varghese, section 3),
        /// above 0 to 4 GiB. Default: the link's largest packet, which makes the cost of a packet
        /// constant.
        pub quantum: Option<Bytes> = None,
    }
}

impl DrrParams {
    /// Fills in equal weights for `queues` queues, and `mtu` as quantum, where none are given.
    pub fn resolve(&mut self, queues: usize, mtu: u32) {
        fill_weights(&mut self.weights, queues);
        self.quantum.get_or_insert(Bytes(u64::from(mtu)));
    }
}

impl Drr {
    /// The scheduler of `queues` queues with these (resolved) parameters.
    ///
    /// # Errors
    /// Weights that are out of range, or not one for each queue, or a quantum of zero.
    pub fn new(params: &DrrParams, queues: usize) -> Result<Self, ConfigError> {
        check_weights(&params.weights, queues)?;
        let quantum = params.quantum.map_or(0, |quantum| quantum.0);
        require((1..=1 << 32).contains(&quantum), "quantum", || {
            format!("must be above 0 and at most 4 GiB, got \"{}\"", Bytes(quantum))
        })?;
        let state = |weight: &u32| State {
            quantum: quantum as i64 * i64::from(*weight),
            deficit: 0,
            active: false,
        };
        Ok(Drr {
            queues: params.weights.iter().map(state).collect(),
            ring: VecDeque::with_capacity(queues),
            fresh: true,
        })
    }

    /// Removes the queue at the front from the ring.
    fn retire_front(&mut self) {
        if let Some(front) = self.ring.pop_front() {
            let state = &mut self.queues[front as usize];
            state.active = false;
            state.deficit = 0;
            self.fresh = true;
        }
    }
}

impl Named for Drr {
    type Family = dyn Schedule;
    const NAME: &'static str = "drr";
    const SUMMARY: &'static str = "deficit round robin: shares in bytes";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995, section 3";
    type Params = DrrParams;

    fn resolve(params: &mut DrrParams, setting: &Setting) {
        params.resolve(setting.queues, setting.mtu);
    }

    fn build(params: &DrrParams, setting: &Setting) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(Drr::new(params, setting.queues)?))
    }
}

impl Schedule for Drr {
    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &Bank) {
        let state = &mut self.queues[queue];
        if !state.active {
            state.active = true;
            self.ring.push_back(queue as u32);
        } else if bank.packets(queue) == 1 {
            state.deficit = 0;
        }
    }

    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        loop {
            let front = *self.ring.front()? as usize;
            let Some(head) = bank.head(front) else {
                self.retire_front();
                continue;
            };
            let state = &mut self.queues[front];
            if self.fresh {
                state.deficit += state.quantum;
                self.fresh = false;
            }
            if i64::from(head.len) <= state.deficit {
                return Some(front);
            }
            self.ring.rotate_left(1);
            self.fresh = true;
        }
    }

    #[inline]
    fn served(&mut self, queue: QueueId, len: u32, bank: &Bank) {
        let state = &mut self.queues[queue];
        // Below zero if admission dropped the head that was looked at and gave a longer packet: a
        // debt that the next turns pay.
        state.deficit -= i64::from(len);
        if bank.packets(queue) == 0 {
            self.retire_front();
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        fresh.downcast_mut::<Self>().is_some_and(|fresh| {
            for (own, fresh) in self.queues.iter_mut().zip(&fresh.queues) {
                own.quantum = fresh.quantum;
            }
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Packet;

    fn rig(queues: usize) -> (Drr, Bank) {
        let params = DrrParams { weights: vec![1; queues], quantum: Some(Bytes(500)) };
        (Drr::new(&params, queues).unwrap(), Bank::new(queues))
    }

    fn join(drr: &mut Drr, bank: &mut Bank, queue: QueueId, len: u32) {
        bank.push(queue, Packet::new(0, 0, len));
        drr.joined(queue, bank);
    }

    fn serve(drr: &mut Drr, bank: &mut Bank) -> Option<(QueueId, u32)> {
        let queue = drr.next(bank)?;
        let packet = bank.pop(queue).unwrap();
        let len = packet.len;
        packet.retire();
        drr.served(queue, len, bank);
        Some((queue, len))
    }

    #[test]
    fn a_queue_that_admission_empties_loses_its_deficit() {
        let (mut drr, mut bank) = rig(2);
        join(&mut drr, &mut bank, 0, 900);
        join(&mut drr, &mut bank, 1, 100);
        // Queue 0 saves 500 in its turn, and queue 1 is served.
        assert_eq!(drr.next(&bank), Some(1));
        bank.pop(0).unwrap().retire();
        assert_eq!(serve(&mut drr, &mut bank), Some((1, 100)));
        join(&mut drr, &mut bank, 0, 900);
        join(&mut drr, &mut bank, 1, 500);
        // With 500 saved queue 0 would be first.
        assert_eq!(serve(&mut drr, &mut bank), Some((1, 500)));
        assert_eq!(serve(&mut drr, &mut bank), Some((0, 900)));
        join(&mut drr, &mut bank, 1, 100);
        bank.pop(1).unwrap().retire();
        assert_eq!(drr.next(&bank), None);
    }

    #[test]
    fn a_longer_packet_than_the_head_is_paid_later() {
        let (mut drr, mut bank) = rig(2);
        for len in [100, 900, 100] {
            join(&mut drr, &mut bank, 0, len);
        }
        join(&mut drr, &mut bank, 1, 500);
        join(&mut drr, &mut bank, 1, 500);
        assert_eq!(drr.next(&bank), Some(0));
        // Admission drops the head of 100 and gives the 900: 400 in debt.
        bank.pop(0).unwrap().retire();
        bank.pop(0).unwrap().retire();
        drr.served(0, 900, &bank);
        assert_eq!(serve(&mut drr, &mut bank), Some((1, 500)));
        assert_eq!(serve(&mut drr, &mut bank), Some((0, 100)));
        assert_eq!(serve(&mut drr, &mut bank), Some((1, 500)));
    }
}
