//! Whole networks against what can be computed by hand.

mod common;

use common::{complete, number, run, scenario};
use forebay_sim::pcap_in::read_capture;
use forebay_sim::{Registry, Scenario};
use serde_json::{Value, json};

fn dumbbell(queue: Value, traffic: Value) -> Value {
    json!({
        "duration": "30s",
        "warmup": "10s",
        "dumbbell": { "rate": "10Mbit", "delay": "5ms", "overhead": "ppp", "queue": queue },
        "traffic": traffic,
    })
}

#[test]
fn overload_by_datagrams_fills_the_queue_and_the_link() {
    // 15 Mbit/s of 1507 B frames into 10 Mbit/s: a third is lost, 30 packets always wait.
    let traffic = json!([{ "name": "udp", "kind": "cbr", "rate": "14.93Mbit", "size": "1500B" }]);
    let summary = run(&dumbbell(json!({ "kind": "fifo", "limit": "30p" }), traffic), 1);
    assert!((number(&summary, "links/bottleneck/utilization") - 1.0).abs() < 1e-4);
    assert!((number(&summary, "queues/bottleneck/loss") - 1.0 / 3.0).abs() < 0.001);
    let waiting = number(&summary, "queues/bottleneck/mean_packets");
    assert!((29.0..=30.0).contains(&waiting), "{waiting}");
    // A packet that is admitted waits for what is in front: 30 packets less the part already sent.
    let wait = number(&summary, "queues/bottleneck/mean_delay_ms");
    let frame = 1507.0 * 8.0 / 10e6 * 1e3;
    assert!((29.0 * frame..=30.0 * frame).contains(&wait), "{wait}");
    // The one queue on the way is all that the class waits in, and the one flow is the system.
    let own = number(&summary, "classes/udp/mean_wait_ms");
    assert!((own / wait - 1.0).abs() < 1e-3, "{own}");
    let longest = 30.0 * frame;
    let asi = 1.0 - (1.0 - own / longest).abs();
    assert!((number(&summary, "system/asi") - asi).abs() < 0.005);
    // Sent 15 Mbit/s, carried 10; 1472 of 1507 B are payload.
    let potential = 0.5 * (1.0 + 1472.0 / 1507.0);
    assert!((number(&summary, "classes/udp/energy_potential") - potential).abs() < 1e-3);
}

#[test]
fn an_idle_path_delays_by_propagation_and_transmission_alone() {
    let traffic = json!([{ "name": "udp", "kind": "cbr", "rate": "100kbit", "size": "500B" }]);
    let summary = run(&dumbbell(json!({ "kind": "fifo" }), traffic), 1);
    // Two access links of 0.1 ms and 1 Gbit/s, 5 ms and 507 B at 10 Mbit/s.
    let want = 0.1 + 0.004 + 5.0 + 0.4056 + 0.1 + 0.004;
    assert!((number(&summary, "classes/udp/mean_delay_ms") - want).abs() < 1e-3);
    assert_eq!(number(&summary, "classes/udp/loss"), 0.0);
    assert!(number(&summary, "classes/udp/jitter_ms") < 1e-3);
}

