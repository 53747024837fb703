//! Plug-ins: what comes back over the interface is what went in; examples; faults by name.

use forebay::{Disciplines, Exports, import};
use forebay_conformance::{Arrival, Fate, Manner, SETTING, adversarial, check, run};
use forebay_core::{Backlog, Conduct, ConfigError, Context, Discipline, DropReason, Ecn, Entry};
use forebay_core::{Named, Packet, Rate, Rng, Setting, Sink, Time, Verdict, Wake};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The built-in kinds, out through the interface and in again.
fn there_and_back() -> Vec<Entry<dyn Discipline>> {
    let kinds = Disciplines::builtin().every_kind();
    let exports = Box::leak(Box::new(Exports::of(&kinds)));
    // SAFETY: these are structs of the interface that live as long as the process.
    (0..kinds.iter().len() as u32)
        .map(|index| unsafe { import(exports.get(index), "test") }.unwrap())
        .collect()
}

fn fates(entry: &Entry<dyn Discipline>, block: &Value, arrivals: &[Arrival]) -> Vec<Fate> {
    let mut queue = entry.build(block, &SETTING).unwrap();
    run(&mut *queue, arrivals, Conduct::REORDERS, Manner::Plain).unwrap()
}

/// The shared library of the example in Rust, which Cargo puts beside this test.
fn codel() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.with_file_name(format!(
        "{}codel_plugin{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ))
}

/// The shared library made of C.
fn compiled(source: &Path, name: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let done = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O2", "-I"])
        .arg(include)
        .arg("-o")
        .args([&out, source])
        .status()
        .expect("a C compiler is there, as Rust's linker");
    assert!(done.success());
    out
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name)
}

/// A plug-in that is written for these tests.
fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// A discipline with the random stream that it has behind the interface: one of its own, begun with
/// the port's at the first call.
struct Reseeded {
    inner: Box<dyn Discipline>,
    rng: Option<Rng>,
}

/// Hands drops and marks on.
struct Through<'a, 'b>(&'a mut Context<'b>);

impl Sink for Through<'_, '_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.0.drop(packet, reason);
    }
    fn marked(&mut self, packet: &Packet) {
        let mut copy = Packet::new(packet.id, packet.flow, packet.len);
        copy.set_ecn(Ecn::Ect0);
        self.0.mark(&mut copy);
        copy.retire();
    }
}

impl Reseeded {
    fn with<T>(
        &mut self,
        cx: &mut Context,
        act: impl FnOnce(&mut dyn Discipline, &mut Context) -> T,
    ) -> T {
        let rng = self.rng.get_or_insert_with(|| Rng::named(cx.rng.next_u64(), "plug-in"));
        act(&mut *self.inner, &mut Context::new(cx.now, rng, &mut Through(cx)))
    }
}

impl Discipline for Reseeded {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        self.with(cx, |inner, cx| inner.enqueue(packet, cx))
    }
    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        self.with(cx, |inner, cx| inner.dequeue(cx))
    }
    fn wake(&self, now: Time) -> Wake {
        self.inner.wake(now)
    }
    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }
    fn set_link_rate(&mut self, now: Time, rate: Rate) {
        self.inner.set_link_rate(now, rate);
    }
}

#[test]
fn every_discipline_does_the_same_behind_the_interface() {
    let builtin = Disciplines::builtin().every_kind();
    for entry in there_and_back() {
        let same = builtin.find(&entry.name).unwrap();
        assert_eq!(
            entry.facts,
            Conduct::USUAL.with_order(same.facts.keeps_order).with_shaping(same.facts.shapes)
        );
        let effective = same.effective(&json!({}), &SETTING).unwrap();
        assert_eq!(entry.effective(&json!({}), &SETTING).unwrap(), effective);
        assert_eq!(entry.fields(), same.fields());
        for (name, arrivals) in adversarial() {
            let inner = same.build(&json!({}), &SETTING).unwrap();
            let mut queue = Reseeded { inner, rng: None };
            let ours = run(&mut queue, &arrivals, Conduct::REORDERS, Manner::Plain).unwrap();
            assert!(ours == fates(&entry, &json!({}), &arrivals), "{} under {name}", entry.name);
        }
    }
}

