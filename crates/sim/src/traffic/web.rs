//! A person who reads web pages, one after another (closed loop).
//!
//! A page is a main object and, after the time to parse it, its embedded objects, all of them over
//! one connection (pipelined, as in the model's HTTP/1.1, or multiplexed, as in HTTP/2). Then the
//! person reads. The model and its defaults are those of the evaluation methodologies of 3GPP2,
//! NGMN and IEEE 802.16m:
//!
//! | | law | defaults |
//! |---|---|---|
//! | main object | lognormal, cut off at 100 B and 2 MB | mu 8.37, sigma 1.37: mean 10.7 kB |
//! | embedded object | lognormal, cut off at 50 B and 2 MB | mu 6.17, sigma 2.36: mean 7.8 kB |
//! | embedded objects a page | Pareto of shape 1.1, scale 2, ending at 55, less 2 | mean 5.64, at most 53 |
//! | parsing | exponential | mean 0.13 s |
//! | reading | exponential | mean 30 s |

use super::family::{BuildSite, Facts, Generator, JudgedBy};
use super::{Transfer, Transfers};
use forebay_core::{ConfigError, Duration, Named, Rng, Time, config::require, params};

/// A person who browses.
pub struct Web {
    params: WebParams,
    /// Embedded objects of the page whose main object is being transferred.
    embedded: Option<u32>,
    pages: u64,
    begun: bool,
}

params! {
    /// Parameters of browsing.
    pub struct WebParams {
        /// Mean time of reading between pages, exponential. Zero: none.
        pub reading: Duration = Duration::from_secs(30),
        /// Mean time of parsing between main and embedded objects, exponential. Zero: none.
        pub parsing: Duration = Duration::from_millis(130),
        /// Number of pages; endless if unset. At least 1.
        pub count: Option<u64> = None,
    }
}

/// A lognormal size in bytes between two bounds. Values outside of them are drawn again.
struct Size {
    mu: f64,
    sigma: f64,
    least: f64,
    most: f64,
}

const MAIN: Size = Size { mu: 8.37, sigma: 1.37, least: 100.0, most: 2e6 };
const EMBEDDED: Size = Size { mu: 6.17, sigma: 2.36, least: 50.0, most: 2e6 };

impl Size {
    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let size = libm::exp(self.mu + self.sigma * normal(rng));
            if (self.least..=self.most).contains(&size) {
                return (size + 0.5) as u64;
            }
        }
    }
}

/// Standard normal (Box and Muller 1958).
fn normal(rng: &mut Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.uniform())
}

/// Number of embedded objects of a page.
fn embedded_objects(rng: &mut Rng) -> u32 {
    const SHAPE: f64 = 1.1;
    const SCALE: f64 = 2.0;
    const END: f64 = 55.0;
    // The tail beyond the end falls on the end.
    let objects = SCALE * libm::pow(1.0 - rng.uniform(), -1.0 / SHAPE);
    (objects.min(END) - SCALE + 0.5) as u32
}

impl Web {
    fn page(&mut self, at: Time, rng: &mut Rng) -> Option<Transfer> {
        if self.params.count == Some(self.pages) {
            return None;
        }
        self.pages += 1;
        self.embedded = Some(embedded_objects(rng)).filter(|objects| *objects > 0);
        Some(Transfer::whole(at, Some(MAIN.draw(rng))))
    }
}

impl Named for Web {
    type Family = Generator;
    const NAME: &'static str = "web";
    const SUMMARY: &'static str =
        "a person at `to` who reads pages of a few objects from a server at `from`";
    const SOURCE: &'static str = "3GPP2 C.R1002, HTTP model; IEEE 802.16m-08/004, section 10.1";
    const FACTS: Facts = Facts::transfers(JudgedBy::Completion);
    type Params = WebParams;

    fn build(params: &WebParams, _: &BuildSite) -> Result<Generator, ConfigError> {
        require(params.count != Some(0), "count", || {
            "must be at least 1, got 0; leave it out for pages without end".into()
        })?;
        Ok(Generator::Transfers(Box::new(Web {
            params: params.clone(),
            embedded: None,
            pages: 0,
            begun: false,
        })))
    }
}

impl Transfers for Web {
    fn next(&mut self, after: Time, rng: &mut Rng) -> Option<Transfer> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        self.page(after, rng)
    }

    fn completed(&mut self, now: Time, rng: &mut Rng) -> Option<Transfer> {
        let wait = |mean: Duration, rng: &mut Rng| {
            Duration::from_secs_f64(rng.exponential(mean.as_secs_f64()))
        };
        match self.embedded.take() {
            Some(objects) => {
                let at = now + wait(self.params.parsing, rng);
                let bytes = (0..objects).map(|_| EMBEDDED.draw(rng)).sum();
                Some(Transfer::whole(at, Some(bytes)))
            }
            None => {
                let at = now + wait(self.params.reading, rng);
                self.page(at, rng)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Standard normal distribution function.
    fn phi(x: f64) -> f64 {
        0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
    }

    /// Mean of the cut-off lognormal law, in closed form.
    fn mean(size: &Size) -> f64 {
        let low = (libm::log(size.least) - size.mu) / size.sigma;
        let high = (libm::log(size.most) - size.mu) / size.sigma;
        libm::exp(size.mu + size.sigma * size.sigma / 2.0)
            * (phi(high - size.sigma) - phi(low - size.sigma))
            / (phi(high) - phi(low))
    }

    #[test]
    fn sizes_have_the_models_means() {
        let mut rng = Rng::named(1, "web");
        let n = 400_000;
        let mut average =
            |size: &Size| (0..n).map(|_| size.draw(&mut rng) as f64).sum::<f64>() / f64::from(n);
        let main = average(&MAIN);
        assert!((main / mean(&MAIN) - 1.0).abs() < 0.01, "{main} {}", mean(&MAIN));
        // As stated by the methodologies, which round mu and sigma.
        assert!((main / 10_710.0 - 1.0).abs() < 0.04, "{main}");
        let embedded = average(&EMBEDDED);
        assert!((embedded / mean(&EMBEDDED) - 1.0).abs() < 0.03, "{embedded} {}", mean(&EMBEDDED));
        let objects: u32 = (0..n).map(|_| embedded_objects(&mut rng)).sum();
        let objects = f64::from(objects) / f64::from(n);
        assert!((objects - 5.64).abs() < 0.06, "{objects}");
    }

    #[test]
    fn a_page_is_main_then_embedded_objects_then_reading() {
        let mut rng = Rng::named(1, "pages");
        let params = WebParams { count: Some(2000), ..WebParams::default() };
        let mut web = Web { params, embedded: None, pages: 0, begun: false };
        let mut transfer = web.next(Time::ZERO, &mut rng).unwrap();
        assert_eq!(web.next(Time::ZERO, &mut rng), None);
        let (mut pages, mut parts, mut reading) = (1, 0, 0.0);
        loop {
            let was_main = web.embedded.is_some();
            let Some(next) = web.completed(transfer.at, &mut rng) else { break };
            let wait = (next.at - transfer.at).as_secs_f64();
            if was_main {
                parts += 1;
            } else {
                pages += 1;
                reading += wait;
            }
            transfer = next;
        }
        assert_eq!(pages, 2000);
        assert!((reading / 1999.0 - 30.0).abs() < 2.0, "{reading}");
        // P(no embedded object) = 1 - (2 / 2.5)^1.1 = 0.218, by rounding.
        let without = f64::from(pages - parts) / 2000.0;
        assert!((without - 0.218).abs() < 0.03, "{without}");
    }
}
