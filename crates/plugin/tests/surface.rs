//! What the crate exports, beside what `surface/forebay-plugin-VERSION.txt` keeps of it.
//!
//! rustdoc describes the crates in JSON, and `public-api` lists their items. Other Rusts write other
//! formats; with them, nothing is compared.

use public_api::{Builder, PublicItem};
use rustdoc_types::{Crate, FORMAT_VERSION, Id, ItemEnum, ItemKind};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An item that others see.
#[derive(Clone)]
struct Item {
    text: String,
    /// The text of what breaks others' code if it gets this item later: a trait that others implement
    /// gets a function without a default, or a type that others build gets a field.
    closed: Option<String>,
}

/// Where rustdoc's descriptions of the crates are.
fn described() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let crates = ["plugin", "core", "disciplines", "conformance", "abi"];
    let done = Command::new(env!("CARGO"))
        .args(["doc", "--quiet", "--locked", "--no-deps", "--lib", "--target-dir"])
        .arg(target)
        .args(["--features", "forebay-plugin/conformance"])
        .args(crates.map(|name| format!("--package=forebay-{name}")))
        .env("RUSTDOC", here.join("tests/rustdoc-json"))
        .env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json --cap-lints=allow")
        .current_dir(here)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    target.join("doc")
}

/// Every item of the crate that `exported` has, by path of its definition and kind.
fn items(json: &Path, exported: &HashSet<(Vec<String>, ItemKind)>) -> Vec<Item> {
    let described: Crate = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let listed = Builder::from_rustdoc_json(json).omit_blanket_impls(true).build().unwrap();
    let by_id: HashMap<Id, &PublicItem> = listed.items().map(|item| (item.id(), item)).collect();
    let roots: HashSet<Id> = described
        .paths
        .iter()
        .filter(|(_, item)| exported.contains(&(item.path.clone(), item.kind)))
        .map(|(id, _)| *id)
        .collect();
    let what = |id: Id| described.index.get(&id).map(|item| &item.inner);
    let in_trait = |parent| matches!(what(parent), Some(ItemEnum::Trait(_)));
    let is_exported = |item: &PublicItem| {
        let (mut id, mut parent) = (item.id(), item.parent_id());
        while !roots.contains(&id) {
            let Some(above) = parent else { return false };
            // What implements a trait is listed with its type.
            if in_trait(above) && matches!(what(id), Some(ItemEnum::Impl(_))) {
                return false;
            }
            (id, parent) = (above, by_id.get(&above).and_then(|item| item.parent_id()));
        }
        true
    };
    let item = |item: &PublicItem| {
        let parent = item.parent_id().filter(|parent| by_id.contains_key(parent));
        let above = parent.map(|parent| by_id[&parent].to_string()).unwrap_or_default();
        let required = parent.is_some_and(in_trait)
            && match what(item.id()) {
                Some(ItemEnum::Function(function)) => !function.has_body,
                Some(ItemEnum::AssocConst { value, .. }) => value.is_none(),
                Some(ItemEnum::AssocType { type_, .. }) => type_.is_none(),
                _ => false,
            };
        let member =
            matches!(what(item.id()), Some(ItemEnum::StructField(_) | ItemEnum::Variant(_)))
                && !above.contains("#[non_exhaustive]");
        let text = format!("{item}{}", if required { " (required)" } else { "" });
        Item { text, closed: (required || member).then_some(above) }
    };
    listed.items().filter(|item| is_exported(item)).map(item).collect()
}

