//! qlog files: what draft-ietf-quic-qlog asks for, equal for equal seeds, and never replaced.

use forebay_quic::Quic;
use forebay_world::{Fault, Outcome, World, json};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn run(folder: &Path) -> Result<Outcome, Fault> {
    World::dumbbell("10Mbit", "10ms")
        .with::<Quic>()
        .queue("fifo", json!({ "limit": "30p" }))
        .traffic(json!({ "name": "quic", "kind": "quic", "flows": 2, "qlog": folder }))
        .duration("5s")
        .try_run()
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    let read = |file: std::fs::DirEntry| {
        let text = std::fs::read_to_string(file.path()).unwrap();
        (file.file_name().into_string().unwrap(), text)
    };
    files.map(read).collect()
}

/// The JSON texts of a sequence (RFC 7464).
fn records(text: &str) -> Vec<Value> {
    let texts = text.split('\u{1e}');
    texts.filter(|text| !text.is_empty()).map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Fields of `value`, each of which `may` has.
fn only(value: &Value, may: &[&str]) -> Vec<String> {
    let keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    let odd: Vec<_> = keys.iter().filter(|key| !may.contains(&key.as_str())).collect();
    assert!(odd.is_empty(), "{odd:?} in {value}");
    keys
}

/// quic-events-04, section A.12: `PacketHeader`, its fields that quinn writes.
fn check_header(header: &Value) {
    only(header, &["packet_type", "packet_number"]);
    let kind = header["packet_type"].as_str().unwrap();
    assert!(["initial", "handshake", "0RTT", "1RTT"].contains(&kind), "{kind}");
    assert!(header["packet_number"].is_u64());
}

/// The events of a file by the draft's schema (CDDL), and how many of each name there are.
fn check(text: &str, side: &str) -> BTreeMap<String, usize> {
    let records = records(text);
    // main-schema-05, section 3.2: `QlogFileSeq` and `TraceSeq`.
    let head = &records[0];
    only(head, &["qlog_format", "qlog_version", "title", "trace"]);
    assert_eq!((&head["qlog_format"], &head["qlog_version"]), (&json!("JSON-SEQ"), &json!("0.3")));
    only(
        &head["trace"],
        &["title", "description", "configuration", "common_fields", "vantage_point"],
    );
    assert_eq!(head["trace"]["vantage_point"]["type"], side);
    let mut seen = BTreeMap::new();
    let (mut last, mut most) = (0.0, 0);
    for event in &records[1..] {
        // Section 3.4: `Event`.
        only(event, &["time", "name", "data", "group_id"]);
        let time = event["time"].as_f64().unwrap();
        assert!(time >= last && time <= 5000.0, "milliseconds since the start: {time}");
        last = time;
        let (name, data) = (event["name"].as_str().unwrap(), &event["data"]);
        match name {
            "transport:packet_sent" => {
                only(data, &["header", "raw"]);
                check_header(&data["header"]);
                // main-schema-05, section 4.6: `RawInfo`, without headers of UDP and IP.
                let length = data["raw"]["length"].as_u64().unwrap();
                assert!((20..=1452).contains(&length), "{data}");
                most = most.max(length);
            }
            "transport:packet_received" => {
                only(data, &["header"]);
                check_header(&data["header"]);
            }
            "recovery:packet_lost" => {
                only(data, &["header", "trigger"]);
                check_header(&data["header"]);
                let trigger = data["trigger"].as_str().unwrap();
                let may = ["reordering_threshold", "time_threshold", "pto_expired"];
                assert!(may.contains(&trigger), "{trigger}");
            }
            "recovery:metrics_updated" => {
                let times = ["smoothed_rtt", "min_rtt", "latest_rtt", "rtt_variance"];
                let counts = [
                    "pto_count",
                    "congestion_window",
                    "bytes_in_flight",
                    "ssthresh",
                    "packets_in_flight",
                    "pacing_rate",
                ];
                for key in only(data, &[&times[..], &counts[..]].concat()) {
                    let is_right = if times.contains(&key.as_str()) {
                        // Milliseconds: a round trip has 20 and the queue, at first quinn's guess.
                        let least = if key == "rtt_variance" { 0.0 } else { 20.0 };
                        (least..1000.0).contains(&data[&key].as_f64().unwrap())
                    } else {
                        data[&key].is_u64()
                    };
                    assert!(is_right, "{key}: {data}");
                }
            }
            other => panic!("the draft has no event {other}"),
        }
        *seen.entry(name.to_owned()).or_insert(0) += 1;
    }
    assert!(side == "server" || most == 1452, "the longest packet has {most} bytes");
    seen
}

#[test]
fn each_end_of_a_connection_has_a_file_that_follows_the_draft() {
    let folder = folder("follows");
    let outcome = run(&folder).unwrap();
    let files = files(&folder);
    assert_eq!(files.len(), 4, "{:?}", files.keys());
    let mut sent = 0;
    let mut lost = 0;
    for (name, text) in &files {
        let (id, side) = name.strip_suffix(".sqlog").unwrap().split_once('_').unwrap();
        let seen = check(text, side);
        assert!(seen["recovery:metrics_updated"] > 1);
        assert!(records(text)[1..].iter().all(|event| event["group_id"] == json!(id)), "{name}");
        if side == "client" {
            sent += seen["transport:packet_sent"];
            lost += seen["recovery:packet_lost"];
        }
    }
    // What is sent arrives or is lost, but for what is on its way at the end; two may share a datagram.
    let arrived = outcome.number(&["packets"]) as usize;
    assert!((arrived..=arrived + lost + 40).contains(&sent), "{sent}, {arrived} + {lost}");
    assert!(lost > 0);
}

#[test]
fn equal_seeds_have_equal_files() {
    let [one, two] = ["one", "two"].map(folder);
    let prints =
        [run(&one).unwrap(), run(&two).unwrap()].map(|found| found.fingerprint().to_owned());
    assert_eq!(prints[0], prints[1]);
    assert!(files(&one) == files(&two));
}

#[test]
fn a_file_that_exists_is_kept() {
    let folder = folder("kept");
    run(&folder).unwrap();
    let before = files(&folder);
    let said = run(&folder).unwrap_err().to_string();
    assert!(said.contains("sqlog exists already; remove it or name another folder"), "{said}");
    assert!(files(&folder) == before);
}
