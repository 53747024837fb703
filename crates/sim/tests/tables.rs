//! The tables that are made on request, against the summary and what can be computed by hand.

mod common;

use common::{complete, number, scenario};
use forebay_sim::{Registry, Scenario, Table, summary, tables};
use serde_json::{Value, json};
use std::path::Path;

fn tree(traffic: Value) -> Value {
    json!({
        "duration": "20s",
        "sample": "1s",
        "dumbbell": { "rate": "10Mbit", "delay": "5ms", "queue": { "kind": "fifo", "limit": "30p" } },
        "traffic": traffic,
        "tables": ["flow_series", "transfers"],
    })
}

fn run(tree: &Value) -> (Value, Vec<Table>) {
    let scenario = scenario(tree);
    let mut world = scenario.world(1).unwrap_or_else(|error| panic!("{error}"));
    complete(&mut world);
    let summary = summary(&scenario, 1, &mut world).whole();
    let tables = tables(&scenario, &mut world);
    (summary, tables)
}

/// A column of the table `name` whose label `traffic` or `class` is `whose`.
fn values<'a>(tables: &'a [Table], name: &str, whose: &str, column: &str) -> &'a [f64] {
    let of =
        |table: &&Table| table.name == name && table.labels.iter().any(|(_, label)| label == whose);
    let table = tables.iter().find(of).unwrap_or_else(|| panic!("no {name} of {whose}"));
    &table.columns.iter().find(|(name, _)| name == column).expect("it has such a column").1
}

#[test]
fn flows_add_up_to_their_class_in_every_interval() {
    let (summary, tables) = run(&tree(json!([
        { "name": "bulk", "kind": "bulk", "flows": 3, "class": "all" },
        { "name": "udp", "kind": "cbr", "rate": "2Mbit", "size": "1028B", "class": "all" },
    ])));
    let class = values(&tables, "class", "all", "throughput_bps");
    let [bulk, udp] =
        ["bulk", "udp"].map(|name| values(&tables, "flow_series", name, "throughput_bps"));
    assert_eq!((class.len(), bulk.len(), udp.len()), (20, 60, 20));
    for (point, whole) in class.iter().enumerate() {
        let parts: f64 = (0..3).map(|flow| bulk[20 * flow + point]).sum();
        assert!((parts + udp[point] - whole).abs() < 1e-6, "{point}");
    }
    let flows = values(&tables, "flow_series", "bulk", "flow");
    assert_eq!((flows[0], flows[20], flows[59]), (0.0, 1.0, 2.0));
    assert_eq!(values(&tables, "flow_series", "udp", "flow")[0], 3.0);
    let times = values(&tables, "flow_series", "bulk", "time_s");
    assert_eq!((times[0], times[19], times[20]), (1.0, 20.0, 1.0));
    // In order or not, all payload of a flow that loses little reaches its application.
    let series: f64 = bulk[..20].iter().sum::<f64>() / 20.0;
    let goodput = number(&summary["flows"][0], "goodput_bps");
    assert!((series / goodput - 1.0).abs() < 0.02, "{series} against {goodput}");
}

#[test]
fn a_steady_flow_has_its_payload_in_every_interval() {
    // 1028 B every 4.112 ms without any queue: 1000 B of payload each.
    let (_, tables) =
        run(&tree(json!([{ "name": "udp", "kind": "cbr", "rate": "2Mbit", "size": "1028B" }])));
    for rate in &values(&tables, "flow_series", "udp", "throughput_bps")[1..] {
        assert!((rate / (2e6 * 1000.0 / 1028.0) - 1.0).abs() < 0.005, "{rate}");
    }
    assert_eq!(values(&tables, "transfers", "udp", "flow").len(), 0);
}

