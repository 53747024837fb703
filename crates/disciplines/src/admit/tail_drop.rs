//! Tail drop: an arriving packet that does not fit its queue is dropped.
//!
//! Source: RFC 7567, section 2 (the traditional technique). Cost: one comparison a packet.

use crate::Admit;
use crate::registry::Named;
use forebay_core::config::require;
use forebay_core::{Bank, ConfigError, Context, DropReason, Limit, Packet, QueueId, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drops what arrives at a full queue.
pub struct TailDrop {
    limit: Limit,
}

/// Parameters of tail drop.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TailDropParams {
    /// Room in each queue, in packets ("1000p") or bytes ("1.5MB"); the packet in transmission not
    /// counted. Above 0.
    pub limit: Limit,
}

impl Default for TailDropParams {
    fn default() -> Self {
        TailDropParams { limit: Limit::Packets(1000) }
    }
}

impl TailDrop {
    /// Tail drop with these parameters.
    ///
    /// # Errors
    /// A limit of zero.
    pub fn new(params: &TailDropParams) -> Result<Self, ConfigError> {
        require(!params.limit.is_zero(), "limit", || "must be above 0, got \"0\"".into())?;
        Ok(TailDrop { limit: params.limit })
    }
}

impl Named<dyn Admit> for TailDrop {
    const NAME: &'static str = "tail-drop";
    const SUMMARY: &'static str = "drop what arrives at a full queue";
    const SOURCE: &'static str = "RFC 7567, section 2";
    type Params = TailDropParams;

    fn build(params: &TailDropParams, _: &Setting) -> Result<Box<dyn Admit>, ConfigError> {
        Ok(Box::new(TailDrop::new(params)?))
    }
}

impl Admit for TailDrop {
    #[inline]
    fn arrive(
        &mut self,
        queue: QueueId,
        packet: &mut Packet,
        bank: &mut Bank,
        _: &mut Context,
    ) -> Result<(), DropReason> {
        if self.limit.admits(bank.packets(queue), bank.bytes(queue), packet.len) {
            Ok(())
        } else {
            Err(DropReason::Overflow)
        }
    }
}
