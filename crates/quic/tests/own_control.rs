//! A congestion control of one's own for quinn, from the idea to its tests. docs/endpoints.md shows it.

use forebay_quic::quinn_proto::RttEstimator;
use forebay_quic::quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use forebay_quic::{HostParams, Quic, pair};
use forebay_world::{World, json};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The idea: grow by a packet in each round trip while the queue is shorter than 5 ms, else shrink.
#[derive(Debug, Clone)]
struct Gentle {
    window: u64,
    mtu: u64,
    /// Acknowledged since the window last changed.
    acked: u64,
    is_starting: bool,
    /// Packets sent until then saw an earlier window.
    since: Option<Instant>,
}

/// The queue that it wants at most.
const QUEUE: Duration = Duration::from_millis(5);

impl Controller for Gentle {
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        self.acked += bytes;
        let queued = rtt.get().saturating_sub(rtt.min());
        if queued > QUEUE {
            self.is_starting = false;
            if self.since.is_none_or(|since| sent > since) {
                self.since = Some(now);
                self.window = (self.window * 7 / 8).max(2 * self.mtu);
                self.acked = 0;
            }
        } else if self.is_starting {
            self.window += bytes;
        } else if self.acked >= self.window {
            self.window += self.mtu;
            self.acked = 0;
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, _: bool, _: u64) {
        if self.since.is_none_or(|since| sent > since) {
            self.is_starting = false;
            self.since = Some(now);
            self.window = (self.window / 2).max(2 * self.mtu);
        }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu.into();
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        14_720
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

struct Gentles;

impl ControllerFactory for Gentles {
    fn build(self: Arc<Self>, _: Instant, mtu: u16) -> Box<dyn Controller> {
        let (window, mtu) = (14_720, mtu.into());
        Box::new(Gentle { window, mtu, acked: 0, is_starting: true, since: None })
    }
}

fn world() -> World {
    let hosts = HostParams::bulk(Arc::new(Gentles));
    World::dumbbell("20Mbit", "20ms")
        .queue("fifo", json!({ "limit": "100p" }))
        .host("gentle", move |rng| pair(&hosts, rng))
        .duration("30s")
        .warmup("5s")
}

#[test]
fn it_fills_the_link_with_a_short_queue() {
    world().check_repeats().goodput("gentle", 17e6..19.5e6).queue_ms(..8.0).loss(..0.001);
}

#[test]
fn cubic_fills_the_queue_of_this_link() {
    let cubic = json!({ "name": "cubic", "kind": "quic", "congestion": "quinn-cubic" });
    let world = World::dumbbell("20Mbit", "20ms").queue("fifo", json!({ "limit": "100p" }));
    let outcome = world.with::<Quic>().traffic(cubic).duration("30s").warmup("5s").run();
    outcome.queue_ms(15.0..);
}

/// What every control that looks at the delay has to fear.
#[test]
fn it_starves_beside_cubic_in_a_plain_queue_and_not_with_flow_queues() {
    let cubic = json!({ "name": "cubic", "kind": "bulk" });
    world().traffic(cubic.clone()).run().share("gentle", ..0.2);
    world().queue("fq-codel", json!({})).traffic(cubic).run().share("gentle", 0.4..0.6);
}