#[test]
fn every_transfer_has_its_beginning_size_and_end() {
    let (summary, tables) = run(&tree(json!([
        { "name": "web", "kind": "web", "flows": 4, "reading": "1s" },
        { "name": "bulk", "kind": "bulk", "start": "2s" },
        { "name": "file", "kind": "files", "size": "100KB", "count": 1, "start": "3s" },
    ])));
    let of = |name, column| values(&tables, "transfers", name, column);
    let durations = of("web", "duration_s");
    let ended: Vec<f64> = durations.iter().copied().filter(|value| value.is_finite()).collect();
    assert_eq!(ended.len() as f64, number(&summary, "classes/web/completed"));
    assert!(ended.len() > 20 && ended.len() <= durations.len());
    let mean = ended.iter().sum::<f64>() / ended.len() as f64;
    assert!((mean - number(&summary, "classes/web/mean_completion_s")).abs() < 1e-9);
    for (row, start) in of("web", "start_s").iter().enumerate() {
        let end = of("web", "end_s")[row];
        assert!(end.is_nan() || (end - start - durations[row]).abs() < 1e-9);
        assert!(of("web", "bytes")[row] >= 1.0 && (0.0..4.0).contains(&of("web", "flow")[row]));
    }
    assert!(of("web", "start_s").is_sorted());
    let flows = summary["flows"].as_array().unwrap();
    let completed = |flow: f64| {
        let rows = of("web", "flow").iter().zip(durations);
        rows.filter(|(whose, time)| **whose == flow && time.is_finite()).count()
    };
    for flow in &flows[..4] {
        let (id, want) = (flow["id"].as_f64().unwrap(), flow["completed"].as_u64().unwrap());
        assert_eq!(completed(id) as u64, want, "{id}");
    }
    // Without end: neither size nor end.
    assert_eq!((of("bulk", "flow"), of("bulk", "start_s")), (&[4.0][..], &[2.0][..]));
    assert!(of("bulk", "bytes")[0].is_nan() && of("bulk", "end_s")[0].is_nan());
    assert_eq!((of("file", "start_s"), of("file", "bytes")), (&[3.0][..], &[100e3][..]));
    assert_eq!(of("file", "duration_s")[0], number(&summary, "classes/file/mean_completion_s"));
}

#[test]
fn what_is_kept_changes_nothing_and_is_made_on_request_only() {
    let with = tree(json!([{ "name": "web", "kind": "web", "flows": 2 }]));
    let mut without = with.clone();
    without.as_object_mut().unwrap().remove("tables");
    let ((kept, tables), (plain, fewer)) = (run(&with), run(&without));
    assert_eq!(kept, plain);
    let names = |tables: &[Table]| tables.iter().map(|table| table.name).collect::<Vec<_>>();
    let usual = ["queue", "queue_delay", "queue", "queue_delay", "class", "delay"];
    assert_eq!(names(&fewer), usual);
    assert_eq!(names(&tables)[usual.len()..], ["flow_series", "transfers"]);
    let identity = |tree| scenario(tree).identity().unwrap();
    assert_eq!(identity(&with), identity(&without));
    let effective = scenario(&with).effective().unwrap();
    assert_eq!(effective["tables"], json!(["flow_series", "transfers"]));
}

#[test]
fn series_of_too_many_flows_are_refused() {
    let mut tree = tree(json!([{ "name": "web", "kind": "web", "flows": 100_000 }]));
    tree["sample"] = json!("10ms");
    let base = Path::new("");
    let read = |tree: &Value| Scenario::read(tree, base, &Registry::builtin().into());
    let error = read(&tree).err().expect("it does not fit").to_string();
    assert!(error.starts_with("tables: 2000 points of 100000 flows would bring"), "{error}");
    tree["tables"] = json!(["transfers"]);
    assert!(read(&tree).is_ok());
    tree["tables"] = json!(["transfer"]);
    let error = read(&tree).err().expect("it is unknown").to_string();
    assert!(error.starts_with("tables[0]") && error.contains("transfers"), "{error}");
}
