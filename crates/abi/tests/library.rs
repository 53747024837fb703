//! The example in C++ against the functions that programs in C find our disciplines with.

use forebay::*;
use forebay_conformance::SETTING;
use forebay_core::{Context, DropReason, Packet, Rng, Sink, Time, Wake};
use serde_json::json;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_void};

/// What the example counts: sent, dropped, marked.
#[derive(Debug, Default, PartialEq)]
struct Counts(u32, u32, u32);

impl Sink for Counts {
    fn dropped(&mut self, packet: Packet, _: DropReason) {
        packet.retire();
        self.1 += 1;
    }
    fn marked(&mut self, _: &Packet) {
        self.2 += 1;
    }
}

unsafe extern "C" fn dropped(cx: *mut ForebayContext, _: *const ForebayPacket, _: u32) {
    // SAFETY: the context of this test.
    unsafe { (*(*cx).host.cast::<Counts>()).1 += 1 };
}

unsafe extern "C" fn mark(cx: *mut ForebayContext, packet: *mut ForebayPacket) -> bool {
    // SAFETY: as above.
    unsafe {
        if (*packet).tos & 3 == 0 {
            return false;
        }
        (*packet).tos |= 3;
        (*(*cx).host.cast::<Counts>()).2 += 1;
    }
    true
}

unsafe extern "C" fn draw(_: *mut ForebayContext) -> u64 {
    7
}

/// A context without headers.
fn context(now: u64, host: *mut c_void) -> ForebayContext {
    let struct_size = size_of::<ForebayContext>() as u32;
    let (tcp, bytes) = (None, None);
    ForebayContext { struct_size, now, host, drop: dropped, mark, random: draw, tcp, bytes }
}

/// The kind called `kind`, and a queue of it.
fn made(kind: &str, params: &str) -> Result<(&'static ForebayDiscipline, *mut c_void), String> {
    let (kind, params) = (CString::new(kind).unwrap(), CString::new(params).unwrap());
    // SAFETY: the interface's contracts are kept below.
    unsafe {
        let kind = forebay_discipline(kind.as_ptr()).as_ref().ok_or("no such discipline")?;
        let setting = ForebaySetting {
            struct_size: size_of::<ForebaySetting>() as u32,
            version: FOREBAY_VERSION,
            overhead: 0,
            mtu: 1500,
            rate: 10_000_000,
        };
        let mut error = [0; 256];
        let queue =
            kind.create.unwrap()(kind, params.as_ptr(), &setting, error.as_mut_ptr(), error.len());
        if queue.is_null() {
            return Err(CStr::from_ptr(error.as_ptr()).to_str().unwrap().to_owned());
        }
        Ok((kind, queue))
    }
}

/// A burst of 200 packets into `kind`, through the interface.
fn through_c(kind: &str, params: &str) -> Result<Counts, String> {
    let (kind, queue) = made(kind, params)?;
    // SAFETY: as above.
    unsafe {
        let mut counts = Counts::default();
        let host = (&raw mut counts).cast();
        let mut cx = context(0, host);
        for id in 0..200 {
            let packet =
                ForebayPacket { id, len: 1500, flow: id % 4, tos: 2, ..Default::default() };
            kind.enqueue.unwrap()(queue, &packet, &mut cx);
        }
        let mut packet = ForebayPacket::default();
        let mut sent = 0;
        while kind.backlog.unwrap()(queue).packets > 0 {
            assert_eq!(kind.wake.unwrap()(queue, cx.now), cx.now);
            sent += u32::from(kind.dequeue.unwrap()(queue, &mut packet, &mut cx) == FOREBAY_SENT);
            cx.now += 1_200_000;
        }
        kind.destroy.unwrap()(queue);
        counts.0 = sent;
        Ok(counts)
    }
}

/// The same in Rust.
fn through_rust(block: serde_json::Value) -> Counts {
    let mut queue = Disciplines::builtin().build(&block, &SETTING).unwrap();
    let (mut rng, mut counts, mut now) = (Rng::named(1, "x"), Counts::default(), Time::ZERO);
    for id in 0..200 {
        let mut packet = Packet::new(id, id % 4, 1500);
        packet.tos = 2;
        queue.enqueue(packet, &mut Context::new(now, &mut rng, &mut counts));
    }
    while queue.wake(now) == Wake::Ready {
        let sent = queue.dequeue(&mut Context::new(now, &mut rng, &mut counts));
        counts.0 += u32::from(sent.map(Packet::retire).is_some());
        now += forebay_core::Duration::from_micros(1200);
    }
    counts
}