#[test]
fn the_example_in_rust_is_codel() {
    let kinds = forebay::load(&codel()).unwrap().kinds;
    let [mine] = kinds.as_slice() else { panic!("{kinds:?}") };
    assert_eq!(mine.name, "my-codel");
    check(mine, &json!({})).unwrap();
    let builtin = Disciplines::builtin().every_kind();
    let theirs = builtin.find("codel").unwrap();
    let block = json!({ "limit": "40p", "target": "2ms", "interval": "20ms" });
    for (name, arrivals) in adversarial() {
        assert_eq!(fates(mine, &block, &arrivals), fates(theirs, &block, &arrivals), "{name}");
    }
    let error = mine.build(&json!({ "target": "200ms" }), &SETTING).err().unwrap();
    assert_eq!(error.path, "target");
}

#[test]
fn a_run_with_the_example_has_the_fingerprint_of_one_with_codel() {
    let mut registry = forebay_sim::Registry::builtin();
    for kind in forebay::load(&codel()).unwrap().kinds {
        registry.disciplines.kinds.join(kind).unwrap();
    }
    let registry = std::sync::Arc::new(registry);
    let fingerprint = |kind: &str, target: &str| {
        let tree = json!({
            "duration": "8s",
            "dumbbell": {
                "rate": "10Mbit", "delay": "10ms", "queue": { "kind": kind, "target": target },
            },
            "traffic": [{ "kind": "bulk", "flows": 6 }],
        });
        let scenario = forebay_sim::Scenario::read(&tree, Path::new("."), &registry).unwrap();
        let mut world = scenario.world(1).unwrap();
        while !world.advance(1_000_000).unwrap().complete {}
        forebay_sim::summary(&scenario, 1, &mut world).whole()["fingerprint"].clone()
    };
    assert_eq!(fingerprint("my-codel", "5ms"), fingerprint("codel", "5ms"));
    assert_ne!(fingerprint("my-codel", "4ms"), fingerprint("codel", "5ms"));
}

#[test]
fn the_example_in_c_is_blue() {
    let kinds = forebay::load(&compiled(&example("blue.c"), "libblue.so")).unwrap().kinds;
    let [blue] = kinds.as_slice() else { panic!("{kinds:?}") };
    check(blue, &json!({})).unwrap();
    check(blue, &json!({ "limit": 20, "increment": 0.2, "freeze_time_ms": 1 })).unwrap();
    let refused = |block: Value| blue.build(&block, &SETTING).err().unwrap().to_string();
    assert_eq!(refused(json!({ "increment": 2 })), "increment: must be at most 1, got 2");
    assert!(refused(json!({ "limti": 2 })).contains("did you mean \"limit\"?"));
    assert_eq!(
        refused(json!({ "limit": 2.5 })),
        "limit: expected a value of type integer, got 2.5"
    );

    // Packets, as suites and studies write them.
    let given = blue.effective(&json!({ "limit": "20p" }), &SETTING).unwrap();
    assert_eq!(given["limit"], 20);
    assert!(
        refused(json!({ "limit": "20KB" })).starts_with("limit: expected a value of type integer")
    );

    // Section III: an overflow raises the probability by increment, at most once in freeze_time;
    // an idle link lowers it by decrement.
    let block = json!({ "limit": 2, "increment": 0.25, "decrement": 0.125, "freeze_time_ms": 10 });
    let mut rig = Rig::new(blue.build(&block, &SETTING).unwrap());
    let probability = |rig: &Rig| {
        let mut found = f64::NAN;
        rig.queue.probe(Time::ZERO, &mut |name, value| {
            if name == "drop_probability" {
                found = value;
            }
        });
        found
    };
    for _ in 0..5 {
        rig.offer(20);
    }
    assert_eq!(probability(&rig), 0.25);
    rig.offer(29);
    assert_eq!(probability(&rig), 0.25);
    rig.offer(30);
    assert_eq!(probability(&rig), 0.5);
    rig.take(41);
    assert_eq!(probability(&rig), 0.5);
    rig.take(42);
    assert_eq!(probability(&rig), 0.375);
}

/// A queue, and packets by number at times in ms.
struct Rig {
    queue: Box<dyn Discipline>,
    rng: forebay_core::Rng,
    next: u32,
}

struct Retire;

impl forebay_core::Sink for Retire {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
    }
    fn marked(&mut self, _: &Packet) {}
}

impl Rig {
    fn new(queue: Box<dyn Discipline>) -> Self {
        Rig { queue, rng: forebay_core::Rng::named(1, "rig"), next: 0 }
    }

