//! The family of sources of traffic: what one is built from, and what is known of it.

use super::{Datagrams, Marks, Transfers};
use crate::wireless::Track;
use forebay_core::Family;
use serde::Serialize;
use std::path::Path;

/// What generates one flow of a traffic entry.
pub enum Generator {
    /// Datagrams, open loop.
    Datagrams(Box<dyn Datagrams>),
    /// Transfers over TCP.
    Transfers(Box<dyn Transfers>),
}

/// How the packets of a source are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP connections.
    Tcp,
    /// Datagrams.
    Datagrams,
}

/// The measure by which a user would judge a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// Mean opinion score of calls.
    Mos,
    /// Time in which a file or page is complete.
    Completion,
    /// Goodput of transfers that have no end, or whose size follows the goodput.
    Goodput,
    /// Delay and loss of datagrams.
    DelayAndLoss,
}

/// What a source is built from.
#[derive(Debug, Clone, Copy)]
pub struct BuildSite<'a> {
    /// Directory that relative file names start from: the scenario's own.
    pub base_dir: &'a Path,
    /// Marks of the traffic entry, for sources that replace some of them.
    pub marks: Marks,
    /// Where the sender is, if it is a station of the wireless network.
    pub place: Option<&'a Track>,
}

/// What is known of a source beside its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// How its packets are carried.
    pub transport: Transport,
    /// The measure by which a user judges it.
    pub judged_by: JudgedBy,
}

impl Facts {
    /// A source of datagrams.
    pub const fn datagrams(judged_by: JudgedBy) -> Self {
        Facts { transport: Transport::Datagrams, judged_by }
    }

    /// A source of transfers over TCP.
    pub const fn transfers(judged_by: JudgedBy) -> Self {
        Facts { transport: Transport::Tcp, judged_by }
    }
}

impl Family for Generator {
    const WHAT: &'static str = "source of traffic";
    type Facts = Facts;
    const USUAL: Facts = Facts::datagrams(JudgedBy::DelayAndLoss);
    type Site<'a> = BuildSite<'a>;
    type Built = Generator;
}
