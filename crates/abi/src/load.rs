//! Shared libraries, which are loaded once and stay loaded.

use crate::elf;
use crate::endpoint::EndpointKind;
use crate::import::import;
use crate::interface::{ForebayEndpoints, ForebayPlugin};
use crate::watch::{Calls, Function};
use forebay_core::{Discipline, Entry, file};
use libloading::Library;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The symbol that a plug-in with disciplines exports.
const DISCIPLINES: &str = "forebay_plugin";
/// The symbol that a plug-in with endpoints exports.
const ENDPOINTS: &str = "forebay_endpoint";
/// Most bytes of a library.
const LARGEST: u64 = 1 << 30;
/// Most disciplines, and most endpoints, of one library.
const MOST: u32 = 1000;

/// A shared library that has been loaded.
#[derive(Clone)]
pub struct Plugin {
    /// Its disciplines.
    pub kinds: Vec<Entry<dyn Discipline>>,
    /// Its endpoints.
    pub endpoints: Vec<Arc<EndpointKind>>,
    /// The SHA-256 of its content, in hexadecimal digits.
    pub sha256: String,
}

type Loaded = HashMap<PathBuf, ((u64, Option<SystemTime>), Plugin)>;

/// The plug-in at `path`. It stays loaded until the process ends.
///
/// # Errors
/// It cannot be loaded, is not a plug-in, has another version of the interface, or has changed
/// since this process loaded it.
pub fn load(path: &Path) -> Result<Plugin, String> {
    static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);
    let refuse = |what: String| format!("plug-in {}: {what}", path.display());
    // With a static C library, the process would have two after loading the plug-in's, and crash.
    if cfg!(target_feature = "crt-static") {
        return Err(refuse(
            "a statically linked program cannot load plug-ins; use a dynamically linked one".into(),
        ));
    }
    let whole = path.canonicalize().map_err(|error| refuse(error.to_string()))?;
    let about = whole.metadata().map_err(|error| refuse(error.to_string()))?;
    let stamp = (about.len(), about.modified().ok());
    let mut loaded = LOADED.lock().expect("nothing panics while it is held");
    let loaded = loaded.get_or_insert_default();
    match loaded.get(&whole) {
        Some((known, plugin)) if *known == stamp => return Ok(plugin.clone()),
        Some(_) => return Err(refuse("it has changed since it was loaded; start again".into())),
        None => {}
    }
    let content = file::read(&whole, LARGEST).map_err(|error| refuse(file::words(&error)))?;
    let (size, whole_size) = (content.len() as u64, elf::size(&content));
    if let Some(least) = whole_size.filter(|least| *least > size) {
        return Err(refuse(format!(
            "it is cut off: it has {size} bytes, and its header tells of {least}; copy it again"
        )));
    }
    if cfg!(target_os = "linux") && !content.starts_with(elf::BEGINNING) {
        return Err(refuse(
            "it is no shared library; compile it, such as with cc -shared -fPIC".into(),
        ));
    }
    let calls = Calls::of(&format!("plug-in {}", path.display()).into());
    let parts = calls.during(Function::Load, || open(&whole, &path.display().to_string()));
    let (kinds, endpoints) = parts.map_err(refuse)?;
    let sha256 = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    let plugin = Plugin { kinds, endpoints, sha256 };
    loaded.insert(whole, (stamp, plugin.clone()));
    Ok(plugin)
}

/// The library at `path`. All its symbols must be there: one that is looked for only when it is
/// called would end the process.
///
/// # Safety
/// What the library does when it is loaded is sound.
unsafe fn system(path: &Path) -> Result<Library, libloading::Error> {
    #[cfg(unix)]
    // SAFETY: by the contract above.
    unsafe {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        Library::open(Some(path), RTLD_NOW | RTLD_LOCAL).map(Into::into)
    }
    #[cfg(not(unix))]
    // SAFETY: by the contract above.
    unsafe {
        Library::new(path)
    }
}

/// Why the system does not load a library, in its own words, such as the symbol that is missing.
fn reason(error: &libloading::Error) -> String {
    let own = std::error::Error::source(error).map(ToString::to_string);
    format!("the system cannot load it: {}", own.unwrap_or_else(|| error.to_string()))
}

/// The parts of a kind, by index, which `get` returns.
fn each<S, T>(
    get: impl Fn(u32) -> *const S,
    import: impl Fn(*const S) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    (0..MOST).map(get).take_while(|part| !part.is_null()).map(import).collect()
}

type Parts = (Vec<Entry<dyn Discipline>>, Vec<Arc<EndpointKind>>);

fn open(path: &Path, from: &str) -> Result<Parts, String> {
    // SAFETY: whoever names a plug-in trusts it as a program that he runs.
    let library = unsafe { system(path) }.map_err(|error| reason(&error))?;
    // SAFETY: the interface says what the symbols are.
    let (disciplines, endpoints) = unsafe {
        (
            library.get::<ForebayPlugin>(DISCIPLINES.as_bytes()).ok(),
            library.get::<ForebayEndpoints>(ENDPOINTS.as_bytes()).ok(),
        )
    };
    if disciplines.is_none() && endpoints.is_none() {
        return Err(format!(
            "it has no function `{DISCIPLINES}` or `{ENDPOINTS}`; is it a plug-in? forebay.h says \
             what it exports"
        ));
    }
    // SAFETY: as above. The library stays for ever; its structs keep the interface's contracts.
    let (kinds, ends) = unsafe {
        (
            disciplines.map_or(Ok(Vec::new()), |get| {
                each(|index| get(index), |kind| import(kind, from))
            })?,
            endpoints.map_or(Ok(Vec::new()), |get| {
                each(|index| get(index), |kind| EndpointKind::import(kind, from))
            })?,
        )
    };
    if kinds.is_empty() && ends.is_empty() {
        return Err("it contains no discipline and no endpoint".into());
    }
    // Its parts point into it, so it is never unloaded.
    std::mem::forget(library);
    Ok((kinds, ends))
}