#[test]
fn c_sees_what_rust_sees() {
    for (kind, params) in [
        ("fifo", json!({ "limit": "50p" })),
        ("codel", json!({ "target": "2ms", "interval": "20ms" })),
        ("codel", json!({ "target": "2ms", "interval": "20ms", "ecn": true })),
        ("fq-codel", json!({ "limit": "90p" })),
        ("cq-aqm", json!({ "queues": [{ "limit": "50p" }, { "limit": "10p" }] })),
    ] {
        let mut block = params.clone();
        block["kind"] = json!(kind);
        let counts = through_c(kind, &params.to_string()).unwrap();
        assert_eq!(counts, through_rust(block), "{kind}");
        assert!(counts.1 > 0 || counts.2 > 0, "{kind} neither drops nor marks: {counts:?}");
    }
    let parts = json!({
        "classify": { "kind": "one" }, "admit": { "kind": "tail-drop", "limit": "20p" },
        "schedule": { "kind": "fifo" },
    });
    assert_eq!(through_c("combination", &parts.to_string()), Ok(Counts(20, 180, 0)));
    assert_eq!(through_c("fiffo", "{}"), Err("no such discipline".into()));
    let refused = through_c("codel", r#"{"target": "0ms"}"#).unwrap_err();
    assert!(refused.starts_with("target: "), "{refused}");
    assert!(through_c("codel", "{").unwrap_err().contains("not JSON"));
}

/// A queue of 30 packets stands for 36 ms in each packet's way, below the target. Whatever the host
/// wrote into `queued`, the time of arrival counts.
#[test]
fn the_time_of_arrival_is_set_by_the_library() {
    for queued in [0, 7, u64::MAX] {
        let (kind, queue) = made("codel", r#"{"target": "50ms"}"#).unwrap();
        let mut counts = Counts::default();
        let host = (&raw mut counts).cast();
        // A second after the start.
        let now = 1_000_000_000;
        let mut cx = context(now, host);
        let mut came = VecDeque::new();
        let mut next = 0;
        for turn in 0..500 {
            for _ in 0..if turn == 0 { 30 } else { 1 } {
                let packet = ForebayPacket { id: next, len: 1500, queued, ..Default::default() };
                came.push_back((next, cx.now));
                next += 1;
                // SAFETY: the interface's contracts are kept.
                unsafe { kind.enqueue.unwrap()(queue, &packet, &mut cx) };
            }
            cx.now += 1_200_000;
            let mut packet = ForebayPacket::default();
            // SAFETY: as above.
            let answer = unsafe { kind.dequeue.unwrap()(queue, &mut packet, &mut cx) };
            assert_eq!(answer, FOREBAY_SENT);
            assert_eq!(came.pop_front(), Some((packet.id, packet.queued)));
        }
        // SAFETY: as above.
        unsafe { kind.destroy.unwrap()(queue) };
        assert_eq!(counts, Counts::default(), "queued = {queued}");
    }
}

#[test]
fn reasons_have_the_names_of_summaries() {
    for reason in DropReason::ALL {
        // SAFETY: the text is the library's, or NULL.
        let name = unsafe { CStr::from_ptr(forebay_reason(reason as u32)) };
        assert_eq!(name.to_str(), Ok(reason.name()));
    }
    assert!(forebay_reason(DropReason::ALL.len() as u32).is_null());
    assert!(forebay_reason(u32::MAX).is_null());
}

#[test]
fn every_kind_is_listed() {
    let names: Vec<_> = (0_u32..)
        .map(|index| forebay_discipline_at(index))
        .take_while(|kind| !kind.is_null())
        // SAFETY: the struct is our own.
        .map(|kind| unsafe { CStr::from_ptr((*kind).name) }.to_str().unwrap())
        .collect();
    let known = Disciplines::builtin().every_kind();
    let mut wanted = known.names();
    wanted.push("combination");
    wanted.sort();
    assert_eq!(names, wanted);
}
