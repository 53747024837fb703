//! Parts from elsewhere: what joins the registry, a scenario can name.

use forebay_core::{ConfigError, Named, Setting, Time};
use forebay_middlebox::{Ack, Counts, Header, Middlebox, Verdict};
use forebay_sim::{Registry, Scenario, summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;

/// A box that limits the window of receivers.
struct Narrow {
    most: u16,
    rewritten: u64,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NarrowParams {
    /// Largest window, in units of the header.
    most: u16,
}

impl Default for NarrowParams {
    fn default() -> Self {
        NarrowParams { most: 3 }
    }
}

impl Named for Narrow {
    type Family = dyn Middlebox;
    const NAME: &'static str = "narrow";
    const SUMMARY: &'static str = "limits windows";
    const SOURCE: &'static str = "none";
    type Params = NarrowParams;

    fn build(
        params: &NarrowParams,
        _: &Option<Setting>,
    ) -> Result<Option<Box<dyn Middlebox>>, ConfigError> {
        Ok(Some(Box::new(Narrow { most: params.most, rewritten: 0 })))
    }
}

impl Middlebox for Narrow {
    fn forward(&mut self, _: Time, _: &Header) -> Verdict {
        Verdict::Pass
    }
    fn backward(&mut self, _: Time, header: &Header) -> Verdict {
        match &header.tcp {
            Some(tcp) if tcp.window > self.most && tcp.window_scale.is_none() => {
                self.rewritten += 1;
                Verdict::Rewrite { window: self.most }
            }
            _ => Verdict::Pass,
        }
    }
    fn poll(&mut self, _: Time) -> Option<Ack> {
        None
    }
    fn wake(&self) -> Option<Time> {
        None
    }
    fn most_flows(&self) -> usize {
        0
    }
    fn counts(&self) -> Counts {
        Counts { rewritten: self.rewritten, ..Counts::default() }
    }
    fn probe(&self, _: &mut dyn FnMut(&'static str, f64)) {}
}

fn run(guard: Value, registry: Registry) -> Result<Value, ConfigError> {
    let tree = json!({
        "duration": "3s",
        "link": [{
            "name": "up", "from": "a", "to": "b", "rate": "10Mbit", "delay": "20ms",
            "queue": { "kind": "fifo" }, "box": guard,
        }],
        "traffic": [{ "kind": "bulk", "from": "a", "to": "b" }],
    });
    let scenario = Scenario::read(&tree, Path::new("."), &registry.into())?;
    let mut world = scenario.world(1)?;
    while !world.advance(1_000_000).expect("it fits memory").complete {}
    Ok(serde_json::to_value(summary(&scenario, 1, &mut world)).expect("keys are strings"))
}

#[test]
fn a_box_from_elsewhere_stands_in_front_of_a_link() {
    let known = || Registry::builtin().with::<Narrow>();
    let narrow = run(json!({ "kind": "narrow" }), known()).unwrap();
    let free = run(json!({ "kind": "none" }), known()).unwrap();
    assert_eq!(narrow["boxes"]["up"]["kind"], "narrow");
    assert!(narrow["boxes"]["up"]["rewritten"].as_u64() > Some(5), "{}", narrow["boxes"]);
    let rate = |summary: &Value| summary["classes"]["bulk"]["goodput_bps"].as_f64().unwrap();
    assert!(rate(&narrow) < 0.5 * rate(&free), "{} {}", rate(&narrow), rate(&free));
    let unknown = run(json!({ "kind": "narrow" }), Registry::builtin()).unwrap_err().to_string();
    assert_eq!(unknown, "link[0].box.kind: unknown box \"narrow\"; one of aspq, none");
}
