//! A queue that reports to the ledger.

use super::ledger::Ledger;
use forebay_core::tcp::Tcp;
use forebay_core::{
    Backlog, Context, Discipline, DropReason, Packet, Rate, Sink, Time, Verdict, Wake, forward,
};
use std::sync::{Arc, Mutex, MutexGuard};

/// A wrapper of a discipline, which reports to the ledger.
pub struct Observed {
    inner: Box<dyn Discipline>,
    link: u32,
    /// Whether its variables are recorded, too.
    is_watched: bool,
    ledger: Arc<Mutex<Ledger>>,
}

/// A sink that passes on drops and marks, and reports them.
struct Through<'a, 'b> {
    sink: &'a mut dyn Sink,
    ledger: &'a mut MutexGuard<'b, Ledger>,
    now: Time,
    link: u32,
    is_watched: bool,
    waiting: usize,
}

impl Sink for Through<'_, '_> {
    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.ledger.dropped(self.now, self.link, packet.id, reason, self.is_watched, self.waiting);
        self.sink.dropped(packet, reason);
    }

    fn marked(&mut self, packet: &Packet) {
        self.ledger.marked(self.now, self.link, packet.id, self.is_watched, self.waiting);
        self.sink.marked(packet);
    }

    forward! { self.sink;
        fn tcp_header(&mut self, arriving: &Packet) -> Option<Tcp>;
        fn bytes(&mut self, arriving: &Packet) -> Option<&[u8]>;
    }
}

impl Observed {
    pub fn new(
        inner: Box<dyn Discipline>,
        link: u32,
        is_watched: bool,
        ledger: Arc<Mutex<Ledger>>,
    ) -> Self {
        Observed { inner, link, is_watched, ledger }
    }

    /// Calls `act`, and reports drops and marks; `told` reports the result. Steps get the variables after
    /// the call.
    fn during<T>(
        &mut self,
        cx: &mut Context,
        act: impl FnOnce(&mut dyn Discipline, &mut Context) -> T,
        told: impl FnOnce(&mut Ledger, &T, usize),
    ) -> T {
        let Observed { ref mut inner, link, is_watched, ref ledger } = *self;
        let mut ledger = ledger.lock().expect("nothing panics while it is held");
        let (now, waiting) = (cx.now, inner.backlog().packets);
        let (rng, sink) = cx.parts();
        let mut through = Through { sink, ledger: &mut ledger, now, link, is_watched, waiting };
        let answer = act(&mut **inner, &mut Context::new(now, rng, &mut through));
        told(&mut ledger, &answer, waiting);
        if is_watched && ledger.has_decided() {
            let mut variables = Vec::new();
            inner.probe(now, &mut |name, value| variables.push((name, value)));
            ledger.settle(&variables);
        }
        answer
    }
}

impl Discipline for Observed {
    fn enqueue(&mut self, packet: Packet, cx: &mut Context) -> Verdict {
        let (id, now, link, is_watched) = (packet.id, cx.now, self.link, self.is_watched);
        let told = |ledger: &mut Ledger, verdict: &Verdict, waiting| {
            ledger.reached(id);
            if *verdict == Verdict::Queued {
                ledger.queued(now, link, id, is_watched, waiting);
            }
        };
        self.during(cx, |inner, cx| inner.enqueue(packet, cx), told)
    }

    fn dequeue(&mut self, cx: &mut Context) -> Option<Packet> {
        let (link, is_watched) = (self.link, self.is_watched);
        let told = |ledger: &mut Ledger, packet: &Option<Packet>, _| {
            if let Some(packet) = packet {
                ledger.sent(link, packet.id, is_watched);
            }
        };
        self.during(cx, |inner, cx| inner.dequeue(cx), told)
    }

    forward! { self.inner;
        fn wake(&self, now: Time) -> Wake;
        fn backlog(&self) -> Backlog;
        fn set_link_rate(&mut self, now: Time, rate: Rate);
        fn fault(&self) -> Option<String>;
        fn probe(&self, now: Time, out: &mut dyn FnMut(&'static str, f64));
        fn waiting(&self, out: &mut dyn FnMut(usize, &Packet));
    }
}