    fn offer(&mut self, ms: u64) -> Verdict {
        self.next += 1;
        let now = Time::from_nanos(ms * 1_000_000);
        let packet = Packet::new(self.next, 0, 1000);
        self.queue.enqueue(packet, &mut Context::new(now, &mut self.rng, &mut Retire))
    }

    fn take(&mut self, ms: u64) -> Option<u32> {
        let now = Time::from_nanos(ms * 1_000_000);
        let sent = self.queue.dequeue(&mut Context::new(now, &mut self.rng, &mut Retire));
        sent.map(Packet::retire)
    }
}

/// What a broken discipline does at its fifth packet.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Fault {
    #[default]
    Panics,
    Loses,
    Duplicates,
    Reorders,
    Revives,
    Invents,
    Changes,
    Sleeps,
    Dozes,
    Startles,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Params {
    /// The fault.
    fault: Fault,
}

/// A FIFO with a fault.
struct Broken {
    fault: Fault,
    held: Vec<(u32, u32)>,
    count: u32,
    gone: u32,
}

impl Named for Broken {
    type Family = dyn Discipline;
    const NAME: &'static str = "broken";
    const SUMMARY: &'static str = "a FIFO with a fault";
    const SOURCE: &'static str = "none";
    type Params = Params;

    fn build(params: &Params, _: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        Ok(Box::new(Broken { fault: params.fault, held: Vec::new(), count: 0, gone: 0 }))
    }
}

impl Discipline for Broken {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        self.count += 1;
        let (id, len) = (packet.id, packet.len);
        match self.fault {
            Fault::Panics if self.count == 5 => panic!("at the fifth packet"),
            Fault::Loses if self.count == 5 => {
                packet.retire();
                return Verdict::Queued;
            }
            Fault::Revives if self.count == 5 => cx.drop(packet, DropReason::Aqm),
            _ => drop(packet.retire()),
        }
        self.held.push((id, len));
        Verdict::Queued
    }

    fn dequeue(&mut self, _: &mut Context) -> Option<Packet> {
        if self.held.is_empty() || matches!(self.fault, Fault::Sleeps) {
            return None;
        }
        self.gone += 1;
        let (id, len) = match self.fault {
            Fault::Reorders if self.held.len() > 1 => self.held.remove(1),
            Fault::Duplicates if self.gone == 3 => self.held[0],
            Fault::Duplicates if self.gone == 4 => (self.held[0].0 - 1, self.held[0].1),
            _ => self.held.remove(0),
        };
        let id = if matches!(self.fault, Fault::Invents) { 4_000_000 } else { id };
        let len = if matches!(self.fault, Fault::Changes) { len + 1 } else { len };
        Some(Packet::new(id, 0, len))
    }

    fn wake(&self, _: Time) -> Wake {
        match self.fault {
            Fault::Startles => panic!("when it was woken"),
            Fault::Dozes => return Wake::Idle,
            _ => {}
        }
        if self.held.is_empty() { Wake::Idle } else { Wake::Ready }
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.held.iter().map(|(_, len)| u64::from(*len)).sum();
        Backlog { packets: self.held.len(), bytes }
    }
}

#[test]
fn a_fault_is_named_and_its_packets_are_dropped() {
    let registry = Disciplines::default().with::<Broken>().kinds;
    let exports = Box::leak(Box::new(Exports::of(&registry)));
    // SAFETY: this is a struct of the interface that lives as long as the process.
    let broken = unsafe { import(exports.get(0), "libbroken.so") }.unwrap();
    for (fault, complaint) in [
        (Fault::Panics, "it panicked: at the fifth packet"),
        (Fault::Loses, "it lost packets: it says that it holds "),
        (Fault::Duplicates, "which it does not hold: it has already left"),
        (Fault::Reorders, "it sent packet 1 after one of the same flow and class that came later"),
        (Fault::Revives, "it sent packet 5, which it does not hold: it has already left"),
        (Fault::Invents, "it sent packet 4000000, which it does not hold"),
        (Fault::Changes, "it changed packet 1"),
        (Fault::Sleeps, "it holds 8 packets and says that one is ready, but returns none"),
        (Fault::Dozes, "it holds 64 packets and says that it is idle"),
        (Fault::Startles, "it panicked: when it was woken"),
    ] {
        let mut rig = Rig::new(broken.build(&json!({ "fault": fault }), &SETTING).unwrap());
        // Who does not shape is asked whether it is ready when 64 packets have left.
        let offers = if matches!(fault, Fault::Dozes) { 128 } else { 8 };
        for _ in 0..offers {
            rig.offer(0);
        }
        // Whatever is found meanwhile, what it holds still has to leave.
        let held = rig.queue.backlog().packets > 0;
        assert_eq!(rig.queue.wake(Time::ZERO) != Wake::Idle, held, "{fault:?}");
        for _ in 0..2000 {
            rig.take(0);
        }
        let found = rig.queue.fault().unwrap_or_default();
        assert!(found.contains(complaint), "{fault:?}: {found}");
        assert!(found.starts_with("plug-in libbroken.so, discipline \"broken\": "), "{found}");
        // Nothing is lost, and what comes later is dropped.
        assert_eq!(rig.queue.backlog(), Backlog::default(), "{fault:?}");
        assert_eq!((rig.offer(1), rig.take(1)), (Verdict::Dropped, None));
        assert_eq!(rig.queue.wake(Time::from_nanos(1_000_000)), Wake::Idle);
    }
}

