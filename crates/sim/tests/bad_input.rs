//! One clear message with the path and the remedy.

use flate2::{Compression, write::GzEncoder};
use forebay_sim::{Registry, Scenario, scenario};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

fn good() -> Value {
    json!({
        "duration": "10s",
        "link": [{
            "name": "uplink", "from": "a", "to": "b", "rate": "10Mbit",
            "queue": { "kind": "codel" },
        }],
        "traffic": [{ "name": "bulk", "kind": "bulk", "from": "a", "to": "b" }],
    })
}

fn refusal(tree: &Value) -> String {
    let checked = Scenario::read(tree, Path::new("."), &Registry::builtin().into())
        .and_then(|scenario| scenario.effective());
    checked.err().map(|error| error.to_string()).unwrap_or_else(|| panic!("accepted: {tree:#}"))
}

/// Sets the value at a JSON pointer, whose parent exists.
fn with(pointer: &str, value: Value) -> Value {
    let mut tree = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match tree.pointer_mut(parent).unwrap() {
        Value::Object(object) => drop(object.insert(key.to_owned(), value)),
        other => panic!("{parent} is {other}"),
    }
    tree
}

#[test]
fn the_good_one_is_good() {
    Scenario::read(&good(), Path::new("."), &Registry::builtin().into())
        .unwrap()
        .effective()
        .unwrap();
}

