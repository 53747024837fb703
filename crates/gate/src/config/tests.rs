use super::*;
use forebay_core::{Discipline, Named};
use forebay_disciplines::Disciplines;
use forebay_disciplines::admit::TailDropParams as FifoParams;
use forebay_disciplines::kinds::Fifo;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, &Parts::builtin())
}

const LEAST: &str = "link = {}\nio = { inside = \"a\", outside = \"b\" }\n";

/// A discipline that is not forebay's own.
struct Mine;

impl Named for Mine {
    type Family = dyn Discipline;
    const NAME: &'static str = "mine";
    const SUMMARY: &'static str = "a discipline of another program";
    const SOURCE: &'static str = "this test";
    type Params = FifoParams;

    fn build(params: &FifoParams, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Fifo::build(params, setting)
    }
}

#[test]
fn a_program_hands_its_own_disciplines_to_its_gate() {
    let text =
        LEAST.replace("{}", "{ rate = \"1Mbit\", queue = { kind = \"mine\", limit = \"9p\" } }");
    let parts = Parts::new(Disciplines::builtin().with::<Mine>(), forebay_middlebox::builtin());
    let config = Config::parse(&text, &parts).unwrap();
    assert!(config.link.plan(&config.parts).unwrap().is_some());
    let error = parse(&text).unwrap_err().to_string();
    assert!(error.contains("mine"), "{error}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let config = |more: &str| parse(&format!("{more}\n{LEAST}"));
    config("").unwrap();
    for (more, expected) in [
        ("metrics = \"0.0.0.0:9101\"", "metrics: must be on the loopback"),
        (
            "metrics = \"9101\"",
            "metrics: expected an address and a port, such as \"127.0.0.1:9101\", got \"9101\"",
        ),
        ("other = \"drop\"", "other: expected \"pass\" or a QoS class"),
        ("colour = 1", "colour: unknown field"),
        ("rule = [{ name = \"a\", drop_precedence = 8 }]", "rule[0].drop_precedence: must be"),
        ("rule = [{ name = \"a\" }, { name = \"a\" }]", "rule[1].name: two rules"),
        ("rule = [{ name = \"a\", port = [70000] }]", "rule[0].port[0]: expected a port"),
        ("rule = [{ name = \"a\", port = [\"9-3\"] }]", "rule[0].port[0]: expected a port"),
        ("rule = [{ name = \"a\", protocol = \"sctp!\" }]", "rule[0].protocol: expected"),
        ("rule = [{ name = \"a\", source = [\"10.0.0.0/40\"] }]", "rule[0].source[0]:"),
        ("rule = [{ name = \"a\", dscp = [\"gold\"] }]", "rule[0].dscp[0]: unknown DSCP"),
        (
            "rule = [{ name = \"a\", min_size = \"9B\", max_size = \"5B\" }]",
            "rule[0].max_size: must not be below",
        ),
    ] {
        let error = config(more).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{more}: {error}");
    }
    for (link, expected) in [
        ("rate = \"10Mbit\"", "link.queue: is missing"),
        ("queue = { kind = \"fifo\" }", "link.rate: is missing"),
        ("rate = \"0bit\", queue = { kind = \"fifo\" }", "link.rate: must be greater"),
        ("rate = inf, queue = { kind = \"fifo\" }", "link.rate: must be a finite number"),
        ("mtu = \"10KB\"", "link.mtu: must be"),
        ("rate = \"1Mbit\", queue = { kind = \"fiffo\" }", "link.queue.kind: unknown kind"),
        (
            "reverse = { rate = \"1Mbit\", queue = { kind = \"codel\", target = \"-1ms\" } }",
            "link.reverse.queue.target: must not be negative",
        ),
    ] {
        let io = LEAST.lines().nth(1).unwrap();
        let error = parse(&format!("link = {{ {link} }}\n{io}")).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{link}: {error}");
    }
}

#[test]
fn what_several_cores_cannot_do_is_refused() {
    let config = |link: &str, io: &str| {
        parse(&format!("link = {{ {link} }}\nio = {{ inside = \"a\", outside = \"b\", {io} }}\n"))
    };
    config("", "cores = 1").unwrap();
    for (io, expected) in [
        ("cores = 0", "io.cores: must be 1 to 64, got 0"),
        ("cores = 2", "io.cores: must be 1 without `subscribers`"),
        ("cores = 65", "io.cores: must be at most 64, got 65"),
        ("buffers = 99999999999", "io.buffers: must be at most 1048576, got 99999999999"),
        ("buffers = -1", "io.buffers: must be a whole number, 0 or more, got -1"),
        ("cores = 2, buffers = 511", "io.buffers: must be 512 to"),
    ] {
        let error = config("", io).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{io}: {error}");
    }
    let folder = std::env::temp_dir().join(format!("forebay-cores-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let devices = "Circuit ID,Parent Node,Download Max Mbps,Upload Max Mbps\n1,,5,5\n2,,5,5\n";
    std::fs::write(folder.join("devices.csv"), devices).unwrap();
    let shared = |link: &str, io: &str| {
        let text = format!(
            "link = {{ rate = \"9Mbit\", reverse = {{ rate = \"9Mbit\" }}, {link} }}\n\
             io = {{ inside = \"a\", outside = \"b\", cores = 2, {io} }}\n\
             subscribers = {{ devices = \"devices.csv\" }}\n"
        );
        Config::parse_in(&folder, &text, &Parts::builtin())
    };
    let known = shared("", "backend = \"xdp\"").unwrap().known.unwrap();
    assert_eq!([1, 2].map(|circuit| known.leaf(circuit)), [Some((0, 1)), Some((1, 1))]);
    assert_eq!(known.leaf(0), None);
    assert_eq!(known.notes()[2], "circuits on each core: 1, 1; nodes that cores share: none");
    for (link, io, expected) in [
        ("", "", "io.cores: must be 1 with the back end \"tun\""),
        ("box = { kind = \"aspq\" }", "backend = \"packet\"", "io.cores: must be 1 with a box"),
    ] {
        let error = shared(link, io).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_class_is_a_scenario_s_q_under_either_name() {
    let marks = |rule: &str| {
        let text = format!("rule = [{{ name = \"a\", {rule} }}]\ndefault = {{ {rule} }}\n{LEAST}");
        parse(&text).map(|config| (config.rule[0].marks(), config.fallback))
    };
    let five = Marks { q: 5, ..Marks::default() };
    assert_eq!(marks("q = 5").unwrap(), (five, five));
    assert_eq!(marks("class = 5").unwrap(), (five, five));
    let error = marks("q = 5, class = 5").unwrap_err().to_string();
    assert!(error.contains("duplicate field `q`"), "{error}");
    let effective = serde_json::to_value(parse(LEAST).unwrap()).unwrap();
    assert_eq!(effective["default"]["q"], 0);
}

#[test]
fn the_effective_configuration_is_one_in_its_own_right() {
    let text = r#"
        other = 2
        [link]
        rate = "10Mbit"
        overhead = "ethernet"
        queue = { kind = "codel" }
        delay = "5ms"
        [io]
        inside = { name = "a", netns = "left" }
        outside = "b"
        [[rule]]
        name = "voice"
        dscp = ["EF", 44]
        protocol = "udp"
        port = [5060, "16384-32767"]
        source = ["10.0.0.0/8"]
        max_size = "200B"
        q = 1
    "#;
    let effective = parse(text).unwrap().effective().unwrap();
    let queue = effective.link.queue.as_ref().unwrap();
    assert_eq!(queue["target"], "5ms");
    let written = toml::to_string(&serde_json::to_value(&effective).unwrap()).unwrap();
    assert_eq!(parse(&written).unwrap(), effective);
}