/// A plug-in in C says what it reads of its parameters.
#[test]
fn parameters_of_every_type_arrive_in_c() {
    let kinds = forebay::load(&compiled(&own("says.c"), "libsays.so")).unwrap().kinds;
    let said = |block: Value| kinds[0].build(&block, &SETTING).err().unwrap().to_string();
    let read = |block: Value| {
        let whole = said(block);
        let (plugin, read) = whole.split_once(", discipline \"says\": ").unwrap();
        assert!(
            plugin.starts_with("said: plug-in /") && plugin.ends_with("libsays.so"),
            "{plugin}"
        );
        read.to_owned()
    };
    assert_eq!(read(json!({})), "0.25, 10, 1, \"slow\"");
    let whole = json!({ "share": 1e-3, "limit": "20p", "gentle": false, "mode": "fast" });
    assert_eq!(read(whole), "0.001, 20, 0, \"fast\"");
    assert_eq!(said(json!({ "gentle": 1 })), "gentle: expected a value of type boolean, got 1");
    assert_eq!(
        said(json!({ "mode": "medium" })),
        "mode: must be one of \"slow\", \"fast\", got \"medium\""
    );
}

/// A length that no text has is an error; memory for it is not asked for.
#[test]
fn parameters_without_end_are_refused() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless.c");
    let says = std::fs::read_to_string(own("says.c")).unwrap();
    let effective = "static intptr_t effective(const ForebayDiscipline *kind, const char *params,\n\
        const ForebaySetting *setting, char *out, uintptr_t size) {\n\
        (void)kind, (void)params, (void)setting, (void)out; return (intptr_t)size * 2; }\n\
        static const ForebayDiscipline says = { .effective = effective,";
    let text = says.replace("static const ForebayDiscipline says = {", effective);
    std::fs::write(&source, text).unwrap();
    let plugin = forebay::load(&compiled(&source, "libendless.so")).unwrap();
    let error = plugin.kinds[0].effective(&json!({}), &SETTING).unwrap_err().to_string();
    assert!(error.contains("its `effective` returned 1"), "{error}");
}

