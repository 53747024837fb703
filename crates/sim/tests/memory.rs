//! Memory of a run.

mod common;

use common::{complete, scenario};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bytes held after `flows` flows have run for a while.
fn held(flows: u32) -> isize {
    let tree = json!({
        "duration": "20s",
        "warmup": "2s",
        "dumbbell": { "rate": "100Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "200p" } },
        "traffic": [{ "name": "bulk", "kind": "bulk", "flows": flows, "start": ["0s", "2s"] }],
    });
    let region = Region::new(ALLOCATOR);
    let scenario = scenario(&tree);
    let mut world = scenario.world(1).unwrap();
    complete(&mut world);
    let change = region.change();
    change.bytes_allocated as isize - change.bytes_deallocated as isize
}

// One test: the allocator counts the whole process.
#[test]
fn a_run_is_small_and_so_is_a_flow() {
    let few = held(16);
    assert!(few < 50_000_000, "a dumbbell holds {few} bytes");
    let more = held(1016);
    let flow = (more - few) / 1000;
    assert!(flow < 4096, "a flow holds {flow} bytes");

    // Steady state allocates nothing but room for the series and the histograms to grow.
    let tree = json!({
        "duration": "60s",
        "sample": "60s",
        "dumbbell": { "rate": "10Mbit", "delay": "10ms", "queue": { "kind": "fifo", "limit": "30p" } },
        "traffic": [{ "name": "bulk", "kind": "bulk", "flows": 16 }],
    });
    let mut world = scenario(&tree).world(1).unwrap();
    world.advance(50_000).unwrap();
    let region = Region::new(ALLOCATOR);
    world.advance(100_000).unwrap();
    let allocations = region.change().allocations;
    assert!(allocations < 100, "{allocations} allocations in 100 000 events");
}
