//! Web pages of equal objects over parallel connections, one page after another. This is the web
//! traffic of RFC 7928, section 7.2. It loads a queue with bursts; it is not a model of a person.
//!
//! The objects of a page are distributed over the connections, which begin together. Each carries
//! its share without a pause between objects. The next page begins when the last connection has
//! ended. The completion time is that of the whole page (section 2.1).

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Transfer, Transfers};
use forebay_core::{Bytes, ConfigError, Duration, Named, Rng, Time, config::require, params};

/// A user who loads pages.
pub struct Pages {
    params: PagesParams,
    pages: u64,
    /// Connections of this page that have not begun, that have not ended, and whose data have not
    /// all arrived.
    waiting: u32,
    open: u32,
    missing: u32,
}

params! {
    // The defaults are the smallest values for which RFC 7928, section 7.2, asks.
    /// Parameters of pages.
    pub struct PagesParams {
        /// Objects of a page. At least 1.
        pub objects: u32 = 50,
        /// Size of each object, payload bytes. Above 0.
        pub size: Bytes = Bytes(1000),
        /// Connections over which a page is loaded, at least 1. No more are used than there are
        /// objects.
        pub connections: u32 = 6,
        /// Time between the end of a page and the start of the next.
        pub reading: Duration = Duration::ZERO,
        /// Number of pages; endless if unset. At least 1.
        pub count: Option<u64> = None,
    }
}

impl Pages {
    fn connections(&self) -> u32 {
        self.params.connections.min(self.params.objects)
    }

    fn page(&mut self, at: Time) -> Option<Transfer> {
        if self.params.count == Some(self.pages) {
            return None;
        }
        self.pages += 1;
        self.waiting = self.connections();
        (self.open, self.missing) = (self.waiting, self.waiting);
        Some(self.connection(at))
    }

    /// The next connection of the page.
    fn connection(&mut self, at: Time) -> Transfer {
        self.waiting -= 1;
        let (objects, connections) = (self.params.objects, self.connections());
        let share = objects / connections + u32::from(self.waiting < objects % connections);
        Transfer::whole(at, Some(u64::from(share) * self.params.size.0))
    }
}

impl Named for Pages {
    type Family = Generator;
    const NAME: &'static str = "pages";
    const SUMMARY: &'static str =
        "pages of equal objects over parallel connections, from a server at `from`";
    const SOURCE: &'static str = "RFC 7928, section 7.2";
    const FACTS: Facts = Facts::transfers(JudgedBy::Completion);
    type Params = PagesParams;

    fn build(params: &PagesParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        let one =
            |path, value: u64| require(value > 0, path, || "must be at least 1, got 0".to_owned());
        one("objects", u64::from(params.objects))?;
        one("connections", u64::from(params.connections))?;
        require(params.size.0 > 0, "size", || "must be above 0B, got \"0B\"".into())?;
        require(params.count != Some(0), "count", || {
            "must be at least 1, got 0; leave it out for pages without end".into()
        })?;
        Ok(Generator::Transfers(Box::new(Pages {
            params: params.clone(),
            pages: 0,
            waiting: 0,
            open: 0,
            missing: 0,
        })))
    }
}

impl Transfers for Pages {
    fn next(&mut self, after: Time, _rng: &mut Rng) -> Option<Transfer> {
        if self.pages == 0 {
            return self.page(after);
        }
        (self.waiting > 0).then(|| self.connection(after))
    }

    fn arrived(&mut self) -> bool {
        self.missing -= 1;
        self.missing == 0
    }

    fn completed(&mut self, now: Time, _rng: &mut Rng) -> Option<Transfer> {
        self.open -= 1;
        if self.open == 0 { self.page(now + self.params.reading) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tests::transfers;

    #[test]
    fn a_page_is_dealt_out_to_connections_that_begin_together() {
        let mut rng = Rng::named(1, "pages");
        let reading = Duration::from_secs(1);
        let params = PagesParams { reading, count: Some(2), ..PagesParams::default() };
        let mut pages = transfers::<Pages>(&params);
        let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
        let mut begin = |pages: &mut dyn Transfers, first: Option<Transfer>, now| {
            let mut all: Vec<_> = first.into_iter().collect();
            while let Some(more) = pages.next(now, &mut rng) {
                all.push(more);
            }
            assert!(all.iter().all(|transfer| transfer.at == now));
            all.iter().map(|transfer| transfer.bytes.unwrap()).collect::<Vec<_>>()
        };
        // 50 objects of 1000 B: two connections with nine, four with eight.
        let mut first = begin(&mut *pages, None, at(3));
        first.sort_unstable();
        assert_eq!(first, [8000, 8000, 8000, 8000, 9000, 9000]);
        let mut rng = Rng::named(2, "pages");
        for _ in 0..5 {
            assert!(!pages.arrived());
            assert_eq!(pages.completed(at(5), &mut rng), None);
        }
        assert!(pages.arrived(), "the page is whole");
        let next = pages.completed(at(6), &mut rng);
        assert_eq!(next.unwrap().at, at(7));
        assert_eq!(begin(&mut *pages, next, at(7)).iter().sum::<u64>(), 50_000);
        for left in (0..6).rev() {
            // One connection was given up: the page never is whole, and still the user goes on.
            assert!(left == 0 || !pages.arrived());
            assert_eq!(pages.completed(at(9), &mut rng), None, "two pages were asked for");
        }
    }

    #[test]
    fn few_objects_need_few_connections() {
        let mut rng = Rng::named(1, "pages");
        let mut pages = transfers::<Pages>(&PagesParams { objects: 2, ..PagesParams::default() });
        assert!(pages.next(Time::ZERO, &mut rng).is_some());
        assert!(pages.next(Time::ZERO, &mut rng).is_some());
        assert_eq!(pages.next(Time::ZERO, &mut rng), None);
    }
}
