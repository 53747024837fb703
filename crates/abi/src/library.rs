//! Forebay's own disciplines, for programs in C and C++.

use crate::convert::{c_string, text};
use crate::export::Exports;
use crate::interface::ForebayDiscipline;
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
        let conduct = Conduct { keeps_order: false, ..Conduct::USUAL };
        let combination = Entry::new(words, conduct, Combination(disciplines));
        kinds.join(combination).expect("there is no such kind");
        Exports::of(&kinds)
    })
}

/// The discipline called `name`; NULL if there is none. "combination" is any classifier, admission
/// rule and scheduler, named in its parameters.
///
/// # Safety
/// `name` is NULL or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forebay_discipline(name: *const c_char) -> *const ForebayDiscipline {
    // SAFETY: by the contract above.
    let name = unsafe { text(name) };
    name.map_or(std::ptr::null(), |name| exports().find(name))
}

/// The disciplines by index, in the order of their names; NULL after the last.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_discipline_at(index: u32) -> *const ForebayDiscipline {
    exports().get(index)
}

/// Name of a reason of drops, for statistics: "overflow", "aqm", "preempted", "policed", "pushed_out"
/// or "redundant_ack"; NULL if there is no reason of that number.
#[unsafe(no_mangle)]
pub extern "C" fn forebay_reason(reason: u32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| DropReason::ALL.map(|each| c_string(each.name())).into());
    names.get(reason as usize).map_or(std::ptr::null(), |name| name.as_ptr())
}
