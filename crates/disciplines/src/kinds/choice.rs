//! Choices of a part that several kinds offer, without the cost of a virtual call.

use crate::classify::{Class, ClassParams, Dscp, DscpParams, MOST_QUEUES};
use crate::retune::unchanged;
use crate::schedule::{
    Drr, DrrParams, StrictPriority, StrictPriorityParams, Wfq, WfqParams, Wrr, WrrParams,
};
use crate::{Classify, Schedule};
use forebay_core::{Bank, ConfigError, Context, Packet, QueueId, Setting, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// How a kind with queues by class sorts packets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SorterParams {
    /// By QoS class.
    Class(ClassParams),
    /// By differentiated services codepoint.
    Dscp(DscpParams),
}

/// By class or by codepoint.
#[derive(PartialEq)]
pub(super) enum Sorter {
    Class(Class),
    Dscp(Dscp),
}

impl SorterParams {
    /// By class, into `queues` queues.
    pub fn by_class(queues: usize) -> Self {
        SorterParams::Class(ClassParams { queues })
    }

    /// Number of queues, for defaults with one value per queue. It is limited, because it is not
    /// checked yet.
    pub fn queues(&self) -> usize {
        let queues = match self {
            SorterParams::Class(params) => params.queues,
            SorterParams::Dscp(params) => params.queues,
        };
        queues.min(MOST_QUEUES)
    }
}

impl Sorter {
    /// # Errors
    /// Errors of the part, within `classify`.
    pub(super) fn new(params: &Option<SorterParams>) -> Result<Self, ConfigError> {
        match params {
            None => Class::new(&ClassParams::default()).map(Sorter::Class),
            Some(SorterParams::Class(params)) => Class::new(params).map(Sorter::Class),
            Some(SorterParams::Dscp(params)) => Dscp::new(params).map(Sorter::Dscp),
        }
        .map_err(|error| error.within("classify"))
    }
}

impl Classify for Sorter {
    #[inline]
    fn mark(&self, packet: &mut Packet) {
        if let Sorter::Dscp(dscp) = self {
            dscp.mark(packet);
        }
    }

    #[inline]
    fn queues(&self) -> usize {
        match self {
            Sorter::Class(class) => class.queues(),
            Sorter::Dscp(dscp) => dscp.queues(),
        }
    }

    #[inline]
    fn classify(&mut self, packet: &Packet, bank: &Bank, cx: &mut Context) -> QueueId {
        match self {
            Sorter::Class(class) => class.classify(packet, bank, cx),
            Sorter::Dscp(dscp) => dscp.classify(packet, bank, cx),
        }
    }

    fn retune(&mut self, _: Time, fresh: &mut dyn Any) -> bool {
        unchanged(self, fresh)
    }
}

/// How a kind whose admission works over any scheduler serves its queues.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ServerParams {
    /// The highest queue that holds packets.
    StrictPriority(StrictPriorityParams),
    /// Weighted round robin by packets.
    Wrr(WrrParams),
    /// Deficit round robin, by bytes.
    Drr(DrrParams),
    /// Weighted fair queuing, by bytes.
    Wfq(WfqParams),
}

impl Default for ServerParams {
    fn default() -> Self {
        ServerParams::StrictPriority(StrictPriorityParams {})
    }
}

impl ServerParams {
    /// Fills in the defaults that depend on the port and on `queues`.
    pub(super) fn resolve(&mut self, queues: usize, setting: &Setting) {
        match self {
            ServerParams::StrictPriority(_) => {}
            ServerParams::Wrr(params) => params.resolve(queues),
            ServerParams::Drr(params) => params.resolve(queues, setting.mtu),
            ServerParams::Wfq(params) => params.resolve(queues),
        }
    }
}

/// Strict priority, one of the round robins, or weighted fair queuing.
pub(super) enum Server {
    StrictPriority(StrictPriority),
    Wrr(Wrr),
    Drr(Drr),
    Wfq(Wfq),
}

impl Server {
    /// # Errors
    /// Errors of the part, within `schedule`.
    pub(super) fn new(params: &ServerParams, queues: usize) -> Result<Self, ConfigError> {
        match params {
            ServerParams::StrictPriority(_) => Ok(Server::StrictPriority(StrictPriority)),
            ServerParams::Wrr(params) => Wrr::new(params, queues).map(Server::Wrr),
            ServerParams::Drr(params) => Drr::new(params, queues).map(Server::Drr),
            ServerParams::Wfq(params) => Wfq::new(params, queues).map(Server::Wfq),
        }
        .map_err(|error| error.within("schedule"))
    }
}

impl Schedule for Server {
    #[inline]
    fn joined(&mut self, queue: QueueId, bank: &Bank) {
        match self {
            Server::StrictPriority(server) => server.joined(queue, bank),
            Server::Wrr(server) => server.joined(queue, bank),
            Server::Drr(server) => server.joined(queue, bank),
            Server::Wfq(server) => server.joined(queue, bank),
        }
    }

    #[inline]
    fn next(&mut self, bank: &Bank) -> Option<QueueId> {
        match self {
            Server::StrictPriority(server) => server.next(bank),
            Server::Wrr(server) => server.next(bank),
            Server::Drr(server) => server.next(bank),
            Server::Wfq(server) => server.next(bank),
        }
    }

    #[inline]
    fn served(&mut self, queue: QueueId, len: u32, bank: &Bank) {
        match self {
            Server::StrictPriority(server) => server.served(queue, len, bank),
            Server::Wrr(server) => server.served(queue, len, bank),
            Server::Drr(server) => server.served(queue, len, bank),
            Server::Wfq(server) => server.served(queue, len, bank),
        }
    }
}
