//! Congestion controls from elsewhere: what joins the registry, a scenario can name.

mod common;

use forebay_core::{ConfigError, Duration, Named, Rate};
use forebay_sim::{Registry, Scenario, scenario, summary};
use forebay_tcp::ConnectionParams;
use forebay_tcp::congestion::{
    AckSample, Attention, Conduct, CongestionController, CongestionEvent, Delivery, Lost, Needs,
    Role, Start, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Sends at the highest rate at which data were delivered in the last rounds, with so many bandwidth
/// delay products in flight, whatever is lost.
#[derive(Debug)]
struct Steady {
    params: SteadyParams,
    /// The highest rate of each of the last rounds, bytes a second, the newest first.
    rates: [f64; 10],
    least: Duration,
    seen: Seen,
}

/// Counts of all connections: rounds, reported losses, marks.
type Seen = Arc<Mutex<[u64; 3]>>;

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SteadyParams {
    /// Bandwidth delay products in flight, above 0.
    products: f64,
    /// Segments that leave together.
    quantum: u64,
}

impl Default for SteadyParams {
    fn default() -> Self {
        SteadyParams { products: 2.0, quantum: 1 }
    }
}

impl Named for Steady {
    type Family = dyn CongestionController;
    const NAME: &'static str = "steady";
    const SUMMARY: &'static str = "as fast as data arrive";
    const SOURCE: &'static str = "none";
    const FACTS: Conduct = Conduct { needs: Needs::Timestamps, ..Conduct::USUAL };
    type Params = SteadyParams;

    fn build(params: &SteadyParams, _: &()) -> Result<Start, ConfigError> {
        forebay_core::config::require(params.products > 0.0, "products", || "above 0".into())?;
        let params = *params;
        let seen = SEEN.lock().unwrap().clone().unwrap_or_default();
        Ok(Arc::new(move |_: &ConnectionParams| {
            let (least, seen) = (Duration::MAX, Arc::clone(&seen));
            Box::new(Steady { params, rates: [0.0; 10], least, seen })
        }))
    }
}

impl Steady {
    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }
}

impl CongestionController for Steady {
    fn on_ack(&mut self, _: &mut Window, _: &AckSample) {}
    fn on_congestion(&mut self, _: &mut Window, _: &CongestionEvent) {}
    fn role(&self) -> Role {
        Role { attention: Attention::Rates, governs: true, paces: true }
    }
    fn on_lost(&mut self, _: &mut Window, lost: &Lost) {
        assert!(lost.bytes > 0 && lost.tx_in_flight >= lost.bytes && lost.lost >= lost.bytes);
        self.seen.lock().unwrap()[1] += lost.bytes;
    }
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        self.seen.lock().unwrap()[2] += delivery.marked;
        if delivery.round_end {
            self.rates.rotate_right(1);
            self.rates[0] = 0.0;
            self.seen.lock().unwrap()[0] += 1;
        }
        let Some(sample) = delivery.rate else { return };
        self.least = sample.rtt.map_or(self.least, |rtt| self.least.min(rtt));
        self.rates[0] = self.rates[0].max(sample.rate.unwrap_or(0.0));
        let product = self.rate() * self.least.as_secs_f64();
        let most = (self.params.products * product) as u64;
        // Doubles each round trip until the rate is known.
        window.cwnd = most.max(4 * window.mss).min(window.cwnd + delivery.delivered);
    }
    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let first = window.cwnd as f64 / srtt?.as_secs_f64();
        let wire = 1500.0 / window.mss as f64;
        Some(Rate::from_bps((10.0 * first.max(self.rate()) * wire) as u64))
    }
    fn send_quantum(&self, window: &Window) -> u64 {
        self.params.quantum * window.mss
    }
}

fn tree(tcp: Value) -> Value {
    json!({
        "duration": "20s", "tcp": tcp,
        "dumbbell": {
            "rate": "10Mbit", "delay": "20ms", "loss": 0.01, "queue": { "kind": "codel", "ecn": true },
        },
        "traffic": [{ "kind": "bulk", "flows": 2 }],
    })
}

fn read(tcp: Value, registry: Registry) -> Result<Scenario, ConfigError> {
    Scenario::read(&tree(tcp), Path::new("."), &registry.into())
}

#[test]
fn a_control_from_elsewhere_governs_its_connections() {
    let known = || Registry::builtin().with::<Steady>();
    let seen = Seen::default();
    *SEEN.lock().unwrap() = Some(Arc::clone(&seen));
    let given = json!({
        "congestion": "steady", "timestamps": true, "ecn": true, "steady": { "products": 3.0 },
    });
    let scenario = read(given.clone(), known()).unwrap();
    let mut world = scenario.world(1).unwrap();
    while !world.advance(1_000_000).expect("it fits memory").complete {}
    let found = summary(&scenario, 1, &mut world);
    let found = serde_json::to_value(found).unwrap();
    // One packet in a hundred is lost, which takes a third of the link from New Reno.
    let used = |found: &Value| found["links"]["bottleneck"]["utilization"].as_f64().unwrap();
    assert!(used(&found) > 0.97, "{}", found["links"]["bottleneck"]);
    let reno = common::run(&tree(json!({ "timestamps": true, "ecn": true })), 1);
    assert!(used(&reno) < 0.9, "{}", reno["links"]["bottleneck"]);
    let [rounds, lost, marked] = *seen.lock().unwrap();
    // Six products in flight are 0.25 s, of two flows 160 rounds; holes make half of them twice as long.
    assert!(rounds > 60, "{rounds}");
    // What is lost is sent again, but for what a late acknowledgment spares.
    let again = 1448.0 * found["classes"]["bulk"]["retransmissions"].as_f64().unwrap();
    assert!((0.9..1.2).contains(&(lost as f64 / again)), "{lost} {again}");
    assert!(marked > 100 * 1448, "{marked}");
    let whole = scenario.effective().unwrap();
    assert_eq!(whole["traffic"][0]["tcp"]["steady"], json!({ "products": 3.0, "quantum": 1 }));
    Scenario::read(&whole, Path::new("."), &known().into()).unwrap();
    let form = scenario::schema(&known());
    assert!(
        form["properties"]["tcp"]["properties"]["steady"]["properties"]["products"].is_object()
    );
    let all = scenario::catalogue(&known());
    let names: Vec<_> = all["controls"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("steady")) && names.contains(&&json!("cubic")));
    let refused =
        |tcp: Value, known: Registry| read(tcp, known).err().expect("refused").to_string();
    let unknown = refused(given, Registry::builtin());
    assert!(unknown.starts_with("tcp."), "{unknown}");
    let late = refused(json!({ "congestion": "steady" }), known());
    assert!(late.contains("works only with timestamps = true"), "{late}");
    let zero = json!({ "congestion": "steady", "timestamps": true, "steady": { "products": 0.0 } });
    assert_eq!(refused(zero, known()), "tcp.steady.products: above 0");
}
