//! Ends of flows behind the C interface.

use crate::convert::{self, c_string, legible};
use crate::interface::*;
use crate::schema::{self, fill_in};
use crate::version;
use crate::watch::{self, Function};
use forebay_core::{ConfigError, Ecn, Time};
use serde_json::{Map, Value};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// Size of the buffer for a message.
const MESSAGE: usize = 1024;
/// Most bytes of a datagram: an IP packet has no more.
const LONGEST: usize = 65_535;

/// ECN codepoints by their bits in the IP header.
const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

type Create = unsafe extern "C" fn(
    *const ForebayEndpoint,
    *const c_char,
    bool,
    *mut c_char,
    usize,
) -> *mut c_void;

/// The functions that every kind must have.
#[derive(Clone, Copy)]
struct Calls {
    create: Create,
    destroy: unsafe extern "C" fn(*mut c_void),
    handle: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8),
    transmit: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut u8) -> isize,
}

/// A kind of endpoint of a shared library.
pub struct EndpointKind {
    /// Name, summary and source.
    pub words: [&'static str; 3],
    /// JSON Schema of its parameters.
    pub schema: Map<String, Value>,
    /// Its name in messages.
    who: Arc<str>,
    /// The library's own struct, which its functions want.
    own: *const ForebayEndpoint,
    /// What this version knows of it.
    known: ForebayEndpoint,
    calls: Calls,
}

// SAFETY: what the pointers in it lead to is never changed and lives as long as the process.
unsafe impl Send for EndpointKind {}
// SAFETY: as above.
unsafe impl Sync for EndpointKind {}

impl EndpointKind {
    /// The kind at `own`. Messages name its library as `from`.
    ///
    /// # Errors
    /// It has another version of the interface, or lacks functions.
    ///
    /// # Safety
    /// `own` points to a struct of the interface that stays for the rest of the process, and whose
    /// functions keep their contracts.
    pub unsafe fn import(own: *const ForebayEndpoint, from: &str) -> Result<Arc<Self>, String> {
        // SAFETY: by the contract above, and the texts live as long as the process.
        let (known, [name, summary, source]) = unsafe {
            let known = version::endpoint(own)?;
            let words = convert::words("an endpoint", [known.name, known.summary, known.source])?;
            (known, words)
        };
        convert::nameable("an endpoint", name)?;
        let missing = |function: &str| format!("endpoint \"{name}\" has no function `{function}`");
        let calls = Calls {
            create: known.create.ok_or_else(|| missing("create"))?,
            destroy: known.destroy.ok_or_else(|| missing("destroy"))?,
            handle: known.handle.ok_or_else(|| missing("handle"))?,
            transmit: known.transmit.ok_or_else(|| missing("transmit"))?,
        };
        if known.timeout.is_some() && known.on_timeout.is_none() {
            return Err(missing("on_timeout"));
        }
        if known.headers as usize >= LONGEST {
            return Err(format!(
                "endpoint \"{name}\": its headers have {} bytes; an IP packet has at most {LONGEST}",
                known.headers
            ));
        }
        // SAFETY: as above.
        let schema = unsafe { convert::utf8(known.schema) }
            .and_then(|text| schema::read(text, false))
            .map_err(|error| format!("endpoint \"{name}\": its schema: {error}"))?;
        let who = format!("plug-in {from}, endpoint \"{name}\"").into();
        Ok(Arc::new(EndpointKind {
            words: [name, summary, source],
            schema,
            who,
            own,
            known,
            calls,
        }))
    }

    /// The parameters in `block` with every default filled in.
    ///
    /// # Errors
    /// A parameter is unknown, or its value is not allowed.
    pub fn effective(&self, block: &Value) -> Result<Value, ConfigError> {
        fill_in(&self.schema, block)
    }

    /// An end with these parameters: the sending one, or the receiving one.
    ///
    /// # Errors
    /// As [`EndpointKind::effective`], or the library refuses them.
    pub fn make(self: &Arc<Self>, block: &Value, sends: bool) -> Result<End, ConfigError> {
        let params = c_string(&self.effective(block)?.to_string());
        let mut error: Vec<c_char> = vec![0; MESSAGE];
        let under_way = watch::Calls::of(&self.who);
        let create = self.calls.create;
        // SAFETY: the buffer has that many bytes, the rest lives during the call.
        let state = under_way.during(Function::Create, || unsafe {
            create(self.own, params.as_ptr(), sends, error.as_mut_ptr(), error.len())
        });
        if state.is_null() {
            return Err(convert::refused(&error, &self.who));
        }
        let kind = Arc::clone(self);
        Ok(End { kind, state, under_way, room: vec![0; LONGEST], fault: None })
    }
}

/// One end of a flow.
pub struct End {
    kind: Arc<EndpointKind>,
    state: *mut c_void,
    /// The call in progress, for the watching thread.
    under_way: Arc<watch::Calls>,
    /// Where it writes datagrams.
    room: Vec<u8>,
    /// What it has done against the interface. It is not asked again.
    fault: Option<String>,
}

// SAFETY: the interface says that calls may come from any thread, one at a time.
unsafe impl Send for End {}

impl End {
    /// Lets `act` call `function` with the state, unless the end has a fault.
    fn call<T>(
        &mut self,
        function: Function,
        act: impl FnOnce(*mut c_void, &mut [u8]) -> T,
    ) -> Option<T> {
        if self.fault.is_some() {
            return None;
        }
        let (state, room) = (self.state, &mut self.room[..]);
        let answer = self.under_way.during(function, || act(state, room));
        self.fault = self.kind.known.fault.and_then(|fault| {
            // SAFETY: the state is an end of this kind; the text is the library's.
            self.under_way.during(Function::Fault, || unsafe { legible(fault(state)) })
        });
        Some(answer)
    }

