//! `include/forebay.h` says what the interface says.

use cbindgen::{Builder, Language, Style};
use std::path::Path;

/// What follows the declarations: one more, and a help for plug-ins in C.
const TRAILER: &str = r##"
#ifdef __cplusplus
extern "C" {
#endif
/* The symbol that a plug-in exports: its disciplines by index, NULL after the last. */
const ForebayDiscipline *forebay_plugin(uint32_t index);
#ifdef __cplusplus
}
#endif

/* A number in the parameters that the host hands to `create`, 0 if there is none of that name. The
 * host has filled in the schema's defaults and checked its bounds; the JSON is compact. */
static inline double forebay_number(const char *params, const char *name) {
    size_t length = strlen(name);
    for (const char *at = params; (at = strchr(at, '"')) != NULL; at++) {
        if (strncmp(at + 1, name, length) == 0 && strncmp(at + 1 + length, "\":", 2) == 0) {
            return strtod(at + length + 3, NULL);
        }
    }
    return 0;
}"##;

#[test]
fn the_header_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut bytes = Vec::new();
    Builder::new()
        .with_src(here.join("src/interface.rs"))
        .with_src(here.join("src/library.rs"))
        .with_language(Language::C)
        .with_style(Style::Both)
        .with_cpp_compat(true)
        .with_include_guard("FOREBAY_H")
        .with_header(
            "/* The C interface of forebay's queue disciplines, made by cbindgen from crates/abi.\n * \
             Guide: docs/extending.md. */",
        )
        .with_sys_include("string.h")
        .with_trailer(TRAILER)
        .generate()
        .expect("the interface is plain")
        .write(&mut bytes);
    let header = include_str!("../include/forebay.h");
    let made = String::from_utf8(bytes).unwrap();
    if made != header {
        // Not by its own name, by which the tests that compile would find it.
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made.h");
        std::fs::write(&place, made).unwrap();
        panic!("crates/abi/include/forebay.h is out of date; copy {} there", place.display());
    }
}

/// What is declared, without comments and empty lines.
fn declarations(header: &str) -> String {
    let mut rest = header;
    let mut kept = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        kept += before;
        rest = comment.split_once("*/").expect("comments end").1;
    }
    kept += rest;
    let lines = kept.lines().map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn what_is_declared_changes_with_the_version_alone() {
    let name = format!("interface-{}.txt", forebay::FOREBAY_VERSION);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let declared = declarations(include_str!("../include/forebay.h"));
    let known = std::fs::read_to_string(&kept).unwrap_or_default();
    if declared != known {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interface.txt");
        std::fs::write(&place, declared).unwrap();
        panic!(
            "forebay.h declares something else than {} says: raise FOREBAY_VERSION, and copy {} to \
             tests/interface-VERSION.txt in the place of the earlier one",
            kept.display(),
            place.display()
        );
    }
}