#[test]
fn every_fault_has_its_path_and_remedy() {
    for (pointer, value, path, remedy) in [
        ("/duration", json!("0s"), "duration:", "greater than 0"),
        ("/duration", json!(10), "duration:", "\"5ms\""),
        ("/duration", json!("10"), "duration:", "has no unit"),
        ("/duration", json!("10 parsecs"), "duration:", "units: ns, us, ms, s"),
        ("/warmup", json!("10s"), "warmup:", "below the duration"),
        ("/durration", json!("10s"), "durration", "unknown field"),
        ("/sample", json!("0s"), "sample:", "greater than 0"),
        ("/traffic", json!([]), "traffic:", "[[traffic]]"),
        ("/link", json!([]), "link:", "[dumbbell]"),
        ("/link/0/rate", json!("0bit"), "link[0].rate:", "greater than 0"),
        ("/link/0/rate", json!("10Mbps"), "link[0].rate:", "Mbit"),
        ("/link/0/rate", json!("-1Mbit"), "link[0].rate:", "negative"),
        ("/link/0/to", json!("a"), "link[0].to:", "differ"),
        ("/link/0/loss", json!(1.5), "link[0].loss:", "0 to 1"),
        (
            "/link/0/loss",
            json!({ "steps": [["0s", 0.1], ["1s", -0.1]] }),
            "link[0].loss.steps:",
            "0 to 1",
        ),
        ("/link/0/loss", json!({ "steps": [["1s", 0.1]] }), "link[0].loss.steps:", "\"0s\""),
        (
            "/link/0/reorder",
            json!({ "share": 2.0, "delay": "1ms" }),
            "link[0].reorder.share:",
            "0 to 1",
        ),
        (
            "/link/0/reorder",
            json!({ "share": 0.1, "delay": "0s" }),
            "link[0].reorder.delay:",
            "greater than 0",
        ),
        ("/link/0/reorder", json!({ "share": 0.1 }), "link[0]", "delay"),
        (
            "/link/0/police",
            json!({ "rate": "0bit", "burst": "2KB" }),
            "link[0].police.rate:",
            "greater than 0",
        ),
        (
            "/link/0/police",
            json!({ "rate": "1Mbit", "burst": "1KB" }),
            "link[0].police.burst:",
            "mtu",
        ),
        ("/link/0/remark", json!({}), "link[0].remark:", "must name a codepoint"),
        ("/link/0/remark", json!({ "ect2": "ce" }), "link[0]", "ect2"),
        ("/link/0/remark", json!({ "ect1": "ect" }), "link[0]", "not-ect"),
        ("/link/0/overhead", json!("atm"), "link[0].overhead:", "ethernet"),
        (
            "/link/0/rate",
            json!({ "steps": [["0s", "0bit"]] }),
            "link[0].rate.steps:",
            "a rate greater",
        ),
        (
            "/link/0/rate",
            json!({ "draw": ["0bit"], "every": "1s" }),
            "link[0].rate.draw:",
            "greater",
        ),
        ("/link/0/rate", json!({ "steps": [], "draw": [] }), "link[0].rate:", "give one of"),
        (
            "/link/0/rate",
            json!({ "trace": "x", "quantum": "4294967296B" }),
            "link[0].rate.quantum:",
            "at most 1GB",
        ),
        ("/link/0/box", json!("aspq"), "link[0].box:", "{ kind = \"aspq\" }"),
        ("/link/0/box", json!({}), "link[0].box.kind:", "one of aspq, none"),
        ("/link/0/box", json!({"kind": "asqp"}), "link[0].box.kind:", "one of aspq, none"),
        ("/link/0/box", json!({"kind": "none", "a": 1}), "link[0].box.a:", "there is none"),
        ("/link/0/box", json!({"kind": "aspq", "a": 1}), "link[0].box.a:", "unknown field"),
        ("/link/0/box", json!({"kind": "aspq", "max_flows": 0}), "link[0].box.max_flows:", "1 to"),
        (
            "/link/0/box",
            json!({"kind": "aspq", "freeze": "half"}),
            "link[0].box.freeze:",
            "when-full",
        ),
        (
            "/link/0/box",
            json!({"kind": "aspq", "priority": {"dscp": [["EE"]]}}),
            "link[0].box",
            "EF",
        ),
        ("/link/0/queue", json!("codel"), "link[0].queue:", "kind = "),
        ("/link/0/queue/target", json!("-5ms"), "link[0].queue.target:", "negative"),
        ("/link/0/queue/targett", json!("5ms"), "link[0].queue.targett", "unknown field"),
        ("/link/0/queue/kind", json!("kodel"), "link[0].queue.kind:", "codel"),
        ("/link/0/queue/limit", json!("0p"), "link[0].queue.limit:", "0"),
        ("/link/0/reverse", json!({ "name": "x" }), "link[0].reverse.name:", "cannot be set"),
        ("/link/0/reverse", json!({ "rate": "0bit" }), "link[0].reverse.rate:", "greater than 0"),
        ("/traffic/0/kind", json!("bulkk"), "traffic[0].kind:", "bulk"),
        ("/traffic/0/to", json!("z"), "traffic[0].to:", "nodes are: a, b"),
        ("/traffic/0/flows", json!(0), "traffic[0].flows:", "1 to"),
        ("/traffic/0/start", json!(["5s", "1s"]), "traffic[0].start:", "before the first"),
        ("/traffic/0/ecn", json!("ect1"), "traffic[0].ecn:", "tcp.ecn"),
        ("/traffic/0/dscp", json!("GOLD"), "traffic[0].dscp:", "AF41"),
        ("/traffic/0/rate", json!("1Mbit"), "traffic[0].rate", "unknown field"),
        ("/traffic/0/tcp", json!({ "congestion": "vegas" }), "traffic[0].tcp.congestion:", "cubic"),
        ("/traffic/0/profile", json!("gold"), "traffic[0].profile:", "[profile.gold]"),
        ("/profile", json!({ "gold": { "kind": "tws" } }), "profile.gold.kind:", "tsw"),
        ("/profile", json!({ "gold": { "kind": "tsw" } }), "profile.gold:", "rate"),
        ("/profile", json!({ "g": { "kind": "tsw", "per": "user" } }), "profile.g.per:", "flow"),
        ("/compare", json!({ "link": "up", "disciplines": [] }), "compare.link:", "uplink"),
        ("/traffic/0/flow", json!(2), "traffic[0].flow:", "did you mean \"flows\"?"),
        ("/traffic/0/kind", json!("bluk"), "traffic[0].kind:", "did you mean \"bulk\"?"),
        ("/link/0/queue/kind", json!("kodel"), "link[0].queue.kind:", "did you mean \"codel\"?"),
        ("/link/0/dealy", json!("5ms"), "link[0].dealy:", "did you mean \"delay\"?"),
        ("/link/0/box", json!({ "kind": "apsq" }), "link[0].box.kind:", "did you mean \"aspq\"?"),
        ("/profile", json!({ "g": { "kind": "cra" } }), "profile.g.kind:", "did you mean \"car\"?"),
        ("/traffic/0/tcp", json!({ "congestion": "cubik" }), "traffic[0].tcp.", "mean \"cubic\"?"),
        ("/traffic/0/direction", json!("reverse"), "traffic[0].direction:", "with `from`"),
        ("/traffic/0/hop", json!(1), "traffic[0].hop:", "combined with `from` and `to`"),
        ("/route", json!([{ "at": "a", "to": "b", "link": "x" }]), "route[0].link:", "no link"),
    ] {
        let message = refusal(&with(pointer, value.clone()));
        assert!(message.starts_with(path), "{pointer} = {value}: {message}");
        assert!(message.contains(remedy), "{pointer} = {value}: {message}");
    }
}

