//! Agent: drops and marks arriving packets with probabilities that are set from outside.
//!
//! An arriving packet is dropped with one probability. If it stays and can be marked,
//! it is marked with another. Nothing is measured and nothing adapts. The program that runs it,
//! such as an agent that learns ([gym.md](../../../../docs/gym.md)), sets the probabilities
//! ([`Admit::retune`]).
//!
//! Source: a Bernoulli trial for each packet, as in PIE (RFC 8033, section 4.1), where a controller
//! sets the probability. Cost: a random number per packet for each probability above 0.

use crate::Admit;
use crate::retune::replaced;
use forebay_core::config::{above_zero, within};
use forebay_core::{
    Bank, ConfigError, Context, DropReason, Limit, Named, Packet, QueueId, Setting, Time, params,
};
use std::any::Any;

/// Drops and marks with given probabilities.
pub struct Agent(AgentParams);

params! {
    /// Parameters of `agent`.
    pub struct AgentParams {
        /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); without the packet in
        /// transmission. Above 0. Default 1000p.
        pub limit: Limit = Limit::Packets(1000),
        /// Probability with which an arriving packet is dropped; 0 to 1. Default 0.
        pub drop_probability: f64 = 0.0,
        /// Probability with which a packet that is not dropped is marked, if its transport is
        /// ECN-capable; 0 to 1. Default 0.
        pub mark_probability: f64 = 0.0,
    }
}

impl Named for Agent {
    type Family = dyn Admit;
    const NAME: &'static str = "agent";
    const SUMMARY: &'static str = "drop and mark with probabilities that an agent sets";
    const SOURCE: &'static str = "RFC 8033, section 4.1 (the random drop alone)";
    type Params = AgentParams;

    fn build(params: &AgentParams, _: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        above_zero("limit", params.limit)?;
        within("drop_probability", params.drop_probability, 0.0..=1.0)?;
        within("mark_probability", params.mark_probability, 0.0..=1.0)?;
        Ok(Box::new(Agent(params.clone())))
    }
}

impl Admit for Agent {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        cx: &mut Context,
    ) -> Result<(), DropReason> {
        let AgentParams { limit, drop_probability, mark_probability } = self.0;
        bank.room(queue, limit, packet.len)?;
        if drop_probability > 0.0 && cx.rng.chance(drop_probability) {
            return Err(DropReason::Aqm);
        }
        if mark_probability > 0.0 && cx.rng.chance(mark_probability) {
            cx.mark(packet);
        }
        Ok(())
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        replaced(self, fresh)
    }

    fn probe(&self, _: Time, _: &Bank, out: &mut dyn FnMut(&'static str, f64)) {
        out("drop_probability", self.0.drop_probability);
        out("mark_probability", self.0.mark_probability);
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use forebay_core::{DropReason, Ecn};
    use serde_json::{Value, json};

    /// The shares of 10 000 packets that were dropped and that were marked.
    fn shares(rest: Value, ecn: Ecn) -> (f64, f64) {
        let mut block = json!({ "kind": "agent", "limit": "20000p" });
        block.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        let mut rig = Rig::new(block);
        for _ in 0..10_000 {
            rig.offer(ms(0), |packet| packet.set_ecn(ecn));
        }
        assert!(rig.record.dropped.iter().all(|(_, reason)| *reason == DropReason::Aqm));
        let share = |count: usize| count as f64 / 10_000.0;
        (share(rig.record.dropped.len()), share(rig.record.marked.len()))
    }

    #[test]
    fn shares_are_the_probabilities() {
        let near = |got: f64, want: f64| assert!((got - want).abs() < 0.015, "{got} {want}");
        let both = json!({ "drop_probability": 0.2, "mark_probability": 0.5 });
        let (dropped, marked) = shares(both.clone(), Ecn::Ect0);
        near(dropped, 0.2);
        near(marked, 0.8 * 0.5);
        let (dropped, marked) = shares(both, Ecn::NotEct);
        near(dropped, 0.2);
        assert_eq!(marked, 0.0, "what cannot be marked is not");
        assert_eq!(shares(json!({}), Ecn::Ect0), (0.0, 0.0));
        assert_eq!(shares(json!({ "drop_probability": 1 }), Ecn::Ect0), (1.0, 0.0));
    }

    #[test]
    fn probabilities_change_while_packets_wait() {
        let mut rig = Rig::new(json!({ "kind": "agent" }));
        for _ in 0..3 {
            rig.offer(ms(0), |_| {});
        }
        let mut fresh = Rig::new(json!({ "kind": "agent", "drop_probability": 1 }));
        assert!(rig.discipline.retune(ms(1), &mut *fresh.discipline));
        rig.offer(ms(1), |_| {});
        assert_eq!((rig.held(), rig.drops()), (3, vec![3]));
        (0..3).for_each(|id| assert_eq!(rig.take(ms(2)), Some(id)));
    }
}
