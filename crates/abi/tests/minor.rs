//! Minor versions: plug-ins and hosts in C that are compiled for this one and for the next, in each
//! other's company. The next is made here, of the header that is kept of this one: a reason of drops,
//! a member of each struct that may grow, and functions. `tests/python/test_next_minor.py` makes the
//! same of forebay itself.

use forebay::*;
use forebay_conformance::{SETTING, check};
use forebay_core::tcp::Tcp;
use forebay_core::{Context, Discipline, DropReason, Entry, Packet, Rng, Sink, Time, Verdict};
use libloading::Library;
use serde_json::{Value, json};
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the header of the next minor version.
fn next_header() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let make = || {
        let kept = format!("surface/forebay-{FOREBAY_MAJOR}.{FOREBAY_MINOR}.h");
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(kept);
        let mut text = std::fs::read_to_string(kept).unwrap();
        let next = FOREBAY_MINOR + 1;
        for (old, new) in [
            (
                format!("#define FOREBAY_MINOR {FOREBAY_MINOR}\n"),
                format!("#define FOREBAY_MINOR {next}\n#define FOREBAY_MELTED 7\n"),
            ),
            (
                "} ForebaySetting;".into(),
                "  uint32_t colour;\n  uint32_t reserved;\n} ForebaySetting;".into(),
            ),
            (
                "} ForebayContext;".into(),
                "  uint32_t (*shine)(struct ForebayContext *cx);\n} ForebayContext;".into(),
            ),
            (
                "} ForebayDiscipline;".into(),
                "  uint32_t (*polish)(const void *state);\n} ForebayDiscipline;".into(),
            ),
        ] {
            assert_eq!(text.matches(&old).count(), 1, "{old}");
            text = text.replace(&old, &new);
        }
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("next");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("forebay.h"), text).unwrap();
        folder
    };
    FOLDER.get_or_init(make).clone()
}

/// `source` of `tests/c` as a shared library, for this version or the next.
fn compiled(source: &str, next: bool) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = format!("lib{}-{}.so", source.replace('.', "-"), if next { "next" } else { "this" });
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let include = if next { next_header() } else { here.join("include") };
    let done = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-I"])
        .arg(include)
        .args(next.then_some("-DNEXT"))
        .arg("-o")
        .args([&out, &here.join("tests/c").join(source)])
        .status();
    assert!(done.expect("a compiler is there").success(), "{source}");
    out
}

fn whole(next: bool) -> Entry<dyn Discipline> {
    let kinds = load(&compiled("whole.c", next)).unwrap().kinds;
    let [whole] = <[_; 1]>::try_from(kinds).unwrap();
    whole
}

/// The owner of packets, which knows a header and the bytes.
#[derive(Default)]
struct Owner {
    dropped: Vec<(u32, DropReason)>,
}

impl Sink for Owner {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.dropped.push((packet.retire(), reason));
    }
    fn marked(&mut self, _: &Packet) {}
    fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp> {
        let mut header = Tcp::default();
        (header.ack, header.flags) = (arriving.id, 0x10);
        (arriving.id > 1000).then_some(header)
    }
    fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]> {
        (arriving.id == 1002).then_some(&[0x45, 0, 0, 40])
    }
}

struct Rig {
    queue: Box<dyn Discipline>,
    rng: Rng,
    owner: Owner,
}

impl Rig {
    fn new(kind: &Entry<dyn Discipline>, block: &Value) -> Self {
        let queue = kind.build(block, &SETTING).unwrap();
        Rig { queue, rng: Rng::named(1, "rig"), owner: Owner::default() }
    }

    fn offer(&mut self, id: u32) -> Verdict {
        let mut cx = Context::new(Time::ZERO, &mut self.rng, &mut self.owner);
        self.queue.enqueue(Packet::new(id, 0, 100), &mut cx)
    }

    fn probed(&self, wanted: &str) -> f64 {
        let mut found = f64::NAN;
        self.queue.probe(Time::ZERO, &mut |name, value| {
            if name == wanted {
                found = value;
            }
        });
        found
    }

