//! A TCP stack with virtual time, smoltcp, that shapes its device by disciplines of forebay.

#[expect(dead_code, reason = "main is the example's")]
#[path = "../examples/smoltcp/main.rs"]
mod example;

use example::transfer;
use serde_json::json;

#[test]
fn smoltcp_sends_through_codel_and_cq_aqm() {
    let fifo = transfer(json!({ "kind": "fifo", "limit": "1000p" })).unwrap();
    let codel = transfer(json!({ "kind": "codel" })).unwrap();
    let queues = [json!({ "limit": "50p" }), json!({ "limit": "10p" })];
    let cq = transfer(json!({ "kind": "cq-aqm", "queues": queues })).unwrap();
    let all = format!("fifo {fifo:?}, codel {codel:?}, cq-aqm {cq:?}");
    // 10 Mbit/s for five seconds are 6.25 MB, headers and what smoltcp sends twice included.
    assert!((4_000_000..6_250_000).contains(&fifo.received), "{all}");
    assert!(fifo.dropped == 0 && fifo.most > 100_000, "{all}");
    // CoDel does not let that stand, CQ-AQM no more than its 50 packets.
    assert!(codel.received > 1_000_000 && codel.dropped > 0 && codel.most < fifo.most, "{all}");
    assert!(cq.received > 1_000_000 && cq.dropped > 0 && cq.most <= 75_000, "{all}");
}

#[test]
fn a_queue_that_is_not_understood_is_refused() {
    let error = transfer(json!({ "kind": "codel", "targt": "5ms" })).unwrap_err().to_string();
    assert!(error.contains("targt"), "{error}");
}