#[test]
fn a_packet_that_may_leave_ends_the_wait_for_those_that_may_not() {
    let traffic = json!([
        { "name": "held", "kind": "cbr", "rate": "5Mbit", "size": "1500B" },
        { "name": "sparse", "kind": "poisson", "rate": "100kbit", "size": "500B", "q": 1 },
    ]);
    let leaves = json!([{ "rate": "1Mbit" }, { "rate": "1Mbit", "ceil": "10Mbit" }]);
    let queue = json!({ "kind": "htb", "classes": [{ "rate": "10Mbit", "classes": leaves }] });
    let summary = run(&dumbbell(queue, traffic), 1);
    // The way of 5.6136 ms; a frame of 1.2 ms is under way for a tenth of the time, the own ones for a
    // hundredth.
    let delay = number(&summary, "classes/sparse/mean_delay_ms");
    assert!((5.6..5.75).contains(&delay), "{delay}");
    let rate = number(&summary, "classes/held/goodput_bps") * 1507.0 / 1472.0;
    assert!((rate / 1e6 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn a_window_limited_flow_gets_a_window_a_round_trip() {
    let mut tree = dumbbell(json!({ "kind": "fifo" }), json!([{ "name": "bulk", "kind": "bulk" }]));
    tree["tcp"] = json!({ "max_window": 8, "timestamps": false, "delayed_ack_count": 1 });
    tree["dumbbell"]["delay"] = json!("50ms");
    tree["dumbbell"]["rate"] = json!("100Mbit");
    let summary = run(&tree, 1);
    // Round trip: 100 ms and four access delays; a data frame on 100 Mbit/s and two access links,
    // an ACK of 40 B the other way.
    let data = 1507.0 * 8.0 / 100e6 + 2.0 * 1500.0 * 8.0 / 1e9;
    let ack = 47.0 * 8.0 / 100e6 + 2.0 * 40.0 * 8.0 / 1e9;
    let round_trip = 0.1 + 4.0 * 0.0001 + data + ack;
    let want = 8.0 * 1460.0 * 8.0 / round_trip;
    let goodput = number(&summary, "classes/bulk/goodput_bps");
    assert!((goodput / want - 1.0).abs() < 0.01, "{goodput} against {want}");
}

#[test]
fn tcp_fills_the_link_and_every_packet_is_accounted_for() {
    for kind in &Registry::builtin().disciplines.every_kind() {
        let traffic = json!([
            { "name": "bulk", "kind": "bulk", "flows": 4, "tcp": { "ecn": true } },
            { "name": "udp", "kind": "poisson", "rate": "1Mbit", "size": "200B", "q": 1, "precedence": 1,
              "stop": "29s" },
        ]);
        let summary = run(&dumbbell(json!({ "kind": kind.name }), traffic), 2);
        let used = number(&summary, "links/bottleneck/utilization");
        // A step at 1 ms is shorter than the queue that halved windows need.
        let least = if kind.name == "step" { 0.75 } else { 0.9 };
        assert!(used > least, "{}: utilization {used}", kind.name);
        // The sources stop a second before the end: nothing of theirs is under way. What was under
        // way at the end of the warm-up arrives on top.
        let udp = &summary["classes"]["udp"];
        let sent = udp["offered"].as_i64().unwrap();
        let ended = udp["delivered"].as_i64().unwrap() + udp["dropped"].as_i64().unwrap();
        assert!((0..2000).contains(&(ended - sent)), "{}: {sent} sent, {ended} ended", kind.name);
    }
}

#[test]
fn transfers_complete_and_users_go_on() {
    let traffic = json!([
        { "name": "files", "kind": "files", "size": "100KB", "arrivals": "fixed", "interval": "1s" },
        { "name": "web", "kind": "web", "flows": 3, "reading": "1s" },
    ]);
    let summary = run(&dumbbell(json!({ "kind": "fifo" }), traffic), 1);
    // One a second, measured for 20 s.
    let completed = number(&summary, "classes/files/completed");
    assert!((19.0..=21.0).contains(&completed), "{completed}");
    assert!(number(&summary, "classes/web/completed") > 10.0);
    // 100 kB from an initial window of ten segments take a few round trips of 10.4 ms.
    let time = number(&summary, "classes/files/mean_completion_s");
    assert!((0.08..0.4).contains(&time), "{time}");
    let worst = number(&summary, "classes/files/max_completion_s");
    assert!(worst >= time && worst <= number(&summary, "system/max_completion_s"));
    // The mean of size over time is at least size over the mean time, and near it here.
    let rate = number(&summary, "classes/files/transfer_goodput_bps");
    let least = 100e3 * 8.0 / time;
    assert!((least..2.0 * least).contains(&rate), "{rate} and {least}");
}

#[test]
fn a_connection_that_gets_nothing_through_gives_up() {
    let mut tree = dumbbell(
        json!({ "kind": "fifo", "limit": "30p" }),
        json!([{ "name": "bulk", "kind": "bulk", "tcp": { "max_retransmissions": 3 } }]),
    );
    tree["dumbbell"]["rate"] = json!({ "steps": [["0s", "10Mbit"], ["12s", "0bit"]] });
    let summary = run(&tree, 1);
    assert_eq!(number(&summary, "classes/bulk/aborted"), 1.0);
    assert!(number(&summary, "classes/bulk/timeouts") >= 3.0);
}

#[test]
fn random_loss_is_as_frequent_as_asked() {
    let traffic = json!([{ "name": "udp", "kind": "cbr", "rate": "5Mbit", "size": "500B" }]);
    let mut tree = dumbbell(json!({ "kind": "fifo" }), traffic);
    tree["dumbbell"]["loss"] = json!(0.02);
    let summary = run(&tree, 1);
    // 25 000 packets: four standard deviations are 0.0035.
    assert!((number(&summary, "classes/udp/loss") - 0.02).abs() < 0.0035);
    assert_eq!(number(&summary, "queues/bottleneck/dropped"), 0.0);
    assert!(number(&summary, "links/bottleneck/wire_lost") > 0.0);
}

#[test]
fn utilization_is_measured_against_what_a_varying_link_offers() {
    let traffic = json!([{ "name": "udp", "kind": "cbr", "rate": "50Mbit", "size": "1500B" }]);
    for rate in [
        json!({ "steps": [["0s", "10Mbit"], ["1s", "2Mbit"]], "period": "2s" }),
        json!({ "trace": "fading.trace.gz" }),
        json!({ "draw": ["1Mbit", "10Mbit"], "every": "500ms" }),
    ] {
        let mut tree = dumbbell(json!({ "kind": "fifo", "limit": "50p" }), traffic.clone());
        let table = tree["dumbbell"].as_object_mut().unwrap();
        table.insert("reverse".into(), json!({ "rate": "10Mbit" }));
        table.insert("overhead".into(), json!("none"));
        table.insert("rate".into(), rate.clone());
        let summary = run(&tree, 1);
        let used = number(&summary, "links/bottleneck/utilization");
        assert!((used - 1.0).abs() < 0.005, "{rate}: {used}");
    }
}

#[test]
fn routes_lead_around_the_shortest_path() {
    let tree = json!({
        "duration": "10s",
        "link": [
            { "name": "ab", "from": "a", "to": "b", "rate": "10Mbit", "queue": { "kind": "fifo" } },
            { "name": "bc", "from": "b", "to": "c", "rate": "10Mbit", "queue": { "kind": "fifo" } },
            { "name": "ac", "from": "a", "to": "c", "rate": "10Mbit", "queue": { "kind": "fifo" } },
        ],
        "route": [{ "at": "a", "to": "c", "link": "ab" }],
        "traffic": [{ "kind": "cbr", "rate": "1Mbit", "size": "500B", "from": "a", "to": "c" }],
    });
    let summary = run(&tree, 1);
    let sent = |link: &str| number(&summary, &format!("links/{link}/sent_packets"));
    assert_eq!(sent("ac"), 0.0);
    assert!(sent("ab") > 2400.0 && sent("bc") > 2400.0);
}

#[test]
fn a_capture_of_a_run_reads_back() {
    let folder = std::env::temp_dir().join(format!("forebay-capture-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bottleneck.pcap");
    let mut tree = dumbbell(
        json!({ "kind": "fifo", "limit": "30p" }),
        json!([
            { "name": "bulk", "kind": "bulk", "flows": 2, "dscp": "AF11" },
            { "name": "udp", "kind": "cbr", "rate": "1Mbit", "size": "500B", "dscp": "EF" },
        ]),
    );
    tree["duration"] = json!("3s");
    tree["warmup"] = json!("0s");
    tree["dumbbell"]["pcap"] = json!(file);
    let scenario = scenario(&tree);
    scenario.effective().unwrap();
    assert!(!file.exists(), "a check writes nothing");
    let mut world = scenario.world(1).unwrap();
    world.advance(1000).unwrap();
    assert!(!file.exists(), "a run under way leaves nothing that looks whole");
    complete(&mut world);
    let sent = world.link(0).sent.0;
    let capture = read_capture(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(capture.packets.len() as u64, sent);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_parking_lot_has_cross_traffic_at_each_hop() {
    let tree = json!({
        "duration": "20s",
        "warmup": "5s",
        "parking_lot": { "hops": 3, "rate": "10Mbit", "delay": "5ms", "queue": { "kind": "fifo" } },
        "traffic": [
            { "name": "through", "kind": "cbr", "rate": "1Mbit", "size": "500B" },
            { "name": "second", "kind": "cbr", "rate": "2Mbit", "size": "500B", "hop": 2 },
            { "name": "back", "kind": "cbr", "rate": "3Mbit", "size": "500B", "direction": "reverse" },
        ],
    });
    let summary = run(&tree, 1);
    let used = |link: &str| number(&summary, &format!("links/{link}/utilization"));
    for (link, want) in [("hop1", 0.1), ("hop2", 0.3), ("hop3", 0.1)] {
        assert!((used(link) - want).abs() < 1e-3, "{link}: {}", used(link));
    }
    // Three hops of 5 ms against one.
    let delay = |class: &str| number(&summary, &format!("classes/{class}/mean_delay_ms"));
    assert!(delay("through") > 15.0 && delay("second") < 7.0);
    assert!(delay("back") > 15.0);
}

#[test]
fn each_hop_of_a_parking_lot_records_in_a_file_of_its_own() {
    let folder = std::env::temp_dir().join(format!("forebay-lot-{}", std::process::id()));
    let tree = json!({
        "duration": "2s",
        "parking_lot": {
            "hops": 2, "rate": "10Mbit", "queue": { "kind": "fifo" }, "pcap": "made/lot.pcap",
            "hop": { "2": { "delay": "2ms" } },
        },
        "traffic": [
            { "name": "through", "kind": "cbr", "rate": "1Mbit" },
            { "name": "second", "kind": "cbr", "rate": "1Mbit", "hop": 2 },
        ],
    });
    let scenario = Scenario::read(&tree, &folder, &Registry::builtin().into()).unwrap();
    let effective = scenario.effective().unwrap();
    assert_eq!(effective["parking_lot"]["pcap"], "made/lot.pcap");
    let again = Scenario::read(&effective, &folder, &Registry::builtin().into()).unwrap();
    assert_eq!(again.effective().unwrap(), effective);
    let mut world = again.world(1).unwrap();
    complete(&mut world);
    for (index, hop) in ["hop1", "hop2"].iter().enumerate() {
        let bytes = std::fs::read(folder.join(format!("made/lot-{hop}.pcap"))).unwrap();
        let sent = world.link(2 * index).sent.0;
        assert!(sent > 0);
        assert_eq!(read_capture(&bytes).unwrap().packets.len() as u64, sent, "{hop}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_page_is_complete_when_all_of_its_connections_are() {
    let pages = json!([{ "name": "web", "kind": "pages", "objects": 12, "size": "1KB" }]);
    let summary = run(&dumbbell(json!({ "kind": "fifo" }), pages), 1);
    // One round trip for the handshake, then six connections of 2 KB each that begin together:
    // twelve segments on a link of 10 Mbit/s, three milliseconds. The FINs' round trip ends it.
    let completed = number(&summary, "classes/web/completed");
    let goodput = number(&summary, "classes/web/goodput_bps");
    assert!((goodput * 20.0 / 8.0 / 12_000.0 - completed).abs() <= 1.0, "{completed} pages");
    let took = number(&summary, "classes/web/mean_completion_s");
    let path = 0.0052;
    let want = 3.0 * path + 12_000.0 * 8.0 / 10e6;
    assert!((took / want - 1.0).abs() < 0.1, "{took} against {want}");
    assert!((20.0 / completed) > took + path, "the next page waits for the last connection's end");
}
