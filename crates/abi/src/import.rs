//! Makes registry entries from kinds of the C interface.

use crate::convert::{self, c_string};
use crate::foreign::Foreign;
use crate::interface::*;
use crate::native::{Calls, Kind, Native};
use crate::schema::{self, fill_in};
use crate::version;
use crate::watch::{self, Function};
use forebay_core::{Conduct, ConfigError, Discipline, Entry, Recipe, Setting};
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use std::ffi::{CString, c_char};
use std::sync::Arc;

/// Size of the buffer for a message.
const MESSAGE: usize = 1024;
/// Size of the buffer for parameters, unless they need more.
const PARAMETERS: usize = 64 * 1024;
/// Largest size of that buffer.
const MOST_PARAMETERS: usize = 16 << 20;

/// The entry for the discipline at `kind`. Messages name its library as `from`.
///
/// # Errors
/// It has another version of the interface, or lacks functions.
///
/// # Safety
/// `kind` points to a struct of the interface that stays for the rest of the process, and whose
/// functions keep their contracts.
pub unsafe fn import(
    kind: *const ForebayDiscipline,
    from: &str,
) -> Result<Entry<dyn Discipline>, String> {
    // SAFETY: by the contract above.
    let (own, kind) = unsafe { (kind, version::known(kind)?) };
    // SAFETY: these are texts that live as long as the process.
    let [name, summary, source] =
        unsafe { convert::words("a discipline", [kind.name, kind.summary, kind.source]) }?;
    convert::nameable("a discipline", name)?;
    let missing = |function: &str| format!("discipline \"{name}\" has no function `{function}`");
    let calls = Calls {
        destroy: kind.destroy.ok_or_else(|| missing("destroy"))?,
        enqueue: kind.enqueue.ok_or_else(|| missing("enqueue"))?,
        dequeue: kind.dequeue.ok_or_else(|| missing("dequeue"))?,
        wake: kind.wake.ok_or_else(|| missing("wake"))?,
        backlog: kind.backlog.ok_or_else(|| missing("backlog"))?,
    };
    kind.create.ok_or_else(|| missing("create"))?;
    // SAFETY: as above.
    let schema = unsafe { convert::utf8(kind.schema) }
        .and_then(|text| schema::read(text, kind.effective.is_some()))
        .map_err(|error| format!("discipline \"{name}\": its schema: {error}"))?;
    let who = format!("plug-in {from}, discipline \"{name}\"").into();
    let ForebayDiscipline { keeps_order, shapes, .. } = kind;
    let facts = Conduct::USUAL.with_order(keeps_order).with_shaping(shapes);
    let words = [name.into(), summary.into(), source.into()];
    let kind = Arc::new(Kind { own, known: kind, calls });
    Ok(Entry::new(words, facts, Import { who, kind, facts, schema }))
}

struct Import {
    who: Arc<str>,
    kind: Arc<Kind>,
    facts: Conduct,
    schema: Map<String, Value>,
}

fn setting_of(setting: &Setting) -> ForebaySetting {
    let Setting { rate, overhead, mtu, .. } = *setting;
    ForebaySetting {
        struct_size: size_of::<ForebaySetting>() as u32,
        version: FOREBAY_VERSION,
        overhead,
        mtu,
        rate: rate.bps(),
    }
}

impl Recipe<dyn Discipline> for Import {
    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        self.schema.clone().into()
    }

    fn effective(&self, block: &Value, setting: &Setting) -> Result<Value, ConfigError> {
        let Some(effective) = self.kind.known.effective else {
            return fill_in(&self.schema, block);
        };
        let (params, setting) = (c_string(&block.to_string()), setting_of(setting));
        let mut room = PARAMETERS;
        loop {
            let mut out: Vec<c_char> = vec![0; room];
            // SAFETY: the buffer has that many bytes, the rest lives during the call.
            let length = watch::Calls::of(&self.who).during(Function::Effective, || unsafe {
                effective(self.kind.own, params.as_ptr(), &setting, out.as_mut_ptr(), out.len())
            });
            let text = convert::written(&out);
            match usize::try_from(length) {
                Err(_) => return Err(convert::error(&text)),
                Ok(length) if length >= MOST_PARAMETERS => {
                    let what = format!("its `effective` returned {length}, as the length of text");
                    return Err(ConfigError::new("", format!("{}: {what}", self.who)));
                }
                Ok(length) if length >= room => room = length + 1,
                Ok(_) => {
                    return serde_json::from_str(&text).map_err(|error| {
                        ConfigError::new("", format!("{}: its parameters: {error}", self.who))
                    });
                }
            }
        }
    }

    fn build(&self, block: &Value, setting: &Setting) -> Result<Box<dyn Discipline>, ConfigError> {
        let params = self.effective(block, setting)?;
        let params: CString = c_string(&params.to_string());
        let mut error: Vec<c_char> = vec![0; MESSAGE];
        let create = self.kind.known.create.expect("`import` has checked it");
        let setting = setting_of(setting);
        let make = || {
            // SAFETY: the buffer has that many bytes, the rest lives during the call.
            let state = unsafe {
                create(self.kind.own, params.as_ptr(), &setting, error.as_mut_ptr(), error.len())
            };
            if state.is_null() {
                return Err(convert::refused(&error, &self.who));
            }
            Ok(Native::new(&self.kind, state))
        };
        Ok(Box::new(Foreign::new(&self.who, self.facts, make)?))
    }
}
