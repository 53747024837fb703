//! Class-based weighted fair queuing by start tags: shares in bytes, packet by packet.
//!
//! Packets carry tags of virtual time. A packet starts when the queue's last one finished, or now
//! if that is past. It finishes later by its length over the queue's weight. The packet with the
//! smallest start tag is served, and virtual time is the tag of the packet in service. Queues that
//! hold packets share the link by their weights. Under deficit round robin a queue can be behind
//! its share by a round of quanta; here only by about one packet of each other queue, so a light
//! queue waits less.
//!
//! Source: Goyal, Vin and Cheng, "Start-time fair queuing", SIGCOMM 1996, section 2, with a flow for
//! each class.
//!
//! | code | paper |
//! |---|---|
//! | `virtual_time` | v(t) |
//! | `start`, `finish` | S(p), F(p), of the packet at the head and of the one before it |
//! | `weights` | phi_f |
//!
//! Deviations
//! - D1: tags are kept only for each queue's head. Within a queue, S of the next packet is F of the
//!   one before, which is not past while packets wait.
//! - D2: when no packet waits, virtual time stays; the paper moves it to the largest finish tag. A
//!   queue keeps its own finish tag, so the queue that sent last does not go first again.
//! - D3: among equal tags the higher queue is served first.
//!
//! Cost: a look at each queue.

use super::weights::{WeightsParams, check_weights};
use crate::Schedule;
use forebay_core::{Bank, ConfigError, Named, QueueId, Setting};

/// Serves the packet that starts first in virtual time.
pub struct Wfq {
    queues: Vec<State>,
    virtual_time: u128,
}

struct State {
    weight: u128,
    /// Start tag of the packet at the head, if there is one.
    start: u128,
    /// Finish tag of the packet sent last.
    finish: u128,
}

/// Virtual time that a byte takes with a weight of 1; a multiple of few weights, so that tags are
/// rounded by less than a millionth.
const BYTE: u128 = 1 << 40;

impl Wfq {
    /// The scheduler of `queues` queues with these (resolved) parameters.
    ///
    /// # Errors
    /// Weights that are out of range, or not one for each queue.
    pub fn new(params: &WeightsParams, queues: usize) -> Result<Self, ConfigError> {
        check_weights(&params.weights, queues)?;
        let state = |weight: &u32| State { weight: u128::from(*weight), start: 0, finish: 0 };
        Ok(Wfq { queues: params.weights.iter().map(state).collect(), virtual_time: 0 })
    }
}

impl Named for Wfq {
    type Family = dyn Schedule;
    const NAME: &'static str = "wfq";
    const SUMMARY: &'static str = "weighted fair queuing by start tags: shares in bytes";
    const SOURCE: &'static str = "Goyal, Vin and Cheng, SIGCOMM 1996, section 2";
    type Params = WeightsParams;

    fn resolve(params: &mut WeightsParams, setting: &Setting) {
        params.resolve(setting.queues);
    }

    fn build(params: &WeightsParams, setting: &Setting) -> Result<Box<dyn Schedule>, ConfigError> {
        Ok(Box::new(Wfq::new(params, setting.queues)?))
    }
}

impl Schedule for Wfq {
    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &Bank) {
        if bank.packets(queue) == 1 {
            let state = &mut self.queues[queue];
            state.start = self.virtual_time.max(state.finish);
        }
    }

    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        let waiting = (0..self.queues.len()).rev().filter(|queue| bank.packets(*queue) > 0);
        waiting.min_by_key(|queue| self.queues[*queue].start)
    }

    #[inline]
    fn served(&mut self, queue: QueueId, len: u32, _: &Bank) {
        let state = &mut self.queues[queue];
        self.virtual_time = self.virtual_time.max(state.start);
        state.finish = state.start + u128::from(len) * BYTE / state.weight;
        state.start = state.finish;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::Packet;

    fn join(wfq: &mut Wfq, bank: &mut Bank, queue: QueueId, len: u32) {
        bank.push(queue, Packet::new(0, 0, len));
        wfq.joined(queue, bank);
    }

    fn serve(wfq: &mut Wfq, bank: &mut Bank) -> Option<QueueId> {
        let queue = wfq.next(bank)?;
        let packet = bank.pop(queue).unwrap();
        let len = packet.len;
        packet.retire();
        wfq.served(queue, len, bank);
        Some(queue)
    }

    /// Weights 1 and 2, packets of 300 and 200 bytes: start tags 0, 300, 600 and 0, 100, 200, ...
    #[test]
    fn tags_of_a_small_example() {
        let (mut wfq, mut bank) =
            (Wfq::new(&WeightsParams { weights: vec![1, 2] }, 2).unwrap(), Bank::new(2));
        for _ in 0..3 {
            join(&mut wfq, &mut bank, 0, 300);
            join(&mut wfq, &mut bank, 1, 200);
            join(&mut wfq, &mut bank, 1, 200);
        }
        let order: Vec<_> = std::iter::from_fn(|| serve(&mut wfq, &mut bank)).collect();
        assert_eq!(order, [1, 0, 1, 1, 1, 0, 1, 1, 0]);
    }

    /// A queue that was idle starts at the virtual time and claims nothing for its idle time.
    #[test]
    fn idle_time_is_not_saved() {
        let (mut wfq, mut bank) =
            (Wfq::new(&WeightsParams { weights: vec![1, 1] }, 2).unwrap(), Bank::new(2));
        for _ in 0..6 {
            join(&mut wfq, &mut bank, 0, 100);
        }
        for _ in 0..4 {
            assert_eq!(serve(&mut wfq, &mut bank), Some(0));
        }
        for _ in 0..2 {
            join(&mut wfq, &mut bank, 1, 100);
        }
        // Virtual time is 300: queue 1 starts at 300 and 400, queue 0 goes on with 400 and 500.
        let order: Vec<_> = std::iter::from_fn(|| serve(&mut wfq, &mut bank)).collect();
        assert_eq!(order, [1, 1, 0, 0]);
    }
}
