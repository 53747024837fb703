//! `include/forebay.h` says what the interface says.

use cbindgen::{Builder, Language, Style};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What follows the declarations: one more, and what reads parameters in C.
const TRAILER: &str = include_str!("../src/trailer.h");

/// Builds `source` with `cc`, as the language that `options` say, and with every warning an error.
fn compiled(cc: &str, options: &[&str], source: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name: String = options.concat().chars().filter(|sign| sign.is_alphanumeric()).collect();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{source}.out"));
    let done = Command::new(cc)
        .args(options)
        .args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-I"])
        .arg(here.join("include"))
        .arg(here.join("tests/c").join(source))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(done.expect("a compiler is there").success(), "{cc} {options:?} {source}");
    program
}

/// A locale of its own whose decimal point is a comma, in `folder`; false if it cannot be made.
fn comma_locale(folder: &Path) -> bool {
    let source = folder.join("comma.src");
    let text =
        "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&source, text).unwrap();
    // It says that other categories are missing, and makes the locale all the same.
    let made = Command::new("localedef")
        .args(["-c", "--no-archive", "-f", "ANSI_X3.4-1968", "-i"])
        .args([&source, &folder.join("comma")])
        .output();
    made.is_ok() && folder.join("comma/LC_NUMERIC").exists()
}

#[test]
fn parameters_are_read_in_c_and_in_cpp_and_in_any_locale() {
    let locales = Path::new(env!("CARGO_TARGET_TMPDIR")).join("locales");
    let mut known = vec!["C"];
    if comma_locale(&locales) {
        known.push("comma");
    } else {
        eprintln!("not tested with a comma as decimal point: localedef makes no such locale");
    }
    for (cc, options) in [
        ("cc", ["-std=c99"].as_slice()),
        ("cc", &["-std=c17", "-fsanitize=address,undefined", "-fno-sanitize-recover"]),
        ("c++", &["-std=c++11", "-x", "c++"]),
        ("c++", &["-std=c++20", "-x", "c++"]),
    ] {
        let program = compiled(cc, options, "parameters.c");
        for locale in &known {
            let run = Command::new(&program)
                .env("LOCPATH", &locales)
                .env("LC_ALL", locale)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&run.stdout);
            assert!(run.status.success() && said == format!("{locale}\n"), "{options:?}: {said}");
        }
    }
}

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
        .with_pragma_once(true)
        .include_item("ForebayEndpoint")
        .with_header(
            "/* The C interface of forebay's queue disciplines, made by cbindgen from crates/abi.\n * \
             Guide: docs/extending.md. */",
        )
        .with_sys_include("math.h")
        .with_sys_include("stddef.h")
        .with_sys_include("stdio.h")
        .with_sys_include("string.h")
        .with_trailer(TRAILER.trim_end())
        .generate()
        .expect("the interface is plain")
        .write(&mut bytes);
    let header = std::fs::read_to_string(here.join("include/forebay.h")).unwrap();
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

fn surface() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("surface")
}

#[test]
fn what_is_declared_changes_with_the_version_alone() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let version = format!("{}.{}", forebay::FOREBAY_MAJOR, forebay::FOREBAY_MINOR);
    let kept = surface().join(format!("forebay-{version}.h"));
    let declared = declarations(&std::fs::read_to_string(here.join("include/forebay.h")).unwrap());
    let known = std::fs::read_to_string(&kept).unwrap_or_default();
    if declared != known {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("declared.h");
        std::fs::write(&place, declared).unwrap();
        panic!(
            "forebay.h declares something else than {}. If that version is released, raise \
             FOREBAY_MINOR. Copy {} to crates/abi/surface/forebay-VERSION.h",
            kept.display(),
            place.display()
        );
    }
}

/// Constants, members of structs, and functions, each on a line of its own.
fn promised(header: &str) -> Vec<String> {
    let mut promised = Vec::new();
    let (plain, _) = header.split_once("#define forebay_has").expect("it is there");
    for line in plain.lines().filter(|line| line.starts_with("#define")) {
        promised.push(line.to_owned());
    }
    let code: String =
        plain.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ");
    for (place, part) in code.split("typedef struct ").enumerate() {
        let (members, after) = match place {
            0 => ("", part),
            _ => part[part.find('{').unwrap() + 1..].split_once('}').unwrap(),
        };
        let name = part.split_whitespace().next().unwrap_or_default();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let members = members.split(';').map(words).filter(|member| !member.is_empty());
        // With its place, so that nothing comes before it or between.
        promised.extend(members.enumerate().map(|(at, member)| format!("{name} {at}: {member}")));
        let functions = after.split(';').filter(|text| text.contains("forebay_"));
        let functions = functions.filter_map(|text| text.rsplit(['{', '}']).next());
        let functions = functions.map(words);
        promised.extend(functions);
    }
    promised
}

/// The header of each minor version is kept, and what it promises is in every later one.
#[test]
fn what_was_declared_stays() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let current = std::fs::read_to_string(here.join("include/forebay.h")).unwrap();
    let current = promised(&declarations(&current));
    assert!(current.len() > 80, "{current:#?}");
    for minor in 0..=forebay::FOREBAY_MINOR {
        let kept = surface().join(format!("forebay-{}.{minor}.h", forebay::FOREBAY_MAJOR));
        let kept = std::fs::read_to_string(&kept).expect("every version is kept");
        for each in promised(&kept) {
            let is_the_version = ["#define FOREBAY_MINOR", "#define FOREBAY_VERSION"]
                .iter()
                .any(|beginning| each.starts_with(beginning));
            assert!(is_the_version || current.contains(&each), "1.{minor} had `{each}`");
        }
    }
}