#[test]
fn errors_of_tcp_are_at_the_table_that_has_the_field() {
    for (all, own, start, end) in [
        (json!({ "recovery": "foo" }), json!({}), "tcp.recovery: ", "sack"),
        (json!({ "recovery": "foo" }), json!({ "mtu": "1000B" }), "tcp.recovery: ", "sack"),
        (json!({ "mtu": "1000B" }), json!({ "recovery": "foo" }), "traffic[0].tcp.recovery: ", ""),
        (json!({ "recovery": true }), json!({}), "tcp.recovery: must be one of reno, new-", "true"),
        (json!({ "stack": "linux-2.6" }), json!({}), "tcp.stack.kind: ", "write \"linux-2.6.26\""),
        (
            json!({ "stack": { "kind": "ns-2", "tick": "0s" } }),
            json!({ "mtu": "1000B" }),
            "tcp.stack.tick: ",
            "",
        ),
        (json!({ "congestion": "dctcp" }), json!({ "ecn": false }), "tcp.congestion: ", "true"),
        // What nobody wrote can be written in either.
        (json!({ "stack": "ns-3.18" }), json!({}), "tcp.recovery: ", "or another `recovery`"),
        (json!({}), json!({ "stack": "ns-3.18" }), "traffic[0].tcp.recovery: ", "`recovery`"),
    ] {
        let mut tree = with("/tcp", all);
        tree["traffic"][0]["tcp"] = own;
        let message = refusal(&tree);
        assert!(message.starts_with(start) && message.ends_with(end), "{message}");
    }
}

