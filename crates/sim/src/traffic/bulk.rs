//! Endless data over TCP: one connection that always has more to send.

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Transfer, Transfers};
use forebay_core::{ConfigError, Named, Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An endless transfer.
pub struct Bulk {
    begun: bool,
}

/// Bulk data has no parameters of its own.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkParams {}

impl Named for Bulk {
    type Family = Generator;
    const NAME: &'static str = "bulk";
    const SUMMARY: &'static str = "endless data over one TCP connection";
    const SOURCE: &'static str = "RFC 7928, section 5.1";
    const FACTS: Facts = Facts::transfers(JudgedBy::Goodput);
    type Params = BulkParams;

    fn build(_: &BulkParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        Ok(Generator::Transfers(Box::new(Bulk { begun: false })))
    }
}

impl Transfers for Bulk {
    fn next(&mut self, after: Time, _: &mut Rng) -> Option<Transfer> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        Some(Transfer::whole(after, None))
    }

    /// False, because an endless transfer ends only when it is cut off.
    fn arrived(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_one_transfer_without_end() {
        let mut rng = Rng::named(1, "bulk");
        let mut bulk = Bulk { begun: false };
        let start = Time::from_nanos(7);
        assert_eq!(bulk.next(start, &mut rng), Some(Transfer::whole(start, None)));
        assert_eq!(bulk.next(start, &mut rng), None);
        assert_eq!(bulk.completed(start, &mut rng), None);
    }
}
