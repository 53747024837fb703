//! One queue for each host.
//!
//! Hosts are known by numbers. In a scenario these are the numbers that its traffic gives to
//! `from_host` and `to_host`; a gate with subscribers numbers their circuits.
//!
//! Cost: one comparison per packet.

use crate::Classify;
use crate::retune::unchanged;
use forebay_core::config::within;
use forebay_core::{Bank, ConfigError, Context, Named, Packet, QueueId, Setting, Time, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// Queue n for host n; hosts above the highest queue join queue 0.
#[derive(PartialEq)]
pub struct Host {
    of: End,
    queues: usize,
}

/// The end of a packet's way that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// The host that sent it.
    Source,
    /// The host to which it goes.
    #[default]
    Destination,
}

params! {
    /// Parameters of `host`.
    pub struct HostParams {
        /// The host that is looked at: "source" or "destination".
        pub of: End = End::Destination,
        /// Number of queues, 1 to 65536. Host n joins queue n, and hosts beyond join queue 0.
        pub queues: usize = 2,
    }
}

impl Named for Host {
    type Family = dyn Classify;
    const NAME: &'static str = "host";
    const SUMMARY: &'static str = "one queue for each host, by its number";
    const SOURCE: &'static str = "forebay";
    type Params = HostParams;

    fn build(params: &HostParams, _: &Setting) -> Result<Box<dyn Classify>, ConfigError> {
        within("queues", params.queues, 1..=1 << 16)?;
        Ok(Box::new(Host { of: params.of, queues: params.queues }))
    }
}

impl Classify for Host {
    #[inline]
    fn queues(&self) -> usize {
        self.queues
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, _: &Bank, _: &mut Context) -> QueueId {
        let host = usize::from(match self.of {
            End::Source => packet.source,
            End::Destination => packet.destination,
        });
        if host < self.queues { host } else { 0 }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
    }
}
