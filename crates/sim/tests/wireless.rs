//! Wireless networks in scenarios, against models and what can be computed by hand.

mod common;

use common::{number, run, scenario};
use serde_json::{Value, json};

/// Window of 32 slots that doubles five times, slots of 20 us: what the stations use.
const WINDOW: f64 = 32.0;
const DOUBLINGS: i32 = 5;

/// Share of the time that `n` saturated stations carry payload, by the model of G. Bianchi,
/// "Performance analysis of the IEEE 802.11 distributed coordination function", IEEE JSAC 18(3),
/// 2000, equations 7, 9 and 13. A frame takes `busy` s, collided or not: who hears a collision waits
/// for EIFS.
fn bianchi(n: f64, busy: f64, payload: f64) -> f64 {
    let tau = |p: f64| {
        let window: f64 = (0..DOUBLINGS).map(|i| libm::pow(2.0 * p, f64::from(i))).sum();
        2.0 / (1.0 + WINDOW + p * WINDOW * window)
    };
    // The probability of a collision grows with tau, tau falls with it: one crossing.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = 0.5 * (low + high);
        let met = 1.0 - libm::pow(1.0 - tau(p), n - 1.0);
        if met > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let some = 1.0 - libm::pow(1.0 - tau, n);
    let one = n * tau * libm::pow(1.0 - tau, n - 1.0);
    one * payload / ((1.0 - some) * 20e-6 + some * busy)
}

/// `n` stations around one, each with more than it can send.
fn cell(n: usize, duration: &str) -> Value {
    let mut nodes = vec![json!({ "name": "middle", "at": [0, 0] })];
    let mut traffic = Vec::new();
    for index in 0..n {
        let angle = std::f64::consts::TAU * index as f64 / n as f64;
        let (x, y) = (100.0 * libm::cos(angle), 100.0 * libm::sin(angle));
        let name = format!("station{index}");
        nodes.push(json!({ "name": name, "at": [x, y] }));
        traffic.push(json!({
            "name": name, "class": "all", "kind": "cbr", "rate": "2Mbit", "size": "1000B",
            "from": name, "to": "middle", "start": "1s",
        }));
        // Routes are found one after another, on an idle medium: in the crowd a request may arrive
        // by way of a neighbour first, and the route then has two hops as long as it is in use.
        traffic.push(json!({
            "name": format!("first{index}"), "kind": "cbr", "rate": "10kbit", "size": "1000B",
            "random_phase": false, "from": name, "to": "middle",
            "start": format!("{}ms", 40 * index), "stop": "1s",
        }));
    }
    json!({
        "duration": duration,
        "warmup": "2s",
        "wireless": { "node": nodes, "attempts": 255, "queue": { "kind": "fifo", "limit": "5p" } },
        "traffic": traffic,
    })
}

#[test]
fn saturated_stations_share_what_bianchi_predicts() {
    // 192 us and 1028 B at 2 Mbit/s; SIFS, 192 us and 14 B at 1 Mbit/s; DIFS.
    let busy = 192e-6 + 1028.0 * 8.0 / 2e6 + 10e-6 + 304e-6 + 50e-6;
    for n in [1, 2, 5, 10, 20] {
        let summary = run(&cell(n, "22s"), 1);
        // Each packet brings 972 B of payload; its IP packet takes 4 ms of air.
        let got = number(&summary, "classes/all/goodput_bps") / 8.0 / 972.0 * 4.0e-3;
        let want = bianchi(n as f64, busy, 4.0e-3);
        let error = got / want - 1.0;
        // The model lets a station that has seen a busy slot count it; the standard does not.
        assert!(error.abs() < 0.03, "{n} stations: {got:.4} against {want:.4}");
        assert!(number(&summary, "classes/all/jain") > 0.9, "{n} stations");
    }
}

fn sensors() -> Value {
    json!({
        "duration": "20s",
        "warmup": "2s",
        "dumbbell": { "rate": "2Mbit", "delay": "10ms", "queue": { "kind": "ncq", "limit": "100p" } },
        "wireless": {
            "node": [{ "name": "left", "at": [0, 0] }],
            "grid": [{ "name": "grid", "rows": 3, "columns": 3, "spacing": 200, "at": [200, 0] }],
        },
        "traffic": [
            { "name": "reports", "kind": "sensing", "from": "grid", "to": "right", "flows": 9,
              "track": [["0s", 600, 0], ["20s", 600, 400]], "interval": "100ms" },
            { "name": "ftp", "kind": "bulk", "flows": 3 },
            { "name": "upload", "kind": "files", "from": "grid-1-3", "to": "right", "size": "20KB" },
        ],
    })
}

#[test]
fn sensors_report_over_relays_and_the_wired_bottleneck() {
    let summary = run(&sensors(), 1);
    let reports = &summary["classes"]["reports"];
    // The phenomenon moves along the right column: one to two stations sense it, ten reports a
    // second each.
    let (offered, delivered) = (reports["offered"].as_f64(), reports["delivered"].as_f64());
    assert!(offered.unwrap() > 150.0 && delivered.unwrap() > 0.9 * offered.unwrap(), "{reports}");
    // TCP crosses the network both ways.
    assert!(number(&summary, "classes/upload/completed") > 2.0);
    assert!(number(&summary, "classes/ftp/goodput_bps") > 1e6);
    let hops = summary["wireless"]["hops"].as_array().unwrap();
    let into_base: f64 = hops
        .iter()
        .filter(|hop| hop["to"] == "left")
        .map(|hop| hop["packets"].as_f64().unwrap())
        .sum();
    assert!(into_base >= delivered.unwrap(), "{hops:?}");
    // 600 m away, 250 m of range: three hops.
    assert!(number(&summary, "wireless/stations/grid-1-1/received") > 100.0);
    assert_eq!(number(&summary, "wireless/stations/grid-3-2/x_m"), 400.0);
}

#[test]
fn equal_seeds_give_equal_runs_and_others_do_not() {
    let print = |seed| run(&sensors(), seed)["fingerprint"].clone();
    assert_eq!(print(3), print(3));
    assert_ne!(print(3), print(4));
}

#[test]
fn the_effective_scenario_is_one_itself() {
    let whole = scenario(&sensors()).effective().unwrap();
    assert_eq!(whole["wireless"]["queue"]["limit"], "50p");
    assert_eq!(whole["wireless"]["rate"], "2Mbit");
    assert_eq!(scenario(&whole).effective().unwrap(), whole);
}