#[test]
fn faults_of_courses_are_named() {
    let folder = std::env::temp_dir().join(format!("fb-course-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (empty, two) = (folder.join("empty"), folder.join("two"));
    std::fs::write(&empty, "\n").unwrap();
    std::fs::write(&two, "0s 0\n1s 0.1\n").unwrap();
    let empty = json!({ "trace": empty });
    for (field, value, start, end) in [
        (
            "rate",
            json!({ "steps": [["0s"]] }),
            "rate.steps[0]: must be a time and a value",
            "a list of 1",
        ),
        ("loss", json!({ "trace": two, "period": "0s" }), "loss.period: must be later", "at 1s"),
        (
            "rate",
            empty.clone(),
            "rate.trace: ",
            "empty: is empty; it needs a line for each opportunity to send",
        ),
        (
            "delay",
            empty.clone(),
            "delay.trace: ",
            "is empty; it needs lines with a time and a value",
        ),
        ("loss", empty, "loss.trace: ", "is empty; it needs lines with a time and a value"),
    ] {
        let message = refusal(&with(&format!("/link/0/{field}"), value));
        let found = message.starts_with(&format!("link[0].{start}")) && message.ends_with(end);
        assert!(found, "{message}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_source_s_own_fields_are_suggested_too() {
    let mut tree = good();
    tree["traffic"][0] = json!({ "kind": "cbr", "from": "a", "to": "b", "rat": "1Mbit" });
    let message = refusal(&tree);
    assert!(message.starts_with("traffic[0].rat: unknown field \"rat\" (did you mean \"rate\"?)"));
    assert!(message.contains("flows") && message.contains("size"), "{message}");
}

#[test]
fn faults_of_a_parking_lot_s_hops_are_named() {
    for (lot, path, remedy) in [
        (json!({ "hop": { "3": {} } }), "parking_lot.hop.3:", "the hops are 1 to 2"),
        (json!({ "hop": { "02": {} } }), "parking_lot.hop.02:", "no such hop"),
        (json!({ "hops": 1, "hop": { "x": {} } }), "parking_lot.hop.x:", "the hops are 1"),
        (json!({ "hop": { "2": { "name": "x" } } }), "parking_lot.hop.2.name:", "not allowed here"),
        (json!({ "hop": { "2": { "rate": "0bit" } } }), "parking_lot.hop.2.rate:", "greater"),
        (
            json!({ "hop": { "2": { "queue": { "kind": "codel", "target": "-1ms" } } } }),
            "parking_lot.hop.2.queue.target:",
            "negative",
        ),
        (json!({ "queue": { "kind": "kodel" } }), "parking_lot.queue.kind:", "codel"),
        (
            json!({ "hop": { "2": { "reverse": { "loss": 2 } } } }),
            "parking_lot.hop.2.rev",
            "0 to 1",
        ),
        (json!({ "hop": [1] }), "parking_lot.hop:", "must be a table"),
    ] {
        let mut table = json!({ "rate": "10Mbit" });
        table.as_object_mut().unwrap().extend(lot.as_object().unwrap().clone());
        let message = refusal(&json!({
            "duration": "10s", "parking_lot": table, "traffic": [{ "kind": "bulk" }],
        }));
        assert!(message.starts_with(path) && message.contains(remedy), "{lot}: {message}");
    }
}

#[test]
fn two_links_never_record_in_one_file() {
    let mut tree = good();
    tree["link"][0]["pcap"] = json!("out.pcap");
    tree["link"][0]["reverse"] = json!({ "pcap": "./out.pcap" });
    let message = refusal(&tree);
    assert!(message.starts_with("link[0].reverse.pcap: "), "{message}");
    assert!(message.contains("already the file of link \"uplink\""), "{message}");
}

#[test]
fn a_link_records_in_no_file_that_is_read() {
    let folder = std::env::temp_dir().join(format!("forebay-read-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("in.pcap"), "a capture").unwrap();
    let mut tree = good();
    tree["link"][0]["pcap"] = json!(folder.join("in.pcap"));
    tree["traffic"][0] = json!({ "kind": "pcap", "file": "in.pcap" });
    let read = Scenario::read(&tree, &folder, &Registry::builtin().into());
    let message = read.err().unwrap().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(message.starts_with("link[0].pcap: "), "{message}");
    assert!(message.contains("is read by the scenario"), "{message}");
}

#[test]
fn messages_show_the_part_of_a_line_that_is_wrong() {
    let long = format!("x = \"{}\n", "y".repeat(200_000));
    let message = scenario::parse(&long).unwrap_err().to_string();
    assert!(message.len() < 500 && message.contains("column 200006"), "{message}");
    for deep in [format!("x = {}", "[".repeat(200_000)), format!("a{} = 1", ".a".repeat(100_000))] {
        assert_eq!(scenario::parse(&deep).unwrap_err().to_string(), "is nested too deeply");
    }
}

#[test]
fn numbers_of_queues_are_checked_before_anything_is_filled_in() {
    for kind in ["drr", "prio", "wrr"] {
        let classify = json!({ "kind": "class", "queues": u64::MAX });
        let message =
            refusal(&with("/link/0/queue", json!({ "kind": kind, "classify": classify })));
        assert!(
            message.starts_with("link[0].queue.classify.queues: must be 1 to 256"),
            "{message}"
        );
    }
}

#[test]
fn unordered_thresholds_and_missing_files_are_named() {
    let queue = json!({ "kind": "red", "min_th": "40p", "max_th": "20p" });
    let message = refusal(&with("/link/0/queue", queue));
    assert!(message.starts_with("link[0].queue.m"), "{message}");
    let trace = json!({ "name": "x", "from": "a", "to": "b", "rate": { "trace": "none.trace" } });
    let mut tree = good();
    tree["link"][0] = trace;
    let message = refusal(&tree);
    assert!(
        message.starts_with("link[0].rate.trace: ") && message.contains("none.trace"),
        "{message}"
    );
    let mut tree = good();
    tree["traffic"][0] = json!({ "kind": "pcap", "file": "none.pcap", "from": "a", "to": "b" });
    let message = refusal(&tree);
    assert!(message.starts_with("traffic[0].file: ") && message.contains("none.pcap"), "{message}");
}

#[test]
fn fields_of_earlier_versions_say_what_to_write() {
    let steps = json!([["0s", "10Mbit"], ["5s", "2Mbit"]]);
    for (fields, expected) in [
        (
            json!({ "steps": steps, "period": "10s" }),
            "link[0].steps: is no field of a link any more; write `rate = { steps = [[\"0s\", \
             \"10Mbit\"], [\"5s\", \"2Mbit\"]], period = \"10s\" }`",
        ),
        (
            json!({ "delays": [["0s", "1ms"]] }),
            "link[0].delays: is no field of a link any more; write `delay = { steps = [[\"0s\", \
             \"1ms\"]] }`",
        ),
        (
            json!({ "losses": [["0s", 0.1]] }),
            "link[0].losses: is no field of a link any more; write `loss = { steps = [[\"0s\", \
             0.1]] }`",
        ),
        (
            json!({ "trace": "a.trace", "quantum": "1KB" }),
            "link[0].trace: is no field of a link any more; write `rate = { trace = \"a.trace\", \
             quantum = \"1KB\" }`",
        ),
        (
            json!({ "draw": { "every": "1s", "rates": ["1Mbit"], "delays": ["1ms"] } }),
            "link[0].draw: is no field of a link any more; write `rate = { draw = [\"1Mbit\"], \
             every = \"1s\" }` and `delay = { draw = [\"1ms\"], every = \"1s\" }`",
        ),
    ] {
        let mut tree = good();
        let link = tree["link"][0].as_object_mut().unwrap();
        link.extend(fields.as_object().unwrap().clone());
        assert_eq!(refusal(&tree), expected);
    }
    let message = refusal(&with("/link/0/reverse", json!({ "steps": steps })));
    assert!(message.starts_with("link[0].reverse.steps: is no field of a link"), "{message}");
}

/// Opening a FIFO would block, a device never ends, and a file may have any size.
#[cfg(unix)]
#[test]
fn traces_and_captures_are_regular_files_of_a_size() {
    let folder = std::env::temp_dir().join(format!("fb-bad-input-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (fifo, huge) = (folder.join("fifo"), folder.join("huge"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Sparse: it takes no room.
    std::fs::File::create(&huge).unwrap().set_len(3 << 30).unwrap();
    let (cut, bomb) = (folder.join("cut.gz"), folder.join("bomb.gz"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&vec![0; 1 << 20]).unwrap();
    let packed = packed.finish().unwrap();
    std::fs::write(&cut, &packed[..packed.len() / 2]).unwrap();
    // One gzip file after the other is a gzip file: 65 kB that hold 65 MiB.
    std::fs::write(&bomb, packed.repeat(65)).unwrap();
    for (file, expected) in [
        (fifo.to_str().unwrap(), "is a FIFO; it must be a regular file"),
        ("/dev/zero", "is a device; it must be a regular file"),
        (huge.to_str().unwrap(), "is larger than "),
        (cut.to_str().unwrap(), "is a gzip file that is cut off or damaged"),
    ] {
        let mut tree = good();
        tree["traffic"][0] = json!({ "kind": "pcap", "file": file, "from": "a", "to": "b" });
        let message = refusal(&tree);
        assert!(
            message.starts_with("traffic[0].file: ") && message.contains(expected),
            "{message}"
        );
        let message = refusal(&with("/link/0/rate", json!({ "trace": file })));
        assert!(
            message.starts_with("link[0].rate.trace: ") && message.contains(expected),
            "{message}"
        );
        assert!(message.contains(file), "{message}");
    }
    let message = refusal(&with("/link/0/rate", json!({ "trace": bomb })));
    let expected = format!("{}: is larger than 64 MiB unpacked, the most", bomb.display());
    assert!(message.contains(&expected), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_memory_cannot_hold_is_refused() {
    let mut tree = good();
    tree["traffic"][0]["flows"] = json!(10_000_000);
    assert_eq!(
        refusal(&tree),
        "traffic[0].flows: 10000000 flows would bring the run to 25.0 GB of memory, and it may \
         take 4 GB; give fewer"
    );
    let message = refusal(&with("/sample", json!("1ns")));
    assert!(message.starts_with("sample: 10000000000 points of the time series"), "{message}");
    let mut tree = good();
    tree["link"][0]["delay"] = json!({ "draw": ["1ms", "2ms"], "every": "1ns" });
    let message = refusal(&tree);
    assert!(message.starts_with("link[0].delay.every: 10000000000 draws"), "{message}");
    // Each alone would do.
    let mut tree = good();
    let entry = json!({ "kind": "bulk", "from": "a", "to": "b", "flows": 1_000_000 });
    tree["traffic"] = json!([entry, entry, entry]);
    for (index, name) in ["x", "y", "z"].iter().enumerate() {
        tree["traffic"][index]["name"] = json!(name);
    }
    assert!(refusal(&tree).starts_with("traffic[1].flows: 1000000 flows would bring"));
}

#[test]
fn extremes_that_can_run_are_accepted() {
    let mut tree = good();
    tree["duration"] = json!("1us");
    let most = "9223372036Gbit";
    // Three such rates are more than 64 bits hold; and a second of such draws more than memory.
    let draw = json!({ "draw": [most, most, most], "every": "1ns" });
    tree["link"][0] = json!({ "name": "uplink", "from": "a", "to": "b", "rate": draw });
    let scenario = Scenario::read(&tree, Path::new("."), &Registry::builtin().into()).unwrap();
    scenario.effective().unwrap();
}

#[test]
fn text_that_is_not_toml_says_where() {
    let error = scenario::parse("duration = \"10s\"\nlink = [").unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    for (text, place) in [
        ("duration = inf", "duration"),
        ("[[link]]\nrate = -inf", "link[0].rate"),
        ("[profile.office]\nsize = [1.0, [nan]]", "profile.office.size[1][0]"),
    ] {
        let error = scenario::parse(text).unwrap_err().to_string();
        assert_eq!(error, format!("{place}: must be a finite number"));
    }
}

#[test]
fn the_effective_configuration_is_a_scenario_that_says_the_same() {
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples"));
    let mut trees: Vec<Value> = ["branch-uplink.toml", "cellular.toml"]
        .iter()
        .map(|name| {
            scenario::parse(&std::fs::read_to_string(examples.join(name)).unwrap()).unwrap()
        })
        .collect();
    trees.push(good());
    trees.push(json!({
        "duration": "10s",
        "parking_lot": {
            "box": { "kind": "aspq", "priority": { "ports": [[443]] }, "trickle": "150ms" },
            "hops": 3, "rate": { "steps": [["0s", "10Mbit"], ["2s", "5Mbit"]], "period": "4s" },
            "queue": { "kind": "red" }, "reverse": { "rate": "1Mbit", "delay": "7ms" },
        },
        "tcp": { "preset": "ns-3", "ecn": true },
        "traffic": [{ "kind": "bulk", "start": ["0s", "1s"] }, { "kind": "voice", "hop": 2 }],
    }));
    for tree in trees {
        let effective = Scenario::read(&tree, examples, &Registry::builtin().into())
            .unwrap()
            .effective()
            .unwrap();
        let again = Scenario::read(&effective, examples, &Registry::builtin().into())
            .and_then(|scenario| scenario.effective())
            .unwrap_or_else(|error| panic!("{error}\n{effective:#}"));
        assert_eq!(again, effective);
        let run = |tree: &Value| {
            let mut world = Scenario::read(tree, examples, &Registry::builtin().into())
                .unwrap()
                .world(1)
                .unwrap();
            world.advance(20_000).unwrap();
            world.counts()
        };
        assert_eq!(run(&tree), run(&effective));
    }
}

#[test]
fn faults_of_wireless_networks_are_named() {
    let network = |wireless: Value, from: &str| {
        let mut tree = good();
        tree["wireless"] = wireless;
        tree["traffic"][0]["from"] = json!(from);
        tree
    };
    let grid = json!({ "name": "grid", "rows": 2, "columns": 2, "spacing": 100 });
    let base = json!({ "name": "a", "at": [0, 0] });
    let good = network(json!({ "node": [base], "grid": [grid] }), "grid");
    Scenario::read(&good, Path::new("."), &Registry::builtin().into())
        .unwrap()
        .effective()
        .unwrap();
    let changed = |pointer: &str, value: Value| {
        let mut tree = good.clone();
        *tree.pointer_mut(pointer).unwrap() = value;
        tree
    };
    let twice = json!([base, base]);
    for (tree, path, remedy) in [
        (changed("/wireless/grid/0/rows", json!(0)), "wireless.grid[0]:", "at least one row"),
        (
            changed("/wireless/grid/0/spacing", json!(-5)),
            "wireless.grid[0].spacing:",
            "greater than 0",
        ),
        (changed("/wireless/grid/0/columns", json!(900)), "wireless.grid[0]:", "at most 1000"),
        (changed("/wireless/node", twice), "wireless.node:", "names must be unique"),
        (changed("/wireless/node/0/at", Value::Null), "wireless.node[0].at:", "either"),
        (network(json!({ "node": [base] }), "a"), "wireless:", "at least two stations"),
        (network(json!({ "nodes": [] }), "a"), "wireless", "unknown field"),
        (changed("/traffic/0/from", json!("grid-3-1")), "traffic[0].from:", "grid-2-2"),
        (changed("/wireless/grid/0", json!({ "name": "grid" })), "wireless.grid[0]", "rows"),
    ] {
        let message = refusal(&tree);
        let found = message.starts_with(path) && message.contains(remedy);
        assert!(found, "{message}");
    }
    let table = json!({ "node": [base], "grid": [grid], "queue": { "kind": "codle" } });
    assert!(refusal(&network(table, "grid")).starts_with("wireless.queue.kind:"));
    let table = json!({ "node": [base], "grid": [grid], "radio": { "capture": 0.5 } });
    assert!(refusal(&network(table, "grid")).starts_with("wireless.radio.capture:"));
    let mut tree = good.clone();
    tree["traffic"][0] = json!({ "kind": "sensing", "from": "b", "to": "a" });
    assert!(refusal(&tree).starts_with("traffic[0].from: must be a station"));
}
