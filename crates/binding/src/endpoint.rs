//! Ends of flows whose protocol is a shared library, over the C interface.

use forebay::{End, EndpointKind};
use forebay_core::{ConfigError, Ecn, Entry, Recipe, Rng, Time};
use forebay_sim::traffic::{Account, BuildSite, Endpoint, Facts, Generator, JudgedBy};
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use std::sync::Arc;

/// The source of traffic that `kind` is.
pub fn entry(kind: Arc<EndpointKind>) -> Entry<Generator> {
    let facts = Facts::endpoints(JudgedBy::Goodput);
    Entry::new(kind.words.map(Into::into), facts, Kind(kind))
}

struct Kind(Arc<EndpointKind>);

impl Recipe<Generator> for Kind {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.0.schema.clone().into()
    }

    fn effective(&self, block: &Value, _: &BuildSite<'_>) -> Result<Value, ConfigError> {
        self.0.effective(block)
    }

    fn build(&self, block: &Value, _: &BuildSite<'_>) -> Result<Generator, ConfigError> {
        let ends = [self.0.make(block, true)?, self.0.make(block, false)?];
        Ok(Generator::Endpoints(Box::new(move |mut rng: Rng| {
            ends.map(|end| Box::new(Native { end, random: rng.next_u64() }) as Box<dyn Endpoint>)
        })))
    }
}

/// An end, and the random bits with which it begins.
struct Native {
    end: End,
    random: u64,
}

impl Endpoint for Native {
    fn begin(&mut self, now: Time) {
        self.end.begin(now, self.random);
    }

    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        self.end.handle(now, datagram, ecn);
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
        self.end.transmit(now, datagram)
    }

    fn deadline(&mut self, now: Time) -> Option<Time> {
        self.end.timeout(now)
    }

    fn on_deadline(&mut self, now: Time) {
        self.end.on_timeout(now);
    }

    fn end(&mut self, now: Time) {
        self.end.end(now);
    }

    fn headers(&self) -> u32 {
        self.end.headers()
    }

    fn account(&self) -> Account {
        Account { delivered: self.end.delivered(), is_open: true, ..Account::default() }
    }

    fn fault(&self) -> Option<String> {
        self.end.fault()
    }
}