/// What the crate exports; None, with a message, if this Rust writes another format.
fn surface() -> Option<Vec<Item>> {
    let folder = described();
    let own = folder.join("forebay_plugin.json");
    let text = std::fs::read_to_string(&own).unwrap();
    let format = serde_json::from_str::<Value>(&text).unwrap()["format_version"].clone();
    if format != FORMAT_VERSION {
        println!(
            "The surface of forebay-plugin is not compared: this Rust describes crates in format \
             {format}, and the test reads {FORMAT_VERSION} (Rust 1.95)."
        );
        return None;
    }
    let described: Crate = serde_json::from_str(&text).unwrap();
    let exported: HashSet<_> = described
        .index
        .values()
        .filter_map(|item| if let ItemEnum::Use(it) = &item.inner { it.id } else { None })
        .filter_map(|id| described.paths.get(&id))
        .map(|item| (item.path.clone(), item.kind))
        .collect();
    let crates: HashSet<_> = exported.iter().map(|(path, _)| path[0].clone()).collect();
    let mut crates: Vec<_> = crates.into_iter().collect();
    crates.sort();
    let own_root = HashSet::from([(vec!["forebay_plugin".to_owned()], ItemKind::Module)]);
    let mut found = items(&own, &own_root);
    for name in crates {
        found.extend(items(&folder.join(format!("{name}.json")), &exported));
    }
    // The compiler's own traits, which no stable code can name.
    let own = ["Freeze", "StructuralPartialEq", "UnsafeUnpin"];
    let own = own.map(|name| format!("core::marker::{name} for "));
    let mut seen = HashSet::new();
    found.retain(|item| {
        !own.iter().any(|name| item.text.contains(name)) && seen.insert(item.text.clone())
    });
    Some(found)
}

/// What breaks the code of those who rely on what is `kept`.
fn breaks(kept: &[&str], found: &[Item]) -> Vec<String> {
    let now: HashSet<_> = found.iter().map(|item| item.text.as_str()).collect();
    let before: HashSet<_> = kept.iter().copied().collect();
    let gone = kept.iter().filter(|text| !now.contains(*text));
    let closed = |item: &&Item| {
        let owner = item.closed.as_deref().is_some_and(|above| before.contains(above));
        owner && !before.contains(item.text.as_str())
    };
    let gone = gone.map(|text| format!("gone or changed: {text}"));
    let more = found.iter().filter(closed);
    gone.chain(more.map(|item| format!("new where others have to know all: {}", item.text)))
        .collect()
}

#[test]
fn what_is_exported_stays() {
    let Some(found) = surface() else { return };
    let mut version = env!("CARGO_PKG_VERSION").rsplitn(2, '.');
    let version = version.nth(1).unwrap();
    let name = format!("surface/forebay-plugin-{version}.txt");
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(&name);
    let text: String = found.iter().map(|item| format!("{}\n", item.text)).collect();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("forebay-plugin.txt");
    std::fs::write(&place, text).unwrap();
    let remedy = format!("cp {} {}", place.display(), kept.display());
    let known = std::fs::read_to_string(&kept);
    let known = known.unwrap_or_else(|_| panic!("crates/plugin/{name} is missing: {remedy}"));
    let known: Vec<_> = known.lines().collect();
    let broken = breaks(&known, &found);
    assert!(
        broken.is_empty(),
        "forebay-plugin {version} breaks others' code. If {version} is released, this needs a \
         version that breaks; if not: {remedy}\n{}",
        broken.join("\n")
    );
    for item in found.iter().filter(|item| !known.contains(&item.text.as_str())) {
        println!("new in forebay-plugin: {}", item.text);
    }
    // Whatever leaves is seen, and so is what may not be added.
    for place in 0..found.len() {
        let mut less = found.clone();
        let lost = less.remove(place).text;
        assert!(breaks(&[&lost], &less).contains(&format!("gone or changed: {lost}")), "{lost}");
    }
    let closed = found.iter().filter(|item| item.closed.is_some());
    for Item { text, closed } in closed {
        let kept = closed.as_deref().unwrap();
        let without: Vec<_> = known.iter().copied().filter(|line| line != text).collect();
        let shown = format!("new where others have to know all: {text}");
        assert!(!without.contains(&kept) || breaks(&without, &found).contains(&shown), "{text}");
    }
}