    /// The flow begins, with these random bits.
    pub fn begin(&mut self, now: Time, random: u64) {
        if let Some(begin) = self.kind.known.begin {
            // SAFETY: the state is an end of this kind; likewise below.
            self.call(Function::Begin, |state, _| unsafe { begin(state, now.as_nanos(), random) });
        }
    }

    /// A datagram arrives.
    pub fn handle(&mut self, now: Time, datagram: &[u8], ecn: Ecn) {
        let handle = self.kind.calls.handle;
        self.call(Function::Handle, |state, _| {
            let (at, length) = (datagram.as_ptr(), datagram.len());
            // SAFETY: as above, and the bytes live during the call.
            unsafe { handle(state, now.as_nanos(), at, length, ecn as u8) }
        });
    }

    /// Appends the next datagram to `datagram` and returns its ECN codepoint; None if there is none.
    pub fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Ecn> {
        let transmit = self.kind.calls.transmit;
        let mut ecn = 0;
        let length = self.call(Function::Transmit, |state, room| {
            let (at, size) = (room.as_mut_ptr(), room.len());
            // SAFETY: as above, and so many bytes may be written.
            unsafe { transmit(state, now.as_nanos(), at, size, &mut ecn) }
        })?;
        let written = usize::try_from(length).ok().and_then(|length| self.room.get(..length));
        let wrong = match (written, CODEPOINTS.get(usize::from(ecn))) {
            _ if self.fault.is_some() => return None,
            (Some([]), _) => return None,
            (Some(written), Some(ecn)) => {
                datagram.extend_from_slice(written);
                return Some(*ecn);
            }
            (Some(_), None) => format!("its transmit set ECN codepoint {ecn}, and 3 is the last"),
            (None, _) if length == -1 => "it failed, without saying why".to_owned(),
            (None, _) => format!("its transmit returned {length}; at most {LONGEST} bytes fit"),
        };
        self.fault = Some(wrong);
        None
    }

    /// When to call [`End::on_timeout`]; None: never.
    pub fn timeout(&mut self, now: Time) -> Option<Time> {
        let timeout = self.kind.known.timeout?;
        // SAFETY: as above.
        let at =
            self.call(Function::Timeout, |state, _| unsafe { timeout(state, now.as_nanos()) })?;
        (at != FOREBAY_IDLE).then(|| Time::from_nanos(at))
    }

    /// The timeout has passed.
    pub fn on_timeout(&mut self, now: Time) {
        if let Some(on_timeout) = self.kind.known.on_timeout {
            // SAFETY: as above.
            self.call(Function::OnTimeout, |state, _| unsafe { on_timeout(state, now.as_nanos()) });
        }
    }

    /// The flow's stop is reached.
    pub fn end(&mut self, now: Time) {
        if let Some(end) = self.kind.known.end {
            // SAFETY: as above.
            self.call(Function::End, |state, _| unsafe { end(state, now.as_nanos()) });
        }
    }

    /// Bytes that its application has received, if it counts them.
    pub fn delivered(&self) -> Option<u64> {
        let delivered = self.kind.known.delivered.filter(|_| self.fault.is_none())?;
        // SAFETY: as above.
        Some(self.under_way.during(Function::Delivered, || unsafe { delivered(self.state) }))
    }

    /// Bytes of headers that every datagram gets.
    pub fn headers(&self) -> u32 {
        self.kind.known.headers
    }

    /// Why it cannot go on, with the name of its kind.
    pub fn fault(&self) -> Option<String> {
        self.fault.as_ref().map(|fault| format!("{}: {fault}", self.kind.who))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let (destroy, state) = (self.kind.calls.destroy, self.state);
        // SAFETY: the state is an end of this kind, and is not used again.
        self.under_way.during(Function::Destroy, || unsafe { destroy(state) });
    }
}