#[test]
fn what_is_no_plugin_is_refused_with_the_reason() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let refused = |path: &Path| forebay::load(path).err().unwrap();
    assert!(refused(Path::new("no/such.so")).contains("No such file"));
    let says = std::fs::read_to_string(own("says.c")).unwrap();
    for (name, text, expected) in [
        ("empty", "int nothing;", "it has no function `forebay_plugin`"),
        (
            // Before there were major and minor versions.
            "old",
            "#include \"forebay.h\"\nstatic const ForebayDiscipline old = { .version = 4, .name = \"old\" };\n\
             const ForebayDiscipline *forebay_plugin(uint32_t i) { return i ? NULL : &old; }",
            "it speaks version 0.4 of the interface, this program version 1.0; build it again with",
        ),
        (
            "new",
            "#include \"forebay.h\"\nstatic const ForebayDiscipline later = { .version = 77 << 16 };\n\
             const ForebayDiscipline *forebay_plugin(uint32_t i) { return i ? NULL : &later; }",
            "it speaks version 77.0 of the interface, this program version 1.0",
        ),
        (
            "short",
            "#include \"forebay.h\"\nstatic const ForebayDiscipline bare = { .version = FOREBAY_VERSION };\n\
             const ForebayDiscipline *forebay_plugin(uint32_t i) { return i ? NULL : &bare; }",
            "it says that its struct has 0 bytes, and version 1.0 has 176; set struct_size to",
        ),
        (
            "half",
            "#include \"forebay.h\"\nstatic const ForebayDiscipline half = { .version = FOREBAY_VERSION, \
             .struct_size = sizeof half, .name = \"half\", \
             .summary = \"s\", .source = \"s\" };\n\
             const ForebayDiscipline *forebay_plugin(uint32_t i) { return i ? NULL : &half; }",
            "discipline \"half\" has no function `destroy`",
        ),
        (
            "list",
            &says.replace(r#"\"type\": \"number\""#, r#"\"type\": \"array\""#),
            "discipline \"says\": its schema: property \"share\" needs a type that forebay.h reads: \
             number, integer, boolean, string; or write `effective`",
        ),
        (
            "typeless",
            &says.replace(r#"\"type\": \"boolean\", "#, ""),
            "its schema: property \"gentle\" needs a type that forebay.h reads",
        ),
        (
            "quoted",
            &says.replace(r#"\"share\": {"#, r#"\"a\\\"b\": {"#),
            r#"property "a\"b" has a name that forebay.h cannot read"#,
        ),
        (
            "flat",
            &says.replace(r#"{\"properties\": {"#, r#"{\"properties\": 5, \"others\": {"#),
            "discipline \"says\": its schema: `properties` must be an object, got 5",
        ),
        (
            "choice",
            &says.replace(r#"[\"slow\", \"fast\"]"#, "5"),
            "its schema: property \"mode\": `enum` must be a list of values, got 5",
        ),
        ("symbol", "int elsewhere(void); int nothing(void) { return elsewhere(); }", "elsewhere"),
        (
            "spaced",
            &says.replace(r#".name = "says""#, r#".name = "it says""#),
            r#"a discipline cannot be called "it says"; use letters, digits, "-", "_" and ".""#,
        ),
        (
            "misspelt",
            &says.replace(r#"\"default\": 10}"#, r#"\"default\": 10, \"minimun\": 1}"#),
            "discipline \"says\": its schema: property \"limit\": unknown keyword \"minimun\" (did you \
             mean \"minimum\"?)",
        ),
        (
            "latin",
            &says.replace("says what it reads", r"l\xe4uft"),
            "a discipline's summary is not UTF-8: \"l\u{fffd}uft\"",
        ),
        (
            "scheme",
            &says.replace(r#"\"slow\", "#, r#"\"m\374d\", "#),
            "discipline \"says\": its schema: is not UTF-8: ",
        ),
        (
            "nameless",
            &says.replace(r#".name = "says""#, r#".name = """#),
            r#"a discipline cannot be called """#,
        ),
        (
            "none",
            "#include \"forebay.h\"\n\
             const ForebayDiscipline *forebay_plugin(uint32_t i) { (void)i; return NULL; }",
            "it contains no discipline",
        ),
    ] {
        let source = folder.join(format!("{name}.c"));
        std::fs::write(&source, text).unwrap();
        let found = refused(&compiled(&source, &format!("lib{name}.so")));
        assert!(found.contains(expected), "{found}");
    }
}

/// The example in C with a fault: `text` instead of `whole`.
fn broken(name: &str, changes: &[(&str, &str)]) -> PathBuf {
    let mut text = std::fs::read_to_string(example("blue.c")).unwrap();
    for (whole, broken) in changes {
        assert_eq!(text.matches(whole).count(), 1, "{whole}");
        text = text.replace(whole, broken);
    }
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.c"));
    std::fs::write(&source, text).unwrap();
    compiled(&source, &format!("lib{name}.so"))
}

/// The conformance suite names what a queue in C does against the contract.
#[test]
fn what_breaks_the_contract_does_not_pass_the_suite() {
    let arrives = "    double uniform =";
    for (name, changes, expected) in [
        (
            "shares",
            &[
                ("= calloc(1, sizeof *blue);", "= &one;\n *blue = (struct blue){0};"),
                ("static void *create", "static struct blue one;\nstatic void *create"),
                ("    free(blue->ring);\n    free(blue);\n", "    (void)blue;\n"),
                ("free(blue); return NULL;", "return NULL;"),
            ][..],
            "independence: a second queue of the kind changed what it did; each queue needs a state \
             of its own",
        ),
        (
            "counts",
            &[(
                arrives,
                "static int count;\nif (++count % 97 == 0)\n\
                 return cx->drop(cx, &packet, 1), FOREBAY_DROPPED;\ndouble uniform =",
            )],
            "determinism: the same arrivals gave another outcome; it uses a clock, random numbers",
        ),
        (
            "guesses",
            &[(
                arrives,
                "if (rand() % 97 == 0) return cx->drop(cx, &packet, 1), FOREBAY_DROPPED;\n\
                 double uniform =",
            )],
            "determinism: the same arrivals gave another outcome",
        ),
    ] {
        let plugin = forebay::load(&broken(name, changes)).unwrap();
        let found = check(&plugin.kinds[0], &json!({})).unwrap_err();
        assert!(found.contains(expected), "{name}: {found}");
    }
}

/// The system would end the process when it reads what is missing.
#[test]
fn a_library_that_was_cut_off_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let whole = std::fs::read(broken("cut", &[])).unwrap();
    for part in (0..whole.len()).step_by(997).chain([3000, whole.len() - 1]) {
        let path = folder.join(format!("libcut-{part}.so"));
        std::fs::write(&path, &whole[..part]).unwrap();
        let found = forebay::load(&path).err().unwrap();
        let expected = format!(
            "plug-in {}: it is cut off: it has {part} bytes, and its header tells of ",
            path.display()
        );
        assert!(found.starts_with(&expected) || part < 64, "{found}");
        std::fs::remove_file(&path).unwrap();
    }
}

const ENDS: &str = "FOREBAY_TEST_ENDS";

/// What the next test runs in a process of its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "only the next test sets it")]
fn a_queue_is_made_and_dropped() {
    let Some(path) = std::env::var_os(ENDS) else { return };
    let plugin = forebay::load(Path::new(&path)).unwrap();
    drop(plugin.kinds[0].build(&json!({}), &SETTING).unwrap());
}

#[test]
fn a_queue_that_ends_the_process_in_its_last_call_is_named() {
    let frees = "    free(blue);\n}\n\n";
    for (name, does, expected) in [
        ("exits", "exit(0);", "ended the process, with exit"),
        ("reads-null", "*(volatile int *)0;", "crashed (SIGSEGV: "),
        ("aborts", "abort();", "crashed (SIGABRT: "),
    ] {
        let path = broken(name, &[(frees, &format!("    {does}\n}}\n"))]);
        let ended = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_queue_is_made_and_dropped", "--nocapture"])
            .env(ENDS, &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        let whole = format!(
            "error: plug-in {}, discipline \"blue\": its destroy {expected}",
            path.display()
        );
        assert!(said.contains(&whole), "{name}: {said}");
        // A debugger and a dump of memory see the signal; AddressSanitizer makes 1 of it.
        let codes: &[_] = if name == "exits" { &[Some(2)] } else { &[None, Some(1)] };
        assert!(codes.contains(&ended.status.code()), "{name}: {}", ended.status);
    }
}

#[test]
fn a_queue_whose_last_call_does_not_return_is_named() {
    let frees = "    free(blue);\n}\n\n";
    let path = broken(
        "stays",
        &[
            (frees, "    for (;;) sleep(1);\n}\n"),
            ("#include <stdlib.h>", "#include <stdlib.h>\nunsigned sleep(unsigned seconds);"),
        ],
    );
    let watch = forebay::Watch::default();
    let watched = watch.clone();
    // This thread stays until the tests end.
    std::thread::spawn(move || {
        watched.begin();
        let plugin = forebay::load(&path).unwrap();
        drop(plugin.kinds[0].build(&json!({}), &SETTING).unwrap());
    });
    let found = (0..2000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        watch.look(20)
    });
    let found = found.expect("it is found");
    assert!(found.ends_with("discipline \"blue\": its destroy does not return"), "{found}");
}

/// What a plug-in says is shown in a line, and with its name.
#[test]
fn an_error_of_create_names_the_plug_in_in_one_line() {
    let whole = "    if (blue == NULL) return NULL;";
    let says = "if (blue != NULL) {\nsnprintf(error, size, \"limit: is too\\n\\tlarge\");\n\
                free(blue);\nreturn NULL;\n}";
    let path = broken("refuses", &[(whole, says)]);
    let error = forebay::load(&path).unwrap().kinds[0].build(&json!({}), &SETTING).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("limit: plug-in {}, discipline \"blue\": is too large", path.display())
    );
}