    /// Numbers of queues and packets that wait.
    fn waiting(&self) -> Vec<(usize, u32)> {
        let mut shown = Vec::new();
        self.queue.waiting(&mut |queue, packet| shown.push((queue, packet.id)));
        shown
    }
}

/// Every function of the interface, of a plug-in for this version and for the next, in this host.
#[test]
fn plugins_of_both_versions_run_here() {
    for next in [false, true] {
        let kind = whole(next);
        check(&kind, &json!({})).unwrap();
        let mut rig = Rig::new(&kind, &json!({ "limit": 2, "reason": 2 }));
        assert_eq!(rig.probed("version"), f64::from(FOREBAY_VERSION));
        let packet = Packet::new(1, 0, 100);
        assert!(rig.queue.passes(&packet), "an empty queue lets it pass");
        packet.retire();
        rig.offer(1001);
        rig.offer(1002);
        // Acknowledgments, the bytes' number and the first; 7 because this host has no colour.
        assert_eq!(rig.probed("acks"), 2003.0);
        assert_eq!(rig.probed("looked"), if next { 80.0 } else { 73.0 });
        assert_eq!(rig.waiting(), [(0, 1001), (1, 1002)]);
        assert_eq!(rig.offer(1003), Verdict::Dropped);
        // A reason that this version does not know, for instance the next one's.
        let change = |rig: &mut Rig, block: Value| {
            let mut fresh = kind.build(&block, &SETTING).unwrap();
            rig.queue.retune(Time::ZERO, &mut *fresh)
        };
        assert!(change(&mut rig, json!({ "limit": 2, "reason": 7 })));
        rig.offer(1004);
        assert!(!change(&mut rig, json!({ "limit": 1 })), "more than that wait");
        let dropped = [(1003, DropReason::Preempted), (1004, DropReason::Other)];
        assert_eq!(rig.owner.dropped, dropped);
        assert_eq!(rig.queue.fault(), None);
        // Another kind's parameters are not taken over.
        let mut other = Disciplines::builtin().build(&json!({ "kind": "fifo" }), &SETTING).unwrap();
        assert!(!rig.queue.retune(Time::ZERO, &mut *other));
    }
}

/// What a host of this version or the next says about a discipline.
fn hosted(next: bool, kind: *const ForebayDiscipline, params: &str) -> String {
    type Run = unsafe extern "C" fn(*const ForebayDiscipline, *const c_char, *mut c_char) -> i32;
    let params = CString::new(params).unwrap();
    let mut said = [0; 512];
    // SAFETY: the library is that of `tests/c/host.c`, and writes at most so many bytes.
    unsafe {
        let library = Library::new(compiled("host.c", next)).unwrap();
        library.get::<Run>("run").unwrap()(kind, params.as_ptr(), said.as_mut_ptr());
        CStr::from_ptr(said.as_ptr()).to_str().unwrap().to_owned()
    }
}

