//! Shared libraries, loaded once and kept.

use crate::import::import;
use crate::interface::{ForebayDiscipline, ForebayPlugin};
use forebay_core::{Discipline, Entry};
use libloading::Library;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

/// The symbol that a plug-in exports.
const SYMBOL: &str = "forebay_plugin";
/// The most disciplines of one library.
const MOST: u32 = 1000;

type Kinds = Vec<Entry<dyn Discipline>>;
type Loaded = HashMap<PathBuf, ((u64, Option<SystemTime>), Kinds)>;

/// The disciplines of the shared library at `path`. It stays in the process.
///
/// # Errors
/// It cannot be loaded, is no plug-in, speaks another version of the interface, or has changed since
/// this process loaded it.
pub fn load(path: &Path) -> Result<Kinds, String> {
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    let refuse = |what: String| format!("plug-in {}: {what}", path.display());
    let whole = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    let about = whole.metadata().map_err(|error| refuse(error.to_string()))?;
    let stamp = (about.len(), about.modified().ok());
    let mut loaded = LOADED.lock().expect("nothing panics while it is held");
    let loaded = loaded.get_or_insert_default();
    match loaded.get(&whole) {
        Some((known, kinds)) if *known == stamp => return Ok(kinds.clone()),
        Some(_) => return Err(refuse("it has changed since it was loaded; start anew".into())),
        None => {}
    }
    let kinds = open(&whole, &path.display().to_string()).map_err(refuse)?;
    loaded.insert(whole, (stamp, kinds.clone()));
    Ok(kinds)
}

fn open(path: &Path, from: &str) -> Result<Kinds, String> {
    // SAFETY: whoever names a plug-in trusts it as a program that he runs.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    // SAFETY: the interface says what the symbol is.
    let get = unsafe { library.get::<ForebayPlugin>(SYMBOL.as_bytes()) }.map_err(|_| {
        format!("it has no function `{SYMBOL}`; is it a plug-in? forebay.h says what it exports")
    })?;
    let mut kinds = Vec::new();
    for index in 0..MOST {
        // SAFETY: as above.
        let kind: *const ForebayDiscipline = unsafe { get(index) };
        if kind.is_null() {
            break;
        }
        // SAFETY: the library stays for ever; its structs keep the interface's contracts.
        kinds.push(unsafe { import(kind, from) }?);
    }
    if kinds.is_empty() {
        return Err("it holds no discipline".into());
    }
    // What it gave leads into it.
    std::mem::forget(library);
    Ok(kinds)
}
