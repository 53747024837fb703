//! `fifo`: one queue, tail drop.
//!
//! Source: RFC 7567, section 2. Every other kind is compared with this one. It is one queue under
//! [`TailDrop`], served first in, first out. It has an implementation of its own
//! ([`forebay_core::Fifo`]) because most links have it.

use crate::admit::{TailDrop, TailDropParams};
use forebay_core::{ConfigError, Discipline, Named, Setting};

/// One queue with tail drop.
pub struct Fifo;

impl Named for Fifo {
    type Family = dyn Discipline;
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "one queue, tail drop";
    const SOURCE: &'static str = "RFC 7567, section 2";
    type Params = TailDropParams;

    fn build(params: &TailDropParams, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(forebay_core::Fifo::new(TailDrop::new(params, 1)?.limit())))
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Rig, ms};
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn it_is_one_queue_under_tail_drop(
            ops in proptest::collection::vec((0..3_u8, 40..1500_u32), 1..200),
            limit in prop_oneof![Just("7p"), Just("1500B"), Just("6KB")],
        ) {
            let part = |kind: &str| json!({ "kind": kind });
            let plain = json!({
                "classify": part("one"), "schedule": part("fifo"),
                "admit": { "kind": "tail-drop", "limit": limit },
            });
            let mut rigs = [json!({ "kind": "fifo", "limit": limit }), plain].map(Rig::new);
            for (at, (op, len)) in ops.into_iter().enumerate() {
                let now = ms(at as u64);
                let [own, plain] = rigs.each_mut().map(|rig| match op {
                    0 => rig.take(now),
                    _ => {
                        rig.offer(now, |packet| packet.len = len);
                        None
                    }
                });
                prop_assert_eq!(own, plain);
                prop_assert_eq!(rigs[0].held(), rigs[1].held());
            }
            let [mut own, mut plain] = rigs;
            prop_assert_eq!(own.drops(), plain.drops());
        }
    }
}
