//! Forebay's own disciplines, for programs in C and C++.

use crate::convert::{c_string, text, write_tcp};
use crate::export::Exports;
use crate::interface::{FOREBAY_VERSION, ForebayDiscipline, ForebayTcp};
use forebay_core::tcp::Tcp;
use forebay_core::{Conduct, ConfigError, Discipline, DropReason, Entry, Recipe, Setting, forward};
use forebay_disciplines::Disciplines;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// A combination of any classifier, admission rule and scheduler.
struct Combination(Disciplines);

impl Recipe<dyn Discipline> for Combination {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "required": ["classify", "admit", "schedule"] })
    }

    forward! { self.0;
        fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError>;
        fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError>;
    }
}

fn exports() -> &'static Exports {
    static EXPORTS: OnceLock<Exports> = OnceLock::new();
    EXPORTS.get_or_init(|| {
        let disciplines = Disciplines::builtin();
        let mut kinds = disciplines.every_kind();
        let words = [
            "combination".into(),
            "a classifier, an admission rule and a scheduler".into(),
            "forebay, scenarios: queue".into(),
        ];
        let conduct = Conduct::REORDERS;
        let combination = Entry::new(words, conduct, Combination(disciplines));
        kinds.join(combination).expect("there is no such kind");
        Exports::of(&kinds)
    })
}

/// The library's `FOREBAY_VERSION`. That in the header is the one for which a program is compiled.
/// Any thread, several at once.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_version() -> u32 {
    FOREBAY_VERSION
}

/// The discipline called `name`; NULL if there is none. "combination" is any classifier, admission
/// rule and scheduler, named in its parameters. Any thread, several at once.
///
/// # Safety
/// `name` is NULL or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_discipline(name: *const c_char) -> *const ForebayDiscipline {
    // SAFETY: by the contract above.
    let name = unsafe { text(name) };
    name.map_or(std::ptr::null(), |name| exports().find(name))
}

/// The disciplines by index, in the order of their names; NULL after the last. Any thread, several at
/// once.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_discipline_at(index: u32) -> *const ForebayDiscipline {
    exports().get(index)
}

/// Name of a reason of drops, for statistics: "overflow", "aqm", "preempted", "policed", "pushed_out",
/// "redundant_ack" or "other"; NULL if there is no reason of that number. Any thread, several at once.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_reason(reason: u32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| DropReason::ALL.map(|each| c_string(each.name())).into());
    names.get(reason as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}

/// Reads the TCP header at the beginning of `segment`, whose rest up to `length` bytes is the payload,
/// for a host's `tcp`. False if the header is incomplete. `to` must say its `struct_size`. Any thread,
/// several at once.
///
/// # Safety
/// `length` bytes are at `segment`, and as many may be written to `to` as its `struct_size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_tcp(
    segment: *const u8,
    length: usize,
    to: *mut ForebayTcp,
) -> bool {
    // SAFETY: by the contract above.
    let header = Tcp::read(unsafe { std::slice::from_raw_parts(segment, length) });
    // SAFETY: by the contract above.
    header.inspect(|header| unsafe { write_tcp(header, to) }).is_some()
}