/// Programs for this version and the next, with forebay's disciplines of this version, and with
/// plug-ins of both.
#[test]
fn programs_of_both_versions_run_with_disciplines_of_both() {
    let codel = CString::new("codel").unwrap();
    // SAFETY: the name is a text.
    let codel = unsafe { forebay_discipline(codel.as_ptr()) };
    let params = r#"{"target": "2ms", "interval": "20ms", "ecn": true}"#;
    let [this, next] = [false, true].map(|next| hosted(next, codel, params));
    assert!(this.starts_with("joined 200, sent 200, dropped 0, unknown 0, marked "), "{this}");
    assert_eq!(format!("{this}, polish 0"), next);

    for (plugin, host, reason, expected) in [
        // 200 bursts of 2 bytes that begin with 0x45; the plug-in's version is that of its host.
        (false, false, 2, "unknown 0, marked 0, acks 200, looked 14200, version 65536"),
        (false, true, 2, "unknown 0, marked 0, acks 200, looked 14200, version 65537, polish 0"),
        (true, false, 7, "unknown 150, marked 0, acks 200, looked 14207, version 65536"),
        // With the host's colour and shine.
        (true, true, 7, "unknown 150, marked 0, acks 200, looked 15209, version 65537, polish 3"),
    ] {
        // SAFETY: the library is that of `tests/c/whole.c`.
        let said = unsafe {
            let library = Library::new(compiled("whole.c", plugin)).unwrap();
            let kind = library.get::<ForebayPlugin>("forebay_plugin").unwrap()(0);
            hosted(host, kind, &format!(r#"{{"limit":50,"reason":{reason}}}"#))
        };
        assert_eq!(said, format!("joined 50, sent 50, dropped 150, {expected}"));
    }
}

/// A host whose setting, parameters or context cannot be right is told so, in one line.
#[test]
fn what_a_host_gets_wrong_is_said() {
    // SAFETY: the interface's contracts are kept, but for what is told.
    unsafe {
        let kind = &*forebay_discipline(c"fifo".as_ptr());
        let right = ForebaySetting {
            struct_size: size_of::<ForebaySetting>() as u32,
            version: forebay_version(),
            overhead: 0,
            mtu: 1500,
            rate: 1_000_000,
        };
        let sizeless = ForebaySetting { struct_size: 0, ..right };
        let later = ForebaySetting { version: 2 << 16, ..right };
        for (setting, params, expected) in [
            (std::ptr::null(), c"{}", "there is no setting; give a ForebaySetting"),
            (
                &raw const sizeless,
                c"{}",
                "the setting says that it has 0 bytes, and version 1.0 has 24; set struct_size to \
                 sizeof(ForebaySetting)",
            ),
            (
                &raw const later,
                c"{}",
                "the setting has version 2.0 of the interface, this library version 1.0; set \
                 version to FOREBAY_VERSION",
            ),
            (&raw const right, c"{\"limit\": \"\xff\"}", "the parameters are not UTF-8"),
        ] {
            let mut said = [0; 256];
            let make = kind.create.unwrap();
            let queue = make(kind, params.as_ptr(), setting, said.as_mut_ptr(), said.len());
            assert!(queue.is_null());
            assert_eq!(CStr::from_ptr(said.as_ptr()).to_str().unwrap(), expected);
        }

        let make = kind.create.unwrap();
        let queue = make(kind, c"{}".as_ptr(), &right, std::ptr::null_mut(), 0);
        let mut bare = [0_u64; size_of::<ForebayContext>() / 8];
        bare.as_mut_ptr().cast::<u32>().write(size_of::<ForebayContext>() as u32);
        let packet = ForebayPacket::default();
        let answer = kind.enqueue.unwrap()(queue, &packet, bare.as_mut_ptr().cast());
        assert_eq!(answer, FOREBAY_FAILED);
        let fault = CStr::from_ptr(kind.fault.unwrap()(queue)).to_str().unwrap();
        assert_eq!(fault, "the context has no function `drop`");
        kind.destroy.unwrap()(queue);
    }
}

/// A host that leaves out the size of its context is told so.
#[test]
fn a_context_without_its_size_is_a_fault() {
    let fifo = CString::new("fifo").unwrap();
    // SAFETY: the interface's contracts are kept, but for the size.
    unsafe {
        let kind = &*forebay_discipline(fifo.as_ptr());
        let setting = ForebaySetting {
            struct_size: size_of::<ForebaySetting>() as u32,
            version: forebay_version(),
            overhead: 0,
            mtu: 1500,
            rate: 1_000_000,
        };
        let nothing = c"{}".as_ptr();
        let queue = kind.create.unwrap()(kind, nothing, &setting, std::ptr::null_mut(), 0);
        let mut cx = std::mem::MaybeUninit::<[u8; size_of::<ForebayContext>()]>::zeroed();
        let packet = ForebayPacket::default();
        let answer = kind.enqueue.unwrap()(queue, &packet, cx.as_mut_ptr().cast());
        assert_eq!(answer, FOREBAY_FAILED);
        let fault = CStr::from_ptr(kind.fault.unwrap()(queue)).to_str().unwrap();
        assert_eq!(
            fault,
            "the context says that it has 0 bytes, and version 1.0 has 64; set struct_size to \
             sizeof(ForebayContext)"
        );
        kind.destroy.unwrap()(queue);
    }
}
