//! The family of sources of traffic.

use super::{Datagrams, Marks, Pair, Transfers};
use crate::course::{Course, Schedule, Varies};
use crate::wireless::Track;
use forebay_core::{ConfigError, Duration, Family, Rng};
use serde::Serialize;
use std::path::Path;

/// The source of one flow of a traffic entry.
pub enum Generator {
    /// Datagrams, open loop.
    Datagrams(Box<dyn Datagrams>),
    /// Transfers over TCP.
    Transfers(Box<dyn Transfers>),
    /// Two ends with a protocol of their own.
    Endpoints(Pair),
}

/// The transport of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP connections.
    Tcp,
    /// Datagrams.
    Datagrams,
    /// A protocol of its own.
    Own,
}

/// The measure by which a user would judge a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// Mean opinion score of calls.
    Mos,
    /// Time in which a file or page is complete.
    Completion,
    /// Goodput of transfers that have no end.
    Goodput,
    /// Played rate, stalls and switches of a video.
    Playback,
    /// Round trips per minute of probes.
    Responsiveness,
    /// Delay and loss of datagrams.
    DelayAndLoss,
}

/// The traffic entry for which a source is built.
#[derive(Debug, Clone, Copy)]
pub struct BuildSite<'a> {
    /// Directory that relative file names start from: the scenario's own.
    pub base_dir: &'a Path,
    /// Marks of the traffic entry, for sources that replace some of them.
    pub marks: Marks,
    /// Track of the sender, if it is a station of the wireless network.
    pub place: Option<&'a Track>,
    /// Name of the traffic entry.
    pub name: &'a str,
    /// Length of the run.
    pub span: Duration,
    /// Seed of the run.
    pub seed: u64,
}

impl<'a> BuildSite<'a> {
    /// No entry of any scenario: enough to read parameters, and to build what does not vary.
    pub fn nowhere(base_dir: &'a Path) -> Self {
        let (marks, span) = (Marks::default(), Duration::ZERO);
        BuildSite { base_dir, marks, place: None, name: "", span, seed: 0 }
    }

    /// The values of `course`, the parameter `field`; `check` checks each. All flows of the entry
    /// have the same, drawn ones too.
    pub(super) fn schedule<T: Varies>(
        &self,
        course: &Course<T>,
        field: &str,
        check: impl Fn(T, &str) -> Result<(), ConfigError>,
    ) -> Result<Schedule<T>, ConfigError> {
        course.check(field, &check)?;
        let mut rng = Rng::named(self.seed, &format!("traffic/{}/{field}", self.name));
        course.schedule(&mut rng, self.span, self.base_dir, field, check)
    }
}

/// Properties of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its transport.
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

    /// A source with a protocol of its own.
    pub const fn endpoints(judged_by: JudgedBy) -> Self {
        Facts { transport: Transport::Own, judged_by }
    }
}

impl Family for Generator {
    const WHAT: &'static str = "source of traffic";
    type Facts = Facts;
    const USUAL: Facts = Facts::datagrams(JudgedBy::DelayAndLoss);
    type Site<'a> = BuildSite<'a>;
    type Built = Generator;
}
